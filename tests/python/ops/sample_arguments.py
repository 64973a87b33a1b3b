"""What the calls of sample_calls.py are made of.

`T` is a tensor of the dtype in question, `L` one of int64 numbers, `M` one of bools, `F` one of float32 numbers; `D`
stands for the dtype itself. Everything else among a call's arguments is meant literally.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from builder import OptionalTensors

DTYPES = [
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
REAL_DTYPES = DTYPES[:13]


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@dataclass(frozen=True, eq=False)
class Array:
    """A tensor argument. `dtype` None means the dtype in question; `values` None means a pattern of small numbers."""

    shape: tuple[int, ...]
    dtype: str | None = None
    values: tuple[float, ...] | None = None
    seed: int = 0
    # "unit": between -1 and 1; "fraction": from 0 to 1; "positive"; "sorted": ascending; "special": infinities and NaN
    domain: str = "any"

    def array(self, dtype: str) -> np.ndarray:
        name = self.dtype or dtype
        target = numpy_dtype(name)
        if self.values is not None:
            return np.array(self.values).reshape(self.shape).astype(target)
        index = np.arange(math.prod(self.shape)).reshape(self.shape)
        numbers = (index * 7 + self.seed * 5 + 3) % 13  # 0 to 12
        if target == np.bool_:
            return np.asarray(numbers % 3 != 0)
        if self.domain == "sorted":
            numbers = index % self.shape[-1] if self.shape else index
        elif self.domain == "unit":
            if target.kind in "iu":
                return np.asarray((numbers % 2).astype(target))
            numbers = (numbers - 6) / 8
        elif self.domain == "fraction":
            numbers = numbers % 2 if target.kind in "iu" else numbers / 16
        elif self.domain == "special" and target.kind not in "iu":
            numbers = np.resize([-np.inf, -3, -0.0, 0, 0.5, 2, np.inf, np.nan], self.shape)
        elif self.domain == "positive":
            numbers = numbers / 2 + 0.5 if target.kind not in "iu" else numbers % 6 + 1
        elif target.kind == "u":
            numbers = numbers % 7
        elif target.kind == "i":
            numbers = numbers - 6
        else:
            numbers = (numbers - 6) / 2
        if target.kind == "c":
            complex_numbers = np.empty(self.shape, target)
            complex_numbers.real, complex_numbers.imag = numbers, numbers.reshape(-1)[::-1].reshape(self.shape) / 2
            return complex_numbers
        return np.asarray(numbers.astype(target))


class _Dtype:
    """Stands for the dtype in question among the arguments."""


D = _Dtype()


def T(*shape: int, seed: int = 0, domain: str = "any", values: Sequence[float] | None = None) -> Array:
    return Array(shape, values=tuple(values) if values is not None else None, seed=seed, domain=domain)


def _literal(dtype: str, values: Any) -> Array:
    array = np.array(values)
    return Array(array.shape, dtype, tuple(array.reshape(-1).tolist()))


def L(values: Any) -> Array:
    return _literal("int64", values)


def M(values: Any) -> Array:
    return _literal("bool", values)


def F(values: Any) -> Array:
    return _literal("float32", values)


def empty_calls(call: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The call with tensors whose first dim, and whose last dim, is 0."""

    def change(arg: Any, dim: int) -> Any:
        if isinstance(arg, list):
            return [change(item, dim) for item in arg]
        if isinstance(arg, OptionalTensors):
            return OptionalTensors([change(item, dim) for item in arg.items])
        if not isinstance(arg, Array) or not arg.shape:
            return arg
        shape = list(arg.shape)
        shape[dim] = 0
        return replace(arg, shape=tuple(shape), values=None if arg.values is None else ())

    return [tuple(change(arg, dim) for arg in call) for dim in (0, -1)]


def mixed_call(call: tuple[Any, ...], first: str, others: str) -> tuple[Any, ...] | None:
    """The call with one dtype for its first tensor and another for the rest; None where it has one tensor only."""
    given = 0

    def change(arg: Any) -> Any:
        nonlocal given
        if isinstance(arg, list):
            return [change(item) for item in arg]
        if isinstance(arg, OptionalTensors):
            return OptionalTensors([change(item) for item in arg.items])
        if not isinstance(arg, Array) or arg.dtype is not None:
            return arg
        given += 1
        return replace(arg, dtype=first if given == 1 else others)

    changed = tuple(change(arg) for arg in call)
    return changed if given > 1 else None


CALLS: dict[str, list[tuple[Any, ...]]] = {}


def qualified(names: str) -> list[str]:
    return [name if "::" in name else f"aten::{name}" for name in names.split()]


def add(names: str, *calls: tuple[Any, ...]) -> None:
    for name in qualified(names):
        assert name not in CALLS, name
        CALLS[name] = list(calls)
