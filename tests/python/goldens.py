"""Reads the exported cases in tests/fixtures: a program, its inputs and what PyTorch eager gives for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FIXTURES = Path(__file__).parent.parent / "fixtures"


@dataclass
class Case:
    """One exported program with the runs to compare. `meta` is the .json beside it."""

    name: str
    meta: dict[str, Any]
    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / f"{self.name}.pte"

    @property
    def data(self) -> list[Path]:
        return [self.folder / name for name in self.meta["ptd"]]

    def arrays(self) -> dict[str, np.ndarray]:
        with np.load(self.folder / f"{self.name}.npz") as archive:
            return dict(archive)


def version_cases() -> list[Case]:
    """Cases of other versions of the exporter than the one that wrote the rest."""
    return [case for folder in sorted((FIXTURES / "versions").iterdir()) for case in cases(folder)]


def cases(folder: Path = FIXTURES) -> list[Case]:
    """All cases of a folder, by name."""
    return [Case(path.stem, json.loads(path.read_text()), folder) for path in sorted(folder.glob("*.json"))]


def inputs_of(run: dict[str, Any], arrays: dict[str, np.ndarray]) -> list[Any]:
    """The inputs of one run, laid out in memory as the case says."""
    inputs: list[Any] = []
    for i, spec in enumerate(run["in"]):
        if "py" in spec:
            inputs.append(spec["value"])
            continue
        array = arrays[f"{run['pre']}in_{i}"]
        order = spec["dim_order"]
        inverse = [order.index(k) for k in range(len(order))]
        inputs.append(np.array(array.transpose(order), order="C").transpose(inverse))
    return inputs


def as_float(array: np.ndarray, dtype: str) -> np.ndarray:
    """Values as float64; bfloat16 may come as raw bits or as ml_dtypes'."""
    array = np.asarray(array)
    if dtype == "bfloat16":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if np.iscomplexobj(array):
        array = np.ascontiguousarray(array).view(array.real.dtype)
    return array.astype(np.float64)


def check_run(case: Case, run: dict[str, Any], got: list[Any], arrays: dict[str, np.ndarray]) -> None:
    """Asserts that the outputs of one run are the expected ones: count, dtypes, shapes and values."""
    assert len(got) == len(run["out"])
    for i, (value, spec) in enumerate(zip(got, run["out"], strict=True)):
        if "py" in spec:
            assert value == spec["value"] and type(value) is type(spec["value"])
            continue
        expected = arrays[f"{run['pre']}out_{i}"]
        assert list(value.shape) == spec["shape"]
        if spec["dtype"] != "bfloat16":
            assert value.dtype == expected.dtype
        np.testing.assert_allclose(
            as_float(value, spec["dtype"]),
            as_float(expected, spec["dtype"]),
            rtol=case.meta["rtol"],
            atol=case.meta["atol"],
        )
