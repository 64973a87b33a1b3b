"""Notes what the tests run: operators with their dtypes, payload nodes with theirs, exporters, forms of files.

Only with ``pytest --record FILE``; tools/document_coverage.py makes pages of docs/ from it. What counts is a method
that was called and gave outputs.
"""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import executorch_numpy_runtime as en
from builder import NODES, SCALAR_TYPES
from builder.parse import parse_graph, parse_program
from builder.tables import Table
from builder.xnnpack import DATA_TYPES

DTYPE_NAMES = {code: name for name, code in SCALAR_TYPES.items()}
NODE_NAMES = {code: name for name, (code, _) in NODES.items()}
DATA_TYPE_NAMES = {code: name for name, code in DATA_TYPES.items()}
TELLING_ARGUMENT = {"aten::where.self_out": 1}  # whose dtype is the operator's; the first tensor elsewhere


class Recorder:
    def __init__(self) -> None:
        self.operators: dict[str, set[str]] = defaultdict(set)
        self.nodes: dict[str, set[str]] = defaultdict(set)
        self.exporters: dict[str, set[str]] = defaultdict(set)
        self.forms: set[str] = set()
        self._sources: WeakKeyDictionary[en.Program, bytes | Path] = WeakKeyDictionary()
        self._methods: WeakKeyDictionary[en.Method, tuple[bytes | Path, str]] = WeakKeyDictionary()

    def install(self, monkeypatch: Any) -> None:
        load_program, load_method, clone = en.Runtime.load_program, en.Program.load_method, en.Program.clone_method
        call = en.Method.__call__

        def loading(runtime: en.Runtime, source: Any, **options: Any) -> en.Program:
            program = load_program(runtime, source, **options)
            if isinstance(source, (bytes, str, Path)):
                self._sources[program] = source if isinstance(source, bytes) else Path(source)
            return program

        def noting(load: Any) -> Any:
            def load_noted(program: en.Program, name: str) -> en.Method:
                method = load(program, name)
                if program in self._sources:
                    self._methods.setdefault(method, (self._sources[program], name))
                return method

            return load_noted

        def calling(method: en.Method, inputs: Any) -> list[Any]:
            outputs = call(method, inputs)
            if method in self._methods:
                self.note(*self._methods.pop(method))
            return outputs

        monkeypatch.setattr(en.Runtime, "load_program", loading)
        monkeypatch.setattr(en.Program, "load_method", noting(load_method))
        monkeypatch.setattr(en.Program, "clone_method", noting(clone))
        monkeypatch.setattr(en.Method, "__call__", calling)

    def note(self, source: bytes | Path, method: str) -> None:
        data = source if isinstance(source, bytes) else source.read_bytes()
        if data[4:8] != b"ET12":
            return  # bundled: what is in it came from elsewhere
        file = _File(data)
        self.forms.add(file.form())
        if isinstance(source, Path):
            self._note_exporter(source)
        for plan in _items(file.root, 1):
            if plan.fields[0].text.decode() == method:
                self._note_operators(plan)
                for delegate in _items(plan, 7):
                    self._note_payload(file, delegate)

    def _note_exporter(self, path: Path) -> None:
        description = path.with_suffix(".json")
        if description.exists():
            words = json.loads(description.read_text()).get("exporter", "").split()
            if words[:1] == ["executorch"]:
                self.exporters[words[1]].add(path.stem)

    def _note_operators(self, plan: Table) -> None:
        names = []
        for table in _items(plan, 6):
            overload = table.fields[1].text.decode() if 1 in table.fields else ""
            names.append(table.fields[0].text.decode() + (f".{overload}" if overload else ""))
        values = _items(plan, 2)
        for chain in _items(plan, 5):
            for instruction in _items(chain, 2):
                if _number(instruction, 0) != 1:
                    continue
                call = instruction.fields[1]
                name = names[_number(call, 0)]
                dtypes = [dtype for index in call.fields[1].items for dtype in _tensor_dtypes(values, index)]
                at = min(TELLING_ARGUMENT.get(name, 0), len(dtypes) - 1)
                self.operators[name] |= set(dtypes[at : at + 1])

    def _note_payload(self, file: _File, delegate: Table) -> None:
        if delegate.fields[0].text != b"XnnpackBackend":
            return
        payload = file.payload(delegate)
        place = "constants in the graph"
        if payload[4:8] == b"XH00":
            start, size = struct.unpack_from("<II", payload, 10)
            payload = payload[start : start + size]
            place = "constants behind the graph"
        graph = parse_graph(payload)
        if any(2 in table.fields for table in _items(graph, 8)):
            place = "constants by name"
        self.forms.add(f"payload {payload[4:8].decode()}, {place}")
        dtypes = {}
        for value in _items(graph, 2):
            tensor = value.fields[1] if _number(value, 0) == 1 else value.fields[1].fields[0]
            dtypes[_number(tensor, 6)] = DATA_TYPE_NAMES[_number(tensor, 0)]
        for node in _items(graph, 1):
            name = NODE_NAMES[_number(node, 0)]
            fields = node.fields[1].fields
            at = {item.partition(":")[0]: slot for slot, item in enumerate(NODES[name][1].split())}
            ids = {key: fields[slot].value if slot in fields else 0 for key, slot in at.items() if key != "perm"
                   and NODES[name][1].split()[slot].endswith(":id")}  # fmt: skip
            first = next(dtypes.get(ids[key], "?") for key in ("input", "input1", "query") if key in ids)
            out = next(dtypes.get(ids[key], "?") for key in ("output", "output_value") if key in ids)
            entry = first if first == out else f"{first} to {out}"
            if "filter" in ids:
                entry += f" by {dtypes.get(ids['filter'], '?')}"
            self.nodes[name].add(entry)

    def write(self, path: Path) -> None:
        sets = {name: {key: sorted(items) for key, items in sorted(getattr(self, name).items())}
                for name in ("operators", "nodes", "exporters")}  # fmt: skip
        path.write_text(json.dumps(sets | {"forms": sorted(self.forms)}, indent=1) + "\n")


