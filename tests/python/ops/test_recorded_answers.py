"""Operators against what PyTorch eager answered (recorded by tools/record_operator_answers.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from builder import scalar_type

from .single_call import In, Out, call

FILE = np.load(Path(__file__).parents[2] / "fixtures" / "operator_answers.npz")
BYTES = FILE["bytes"].tobytes()
CALLS = json.loads(str(FILE["calls"]))

# Interpolation of halves and products of many terms round in another order than eager's.
TOLERANCE = {
    "float32": 2e-5,
    "float64": 1e-12,
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "complex64": 2e-5,
    "complex128": 1e-12,
}


def array(kept: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(ml_dtypes.bfloat16) if kept["dtype"] == "bfloat16" else np.dtype(kept["dtype"])
    count = int(np.prod(kept["shape"], dtype=np.int64))
    return np.frombuffer(BYTES, dtype, count, kept["offset"]).reshape(kept["shape"])


def identity(number: int) -> str:
    item = CALLS[number]
    first = next((a for a in item["args"] if isinstance(a, dict)), item["outs"][0])
    return f"{number}-{item['operator']}-{first['dtype']}"


@pytest.mark.parametrize("reverse", [False, True], ids=["row-major", "permuted"])
@pytest.mark.parametrize("number", range(len(CALLS)), ids=identity)
def test_recorded_answer(number, reverse):
    item = CALLS[number]
    order = (lambda rank: tuple(reversed(range(rank)))) if reverse else (lambda rank: tuple(range(rank)))
    args = [In(array(a), order(len(a["shape"]))) if isinstance(a, dict) else a for a in item["args"]]
    expected = [array(out) for out in item["outs"]]
    outs = [Out(scalar_type(out["dtype"]), out["shape"], order(len(out["shape"]))) for out in item["outs"]]
    for got, wanted, out in zip(call(item["operator"], *args, outs=outs), expected, item["outs"], strict=True):
        if out["dtype"] not in TOLERANCE:
            np.testing.assert_array_equal(got, wanted)
            continue
        wide = np.complex128 if out["dtype"].startswith("complex") else np.float64
        tolerance = TOLERANCE[out["dtype"]]
        np.testing.assert_allclose(got.astype(wide), wanted.astype(wide), tolerance, tolerance)
