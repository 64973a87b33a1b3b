"""Convolutions and their gradients, against sums over the kernel's taps in numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en

from .single_call import (
    FLOATS,
    SIGNED,
    In,
    Out,
    assert_sum_close,
    call,
    call_one,
    dim_orders,
    small_array,
    wide,
)

F32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Geometry:
    kernel: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int = 1
    transposed: bool = False
    output_padding: Sequence[int] = ()

    def arguments(self) -> list[Any]:
        return [list(self.stride), list(self.padding), list(self.dilation), self.transposed,
                list(self.output_padding) or [0] * len(self.kernel), self.groups]  # fmt: skip

    def taps(self, walked: Sequence[int]) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """Each tap's index in the kernel, and the part of the padded side that `walked` positions meet through it."""
        for tap in product(*map(range, self.kernel)):
            starts = [t * d for t, d in zip(tap, self.dilation, strict=True)]
            spans = zip(starts, self.stride, walked, strict=True)
            yield (..., *tap), (..., *[slice(start, start + s * n, s) for start, s, n in spans])

    def padded(self, sizes: Sequence[int]) -> list[int]:
        """How far a transposed convolution reaches, before its padding is cut off."""
        parts = zip(sizes, self.kernel, self.stride, self.dilation, self.output_padding, strict=True)
        return [(n - 1) * s + d * (k - 1) + s + more for n, k, s, d, more in parts]

    def output(self, sizes: Sequence[int]) -> list[int]:
        parts = zip(sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        if self.transposed:
            return [(n - 1) * s - 2 * p + d * (k - 1) + 1 + more
                    for (n, k, s, p, d), more in zip(parts, self.output_padding, strict=True)]  # fmt: skip
        return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in parts]


def pad(x: np.ndarray, g: Geometry) -> np.ndarray:
    """With room for the last stride behind, so that slices have the length they ask for."""
    return np.pad(x, [(0, 0), (0, 0), *[(p, p + s) for p, s in zip(g.padding, g.stride, strict=True)]])


def crop(x: np.ndarray, g: Geometry, sizes: Sequence[int]) -> np.ndarray:
    return x[(..., *[slice(p, p + n) for p, n in zip(g.padding, sizes, strict=True)])]


def convolve(x: np.ndarray, w: np.ndarray, b: np.ndarray | None, g: Geometry) -> np.ndarray:
    sizes = g.output(x.shape[2:])
    count = g.groups
    if g.transposed:
        full = np.zeros((x.shape[0], w.shape[1] * count, *g.padded(x.shape[2:])), x.dtype)
        for i, part in enumerate(np.split(x, count, 1)):
            to = full[:, i * w.shape[1] : (i + 1) * w.shape[1]]
            for tap, met in g.taps(x.shape[2:]):
                to[met] += np.einsum("nc...,co->no...", part, np.split(w, count, 0)[i][tap])
        out = crop(full, g, sizes)
    else:
        out = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
        each = w.shape[0] // count
        for i, part in enumerate(np.split(pad(x, g), count, 1)):
            for tap, met in g.taps(sizes):
                out[:, i * each : (i + 1) * each] += np.einsum(
                    "nc...,oc->no...", part[met], np.split(w, count, 0)[i][tap]
                )
    return out if b is None else out + b.reshape(-1, *[1] * len(sizes))


@st.composite
def geometries(draw: st.DrawFn, *, transposed: bool | None = None) -> tuple[Geometry, int, int, list[int]]:
    """A geometry, input and output channels, and the input's spatial sizes."""
    dims = draw(st.integers(1, 3))
    numbers = lambda low, high: draw(st.lists(st.integers(low, high), min_size=dims, max_size=dims))  # noqa: E731
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    kernel, stride, dilation, padding = numbers(1, 3), numbers(1, 3), numbers(1, 2), numbers(0, 2)
    is_transposed = draw(st.booleans()) if transposed is None else transposed
    more = [draw(st.integers(0, max(s, d) - 1)) for s, d in zip(stride, dilation, strict=True)]
    g = Geometry(kernel, stride, padding, dilation, groups, is_transposed, more if is_transposed else [0] * dims)
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    sizes = [draw(st.integers(max(1, r - 2 * p), r + 4)) for r, p in zip(reach, padding, strict=True)]
    if is_transposed:  # so that something is left after the padding is cut off
        sizes = [n + 2 * p for n, p in zip(sizes, padding, strict=True)]
    per_group = [draw(st.sampled_from([1, 1, 2, 5])) for _ in range(2)]
    return g, groups * per_group[0], groups * per_group[1], sizes