class _File:
    """A program's tables and segments."""

    def __init__(self, data: bytes) -> None:
        self.header = None
        size, base = len(data), 0
        if data[8:12] == b"eh00":
            self.header, size, base = struct.unpack_from("<IQQ", data, 12)
        self.root = parse_program(data[:size])
        self.segments = []
        for segment in _items(self.root, 4):
            start = base + _number(segment, 0)
            self.segments.append(data[start : start + _number(segment, 1)])

    def form(self) -> str:
        header = "no header" if self.header is None else f"header of {self.header} bytes"
        inline = any(0 in table.fields and table.fields[0].data for table in _items(self.root, 2))
        return f"{header}, {'constants inside' if inline else 'constants in a segment'}"

    def payload(self, delegate: Table) -> bytes:
        reference = delegate.fields[1]
        if _number(reference, 0) == 1:
            return self.segments[_number(reference, 1)]
        return bytes(_items(self.root, 3)[_number(reference, 1)].fields[0].data)


def _tensor_dtypes(values: list[Table], index: int) -> list[str]:
    code = _number(values[index], 0)
    content = values[index].fields.get(1)
    if code == 5:
        return [DTYPE_NAMES.get(_number(content, 0), "?")]
    if code in (10, 11):
        items = content.fields[0].items if 0 in content.fields else []
        return [dtype for item in items if item >= 0 for dtype in _tensor_dtypes(values, item)]
    return []


def _items(table: Table, slot: int) -> list[Table]:
    return list(table.fields[slot].items) if slot in table.fields else []


def _number(table: Table, slot: int) -> int:
    return int(table.fields[slot].value) if slot in table.fields else 0
