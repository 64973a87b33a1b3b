#!/usr/bin/env python3
"""Record what PyTorch eager answers to the calls of tests/python/ops/sample_calls.py, for every dtype.

Needs PyTorch 2.13 and the packages numpy, ml_dtypes and flatbuffers. The tests need only its output, which is
committed; run it again after a call is added. From the project's root:

    python tools/record_eager_answers.py                       all calls
    python tools/record_eager_answers.py --only aten::add.out  some, the rest stays as it is

eager_answers.jsonl has one line for an operator: for each dtype that eager takes, for each call, the results as
[dtype, shape, numbers]. eager_mixtures.jsonl has one line for an operator of several tensors: a row for each dtype of
the first and a word for each dtype of the others, with a letter for each result's dtype (a for the first in DTYPES) or
a dot where eager refuses. eager_empties.jsonl has the results for float32 tensors without elements.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from builder import OptionalTensors  # noqa: E402
from ops.sample_arguments import DTYPES, REAL_DTYPES, Array, D, empty_calls, mixed_call  # noqa: E402
from ops.sample_calls import CALLS, COMPARED_OUTS, RANDOM  # noqa: E402

ANSWERS = ROOT / "tests" / "fixtures" / "eager_answers.jsonl"
EMPTIES = ROOT / "tests" / "fixtures" / "eager_empties.jsonl"
MIXTURES = ROOT / "tests" / "fixtures" / "eager_mixtures.jsonl"
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)
DIGITS = {"float16": 5, "bfloat16": 4, "float32": 9, "float64": 17, "complex64": 9, "complex128": 17}


def to_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def argument(arg: Any, dtype: str, kind: str) -> Any:
    if isinstance(arg, Array):
        return to_torch(arg.array(dtype))
    if isinstance(arg, OptionalTensors):
        return [argument(item, dtype, "") for item in arg.items]
    if isinstance(arg, list):
        return [argument(item, dtype, "") for item in arg]
    if arg is D or (kind.startswith("ScalarType") and arg is not None) or (kind == "int" and isinstance(arg, str)):
        return getattr(torch, dtype if arg is D else arg)
    return arg


def widened(function: Callable[..., Any], *args: Any) -> Any:
    """A product of halves with a float32 result, which eager computes on other devices only."""
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    if tensors[-1].dtype not in (torch.float16, torch.bfloat16):
        raise TypeError("expected halves")
    scales = dict(zip(("beta", "alpha"), [arg for arg in args if isinstance(arg, int)], strict=False))
    return function(*[tensor.float() for tensor in tensors], **scales)


# Operators that PyTorch lacks, by what they stand for.
STAND_INS: dict[str, Callable[..., Any]] = {
    "aten::allclose.out": lambda *args: torch.tensor(torch.allclose(*args[:5])).reshape(1),
    "aten::allclose.Tensor": lambda *args: torch.tensor(torch.allclose(*args[:5])).reshape(1),
    "aten::sum.out": lambda x, _: torch.ops.aten.sum.default(x),
    **{f"aten::{f.__name__}.dtype_out": partial(widened, f) for f in (torch.mm, torch.bmm, torch.addmm, torch.baddbmm)},
    "aten::max.unary_out": torch.max,
    "aten::min.unary_out": torch.min,
    "aten::normal.out": lambda x, *_: torch.empty_like(x).normal_(),
    "aten::zero.out": lambda x: torch.zeros_like(x),
    "aten::zero_": lambda x: torch.zeros_like(x),
    "et_copy::_h2d_copy.out": lambda x: x.clone(),
    "et_copy::_d2h_copy.out": lambda x: x.clone(),
    "dim_order_ops::_clone_dim_order.out": lambda x, *_: x.clone(),
    "dim_order_ops::_to_dim_order_copy.out": lambda x, *_: x.clone(),
}

# What eager divides by zero for without elements.
CRASH_WITHOUT_ELEMENTS = {"aten::_weight_norm_interface.out"}


def arguments_of(overload: Any) -> list[Any]:
    return [a for a in overload._schema.arguments if not a.is_out]


def call_overload(overload: Any, call: tuple[Any, ...], dtype: str, **extra: Any) -> Any:
    """Calls with the arguments that the schema has; a longer schema's rest has defaults."""
    positional: list[Any] = []
    named: dict[str, Any] = dict(extra)
    schema = arguments_of(overload)
    if len(call) > len(schema):
        raise LookupError(f"{overload} takes {len(schema)} arguments, the call has {len(call)}")
    for given, formal in zip(call, schema, strict=False):
        value = argument(given, dtype, str(formal.type))
        if formal.kwarg_only:
            named[formal.name] = value
        else:
            positional.append(value)
    return overload(*positional, **named)


