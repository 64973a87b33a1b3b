"""Flatbuffer tables as plain objects, written with the official ``flatbuffers`` package.

A table is a mapping from field id to value; field ids are those of the schema, so a union field takes two of them (its
type code, then its table). An object that appears twice is written once and shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
from flatbuffers import number_types as nt

_FLAGS = {
    "bool": nt.BoolFlags,
    "u8": nt.Uint8Flags,
    "i8": nt.Int8Flags,
    "u16": nt.Uint16Flags,
    "i16": nt.Int16Flags,
    "u32": nt.Uint32Flags,
    "i32": nt.Int32Flags,
    "u64": nt.Uint64Flags,
    "i64": nt.Int64Flags,
    "f32": nt.Float32Flags,
    "f64": nt.Float64Flags,
}


@dataclass(eq=False)
class Scalar:
    """A number stored in the table itself. Written even where it equals the schema's default."""

    kind: str
    value: Any


@dataclass(eq=False)
class Numbers:
    """A vector of numbers."""

    kind: str
    items: Iterable[Any]


@dataclass(eq=False)
class Blob:
    """A vector of bytes with an alignment."""

    data: bytes
    alignment: int = 1


@dataclass(eq=False)
class Text:
    """A string; bytes are taken as they are, so that they may be invalid UTF-8."""

    text: str | bytes


@dataclass(eq=False)
class Table:
    """Field id -> value; None leaves a field out."""

    fields: Mapping[int, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Tables:
    """A vector of tables."""

    items: Iterable[Table]


class _Writer:
    def __init__(self) -> None:
        self.builder = flatbuffers.Builder(1024)
        self.written: dict[int, tuple[Any, int]] = {}  # by id; the node is kept, or its id might be used again

    def offset(self, node: Any) -> int:
        if id(node) not in self.written:
            self.written[id(node)] = (node, self._write(node))
        return self.written[id(node)][1]

    def _write(self, node: Any) -> int:
        b = self.builder
        if isinstance(node, Text):
            return b.CreateString(node.text)
        if isinstance(node, Blob):
            b.StartVector(1, len(node.data), max(node.alignment, 1))
            start = b.Head() - len(node.data)
            b.head = start
            b.Bytes[start : start + len(node.data)] = node.data
            return b.EndVector()
        if isinstance(node, Numbers):
            items = list(node.items)
            flags = _FLAGS[node.kind]
            b.StartVector(flags.bytewidth, len(items), flags.bytewidth)
            for item in reversed(items):
                b.Prepend(flags, item)
            return b.EndVector()
        if isinstance(node, Tables):
            offsets = [self.offset(item) for item in node.items]
            b.StartVector(4, len(offsets), 4)
            for offset in reversed(offsets):
                b.PrependUOffsetTRelative(offset)
            return b.EndVector()
        if isinstance(node, Table):
            return self._write_table(node)
        raise TypeError(f"not something a flatbuffer holds: {node!r}")

    def _write_table(self, table: Table) -> int:
        b = self.builder
        fields = {slot: value for slot, value in table.fields.items() if value is not None}
        offsets = {slot: self.offset(value) for slot, value in fields.items() if not isinstance(value, Scalar)}
        b.StartObject(max(fields, default=-1) + 1)
        for slot, value in fields.items():
            if isinstance(value, Scalar):
                flags = _FLAGS[value.kind]
                b.Prepend(flags, flags.py_type(value.value))
            else:
                b.PrependUOffsetTRelative(offsets[slot])
            b.Slot(slot)
        return b.EndObject()


def finish(root: Table, identifier: bytes) -> bytes:
    """The flatbuffer with this root table and the four bytes of its file identifier."""
    writer = _Writer()
    writer.builder.Finish(writer.offset(root), file_identifier=identifier)
    return bytes(writer.builder.Output())


def align(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
