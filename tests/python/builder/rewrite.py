"""Rewrites programs of today's exporters into the forms that older ones wrote.

==================== =================================================================================================
form                 what it is
==================== =================================================================================================
``header_24``        the shorter extended header of ExecuTorch 0.4 to 0.7, nothing else
``payload_data``     0.4 and 0.5: that header, delegates' constants behind their graphs, scales in the graphs
``inline_data``      up to 0.3: constants and payloads inside of the program's flatbuffer
``inline_graphs``    0.1: as ``inline_data``, and delegates' constants inside of their graphs, which have no header
==================== =================================================================================================
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from .container import Segments, assemble
from .parse import parse_graph, parse_program
from .tables import Blob, Numbers, Scalar, Table, Tables, align, finish

FORMS = ("header_24", "payload_data", "inline_data", "inline_graphs")


class _Source:
    """A program taken apart: its tables, and its data by segment."""

    def __init__(self, data: bytes) -> None:
        self.program_size, base = len(data), 0
        if data[8:12] == b"eh00":
            self.program_size, base = struct.unpack_from("<QQ", data, 16)
        self.root = parse_program(data[: self.program_size])
        self.segments = []
        for segment in _items(self.root, 4):
            start = base + _number(segment, 0)
            self.segments.append(data[start : start + _number(segment, 1)])
        self.named = {entry.fields[0].text: self.segments[_number(entry, 1)] for entry in _items(self.root, 7)}

    def constants(self) -> list[bytes]:
        """Each constant up to where the next one starts."""
        if 5 not in self.root.fields:
            return [table.fields[0].data if 0 in table.fields else b"" for table in _items(self.root, 2)]
        return self._subsegments(self.root.fields[5])

    def states(self) -> list[bytes]:
        """Initial states, likewise; the first item stands for none."""
        tables = _items(self.root, 6)
        return self._subsegments(tables[0]) if tables else [b""]

    def _subsegments(self, table: Table) -> list[bytes]:
        offsets = list(table.fields[1].items) if 1 in table.fields else []
        segment = self.segments[_number(table, 0)] if offsets else b""
        ends = [min([other for other in offsets if other > offset], default=len(segment)) for offset in offsets]
        return [b""] + [segment[start:end] for start, end in zip(offsets[1:], ends[1:], strict=True)]

    def payload(self, delegate: Table) -> bytes:
        reference = delegate.fields[1]
        if _number(reference, 0) == 1:
            return self.segments[_number(reference, 1)]
        return bytes(_items(self.root, 3)[_number(reference, 1)].fields[0].data)


def rewrite(program: bytes, form: str) -> bytes:
    """The program in one of FORMS; results have to be those of the original, to the bit."""
    source = _Source(program)
    inline = form in ("inline_data", "inline_graphs")

    def change(payload: bytes) -> bytes:
        return payload if form == "header_24" else _rewrite_payload(payload, source.named, form == "inline_graphs")

    segments = Segments()
    fields = dict(source.root.fields)
    for slot in (2, 3, 4, 5, 6, 7):
        fields.pop(slot, None)
    if inline:
        fields[2] = Tables([Table({0: Blob(data, 16)}) for data in source.constants()])
    else:
        fields[5] = segments.add_packed(source.constants(), 16)
    if len(source.states()) > 1:
        fields[6] = Tables([segments.add_packed(source.states(), 1)])
    _move_payloads(source, fields, segments if not inline else None, change)
    if form == "header_24":
        named = [(entry.fields[0], source.named[entry.fields[0].text]) for entry in _items(source.root, 7)]
        fields[7] = Tables([Table({0: key, 1: Scalar("u32", segments.add(data))}) for key, data in named])
    fields[4] = Tables(segments.tables())
    return assemble(Table(fields), segments, 24 if segments.data else None)


def _move_payloads(
    source: _Source, fields: dict[int, Any], segments: Segments | None, change: Callable[[bytes], bytes]
) -> None:
    inline: list[Table] = []
    for plan in _items(source.root, 1):
        for delegate in _items(plan, 7):
            is_xnnpack = delegate.fields[0].text == b"XnnpackBackend"
            payload = source.payload(delegate)
            payload = change(payload) if is_xnnpack else payload
            if segments is None:
                inline.append(Table({0: Blob(payload, 16)}))
                delegate.fields[1] = Table({0: Scalar("i8", 0), 1: Scalar("u32", len(inline) - 1)})
            else:
                delegate.fields[1] = Table({0: Scalar("i8", 1), 1: Scalar("u32", segments.add(payload))})
    fields[3] = Tables(inline)


def _rewrite_payload(payload: bytes, named: dict[bytes, bytes], inline: bool) -> bytes:
    graph, constants = _open_payload(payload, named)
    for value in _items(graph, 2):
        _put_scales_into_graph(value, constants)
    fields = dict(graph.fields)
    if inline:
        fields.pop(8, None)
        fields[6] = Tables([Table({0: Blob(data, 16)}) for data in constants])
        return finish(Table(fields), b"XN00")
    data = bytearray()
    tables = []
    for constant in constants:
        data += bytes(align(len(data), 16) - len(data))
        tables.append(Table({0: Scalar("u64", len(data)), 1: Scalar("u64", len(constant))}))
        data += constant
    fields[8] = Tables(tables)
    flatbuffer = finish(Table(fields), b"XN01")
    data_offset = align(32 + len(flatbuffer), 16)
    header = bytes(4) + b"XH00" + struct.pack("<HIIIQ", 30, 32, len(flatbuffer), data_offset, len(data))
    return (header.ljust(32, b"\0") + flatbuffer).ljust(data_offset, b"\0") + bytes(data)


def _open_payload(payload: bytes, named: dict[bytes, bytes]) -> tuple[Table, list[bytes]]:
    _, start, size, data_start, _ = struct.unpack_from("<HIIIQ", payload, 8)
    graph = parse_graph(payload[start : start + size])
    constants = [b""]  # entry 0 stands for "no constant"
    for table in _items(graph, 8)[1:]:
        if 2 in table.fields:
            constants.append(named[table.fields[2].text])
        else:
            offset = data_start + _number(table, 0)
            constants.append(payload[offset : offset + _number(table, 1)])
    return graph, constants


def _put_scales_into_graph(value: Table, constants: list[bytes]) -> None:
    if _number(value, 0) != 2:
        return
    quantised = value.fields[1]
    slot, dtype = {1: (2, "<f4"), 4: (4, "<u2")}.get(_number(quantised, 1), (None, None))
    if slot is None:
        return
    params = quantised.fields[2].fields
    index = params.pop(slot, Scalar("u32", 0)).value
    count = params.pop(slot + 1, Scalar("u32", 0)).value
    if index == 0:
        return
    stored = np.frombuffer(constants[index], dtype, count)
    if dtype == "<u2":  # bfloat16, which the old rounding maps to itself
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    params[0] = Numbers("f32", stored.tolist())
    constants[index] = b""


def _items(table: Table, slot: int) -> list[Table]:
    return list(table.fields[slot].items) if slot in table.fields else []


def _number(table: Table, slot: int) -> int:
    return int(table.fields[slot].value) if slot in table.fields else 0