def find(name: str) -> Callable[[tuple[Any, ...], str], Any]:
    """How eager does what the operator does: its functional form, or the out form where dtypes come from the out."""
    if name in STAND_INS:
        return lambda call, dtype: STAND_INS[name](*[argument(arg, dtype, "") for arg in call])
    namespace, _, rest = name.partition("::")
    base, _, overload_name = rest.partition(".")
    if namespace == "dim_order_ops":  # ExecuTorch's own
        own_dtype = lambda call, dtype: torch.empty(call[0], dtype=getattr(torch, dtype))  # noqa: E731
        return own_dtype
    packet = getattr(getattr(torch.ops, namespace), base)
    creates = not any(isinstance(arg, Array) or (isinstance(arg, list) and any(isinstance(i, Array) for i in arg))
                      for arg in CALLS[name][0])  # fmt: skip
    overloads = [getattr(packet, o) for o in packet.overloads()]
    if base.endswith("_") and not base.endswith("__"):
        return lambda call, dtype: call_overload(getattr(packet, overload_name or "default"), call, dtype)
    own = getattr(packet, overload_name) if overload_name in packet.overloads() else None
    if creates:
        if own is None:
            raise LookupError("no such overload")
        return lambda call, dtype: call_overload(
            own, call[: len(arguments_of(own))], dtype, out=torch.empty(0, dtype=getattr(torch, dtype))
        )
    functional = [o for o in overloads if not any(a.is_out for a in o._schema.arguments)]
    if own is not None:
        wanted = [(a.name, str(a.type)) for a in arguments_of(own)]
        exact = [o for o in functional if [(a.name, str(a.type)) for a in arguments_of(o)][: len(wanted)] == wanted]
        if not exact:  # schemas that hide what a composite takes
            names = {a[0] for a in wanted}
            exact = [o for o in functional if names <= {a.name for a in arguments_of(o)}]
        if exact:
            return lambda call, dtype: call_overload(exact[0], call, dtype)
    usable = [o for o in functional if len(arguments_of(o)) >= len(CALLS[name][0])]
    if not usable:
        raise LookupError("no functional form")
    return lambda call, dtype: call_overload(usable[0], call, dtype)


def number(value: Any, digits: int) -> Any:
    if isinstance(value, complex):
        return [number(value.real, digits), number(value.imag, digits)]
    if isinstance(value, float):
        if math.isfinite(value):
            short = float(f"{value:.{digits}g}")
            return int(short) if short.is_integer() and abs(short) < 1e15 and str(short) != "-0.0" else short
        return str(value)
    return int(value) if isinstance(value, bool) else value


def describe(tensor: torch.Tensor, with_numbers: bool) -> list[Any]:
    name = str(tensor.dtype).removeprefix("torch.")
    values = tensor.resolve_conj().resolve_neg().contiguous()
    numbers = [number(v, DIGITS.get(name, 0)) for v in values.reshape(-1).tolist()] if with_numbers else []
    return [name, list(tensor.shape), numbers]


def answers(name: str) -> dict[str, Any]:
    run = find(name)
    result: dict[str, Any] = {}
    refusal = ""
    for dtype in DTYPES:
        calls: list[Any] = []
        for call in CALLS[name]:
            try:
                torch.manual_seed(0)
                outs = run(call, dtype)
            except REFUSALS as error:
                refusal = str(error).splitlines()[0]
                calls.append(None)
                continue
            outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
            if any(out.dtype == torch.complex32 for out in outs):  # which numpy lacks
                calls.append(None)
                continue
            outs = outs[: COMPARED_OUTS.get(name, len(outs))]
            calls.append([describe(out, name not in RANDOM) for out in outs])
        if any(call is not None for call in calls):
            result[dtype] = calls
    if not result:
        raise LookupError(refusal)
    return result


def mixtures(name: str) -> list[str]:
    """For each dtype of the first tensor: what the results are with each dtype of the others."""
    run = find(name)

    def word(first: str, others: str) -> str:
        try:
            outs = run(mixed_call(CALLS[name][0], first, others), others)
        except REFUSALS:
            return "."
        names = [str(out.dtype).removeprefix("torch.") for out in (outs if isinstance(outs, (tuple, list)) else [outs])]
        if "complex32" in names:
            return "."
        return "".join(chr(ord("a") + DTYPES.index(name)) for name in names)

    return [" ".join(word(first, others) for others in REAL_DTYPES) for first in REAL_DTYPES]


def empties(name: str) -> list[Any]:
    """The results for float32 tensors without elements, of each call with the first, then the last dim 0."""
    run = find(name)
    recorded: list[Any] = []
    for empty in [empty for call in CALLS[name] for empty in empty_calls(call)]:
        try:
            outs = run(empty, "float32")
        except REFUSALS:
            recorded.append(None)
            continue
        outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
        recorded.append([describe(out, name not in RANDOM) for out in outs[: COMPARED_OUTS.get(name, len(outs))]])
    return recorded


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(line) for line in path.read_text().splitlines()) if path.exists() else {}


def write(path: Path, recorded: dict[str, Any]) -> None:
    lines = [json.dumps([name, recorded[name]], separators=(",", ":")) for name in sorted(recorded)]
    path.write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="OPERATOR")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    recorded, mixed, empty = (read(ANSWERS), read(MIXTURES), read(EMPTIES)) if args.only else ({}, {}, {})
    failed = 0
    for name in args.only or CALLS:
        try:
            recorded[name] = answers(name)
            has_tensors = any(isinstance(arg, (Array, list, OptionalTensors)) for arg in CALLS[name][0])
            if has_tensors and name not in CRASH_WITHOUT_ELEMENTS:
                empty[name] = empties(name)
            if mixed_call(CALLS[name][0], "int8", "int8") is not None and name not in STAND_INS:
                mixed[name] = mixtures(name)
        except (LookupError, AttributeError) as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    write(ANSWERS, recorded)
    write(MIXTURES, mixed)
    write(EMPTIES, empty)
    print(f"{len(recorded)} operators, {ANSWERS.stat().st_size:,} bytes, {failed} without an answer")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
