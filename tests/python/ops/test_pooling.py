"""Pools and the gradient of the maximum, against windows cut out in numpy."""

from __future__ import annotations

from itertools import product

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings

import executorch_numpy_runtime as en

from .single_call import FLOATS, INTEGERS, In, Out, assert_sum_close, call, call_one, dim_orders, random_array, wide

F32 = np.dtype(np.float32)


def output_size(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    size = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if (
        ceil_mode and (size - 1) * stride >= n + padding
    ):  # the last window starts inside of the image or its left padding
        size -= 1
    return size


@st.composite
def windows(draw, dilations=(1, 1, 2)):
    """Image sizes and, for each of the two axes, kernel, stride, padding, dilation; and ceil_mode."""
    axes, sizes = [], []
    for _ in range(2):
        kernel, stride, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.sampled_from(dilations))
        padding = draw(st.integers(0, kernel // 2))
        reach = dilation * (kernel - 1) + 1
        sizes.append(draw(st.integers(max(1, reach - 2 * padding), reach + 6)))
        axes.append((kernel, stride, padding, dilation))
    ceil_mode = draw(st.booleans())
    assume(all(rows and columns for _, rows, columns in each_window(sizes, axes, ceil_mode)))
    return sizes, axes, ceil_mode


def arguments(axes):
    return [list(values) for values in zip(*axes, strict=True)]


def each_window(sizes, axes, ceil_mode):
    """Output position and the image's rows and columns (in range) of its window."""
    outs = [output_size(n, *axis, ceil_mode) for n, axis in zip(sizes, axes, strict=True)]
    for position in product(*map(range, outs)):
        taps = []
        for at, n, (kernel, stride, padding, dilation) in zip(position, sizes, axes, strict=True):
            start = at * stride - padding
            taps.append([i for i in range(start, start + kernel * dilation, dilation) if 0 <= i < n])
        yield position, *taps


def max_pool(x, axes, ceil_mode):
    outs = [output_size(n, *axis, ceil_mode) for n, axis in zip(x.shape[-2:], axes, strict=True)]
    values, indices = np.zeros((*x.shape[:-2], *outs), x.dtype), np.zeros((*x.shape[:-2], *outs), np.int64)
    flat = np.arange(x.shape[-2] * x.shape[-1]).reshape(x.shape[-2:])
    for (r, c), rows, columns in each_window(x.shape[-2:], axes, ceil_mode):
        part = x[..., rows, :][..., columns].reshape(*x.shape[:-2], len(rows) * len(columns))
        numbers = part.astype(np.float64) if part.dtype.kind not in "iu" else part
        best = numbers.argmax(-1)
        values[..., r, c] = np.take_along_axis(part, best[..., None], -1)[..., 0]
        indices[..., r, c] = flat[rows][:, columns].reshape(-1)[best]
    return values, indices


@given(
    config=windows(),
    dtype=st.sampled_from([*FLOATS, *INTEGERS[:5]]),
    planes=st.sampled_from([(1, 1), (2, 3), (1, 9), (3,), (0, 2)]),
    seed=st.integers(0, 999),
    data=st.data(),
)
@settings(max_examples=80, deadline=None)
def test_max_pool_with_indices(config, dtype, planes, seed, data):
    sizes, axes, ceil_mode = config
    kernel, stride, padding, dilation = arguments(axes)
    x = random_array(seed, dtype, (*planes, *sizes), specials=False)
    values, indices = max_pool(x, axes, ceil_mode)
    got, got_indices = call(
        "aten::max_pool2d_with_indices.out", In(x, data.draw(dim_orders(x.ndim))),
        kernel, stride, padding, dilation, ceil_mode,
        outs=[Out(dtype, values.shape, data.draw(dim_orders(x.ndim))), Out(np.int64, values.shape)],
    )  # fmt: skip
    np.testing.assert_array_equal(got, values)
    np.testing.assert_array_equal(got_indices, indices)


@given(config=windows(), dtype=st.sampled_from(FLOATS), seed=st.integers(0, 999), data=st.data())
@settings(max_examples=50, deadline=None)
def test_max_pool_backward(config, dtype, seed, data):
    sizes, axes, ceil_mode = config
    kernel, stride, padding, dilation = arguments(axes)
    x = random_array(seed, dtype, (2, 3, *sizes), specials=False)
    values, indices = max_pool(x, axes, ceil_mode)
    grad = np.random.default_rng(seed).integers(-3, 4, values.shape).astype(dtype)  # whose sums are exact
    expected = np.zeros((6, sizes[0] * sizes[1]))
    for plane in range(6):
        np.add.at(expected[plane], indices.reshape(6, -1)[plane], wide(grad).reshape(6, -1)[plane])
    got = call_one(
        "aten::max_pool2d_with_indices_backward.grad_input",
        In(grad, data.draw(dim_orders(4))), In(x, data.draw(dim_orders(4))), kernel, stride, padding, dilation,
        ceil_mode, In(indices, data.draw(dim_orders(4))), dtype=dtype, shape=x.shape,
        dim_order=data.draw(dim_orders(4)),
    )  # fmt: skip
    np.testing.assert_array_equal(wide(got), expected.reshape(x.shape))


@given(
    config=windows(dilations=(1,)),
    dtype=st.sampled_from(FLOATS),
    planes=st.sampled_from([(1, 1), (2, 3), (1, 17), (4,), (0, 2)]),
    count_include_pad=st.booleans(),
    divisor=st.sampled_from([None, None, 1, 5, -3]),
    seed=st.integers(0, 999),
    data=st.data(),
)
@settings(max_examples=80, deadline=None)
def test_avg_pool(config, dtype, planes, count_include_pad, divisor, seed, data):
    sizes, axes, ceil_mode = config
    kernel, stride, padding, _ = arguments(axes)
    x = random_array(seed, dtype, (*planes, *sizes), specials=False)
    outs = [output_size(n, *axis, ceil_mode) for n, axis in zip(sizes, axes, strict=True)]
    expected, magnitude = np.zeros((*planes, *outs)), np.zeros((*planes, *outs))
    for (r, c), rows, columns in each_window(sizes, axes, ceil_mode):
        part = wide(x)[..., rows, :][..., columns]
        count = divisor
        if count is None and count_include_pad:  # what lies beyond the padding does not count
            ends = [
                min(at * s - p + k, n + p) - (at * s - p)
                for at, (k, s, p, _), n in zip((r, c), axes, sizes, strict=True)
            ]
            count = ends[0] * ends[1]
        elif count is None:
            count = len(rows) * len(columns)
        expected[..., r, c] = part.sum((-1, -2)) / count
        magnitude[..., r, c] = abs(part).sum((-1, -2)) / abs(count)
    got = call_one(
        "aten::avg_pool2d.out", In(x, data.draw(dim_orders(x.ndim))), kernel, stride, padding, ceil_mode,
        count_include_pad, divisor, dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(x.ndim)),
    )  # fmt: skip
    assert_sum_close(got, expected, magnitude, dtype)


def adaptive_bounds(n: int, out: int):
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


@given(
    dtype=st.sampled_from(FLOATS),
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    outs=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    planes=st.sampled_from([(2, 3), (5,), (1, 1)]),
    seed=st.integers(0, 999),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_adaptive_pools(dtype, sizes, outs, planes, seed, data):
    x = random_array(seed, dtype, (*planes, *sizes), specials=False)
    mean, magnitude, highest, index = (np.zeros((*planes, *outs)) for _ in range(4))
    flat = np.arange(sizes[0] * sizes[1]).reshape(sizes)
    for (r, rows), (c, columns) in product(
        *[enumerate(adaptive_bounds(*pair)) for pair in zip(sizes, outs, strict=True)]
    ):
        part = wide(x)[..., slice(*rows), slice(*columns)].reshape(*planes, -1)
        mean[..., r, c], magnitude[..., r, c], highest[..., r, c] = part.mean(-1), abs(part).mean(-1), part.max(-1)
        index[..., r, c] = flat[slice(*rows), slice(*columns)].reshape(-1)[part.argmax(-1)]
    order = data.draw(dim_orders(x.ndim))
    for name in ("_adaptive_avg_pool2d", "adaptive_avg_pool2d"):
        got = call_one(f"aten::{name}.out", In(x, order), list(outs), dtype=dtype, shape=mean.shape)
        assert_sum_close(got, mean, magnitude, dtype)
    values, indices = call("aten::adaptive_max_pool2d.out", In(x, order), list(outs),
                           outs=[Out(dtype, mean.shape), Out(np.int64, mean.shape)])  # fmt: skip
    np.testing.assert_array_equal(wide(values), highest)
    np.testing.assert_array_equal(indices, index)


def test_a_nan_is_the_maximum():
    x = np.array([[[[1, np.nan], [3, 2]]]], F32)
    values, indices = call("aten::max_pool2d_with_indices.out", x, [2, 2], [2, 2], [0, 0], [1, 1], False,
                           outs=[Out(F32, (1, 1, 1, 1)), Out(np.int64, (1, 1, 1, 1))])  # fmt: skip
    assert np.isnan(values) and indices == 1


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_pool_without_stride_steps_by_its_kernel(dtype):
    x = random_array(1, dtype, (1, 2, 4, 6), specials=False)
    expected = wide(x).reshape(1, 2, 2, 2, 3, 2).mean((3, 5))
    got = call_one("aten::avg_pool2d.out", x, [2, 2], [], [0, 0], False, True, None, dtype=dtype, shape=(1, 2, 2, 3))
    np.testing.assert_allclose(wide(got), expected, rtol=float(ml_dtypes.finfo(dtype).eps), atol=1e-6)


@pytest.mark.parametrize("kernel, stride, padding, message", [
    ([2, 2], [1, 1], [2, 0], "padding"), ([0, 2], [1, 1], [0, 0], "kernel_size"), ([2, 2], [0, 1], [0, 0], "stride"),
    ([6, 2], [1, 1], [0, 0], "self: expected a padded size of at least the window's reach, 6, got 4"),
])  # fmt: skip
def test_refused_pools(kernel, stride, padding, message):
    x = np.ones((1, 1, 4, 4), F32)
    with pytest.raises(en.ExecutionError, match=message):
        call_one("aten::avg_pool2d.out", x, kernel, stride, padding, False, True, None, dtype=F32, shape=(1, 1, 3, 3))
