"""Resizing and sampling of images, against the definitions in numpy."""

from __future__ import annotations

from itertools import product

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en

from .single_call import FLOATS, REALS, In, call_one, dim_orders, random_array

F32 = np.dtype(np.float32)
EXAMPLES = settings(max_examples=60, deadline=None)
PLANES = st.sampled_from([(1, 1), (2, 3), (1, 17), (0, 2)])
SIDES = st.integers(1, 9)


def assert_image(got, expected, dtype):
    """Positions are computed in float32, so blends may be off by a little of the pixels' range."""
    assert got.dtype == dtype and got.shape == expected.shape
    tolerance = 1e-9 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=float(ml_dtypes.finfo(dtype).eps), atol=tolerance)


@st.composite
def targets(draw, sides):
    """output_size and scale_factors as the operator takes them (one is None), and each axis' output size and step."""
    if draw(st.booleans()):
        outs = [draw(st.integers(1, 13)) for _ in sides]
        return (outs, None), [(out, n / out) for out, n in zip(outs, sides, strict=True)]
    factors = [draw(st.sampled_from([0.5, 1.0, 1.5, 2.0, 2.25, 3.0])) for _ in sides]
    outs = [max(1, int(n * f)) for n, f in zip(sides, factors, strict=True)]
    if any(int(n * f) < 1 for n, f in zip(sides, factors, strict=True)):
        factors = [max(f, 1.0) for f in factors]
        outs = [int(n * f) for n, f in zip(sides, factors, strict=True)]
    return (None, factors), [(out, 1 / f) for out, f in zip(outs, factors, strict=True)]


def linear_matrix(n, out, step, align_corners):
    """The weights [out, n] with which one axis is resized."""
    weights = np.zeros((out, n))
    for i in range(out):
        at = (i * (n - 1) / (out - 1) if out > 1 else 0.0) if align_corners else max(step * (i + 0.5) - 0.5, 0.0)
        low = min(int(at), n - 1)
        weight = min(max(at - low, 0), 1)
        weights[i, low] += 1 - weight
        weights[i, min(low + 1, n - 1)] += weight
    return weights


def triangle_matrix(n, out, align_corners):
    step = (n - 1) / (out - 1) if align_corners and out > 1 else 0 if align_corners else n / out
    support = max(step, 1)
    weights = np.zeros((out, n))
    for i in range(out):
        centre = step * (i + 0.5)
        low, high = max(int(centre - support + 0.5), 0), min(int(centre + support + 0.5), n)
        weights[i, low:high] = [max(0, 1 - abs((j - centre + 0.5) / support)) for j in range(low, high)]
    return weights / weights.sum(1, keepdims=True)


@given(dtype=st.sampled_from(FLOATS), planes=PLANES, sides=st.tuples(SIDES, SIDES), align_corners=st.booleans(),
       seed=st.integers(0, 999), data=st.data())  # fmt: skip
@EXAMPLES
def test_bilinear(dtype, planes, sides, align_corners, seed, data):
    (size, factors), axes = data.draw(targets(sides))
    x = random_array(seed, dtype, (*planes, *sides), specials=False)
    rows, columns = [linear_matrix(n, out, step, align_corners) for n, (out, step) in zip(sides, axes, strict=True)]
    expected = rows @ x.astype(np.float64) @ columns.T
    got = call_one("aten::upsample_bilinear2d.vec_out", In(x, data.draw(dim_orders(4))), size, align_corners, factors,
                   dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(4)))  # fmt: skip
    assert_image(got, expected, dtype)


@given(dtype=st.sampled_from(FLOATS), planes=PLANES, sides=st.tuples(SIDES, SIDES), outs=st.tuples(SIDES, SIDES),
       seed=st.integers(0, 999), data=st.data())  # fmt: skip
