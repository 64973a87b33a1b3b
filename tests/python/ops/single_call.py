"""Runs one operator by a program made for it, and draws the arrays that tests give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import ml_dtypes
import numpy as np

import executorch_numpy_runtime as en
from builder import ProgramBuilder

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(t) for t in ("float32", "float64", "float16")] + [BFLOAT16]
SIGNED = [np.dtype(t) for t in ("int8", "int16", "int32", "int64")]
UNSIGNED = [np.dtype(t) for t in ("uint8", "uint16", "uint32", "uint64")]
INTEGERS = SIGNED + UNSIGNED
BOOL = np.dtype(bool)
REALS = FLOATS + INTEGERS + [BOOL]


@dataclass(frozen=True)
class Out:
    """An out argument as the program plans it."""

    dtype: Any
    shape: Sequence[int]
    dim_order: Sequence[int] | None = None
    dynamic: bool = False


@dataclass(frozen=True)
class In:
    """An input with another than the default layout."""

    array: np.ndarray
    dim_order: Sequence[int] | None = None


def load_call(operator: str, *args: Any, outs: Sequence[Out], needs_result: bool = True) -> tuple[en.Method, list[Any]]:
    """The method that makes this call, and its inputs: the arrays among the arguments."""
    program = ProgramBuilder()
    inputs = []
    slots = []
    for arg in args:
        given = In(arg) if isinstance(arg, np.ndarray) else arg
        if isinstance(given, In):
            slots.append(program.input(given.array.dtype, given.array.shape, dim_order=given.dim_order))
            inputs.append(given.array)
        else:
            slots.append(arg)
    results = [program.tensor(out.dtype, out.shape, dim_order=out.dim_order, dynamic=out.dynamic) for out in outs]
    program.call(operator, *slots, out=results if len(results) > 1 else results[0])
    program.output(*results)
    return en.Runtime.get().load_program(program.build()).load_method("forward"), inputs


def call(operator: str, *args: Any, outs: Sequence[Out]) -> list[np.ndarray]:
    """The results of one call. Arrays (and `In`) among the arguments become inputs, the rest literals."""
    method, inputs = load_call(operator, *args, outs=outs)
    return method(inputs)


def call_one(operator: str, *args: Any, dtype: Any, shape: Sequence[int], **options: Any) -> np.ndarray:
    """The one result of one call."""
    (result,) = call(operator, *args, outs=[Out(dtype, shape, **options)])
    return result


# Shapes with a zero, with ones, of rank 0, and longer than any vector register or tile.
SHAPES = [(), (1,), (3,), (0,), (17,), (2, 0, 3), (3, 1, 5), (4, 7), (2, 3, 4, 5), (1, 1, 1, 1, 2), (33, 65), (5000,)]


def broadcast_pairs() -> st.SearchStrategy[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Two shapes that broadcast, of any rank difference."""
    return st.sampled_from(
        [(s, s) for s in SHAPES]
        + [((2, 3, 4), (3, 1)), ((3, 1), (2, 3, 4)), ((), (4, 5)), ((4, 5), ()), ((1,), (6,)), ((5, 1), (1, 7))]
        + [((2, 0, 3), (1, 3)), ((4, 1, 6, 1), (3, 1, 5)), ((64, 1), (64, 33)), ((33,), (2, 2, 33)), ((1, 1), (3,))]
    )


def dim_orders(rank: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Any order of so many dims."""
    return st.permutations(range(rank)).map(tuple)


def random_array(
    seed: int, dtype: np.dtype, shape: Sequence[int], *, low: float = -4, high: float = 4, specials: bool = True
) -> np.ndarray:
    """Numbers in a range; among floating ones also zeros, infinities, NaN and subnormals."""
    random = np.random.default_rng(seed)
    if dtype == BOOL:
        return np.asarray(random.random(shape) < 0.5)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = random.random() < 0.2
        floor = info.min if wide else max(int(low), info.min)
        return np.asarray(random.integers(floor, info.max if wide else int(high) + 1, shape, dtype=dtype))
    values = np.asarray(random.uniform(low, high, shape))
    if specials and values.size:
        chosen = random.random(shape) < 0.15
        values[chosen] = random.choice(
            [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 0.5, 1.0, -1.0, 2.5], int(chosen.sum())
        )
    return values.astype(dtype)


def assert_close(got: np.ndarray, expected: Any, dtype: np.dtype, *, ulps: float = 4, atol: float = 0.0) -> None:
    """Equal for integers; within so many units in the last place of `dtype` for floating numbers."""
    got = np.asarray(got)
    assert got.dtype == dtype
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    if dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
        return
    epsilon = float(ml_dtypes.finfo(dtype).eps)
    smallest = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    with np.errstate(over="ignore"):
        rounded = expected.astype(dtype).astype(np.float64)
    np.testing.assert_allclose(
        got.astype(np.float64), rounded, rtol=ulps * epsilon, atol=max(atol, ulps * smallest), equal_nan=True
    )


def assert_sum_close(got: np.ndarray, expected: np.ndarray, magnitude: np.ndarray, dtype: np.dtype) -> None:
    """Equal for integers. Sums of floating numbers may lose what float32 (or float64) loses of the terms' `magnitude`,
    the sum of their absolute values, and one rounding to `dtype`."""
    assert got.dtype == dtype
    assert got.shape == expected.shape
    if dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected.astype(dtype))
        return
    computed = float(np.finfo(np.float64 if dtype == np.float64 else np.float32).eps)
    rounded = float(ml_dtypes.finfo(dtype).eps) * np.abs(expected)
    smallest = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    excess = np.abs(got.astype(np.float64) - expected) - (32 * computed * magnitude + rounded + smallest)
    assert not np.any(excess > 0), f"off by {excess.max()} more than allowed, at {np.argmax(excess)}"


def small_array(seed: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    """Numbers whose products add up exactly in integers, and of a few bits in floating dtypes."""
    return random_array(seed, dtype, shape, low=-3, high=3, specials=False) if dtype.kind not in "iu" else np.asarray(
        np.random.default_rng(seed).integers(0 if dtype.kind == "u" else -3, 4, shape).astype(dtype)
    )  # fmt: skip


def wide(array: np.ndarray) -> np.ndarray:
    """As float64, or int64 for integers: what oracles compute in."""
    return np.asarray(array.astype(np.int64 if array.dtype.kind in "iub" else np.float64))
