"""Calls of sample_calls.py with one argument changed: what a wrong program might say.

Many changes are refused by eager, others are harmless: eager_changes.jsonl has which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from builder import OptionalTensors

from .sample_arguments import Array, D

Change = tuple[str, Any]  # what is done, and the argument it makes

INTS = (-100, -5, -1, 0, 1, 2, 5, 100)
FLOATS = (-1.0, 0.0, 1e30, float("nan"), float("inf"))
OTHER_DTYPES = ("bool", "uint16", "int32", "int64", "float64", "complex64")


def _sizes_of(array: Array) -> Iterator[tuple[int, ...]]:
    shape = array.shape
    yield (1, *shape)
    yield (*shape, 1)
    yield (2, *shape)
    if shape:
        yield shape[1:]
        yield ()
    for d, size in enumerate(shape):
        for other in sorted({0, 1, size + 1} - {size}):
            yield (*shape[:d], other, *shape[d + 1 :])


def _resized(array: Array, shape: tuple[int, ...]) -> Array:
    if array.values is None:
        return replace(array, shape=shape)
    count = int(np.prod(shape))
    return replace(array, shape=shape, values=tuple(np.resize(array.values, count).tolist()) if count else ())


def _arrays(array: Array) -> Iterator[Change]:
    for shape in dict.fromkeys(_sizes_of(array)):
        yield f"shape {list(shape)}", _resized(array, shape)
    for dtype in OTHER_DTYPES:
        if dtype != array.dtype:
            yield dtype, replace(array, dtype=dtype)
    if array.dtype in ("int32", "int64") and array.values:
        for index in (-1000, -1, 1000):
            yield f"number {index}", replace(array, values=(*array.values[:-1], index))


def _ints(items: list[int]) -> Iterator[Change]:
    yield "empty", []
    yield "one more", [*items, items[-1] if items else 1]
    if items:
        yield "one less", items[:-1]
        yield "one only", items[:1]
    for i in range(len(items)):
        for value in (-5, -1, 0, 1, 7):
            if value != items[i]:
                yield f"item {i} {value}", [*items[:i], value, *items[i + 1 :]]


def changes(arg: Any) -> Iterator[Change]:
    """Other values for this argument, each with a name."""
    if isinstance(arg, Array):
        yield from _arrays(arg)
    elif isinstance(arg, OptionalTensors) or (isinstance(arg, list) and any(isinstance(i, Array) for i in arg)):
        items = list(arg.items) if isinstance(arg, OptionalTensors) else arg
        rebuilt = OptionalTensors if isinstance(arg, OptionalTensors) else list
        yield "empty", rebuilt([])
        yield "one more", rebuilt([*items, items[-1]])
        for i, item in enumerate(items):
            if isinstance(item, Array):
                for name, changed in _arrays(item):
                    yield f"item {i} {name}", rebuilt([*items[:i], changed, *items[i + 1 :]])
    elif isinstance(arg, list):
        if all(isinstance(item, int) and not isinstance(item, bool) for item in arg):
            yield from _ints(arg)
    elif isinstance(arg, bool):
        yield str(not arg), not arg
    elif isinstance(arg, int):
        for value in INTS:
            if value != arg:
                yield str(value), value
    elif isinstance(arg, float):
        for value in FLOATS:
            yield str(value), value
    elif isinstance(arg, str):
        yield "unknown", "bogus"
        for value in OTHER_DTYPES:
            if value != arg and arg in ("float32", "uint8"):
                yield value, value
    elif arg is D:
        for value in OTHER_DTYPES:
            yield value, value


def changed_calls(call: tuple[Any, ...]) -> dict[str, tuple[Any, ...]]:
    """The call with each of its arguments changed in each way, by names such as "argument 1: -5"."""
    return {
        f"argument {position}: {name}": (*call[:position], changed, *call[position + 1 :])
        for position, arg in enumerate(call)
        for name, changed in changes(arg)
    }