@EXAMPLES
def test_antialiased_bilinear(dtype, planes, sides, outs, seed, data):
    x = random_array(seed, dtype, (*planes, *sides), specials=False)
    rows, columns = [triangle_matrix(n, out, False) for n, out in zip(sides, outs, strict=True)]
    expected = rows @ x.astype(np.float64) @ columns.T
    got = call_one("aten::_upsample_bilinear2d_aa.out", In(x, data.draw(dim_orders(4))), list(outs), False, None, None,
                   dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(4)))  # fmt: skip
    assert_image(got, expected, dtype)


def bytes_resized(image, matrix):
    """Resizes the last axis with 16-bit weights and rounds to bytes."""
    precision = 0
    while precision < 22 and 0.5 + matrix.max() * 2 ** (precision + 1) < 2**15:
        precision += 1
    weights = np.floor(0.5 + matrix * 2**precision).astype(np.int64)
    return np.clip((image.astype(np.int64) @ weights.T + 2 ** (precision - 1)) >> precision, 0, 255)


@given(planes=PLANES, sides=st.tuples(SIDES, SIDES), outs=st.tuples(SIDES, SIDES), antialiased=st.booleans(),
       align_corners=st.booleans(), seed=st.integers(0, 999))  # fmt: skip
@EXAMPLES
def test_images_of_bytes(planes, sides, outs, antialiased, align_corners, seed):
    x = np.random.default_rng(seed).integers(0, 256, (*planes, *sides)).astype(np.uint8)
    rows, columns = [triangle_matrix(n, out, False) if antialiased else linear_matrix(n, out, n / out, align_corners)
                     for n, out in zip(sides, outs, strict=True)]  # fmt: skip
    expected = bytes_resized(bytes_resized(x, columns).swapaxes(2, 3), rows).swapaxes(2, 3)
    if antialiased:
        got = call_one(
            "aten::_upsample_bilinear2d_aa.out", x, list(outs), False, None, None, dtype=np.uint8, shape=expected.shape
        )
    else:
        got = call_one(
            "aten::upsample_bilinear2d.vec_out",
            x,
            list(outs),
            align_corners,
            None,
            dtype=np.uint8,
            shape=expected.shape,
        )
    np.testing.assert_array_equal(got, expected)


@given(dtype=st.sampled_from(REALS), planes=PLANES, sides=st.tuples(SIDES, SIDES), seed=st.integers(0, 999),
       data=st.data())  # fmt: skip
@EXAMPLES
def test_nearest(dtype, planes, sides, seed, data):
    (size, factors), axes = data.draw(targets(sides))
    x = random_array(seed, dtype, (*planes, *sides))
    # Eager does not look at the factor where the size stays or doubles.
    steps = [n / out if out in (n, 2 * n) else step for n, (out, step) in zip(sides, axes, strict=True)]
    picked = [[min(int(np.float32(i) * np.float32(step)), n - 1) for i in range(out)]
              for n, step, (out, _) in zip(sides, steps, axes, strict=True)]  # fmt: skip
    expected = x[:, :, picked[0]][:, :, :, picked[1]]
    got = call_one("aten::upsample_nearest2d.vec_out", In(x, data.draw(dim_orders(4))), size, factors,
                   dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(4)))  # fmt: skip
    np.testing.assert_array_equal(got, expected)


def pixel(at, n, padding, align_corners):
    """A coordinate in [-1, 1] as a position among n pixels, padded by border or reflection."""
    position = (at + 1) / 2 * (n - 1) if align_corners else ((at + 1) * n - 1) / 2
    if padding == 2:
        low, span = (0, n - 1) if align_corners else (-0.5, n)
        if span == 0:
            return 0.0
        away = abs(position - low) % (2 * span)
        position = low + (away if away <= span else 2 * span - away)
    return min(max(position, 0), n - 1) if padding else position


