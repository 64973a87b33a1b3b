"""What PyTorch eager answers to the calls of sample_calls.py: written by tools/record_eager_answers.py."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from .sample_arguments import DTYPES, REAL_DTYPES, numpy_dtype
from .sample_calls import CALLS

FIXTURES = Path(__file__).parents[2] / "fixtures"

Answer = list[Any]  # dtype, shape, numbers


@cache
def answers() -> dict[str, dict[str, list[list[Answer] | None]]]:
    """By operator, dtype and call: the results, or None where eager refuses."""
    return dict(json.loads(line) for line in (FIXTURES / "eager_answers.jsonl").read_text().splitlines())


@cache
def mixtures() -> dict[str, list[tuple[str, str, list[str]]]]:
    """By operator: the mixtures that eager takes, as dtype of the first tensor, of the others, and of each result."""
    recorded = {}
    for line in (FIXTURES / "eager_mixtures.jsonl").read_text().splitlines():
        operator, rows = json.loads(line)
        words = zip(product(REAL_DTYPES, REAL_DTYPES), [word for row in rows for word in row.split()], strict=True)
        recorded[operator] = [
            (first, others, [DTYPES[ord(letter) - ord("a")] for letter in word])
            for (first, others), word in words
            if word != "." and first != others
        ]
    return recorded


@cache
def empties() -> dict[str, list[list[Answer] | None]]:
    """By operator: the results for tensors without elements, in the order of sample_arguments.empty_calls."""
    return dict(json.loads(line) for line in (FIXTURES / "eager_empties.jsonl").read_text().splitlines())


def accepted(operator: str, dtype: str) -> list[tuple[tuple[Any, ...], list[Answer]]]:
    """The calls that eager takes with this dtype, with its results."""
    recorded = answers()[operator].get(dtype, [])
    return [(call, outs) for call, outs in zip(CALLS[operator], recorded, strict=False) if outs is not None]


def to_array(answer: Answer) -> np.ndarray:
    """The numbers of an answer; None for one whose numbers are arbitrary."""
    name, shape, numbers = answer
    dtype = numpy_dtype(name)
    if dtype.kind == "c":
        numbers = [complex(float(real), float(imag)) for real, imag in numbers]
    elif dtype.kind not in "iub":
        numbers = [float(value) for value in numbers]
    return np.array(numbers, dtype=None if dtype.kind in "cf" else dtype).reshape(shape).astype(dtype)
