"""Element types: the codes of the .pte format and the numpy dtypes that stand for them."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

_NUMPY = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    9: "complex64",
    10: "complex128",
    11: "bool",
    12: "int8",
    13: "uint8",
    14: "int32",
    16: "uint8",
    17: "uint8",
    22: "uint16",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}
# Types that only ml_dtypes knows, with the unsigned integers that carry their bits where it is not installed.
_EXTENSION = {
    15: ("bfloat16", "uint16"),
    23: ("float8_e5m2", "uint8"),
    24: ("float8_e4m3fn", "uint8"),
    25: ("float8_e5m2fnuz", "uint8"),
    26: ("float8_e4m3fnuz", "uint8"),
}


@functools.cache
def numpy_dtype(code: int) -> np.dtype[Any]:
    """The numpy dtype of arrays that hold elements of this ScalarType code.

    bfloat16 and the 8-bit floats are ml_dtypes' where that package is installed and raw unsigned bits elsewhere.

    Raises:
        ValueError: the code is unknown.
    """
    if code in _NUMPY:
        return np.dtype(_NUMPY[code])
    if code not in _EXTENSION:
        raise ValueError(f"dtype code {code} has no numpy dtype")
    name, bits = _EXTENSION[code]
    try:
        ml_dtypes = importlib.import_module("ml_dtypes")
    except ImportError:
        return np.dtype(bits)
    result: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return result


def bits_dtype(code: int) -> np.dtype[Any] | None:
    """The unsigned integer dtype that carries the bits of an extension type; None for types numpy has itself."""
    return np.dtype(_EXTENSION[code][1]) if code in _EXTENSION else None


def dtype_label(code: int) -> str:
    """The name used in messages: ``float32``, ``bfloat16``."""
    return _EXTENSION[code][0] if code in _EXTENSION else _NUMPY[code]