def cubic(t):
    a = -0.75
    near = lambda x: ((a + 2) * x - (a + 3)) * x * x + 1  # noqa: E731
    far = lambda x: ((a * x - 5 * a) * x + 8 * a) * x - 4 * a  # noqa: E731
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def sample(image, x, y, mode, padding, align_corners):
    """One pixel of every channel of image [C, H, W]."""
    height, width = image.shape[1:]
    if mode == 2:  # each tap is padded, not the position
        px, py = (
            ((v + 1) / 2 * (n - 1) if align_corners else ((v + 1) * n - 1) / 2) for v, n in ((x, width), (y, height))
        )
        columns = [(int(np.floor(px)) - 1 + i, w) for i, w in enumerate(cubic(px - np.floor(px)))]
        rows = [(int(np.floor(py)) - 1 + i, w) for i, w in enumerate(cubic(py - np.floor(py)))]
    else:
        px, py = pixel(x, width, padding, align_corners), pixel(y, height, padding, align_corners)
        if mode == 1:
            columns, rows = [(int(np.rint(px)), 1.0)], [(int(np.rint(py)), 1.0)]
        else:
            columns = [(int(np.floor(px)), 1 - (px - np.floor(px))), (int(np.floor(px)) + 1, px - np.floor(px))]
            rows = [(int(np.floor(py)), 1 - (py - np.floor(py))), (int(np.floor(py)) + 1, py - np.floor(py))]
    total = np.zeros(image.shape[0])
    for (r, a), (c, b) in product(rows, columns):
        if mode == 2 and padding:
            to_unit = lambda i, n: 2 * i / (n - 1) - 1 if align_corners and n > 1 else (2 * i + 1) / n - 1  # noqa: E731
            r = round(pixel(to_unit(r, height), height, padding, align_corners))
            c = round(pixel(to_unit(c, width), width, padding, align_corners))
        if 0 <= r < height and 0 <= c < width:
            total += a * b * image[:, r, c]
    return total


@given(
    dtype=st.sampled_from(FLOATS),
    mode=st.sampled_from([0, 1, 2]),
    padding=st.sampled_from([0, 1, 2]),
    align_corners=st.booleans(),
    sides=st.tuples(st.integers(2, 6), st.integers(2, 6)),
    seed=st.integers(0, 999),
    data=st.data(),
)
@settings(max_examples=100, deadline=None)
def test_grid_sampler(dtype, mode, padding, align_corners, sides, seed, data):
    random = np.random.default_rng(seed)
    x = random_array(seed, dtype, (2, 3, *sides), specials=False)
    # An odd number of steps of 2^-7: no position is half-way between two pixels, and halves hold it exactly.
    grid = (random.integers(-100, 100, (2, 2, 3, 2)) * 2 + 1).astype(np.float64) / 2**7
    if mode == 1:  # rounds: keep away from the middle
        grid = np.round(grid * 4) / 4 + 1 / 64
    expected = np.zeros((2, 3, 2, 3))
    for n, i, j in product(range(2), range(2), range(3)):
        expected[n, :, i, j] = sample(x[n].astype(np.float64), *grid[n, i, j], mode, padding, align_corners)
    got = call_one("aten::grid_sampler_2d.out", In(x, data.draw(dim_orders(4))), grid.astype(dtype), mode, padding,
                   align_corners, dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(4)))  # fmt: skip
    scale = 4 * float(ml_dtypes.finfo(dtype).eps) if dtype.itemsize == 2 else 1e-5
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=scale, atol=4 * scale)


@pytest.mark.parametrize("size, factors, message", [
    (None, None, "output_size: .* got neither"),
    ([2, 2], [1.0, 1.0], "output_size: .* got both"), ([0, 2], None, "expected at least 1"),
    ([2], None, "expected two sizes"), (None, [0.1, 1.0], "expected at least 1"),
])  # fmt: skip
def test_refused_sizes(size, factors, message):
    with pytest.raises(en.ExecutionError, match=message):
        call_one(
            "aten::upsample_nearest2d.vec_out", np.ones((1, 1, 3, 3), F32), size, factors, dtype=F32, shape=(1, 1, 2, 2)
        )
