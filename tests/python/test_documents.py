"""The generated pages of docs/ are not older than what they describe."""

from __future__ import annotations

import re
from pathlib import Path

import executorch_numpy_runtime as en
import goldens
from builder import NODES

DOCS = Path(__file__).parents[2] / "docs"
REMEDY = "run tools/document_coverage.py"
# Operators on numbers and sizes, which have no dtype
WITHOUT_TENSORS = ("executorch_prim::", "aten::sym_")


def rows(page: str) -> dict[str, list[str]]:
    """The cells behind each name in backquotes that starts a row."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (DOCS / page).read_text().splitlines()]
    is_name = re.compile("`[^`]+`").fullmatch
    return {line[0].strip("`"): line[1:] for line in cells if line and is_name(line[0])}


def test_every_operator_is_listed_and_was_run() -> None:
    listed = rows("operators.md")
    assert set(listed) == set(en.runtime_info()["operators"]), REMEDY
    not_run = [name for name, marks in listed.items() if "●" not in marks and not name.startswith(WITHOUT_TENSORS)]
    assert not not_run, REMEDY


def test_every_node_was_run() -> None:
    assert set(rows("coverage.md")) == set(NODES), REMEDY


def test_every_exporter_is_listed() -> None:
    lines = (DOCS / "coverage.md").read_text().splitlines()
    listed = {line.split("|")[1].strip() for line in lines if line.startswith("| ")}
    versions = {case.meta["exporter"].split()[1] for case in [*goldens.cases(), *goldens.version_cases()]}
    assert versions <= listed, REMEDY
