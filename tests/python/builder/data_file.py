"""Writes .ptd data files and .bpte bundled programs."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .container import Segments
from .dtypes import scalar_type
from .tables import Blob, Numbers, Scalar, Table, Tables, Text, align, finish


def data_file(entries: Mapping[str, Any], *, version: int = 0, layout_of_0_6: bool = False) -> bytes:
    """A .ptd with arrays (which get dtype, sizes and dim order) or bytes (which do not) by name.

    A tuple (array, dtype, sizes, dim_order) says what numpy cannot.
    """
    segments = Segments()
    named = []
    for key, item in entries.items():
        layout = None
        if not isinstance(item, bytes):
            array, dtype, sizes, order = item if isinstance(item, tuple) else (item, None, None, None)
            data = array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes()
            sizes = np.shape(array) if sizes is None else sizes
            layout = Table(
                {
                    0: Scalar("i8", scalar_type(np.asarray(array).dtype if dtype is None else dtype)),
                    1: Numbers("i32", sizes),
                    2: Numbers("u8", range(len(sizes)) if order is None else order),
                }
            )
        else:
            data = item
        named.append(Table({0: Text(key), 1: Scalar("u32", segments.add(data)), 2: layout}))
    if layout_of_0_6:
        root = Table({0: Scalar("u32", 0), 1: Scalar("u32", 16), 2: Tables([]), 3: Tables(segments.tables())})
    else:
        root = Table({0: Scalar("u32", version), 1: Tables(segments.tables()), 2: Tables(named)})
    flatbuffer = finish(root, b"FT01")
    size = 64
    end = len(flatbuffer) + size
    base = align(end, segments.alignment)
    header = struct.pack("<4sIQQQQ", b"FH01", 40, 0, end, base, len(segments.data)).ljust(size, b"\0")
    start = struct.pack("<I", struct.unpack_from("<I", flatbuffer)[0] + size) + flatbuffer[4:8] + header
    return (start + flatbuffer[8:]).ljust(base, b"\0") + bytes(segments.data)


def _bundled_value(item: Any) -> Table:
    if item is None:
        return Table({})
    if isinstance(item, bool):
        return Table({0: Scalar("u8", 3), 1: Table({0: Scalar("bool", item)})})
    if isinstance(item, int):
        return Table({0: Scalar("u8", 2), 1: Table({0: Scalar("i64", item)})})
    if isinstance(item, float):
        return Table({0: Scalar("u8", 4), 1: Table({0: Scalar("f64", item)})})
    array = np.asarray(item)
    tensor = {
        0: Scalar("i8", scalar_type(array.dtype)),
        1: Numbers("i32", array.shape),
        2: Blob(np.ascontiguousarray(array).tobytes(), 16),
        3: Numbers("u8", range(array.ndim)),
    }
    return Table({0: Scalar("u8", 1), 1: Table(tensor)})


def bundled_program(program: bytes, cases: Mapping[str, Sequence[tuple[Sequence[Any], Sequence[Any]]]]) -> bytes:
    """A .bpte: for each method, pairs of inputs and expected outputs (arrays, bools, ints, floats or None)."""
    suites = []
    for name, tests in cases.items():
        tables = [
            Table({0: Tables([_bundled_value(x) for x in inputs]), 1: Tables([_bundled_value(y) for y in outputs])})
            for inputs, outputs in tests
        ]
        suites.append(Table({0: Text(name), 1: Tables(tables)}))
    return finish(Table({0: Scalar("u32", 2), 1: Tables(suites), 2: Blob(program, 32)}), b"BP08")
