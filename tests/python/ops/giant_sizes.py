"""Calls of every operator with tensors that have no elements and yet giant sizes: there is nothing to compute.

Run as a program with the number of the first call, it makes the calls from there on and prints each one's number
before it; a call that computes for long is the last, as the process is ended then.
"""

from __future__ import annotations

import contextlib
import math
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import executorch_numpy_runtime as en
from builder import OptionalTensors, ProgramBuilder, scalar_type

from .eager_answers import accepted
from .sample_arguments import DTYPES, Array, D
from .sample_calls import CALLS
from .test_eager_answers import add_call

GIANT = 1 << 33
LARGE = 1 << 16  # elements; tensors that have them are not made
LIMIT = 2.0  # seconds of computing for one call

Call = tuple[Any, ...]


def is_int_list(arg: Any) -> bool:
    return isinstance(arg, list) and bool(arg) and all(type(item) is int for item in arg)


def arrays(arg: Any) -> Iterator[Array]:
    if isinstance(arg, Array):
        yield arg
    items = arg.items if isinstance(arg, OptionalTensors) else arg if isinstance(arg, (list, tuple)) else ()
    for item in items:
        yield from arrays(item)


def with_sizes(arg: Any, sizes: Mapping[int, int], lists_too: bool) -> Any:
    """The argument with other numbers for some sizes; in lists of ints, which may be sizes, where wanted."""
    if isinstance(arg, Array):
        return resized(arg, tuple(sizes.get(size, size) for size in arg.shape))
    if isinstance(arg, OptionalTensors):
        return OptionalTensors([with_sizes(item, sizes, lists_too) for item in arg.items])
    if is_int_list(arg):
        return [sizes.get(item, item) for item in arg] if lists_too else arg
    return [with_sizes(item, sizes, lists_too) for item in arg] if isinstance(arg, list) else arg


def resized(array: Array, shape: tuple[int, ...]) -> Array:
    return array if shape == array.shape else replace(array, shape=shape, values=None)


def giant_calls(call: Call) -> Iterator[Call]:
    """The call with one of its sizes 0 and another one, or all others, giant, wherever they occur; also by position."""
    sizes = {size for array in arrays(call) for size in array.shape}
    sizes |= {item for arg in call if is_int_list(arg) for item in arg if item > 0}
    for zero in sorted(sizes):
        others = sorted(sizes - {zero})
        for giants in [*([other] for other in others), others]:
            for lists_too in (True, False):
                changed = {zero: 0} | dict.fromkeys(giants, GIANT)
                yield tuple(with_sizes(arg, changed, lists_too) for arg in call)
    first = next(arrays(call), None)
    for zero, giant in permutations(range(len(first.shape)), 2) if first is not None else ():
        shape = list(first.shape)
        shape[zero], shape[giant] = 0, GIANT
        # Of the first tensor, or of all that have its shape.
        for same in (lambda arg: arg is first, lambda arg: isinstance(arg, Array) and arg.shape == first.shape):
            yield tuple(resized(arg, tuple(shape)) if same(arg) else arg for arg in call)


def worth_making(call: Call) -> bool:
    shapes = [array.shape for array in arrays(call)]
    return all(math.prod(shape) <= LARGE for shape in shapes) and (
        any(GIANT in shape for shape in shapes) or any(GIANT in arg for arg in call if is_int_list(arg))
    )


def all_calls() -> Iterator[tuple[str, Call, str, list[tuple[str, int]]]]:
    """Operator, arguments, dtype, and dtype and rank of each result."""
    for operator in CALLS:
        dtype = next(dtype for dtype in ("float32", *DTYPES) if accepted(operator, dtype))
        seen = set()
        for call, outs in accepted(operator, dtype):
            for changed in filter(worth_making, giant_calls(call)):
                if repr(changed) not in seen:
                    seen.add(repr(changed))
                    yield operator, changed, dtype, [(name, len(shape)) for name, shape, _ in outs]


def run(operator: str, call: Call, dtype: str, outs: list[tuple[str, int]]) -> None:
    program = ProgramBuilder()
    inputs = []

    def slot(arg: Any) -> Any:
        if isinstance(arg, Array) and 0 in arg.shape:  # made by an instruction: files cannot have all sizes
            tensor = program.tensor(arg.dtype or dtype, [0] * len(arg.shape), dynamic=True, planned=False)
            return program.call("aten::empty.out", list(arg.shape), None, out=tensor)
        if isinstance(arg, Array):
            inputs.append(arg.array(dtype))
            return program.input(inputs[-1].dtype, arg.shape)
        if isinstance(arg, OptionalTensors):
            return OptionalTensors([slot(item) for item in arg.items])
        if isinstance(arg, list):
            return [slot(item) for item in arg]
        return scalar_type(dtype) if arg is D else scalar_type(arg) if arg in DTYPES else arg

    slots = [slot(arg) for arg in call]
    # Bounds that results with elements exceed where they are giant.
    results = (program.tensor(name, (8,) * rank, dynamic=rank > 0) for name, rank in outs)
    add_call(program, operator, slots, dtype, results)
    en.Runtime.get().load_program(program.build()).load_method("forward")(inputs)


def main(first: int) -> None:
    for number, call in enumerate(all_calls()):
        if number < first:
            continue
        print(number, call[0], flush=True)
        signal.setitimer(signal.ITIMER_PROF, LIMIT)  # of the processor's time, whatever else runs
        with contextlib.suppress(en.ExecuTorchError):
            run(*call)
    signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
