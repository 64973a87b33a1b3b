#!/usr/bin/env python3
"""Write the table of docs/operators.md, and docs/coverage.md, from what the tests run.

Runs the Python tests of the installed package (about a minute) and notes what ran; or takes such notes from a file:

    python tools/document_coverage.py
    python tools/document_coverage.py --notes FILE    as `pytest tests/python --record FILE` wrote them

tests/python/test_documents.py fails where a page lacks an operator, a payload node or an exporter.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import executorch_numpy_runtime as en

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = ROOT / "tests" / "fixtures" / "eager_answers.jsonl"
TABLE_HEADING = "## Operators and dtypes"
COLUMNS = {
    "bool": "b", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex64": "c64", "complex128": "c128",
}  # fmt: skip


def notes() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "notes.json")
        command = [sys.executable, "-m", "pytest", "-q", "tests/python", "--ignore", "tests/python/test_documents.py"]
        # The variable makes the tests draw the same examples in every run.
        subprocess.run([*command, "--record", path], cwd=ROOT, check=True, env=os.environ | {"CI": "1"})
        recorded: dict[str, Any] = json.loads(path.read_text())
        return recorded


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]


def operators_page(written: str, noted: dict[str, Any]) -> str:
    """The page as it is, with another table."""
    eager = dict(json.loads(line) for line in ANSWERS.read_text().splitlines())
    registered = sorted(en.runtime_info()["operators"])
    rows, holes = [], 0
    for name in registered:
        run = set(noted["operators"].get(name, []))
        missing = set(eager.get(name, {})) - run
        holes += len(missing)
        marks = ["●" if dtype in run else "○" if dtype in missing else "" for dtype in COLUMNS]
        rows.append([f"`{name}`", *marks])
    lines = [
        TABLE_HEADING,
        "",
        "Written by `tools/document_coverage.py` from the table of operators and from what the tests ran.",
        "",
        f"{len(registered)} operators.",
        "",
        "- ● The tests run the operator with this dtype of its first tensor (of its result, where it creates one),",
        "  mostly against PyTorch eager's answers.",
        *([f"- ○ Eager takes this dtype, this runtime does not: {holes} cases."] if holes else []),
        "- Empty: eager refuses it, or has no such operator. Rows without a mark work on plain numbers.",
        "",
        *table(["operator", *COLUMNS.values()], rows),
    ]
    return written.partition(TABLE_HEADING)[0].rstrip() + "\n\n" + "\n".join(lines) + "\n"


def version_key(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def coverage_page(noted: dict[str, Any]) -> str:
    exporters = [
        [version, str(len(noted["exporters"][version])), ", ".join(noted["exporters"][version])]
        for version in sorted(noted["exporters"], key=version_key)
    ]
    for row in exporters:
        names = row[2].split(", ")
        row[2] = ", ".join(f"`{name}`" for name in names) if len(names) < 30 else "all of `tests/fixtures`"
    forms = [name for name in noted["forms"] if not name.startswith("payload ")]
    payloads = [name.removeprefix("payload ") for name in noted["forms"] if name.startswith("payload ")]
    nodes = [[f"`{name}`", ", ".join(kinds)] for name, kinds in sorted(noted["nodes"].items())]
    lines = [
        "# Covered formats",
        "",
        "Written by `tools/document_coverage.py` from what the tests ran.",
        "",
        "## Exporters",
        "",
        "Versions of ExecuTorch that wrote programs of the tests, whose results are compared with PyTorch eager's.",
        "",
        *table(["version", "programs", "which"], exporters),
        "",
        "The tests also rewrite programs into the forms of older exporters (`tests/python/builder/rewrite.py`),",
        "which have to give the same results, to the bit. Forms among all programs that ran:",
        "",
        *[f"- program: {name}" for name in forms],
        *[f"- XNNPACK payload: {name}" for name in payloads],
        "",
        "## Nodes of XNNPACK payloads",
        "",
        "With the datatypes that ran: of the first input, `to` of the output if it differs, `by` of the filter.",
        "",
        *table(["node", "datatypes"], nodes),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, metavar="FILE")
    options = parser.parse_args()
    noted = json.loads(options.notes.read_text()) if options.notes else notes()
    page = ROOT / "docs" / "operators.md"
    page.write_text(operators_page(page.read_text(), noted))
    (ROOT / "docs" / "coverage.md").write_text(coverage_page(noted))


if __name__ == "__main__":
    main()
