"""The outer layer of a .pte: extended header, flatbuffer, segments."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from .tables import Numbers, Scalar, Table, align, finish


class Segments:
    """Data behind the flatbuffer, in the order it is added."""

    def __init__(self, alignment: int = 128) -> None:
        self.alignment = alignment
        self.data = bytearray()
        self.ranges: list[tuple[int, int]] = []  # offset, size

    def add(self, data: bytes) -> int:
        self.data += bytes(align(len(self.data), self.alignment) - len(self.data))
        self.ranges.append((len(self.data), len(data)))
        self.data += data
        return len(self.ranges) - 1

    def add_packed(self, items: Sequence[bytes], alignment: int) -> Table:
        """One segment of several items, each at a multiple of `alignment`, and the table of their offsets."""
        packed = bytearray()
        offsets = []
        for item in items:
            packed += bytes(align(len(packed), alignment) - len(packed))
            offsets.append(len(packed))
            packed += item
        index = self.add(bytes(packed))
        return Table({0: Scalar("u32", index), 1: Numbers("u64", offsets)})

    def tables(self) -> list[Table]:
        return [Table({0: Scalar("u64", offset), 1: Scalar("u64", size)}) for offset, size in self.ranges]


def assemble(program: Table, segments: Segments, header: int | None) -> bytes:
    """The file: the header goes between the flatbuffer's identifier and its tables, which moves the root."""
    flatbuffer = finish(program, b"ET12")
    if header is None:
        if segments.data:
            raise ValueError("segments need a header that says where they start")
        return flatbuffer
    return insert_header(flatbuffer, bytes(segments.data), header, segments.alignment)


def insert_header(flatbuffer: bytes, segments: bytes, header: int, segment_alignment: int = 128) -> bytes:
    size = align(header, 32)  # keeps the alignment of everything behind it
    program_size = len(flatbuffer) + size
    base = align(program_size, segment_alignment) if segments else 0
    fields = struct.pack("<4sIQQ", b"eh00", header, program_size, base)
    if header >= 32:
        fields += struct.pack("<Q", len(segments))
    root = struct.unpack_from("<I", flatbuffer)[0] + size
    start = struct.pack("<I", root) + flatbuffer[4:8] + fields.ljust(size, b"\0")
    return (start + flatbuffer[8:]).ljust(base, b"\0") + segments
