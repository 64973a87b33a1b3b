"""Comparison of outputs with expected ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import ExecutionError


def _as_float(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Floats of any kind as float64 (or complex128), for comparing."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def check_outputs(got: Sequence[Any], expected: Sequence[Any], where: str, rtol: float, atol: float) -> None:
    """Raise ExecutionError, naming the output, where one is not the expected one within the tolerances."""
    if len(got) != len(expected):
        raise ExecutionError(f"{where}: {len(got)} outputs, expected {len(expected)}")
    for i, (value, wanted) in enumerate(zip(got, expected, strict=True)):
        if isinstance(value, np.ndarray) != isinstance(wanted, np.ndarray):
            raise ExecutionError(f"{where}: output {i} is of {type(value).__name__}, expected {type(wanted).__name__}")
        if not isinstance(wanted, np.ndarray):
            both_nan = value != value and wanted != wanted
            if value != wanted and not both_nan:
                raise ExecutionError(f"{where}: output {i} is {value!r}, expected {wanted!r}")
            continue
        if value.dtype != wanted.dtype or value.shape != wanted.shape:
            described = f"{value.dtype} {list(value.shape)}, expected {wanted.dtype} {list(wanted.shape)}"
            raise ExecutionError(f"{where}: output {i} is {described}")
        if value.dtype.kind in "biu":
            wrong = value != wanted
        else:
            wrong = ~np.isclose(_as_float(value), _as_float(wanted), rtol=rtol, atol=atol, equal_nan=True)
        if wrong.any():
            raise ExecutionError(f"{where}: {int(wrong.sum())} of {wrong.size} elements of output {i} differ")
