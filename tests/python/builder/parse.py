"""Reads flatbuffers back into the objects of tables.py, by a description of the schema's fields."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flatbuffers import encode, packer
from flatbuffers.table import Table as RawTable

from .tables import Blob, Numbers, Scalar, Table, Tables, Text
from .xnnpack import NODES

_FORMATS = {
    "bool": "<?", "u8": "<B", "i8": "<b", "u16": "<H", "i16": "<h", "u32": "<I", "i32": "<i", "u64": "<Q", "i64": "<q",
    "f32": "<f", "f64": "<d",
}  # fmt: skip

# Table -> {field id: kind}. A kind is a number, "text", "blob" (a vector of bytes), "[number]", a table, "[table]", or
# "union NAME": the table that UNIONS[NAME] has for the code in the field before it.
Schema = Mapping[str, Mapping[int, str]]

PROGRAM: Schema = {
    "Program": {
        0: "u32", 1: "[Plan]", 2: "[Buffer]", 3: "[Buffer]", 4: "[Segment]", 5: "Offsets", 6: "[Offsets]", 7: "[Named]",
    },
    "Plan": {
        0: "text", 1: "Container", 2: "[Value]", 3: "[i32]", 4: "[i32]", 5: "[Chain]", 6: "[Operator]", 7: "[Delegate]",
        8: "[i64]",
    },
    "Container": {0: "text", 1: "text"},
    "Value": {0: "u8", 1: "union value"},
    "Null": {},
    "Int": {0: "i64"},
    "Bool": {0: "bool"},
    "Double": {0: "f64"},
    "Tensor": {
        0: "i8", 1: "i32", 2: "[i32]", 3: "[u8]", 4: "bool", 5: "u32", 6: "Allocation", 7: "i8", 8: "i8", 9: "Extra",
    },
    "Allocation": {0: "u32", 1: "u32", 2: "u32"},
    "Extra": {0: "u64", 1: "text", 2: "i8", 3: "i8", 4: "i8"},
    "String": {0: "text"},
    "Ints": {0: "[i64]"},
    "Doubles": {0: "[f64]"},
    "Bools": {0: "[bool]"},
    "Indices": {0: "[i32]"},
    "Chain": {0: "[i32]", 1: "[i32]", 2: "[Instruction]"},
    "Instruction": {0: "u8", 1: "union instruction"},
    "Call": {0: "i32", 1: "[i32]"},
    "Pair": {0: "i32", 1: "i32"},
    "Operator": {0: "text", 1: "text"},
    "Delegate": {0: "text", 1: "Reference", 2: "[Spec]"},
    "Reference": {0: "i8", 1: "u32"},
    "Spec": {0: "text", 1: "blob"},
    "Buffer": {0: "blob"},
    "Segment": {0: "u64", 1: "u64"},
    "Offsets": {0: "u32", 1: "[u64]"},
    "Named": {0: "text", 1: "u32"},
}  # fmt: skip

_NODE_KINDS = {"id": "u32", "u32": "u32", "f32": "f32", "list": "[u32]"}

GRAPH: Schema = {
    "Graph": {0: "text", 1: "[Node]", 2: "[Value]", 3: "u32", 4: "[u32]", 5: "[u32]", 6: "[Buffer]", 8: "[Constant]"},
    "Node": {0: "u8", 1: "union node", 2: "u32", 3: "Clamp"},
    "Clamp": {0: "f32", 1: "f32"},
    "Value": {0: "u8", 1: "union value"},
    "Tensor": {0: "i16", 1: "u32", 2: "[u32]", 3: "u32", 4: "u32", 5: "u32", 6: "u32", 7: "i16"},
    "Quantised": {0: "Tensor", 1: "u8", 2: "union params"},
    "PerChannel": {0: "[f32]", 1: "i32", 2: "u32", 3: "u32"},
    "PerTensor": {0: "f32", 1: "i32"},
    "PerToken": {0: "i32"},
    "PerBlock": {0: "[f32]", 1: "i32", 2: "i32", 3: "[u16]", 4: "u32", 5: "u32"},
    "Buffer": {0: "blob"},
    "Constant": {0: "u64", 1: "u64", 2: "text"},
} | {
    f"Node{code}": {slot: _NODE_KINDS[item.partition(":")[2]] for slot, item in enumerate(layout.split())}
    for code, layout in NODES.values()
}

# By schema and field: the table for code 1, 2, ...
UNIONS: Mapping[str, Sequence[str]] = {
    "program value": (
        "Null", "Int", "Bool", "Double", "Tensor", "String", "Ints", "Doubles", "Bools", "Indices", "Indices",
    ),
    "program instruction": ("Call", "Call", "Pair", "Pair", "Pair"),
    "graph value": ("Tensor", "Quantised"),
    "graph params": ("PerChannel", "PerTensor", "PerToken", "PerBlock"),
    "graph node": [f"Node{code}" for code in range(1, len(NODES) + 1)],
}  # fmt: skip


class _Reader:
    def __init__(self, data: bytes, schema: Schema, name: str) -> None:
        self.data = bytearray(data)
        self.schema = schema
        self.name = name

    def table(self, kind: str, position: int) -> Table:
        raw = RawTable(self.data, position)
        fields: dict[int, Any] = {}
        for slot, field_kind in self.schema[kind].items():
            offset = raw.Offset(4 + 2 * slot)
            if offset:
                fields[slot] = self.field(raw, offset, field_kind, fields.get(slot - 1))
        return Table(fields)

    def field(self, raw: RawTable, offset: int, kind: str, previous: Any) -> Any:
        place = raw.Pos + offset
        if kind in _FORMATS:
            return Scalar(kind, struct.unpack_from(_FORMATS[kind], self.data, place)[0])
        if kind == "text":
            return Text(raw.String(place))
        if kind.startswith("union "):
            table_kind = UNIONS[f"{self.name} {kind[6:]}"][previous.value - 1]
            return self.table(table_kind, raw.Indirect(place))
        if kind == "blob":
            start = raw.Vector(offset)
            return Blob(bytes(self.data[start : start + raw.VectorLen(offset)]), 16)
        if kind.startswith("["):
            return self.vector(kind[1:-1], raw.Vector(offset), raw.VectorLen(offset))
        return self.table(kind, raw.Indirect(place))

    def vector(self, kind: str, start: int, count: int) -> Numbers | Tables:
        if kind in _FORMATS:
            dtype = np.dtype(_FORMATS[kind])
            return Numbers(kind, np.frombuffer(self.data, dtype, count, start).tolist())
        places = [start + 4 * i for i in range(count)]
        return Tables([self.table(kind, place + encode.Get(packer.uoffset, self.data, place)) for place in places])


def parse_program(flatbuffer: bytes) -> Table:
    return _Reader(flatbuffer, PROGRAM, "program").table("Program", encode.Get(packer.uoffset, flatbuffer, 0))


def parse_graph(flatbuffer: bytes) -> Table:
    return _Reader(flatbuffer, GRAPH, "graph").table("Graph", encode.Get(packer.uoffset, flatbuffer, 0))
