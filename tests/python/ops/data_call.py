"""Checks one call of a data movement operator against numpy, over layouts that hypothesis draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import settings

import executorch_numpy_runtime as en
from builder import OptionalTensors, ProgramBuilder

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype("float32"), np.dtype("float64"), np.dtype("float16"), BFLOAT16]
INTEGERS = [np.dtype(t) for t in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
REALS = [*FLOATS, *INTEGERS, np.dtype(bool)]
DTYPES = [*REALS, np.dtype("complex64"), np.dtype("complex128")]

examples = settings(max_examples=60, deadline=None)


def array(dtype: Any, shape: Sequence[int], seed: int = 0) -> np.ndarray:
    """Small numbers that every dtype holds, some of them repeated."""
    dtype = np.dtype(dtype)
    numbers = np.random.default_rng(seed).integers(0 if dtype.kind in "ub" else -20, 40, tuple(shape))
    if dtype.kind == "c":
        return np.asarray(numbers + 1j * numbers[..., ::-1] if numbers.ndim else numbers + 2j, dtype)
    return np.asarray(numbers.astype(dtype))


@st.composite
def arrays(
    draw: st.DrawFn,
    dtypes: Sequence[np.dtype[Any]] = DTYPES,
    *,
    min_dims: int = 0,
    max_dims: int = 4,
    max_side: int = 5,
) -> np.ndarray:
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=0, max_side=max_side))
    return array(draw(st.sampled_from(dtypes)), shape, draw(st.integers(0, 99)))


def _order(data: st.DataObject, rank: int) -> list[int]:
    order = list(range(rank))
    return data.draw(st.permutations(order)) if rank > 1 and data.draw(st.booleans()) else order


def _slots(
    program: ProgramBuilder, args: Sequence[Any], inputs: list[np.ndarray], data: st.DataObject | None
) -> list[Any]:
    """The call's arguments, with every array in them made an input."""

    def slot(arg: Any) -> Any:
        if isinstance(arg, (np.ndarray, np.generic)):  # numpy makes numbers of rank 0 arrays
            arg = np.asarray(arg)
            inputs.append(arg)
            order = None if data is None else _order(data, arg.ndim)
            return program.input(arg.dtype, arg.shape, dim_order=order)
        if isinstance(arg, OptionalTensors):
            return OptionalTensors([None if item is None else slot(item) for item in arg.items])
        if isinstance(arg, list):
            return [slot(item) for item in arg]
        return arg

    return [slot(arg) for arg in args]


def check(
    data: st.DataObject, operator: str, *args: Any, expected: Any, tolerance: float = 0, in_place: bool = False
) -> None:
    """Calls the operator on inputs and outputs of drawn layouts; a list of expected arrays stands for several outputs.

    In place, the first argument is the one written.
    """
    program = ProgramBuilder()
    inputs: list[np.ndarray] = []
    slots = _slots(program, args, inputs, data)
    results = [np.asarray(item) for item in (expected if isinstance(expected, (list, tuple)) else [expected])]
    if in_place:
        program.call(operator, *slots, slots[0])
        program.output(slots[0])
    else:
        outs = []
        for result in results:
            is_dynamic = data.draw(st.booleans())
            sizes = [size + is_dynamic for size in result.shape]
            order = _order(data, result.ndim)
            outs.append(program.tensor(result.dtype, sizes, dim_order=order, dynamic=is_dynamic))
        if isinstance(expected, list):
            program.call(operator, *slots, program.value(outs))
        else:
            program.call(operator, *slots, out=outs if len(outs) > 1 else outs[0])
        program.output(*outs)
    got = en.Runtime.get().load_program(program.build()).load_method("forward")(inputs)
    for actual, wanted in zip(got, results, strict=True):
        assert actual.dtype == wanted.dtype
        assert actual.shape == wanted.shape
        if tolerance:
            np.testing.assert_allclose(actual.astype(np.complex128), wanted.astype(np.complex128), tolerance, tolerance)
        else:
            np.testing.assert_array_equal(actual, wanted)


def call(operator: str, *args: Any, outs: Sequence[np.ndarray], dynamic: bool = False) -> list[np.ndarray]:
    """The results of one call, whose outputs are planned like the arrays in `outs`."""
    program = ProgramBuilder()
    inputs: list[np.ndarray] = []
    slots = _slots(program, args, inputs, None)
    results = [program.tensor(out.dtype, out.shape, dynamic=dynamic) for out in outs]
    program.call(operator, *slots, out=results if len(results) > 1 else results[0])
    program.output(*results)
    return en.Runtime.get().load_program(program.build()).load_method("forward")(inputs)


def refuses(operator: str, *args: Any, outs: Sequence[np.ndarray], match: str) -> None:
    """The call fails, and the message names instruction, operator and argument."""
    with pytest.raises(en.ExecutionError, match=match) as caught:
        call(operator, *args, outs=outs, dynamic=True)
    assert f"forward[0] {operator}" in str(caught.value)
