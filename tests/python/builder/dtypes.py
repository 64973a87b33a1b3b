"""Codes that the schemas give dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

SCALAR_TYPES = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
    "complex32": 8, "complex64": 9, "complex128": 10, "bool": 11, "qint8": 12, "quint8": 13, "qint32": 14,
    "bfloat16": 15, "quint4x2": 16, "quint2x4": 17, "bits16": 22, "float8_e5m2": 23, "float8_e4m3fn": 24,
    "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26, "uint16": 27, "uint32": 28, "uint64": 29,
}  # fmt: skip

_SIZES = {
    0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 8: 4, 9: 8, 10: 16, 11: 1, 12: 1, 13: 1, 14: 4, 15: 2, 16: 1, 17: 1,
    22: 2, 23: 1, 24: 1, 25: 1, 26: 1, 27: 2, 28: 4, 29: 8,
}  # fmt: skip


def scalar_type(dtype: Any) -> int:
    """The code of a numpy dtype, of a dtype's name ("bfloat16"), or the code itself."""
    if isinstance(dtype, int):
        return dtype
    name = dtype if isinstance(dtype, str) and dtype in SCALAR_TYPES else np.dtype(dtype).name
    return SCALAR_TYPES[name]


def item_size(dtype: Any) -> int:
    return _SIZES.get(scalar_type(dtype), 1)
