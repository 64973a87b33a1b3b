"""What callers may pass instead of an array of the exact dtype, and how it becomes one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._dtypes import bits_dtype, dtype_label, numpy_dtype
from .errors import ExecutionError


def _refuse(method: str, index: int, code: int, why: str, advice: str = "") -> ExecutionError:
    return ExecutionError(f"{method}: input {index}: {why}; expected an array of {dtype_label(code)}{advice}")


def _from_object(value: Any, method: str, index: int, code: int) -> np.ndarray[Any, Any]:
    """An array of whatever dtype from anything array-like: ``__array__``, buffers, DLPack, lists, numbers."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.getmaskarray(value).any():
            raise _refuse(method, index, code, "a masked array with masked elements has no values there")
        return np.asarray(value.data)
    if value is None or isinstance(value, (str, bytes, dict, set)):
        raise _refuse(method, index, code, f"got {type(value).__name__}")
    # A tensor that tracks gradients or lies on another device explains itself better than numpy does.
    detach = getattr(value, "detach", None)
    if callable(detach) and getattr(value, "requires_grad", False):
        value = detach()
    has_array_form = hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    if not has_array_form and hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise _refuse(
                method, index, code, f"got {type(value).__name__} that DLPack cannot pass on: {error}"
            ) from error
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError, UserWarning) as error:  # numpy before 1.24 warns of ragged lists
        if hasattr(value, "__dlpack__"):
            bits = _bits_of_tensor(value, code)
            if bits is not None:
                return bits
        raise _refuse(method, index, code, f"got {type(value).__name__} that numpy cannot read: {error}") from error


def _bits_of_tensor(value: Any, code: int) -> np.ndarray[Any, Any] | None:
    """The raw bits of a CPU tensor of a dtype numpy does not have (a bfloat16 torch tensor), through its own view."""
    bits = bits_dtype(code)
    view = getattr(value, "view", None)
    if bits is None or not callable(view) or dtype_label(code) not in str(getattr(value, "dtype", "")):
        return None
    module = type(value).__module__.split(".")[0]
    try:
        import sys

        return np.asarray(view(getattr(sys.modules[module], bits.name.replace("uint", "int")))).view(bits)
    except (AttributeError, KeyError, TypeError, RuntimeError):
        return None


def to_array(value: Any, code: int, method: str, index: int) -> np.ndarray[Any, Any]:
    """The value as a native-endian array of the dtype with that ScalarType code.

    Arrays must have the dtype already (any byte order); Python numbers and lists of them, and object arrays, convert
    where every element survives exactly (float rounding aside).

    Raises:
        ExecutionError: the value is no array of that dtype and does not convert.
    """
    expected = numpy_dtype(code)
    bits = bits_dtype(code)
    is_plain = isinstance(value, (bool, int, float, complex, list, tuple))
    array = (
        value
        if isinstance(value, np.ndarray) and type(value) is np.ndarray
        else _from_object(value, method, index, code)
    )
    if bits is not None and array.dtype.type is np.void and array.dtype == np.dtype(f"V{bits.itemsize}"):
        array = array.view(bits)  # as numpy saves and loads what only ml_dtypes knows
    if array.dtype.newbyteorder("=") == expected or (bits is not None and array.dtype.newbyteorder("=") == bits):
        array = array.view(bits) if bits is not None and array.dtype != bits and array.dtype.isnative else array
        wanted = bits if bits is not None else expected
        return np.require(array, wanted, "A") if array.dtype != wanted or not array.flags.aligned else array
    if not is_plain and array.dtype != object:
        name = f"ml_dtypes.{dtype_label(code)}" if bits is not None else repr(expected.name)
        convertible = array.dtype.kind in "biufc" or array.dtype.type.__module__.startswith("ml_dtypes")
        advice = f"; convert it with .astype({name})" if convertible else ""
        raise _refuse(method, index, code, f"got an array of {array.dtype} {list(array.shape)}", advice)
    if array.dtype == object and not is_plain and not isinstance(value, np.ndarray) and array.ndim == 0:
        raise _refuse(method, index, code, f"got {type(value).__name__}")
    return _convert_exactly(array, expected, method, index, code)


def _bfloat16_bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bits of float32 values rounded to bfloat16, half to even."""
    bits = values.view(np.uint32)
    rounded: np.ndarray[Any, Any] = ((bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16).astype(np.uint16)
    rounded[np.isnan(values)] = 0x7FC0
    return rounded


def _to_dtype(array: np.ndarray[Any, Any], expected: np.dtype[Any], code: int) -> np.ndarray[Any, Any]:
    bits = bits_dtype(code)
    if bits is None or expected != bits:
        return array.astype(expected)
    if dtype_label(code) != "bfloat16":
        raise TypeError("numbers need the package ml_dtypes, without it pass raw bits")
    return _bfloat16_bits(array.astype(np.float32))


def _convert_exactly(
    array: np.ndarray[Any, Any], expected: np.dtype[Any], method: str, index: int, code: int
) -> np.ndarray[Any, Any]:
    """Python numbers as elements of ``expected``; refuses what would change them (floats may round)."""
    to_float = expected.kind == "f" or bits_dtype(code) is not None
    try:
        if array.dtype == object:
            array = np.array(array.tolist())
            if to_float and all(type(item) in (bool, int, float) for item in array.ravel()):  # integers beyond 64 bits
                array = array.astype(np.float64)
        if array.dtype.kind not in "biufc" and not array.dtype.type.__module__.startswith("ml_dtypes"):
            raise TypeError("its elements are no numbers, or too large")
        if array.dtype.kind == "c" and expected.kind != "c":
            raise TypeError("its elements are complex")
        with np.errstate(all="ignore"):
            result = _to_dtype(array, expected, code)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refuse(method, index, code, f"the values do not convert: {error}") from error
    if (array.dtype.kind == "b") < (expected.kind == "b") and array.size:
        raise _refuse(method, index, code, f"got numbers ({array.dtype})")
    changed = _changed(array, result, to_float, code)
    if changed.any():
        at = np.unravel_index(int(np.argmax(changed)), changed.shape)
        where = f" at {[int(i) for i in at]}" if at else ""
        raise _refuse(method, index, code, f"{array[at]}{where} would change")
    bits = bits_dtype(code)
    return result.view(bits) if bits is not None and result.dtype != bits else result


def _changed(array: np.ndarray[Any, Any], result: np.ndarray[Any, Any], to_float: bool, code: int) -> Any:
    """Where the result stands for other numbers; floats may round, but not become infinite."""
    with np.errstate(all="ignore"):
        if to_float:
            if array.dtype.kind not in "fiub":
                return np.ones(array.shape, np.bool_)
            wide = array.astype(np.float64)
            if bits_dtype(code) == result.dtype:  # bfloat16 as bits
                result = (result.astype(np.uint32) << 16).view(np.float32)
            return np.isinf(result.astype(np.float64)) & np.isfinite(wide)
        changed = np.asarray(result.astype(array.dtype) != array)
        # Integers of as many bits come back the same although their sign is lost.
        return changed | ((result < 0) != (array < 0)) if array.dtype.kind in "iu" else changed


def to_number(value: Any) -> bool | int | float | None:
    """A Python number from a number, a numpy scalar or a one-element array; None where it is none."""
    if isinstance(value, (bool, int, float)):
        return value
    try:
        array = np.asarray(value)
        if array.size == 1 and array.dtype.kind in "biuf":
            number = array.reshape(()).item()
            assert isinstance(number, (bool, int, float))
            return number
    except (TypeError, ValueError):
        pass
    return None