def weight_shape(g: Geometry, inputs: int, outputs: int) -> tuple[int, ...]:
    first, second = (inputs, outputs) if g.transposed else (outputs, inputs)
    return (first, second // g.groups, *g.kernel)


@given(
    config=geometries(),
    dtype=st.sampled_from([*FLOATS, *SIGNED, np.dtype(np.uint8)]),
    batch=st.sampled_from([0, 1, 1, 3]),
    has_bias=st.booleans(),
    is_batched=st.booleans(),
    seed=st.integers(0, 999),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_convolution(config, dtype, batch, has_bias, is_batched, seed, data):
    g, inputs, outputs, sizes = config
    is_batched |= g.transposed  # only conv1d to conv3d take images without a batch
    x = small_array(seed, dtype, (batch if is_batched else 1, inputs, *sizes))
    w = small_array(seed + 1, dtype, weight_shape(g, inputs, outputs))
    b = small_array(seed + 2, dtype, (outputs,)) if has_bias else None
    expected = convolve(wide(x), wide(w), None if b is None else wide(b), g)
    magnitude = convolve(abs(wide(x)), abs(wide(w)), None if b is None else abs(wide(b)), g)
    if not is_batched:
        x, expected, magnitude = x[0], expected[0], magnitude[0]
    name, arguments = "convolution", g.arguments()
    if not is_batched:
        name, arguments = f"conv{len(sizes)}d", (g.stride, g.padding, g.dilation, g.groups)
    got = call_one(
        f"aten::{name}.out",
        In(x, data.draw(dim_orders(x.ndim))), In(w, data.draw(dim_orders(w.ndim))), b, *arguments,
        dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(x.ndim)),
    )  # fmt: skip
    assert_sum_close(got, expected, magnitude, dtype)


@pytest.mark.parametrize("shape, weight, groups", [
    ((1, 3, 32, 33), (16, 3, 3, 3), 1), ((2, 32, 17, 19), (32, 1, 3, 3), 32), ((1, 64, 14, 14), (96, 64, 1, 1), 1),
    ((1, 24, 20, 20), (48, 24, 3, 3), 1), ((1, 8, 9, 300), (8, 4, 5, 5), 2), ((3, 16, 700), (24, 16, 7), 1),
])  # fmt: skip
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_convolutions_of_model_sizes(dtype, shape, weight, groups):
    """Large enough for every fast path: Winograd, packed products, depthwise rows."""
    x, w = small_array(1, dtype, shape), small_array(2, dtype, weight)
    ones = [1] * (len(shape) - 2)
    g = Geometry(weight[2:], ones, [k // 2 for k in weight[2:]], ones, groups)
    expected, magnitude = convolve(wide(x), wide(w), None, g), convolve(abs(wide(x)), abs(wide(w)), None, g)
    got = call_one("aten::convolution.out", x, w, None, *g.arguments(), dtype=dtype, shape=expected.shape)
    assert_sum_close(got, expected, magnitude, dtype)


def rows(x: np.ndarray) -> np.ndarray:
    return x.reshape(*x.shape[:2], -1)


def gradients(grad: np.ndarray, x: np.ndarray, w: np.ndarray, g: Geometry) -> list[np.ndarray]:
    count, each = g.groups, grad.shape[1] // g.groups
    grad_w = np.zeros_like(w)
    if g.transposed:
        grad_x = np.zeros_like(x)
        for i, part in enumerate(np.split(pad(grad, g), count, 1)):
            channels = slice(i * x.shape[1] // count, (i + 1) * x.shape[1] // count)
            for tap, met in g.taps(x.shape[2:]):
                grad_x[:, channels] += np.einsum("no...,co->nc...", part[met], w[channels][tap])
                grad_w[channels][tap] += np.einsum("ncs,nos->co", rows(x[:, channels]), rows(part[met]))
    else:
        full = np.zeros_like(pad(x, g))
        for i, part in enumerate(np.split(pad(x, g), count, 1)):
            channels = slice(i * part.shape[1], (i + 1) * part.shape[1])
            outs = slice(i * each, (i + 1) * each)
            for tap, met in g.taps(grad.shape[2:]):
                full[:, channels][met] += np.einsum("no...,oc->nc...", grad[:, outs], w[outs][tap])
                grad_w[outs][tap] += np.einsum("ncs,nos->oc", rows(part[met]), rows(grad[:, outs]))
        grad_x = crop(full, g, x.shape[2:])
    return [grad_x, grad_w, grad.sum((0, *range(2, grad.ndim)))]


@given(
    config=geometries(),
    dtype=st.sampled_from(FLOATS),
    batch=st.sampled_from([1, 2]),
    seed=st.integers(0, 999),
    data=st.data(),
)
@settings(max_examples=80, deadline=None)
def test_convolution_backward(config, dtype, batch, seed, data):
    g, inputs, outputs, sizes = config
    x = small_array(seed, dtype, (batch, inputs, *sizes))
    w = small_array(seed + 1, dtype, weight_shape(g, inputs, outputs))
    grad = small_array(seed + 2, dtype, (batch, outputs, *g.output(sizes)))
    expected = gradients(wide(grad), wide(x), wide(w), g)
    magnitudes = gradients(abs(wide(grad)), abs(wide(x)), abs(wide(w)), g)
    arguments = g.arguments()
    orders = [data.draw(dim_orders(x.ndim)) for _ in range(3)]
    got = call(
        "aten::convolution_backward.out",
        In(grad, orders[0]), In(x, orders[1]), In(w, orders[2]), [outputs], *arguments, [True, True, True],
        outs=[Out(dtype, result.shape) for result in expected],
    )  # fmt: skip
    for result, wanted, magnitude in zip(got, expected, magnitudes, strict=True):
        assert_sum_close(result, wanted, magnitude, dtype)


@pytest.mark.parametrize("arguments, message", [
    ([[0, 1], [0, 0], [1, 1], False, [0, 0], 1], r"stride: expected at least 1, got \[0, 1\]"),
    ([[1, 1], [-1, 0], [1, 1], False, [0, 0], 1], "padding: expected at least 0"),
    ([[1, 1], [0, 0], [1, 0], False, [0, 0], 1], "dilation: expected at least 1"),
    ([[1, 1], [0, 0], [1, 1], False, [0, 0], 3], "groups: expected a divisor of 2 input and 2 output channels, got 3"),
    ([[1, 1], [0, 0], [1, 1], True, [0, 0], 2**62], "groups: expected a number to multiply 2 output"),
    ([[1, 1], [0, 0], [9, 1], False, [0, 0], 1], "input: expected .* the kernel's reach, 19, got 5"),
    ([[2, 2], [0, 0], [1, 1], True, [2, 0], 1], "output_padding"),
])  # fmt: skip
def test_refused_convolutions(arguments, message):
    x, w = np.ones((1, 2, 5, 5), F32), np.ones((2, 2, 3, 3), F32)
    with pytest.raises(en.ExecutionError, match=message):
        call_one("aten::convolution.out", x, w, None, *arguments, dtype=F32, shape=(1, 2, 3, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_strides_of_a_single_pixel(dtype):
    """Strides that no output shows: a transposed convolution is cut into as many phases as they have pixels."""
    rng = np.random.default_rng(4)
    x, w = rng.uniform(-1, 1, (1, 2, 1, 1)).astype(dtype), rng.uniform(-1, 1, (2, 3, 2, 2)).astype(dtype)
    args = ([2**30, 70000], [0, 0], [1, 1], True, [0, 0], 1)
    result = call_one("aten::convolution.out", x, w, None, *args, dtype=np.dtype(dtype), shape=(1, 3, 2, 2))
    expected = np.einsum("nc,cohw->nohw", x[:, :, 0, 0].astype(np.float64), w.astype(np.float64))
    np.testing.assert_allclose(result, expected, rtol=2e-3 if dtype is np.float16 else 1e-6)
