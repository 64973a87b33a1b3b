"""torchao's low-bit operators, on weights that torchao's own code packed (torchao_packed.npz, for 1 to 8 bits)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder

from .single_call import call_one

FILE = np.load(Path(__file__).parents[2] / "fixtures" / "torchao_packed.npz")
GROUP = 32
F32 = np.dtype(np.float32)


def weights(bits: int) -> tuple[np.ndarray, np.ndarray]:
    """The packed weights as numbers, and the bias."""
    q, scales = FILE[f"{bits}_weights"].astype(np.float64), FILE[f"{bits}_scales"].astype(np.float64)
    zeros = FILE[f"{bits}_zeros"] if f"{bits}_zeros" in FILE else np.zeros(scales.shape)
    bias = FILE[f"{bits}_bias"] if f"{bits}_bias" in FILE else np.zeros(len(q))
    return (q - np.repeat(zeros, GROUP, 1)) * np.repeat(scales, GROUP, 1), bias


def rounded(x: np.ndarray) -> np.ndarray:
    """Each row as 8-bit numbers would hold it."""
    low, high = np.minimum(x.min(1, keepdims=True), 0), np.maximum(x.max(1, keepdims=True), 0)
    scale = (high - low) / np.float32(255)
    zero = -128 - np.round(low / scale)
    q = np.clip(np.rint(x / scale + zero), -128, 127)
    return (q - zero).astype(np.float64) * scale


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("bits", range(1, 9))
def test_linear(bits, rows):
    x = np.random.default_rng(bits).normal(size=(rows, 64)).astype(np.float32)
    w, bias = weights(bits)
    expected = rounded(x) @ w.T + bias if rows else np.zeros((0, 11))
    name = f"torchao::_linear_8bit_act_{bits}bit_weight.out"
    args = (GROUP, 11, 64)
    got = call_one(name, x, FILE[f"{bits}_packed"], *args, dtype=F32, shape=(rows, 11))
    # A number half-way between two levels may round either way.
    step = np.abs(w).max() * (x.max(initial=0) - x.min(initial=0)) / 255
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=float(step) + 1e-5)

    p = ProgramBuilder()
    out = p.tensor(np.float32, (rows, 11))
    p.call(name, p.input(np.float32, x.shape), p.constant(FILE[f"{bits}_packed"]), *args, out=out)
    p.output(out)
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    for _ in range(2):  # packed once
        np.testing.assert_array_equal(method([x])[0], got)


@pytest.mark.parametrize("bits", range(1, 9))
def test_embedding(bits):
    q = FILE[f"{bits}_embeddings"]
    random = np.random.default_rng(bits)
    scales = random.uniform(0.1, 1, (5, 7)).astype(np.float32)
    zeros = random.integers(-3, 4, (5, 7), dtype=np.int8)
    for dtype in (np.int64, np.int32):
        indices = np.array([4, 0, 3, 3], dtype)
        expected = ((q - np.repeat(zeros, 32, 1).astype(np.float32)) * np.repeat(scales, 32, 1))[indices]
        got = call_one(f"torchao::_embedding_{bits}bit.out", FILE[f"{bits}_packed_embeddings"], 5, 224, scales, zeros,
                       indices, dtype=F32, shape=(4, 224))  # fmt: skip
        np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("bits", range(1, 9))
def test_shared_embedding(bits):
    indices = np.array([10, 0, 7, 8])
    args = (FILE[f"{bits}_packed"], GROUP, 11, 64, indices)
    got = call_one(f"torchao::_shared_embedding_{bits}bit.out", *args, dtype=F32, shape=(4, 64))
    np.testing.assert_allclose(got, weights(bits)[0][indices], rtol=1e-6)


def changed(field: int, value: int) -> np.ndarray:
    packed = FILE["4_packed"].copy()
    packed.view(np.int32)[field] = value
    return packed


@pytest.mark.parametrize("packed, arguments, message", [
    (FILE["4_packed"][:60], (GROUP, 11, 64), "packed_weights: expected at least a header of 64 bytes, got 60"),
    (changed(0, 1), (GROUP, 11, 64), "packed_weights: expected weights packed by torchao, got other bytes"),
    (changed(1, 3), (GROUP, 11, 64), r"packed_weights: expected the universal format \(1\), got format 3"),
    (changed(2, 5), (GROUP, 11, 64), "packed_weights: expected 4-bit weights, got 5-bit ones"),
    (changed(5, 7), (GROUP, 11, 64), "packed_weights: expected a layout of torchao, got nr 7, kr 16 and sr 2"),
    (changed(6, 1 << 30), (GROUP, 11, 64), "packed_weights: expected a layout of torchao, got nr 8, kr"),
    (FILE["4_packed"], (24, 11, 64), "group_size: expected a divisor of k 64 and multiple of 16, got 24"),
    (FILE["4_packed"], (GROUP, 17, 64), "packed_weights: expected 17 x 64 weights of 4 bits, got 832 bytes"),
    (FILE["4_packed"], (GROUP, 1 << 40, 64), "n: expected at least 1, got"),
    (FILE["4_packed"], (GROUP, 11, 32), r"activations: expected 32 columns, got shape \[1, 64\]"),
])  # fmt: skip
def test_refused_weights(packed: np.ndarray, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(en.ExecutionError, match=message):
        call_one("torchao::_linear_8bit_act_4bit_weight.out", np.ones((1, 64), F32), packed, *arguments, dtype=F32,
                 shape=(1, 11))  # fmt: skip


def test_indices_out_of_range():
    with pytest.raises(en.ExecutionError, match="indices: expected 0 to 10, got 11 at 0"):
        call_one("torchao::_shared_embedding_4bit.out", FILE["4_packed"], GROUP, 11, 64, np.array([11]), dtype=F32,
                 shape=(1, 64))  # fmt: skip
