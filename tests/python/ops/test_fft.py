"""Fourier transforms, against numpy's."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en

from .single_call import In, call_one, dim_orders

NORMS = ["backward", "ortho", "forward"]  # of forward transforms: not scaled, by the root, by the count
SIZES = [1, 2, 3, 4, 5, 7, 8, 10, 12, 13, 16, 22, 31, 34, 37, 49, 64]
EXAMPLES = settings(max_examples=80, deadline=None)


@st.composite
def signals(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int]]:
    shape = tuple(draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=3)))
    dims = draw(st.permutations(range(len(shape))))[: draw(st.integers(1, len(shape)))]
    return shape, [d - len(shape) if draw(st.booleans()) else d for d in dims]


def random_signal(seed, shape, dtype):
    random = np.random.default_rng(seed)
    real = random.standard_normal(shape)
    return (real + 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else real).astype(dtype)


def check(got, expected, dtype):
    assert got.dtype == dtype
    tolerance = 1e-6 if dtype in (np.complex64, np.float32) else 1e-13
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max(initial=0)))


@given(signal=signals(), norm=st.integers(0, 2), onesided=st.booleans(), double=st.booleans(), seed=st.integers(0, 999),
       data=st.data())  # fmt: skip
@EXAMPLES
def test_real_to_complex(signal, norm, onesided, double, seed, data):
    shape, dims = signal
    x = random_signal(seed, shape, np.float64 if double else np.float32)
    wide = x.astype(np.float64)
    transform = np.fft.rfftn if onesided else np.fft.fftn
    expected = transform(wide, axes=dims, norm=NORMS[norm])
    dtype = np.complex128 if double else np.complex64
    got = call_one("aten::_fft_r2c.out", In(x, data.draw(dim_orders(len(shape)))), dims, norm, onesided,
                   dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(len(shape))))  # fmt: skip
    check(got, expected, dtype)


# Lines long enough to be moved in several stretches, more of them than go side by side.
@pytest.mark.parametrize("shape, dim", [((9, 520), 1), ((19, 514), 1), ((5, 520, 3), 1), ((300, 7), 0), ((9, 521), 1)])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_long_real_lines(shape, dim, onesided, dtype):
    x = random_signal(0, shape, np.float64 if dtype == np.complex128 else np.float32)
    x[0, 1] = np.inf  # spoils its own line alone
    with np.errstate(invalid="ignore"):
        expected = (np.fft.rfft if onesided else np.fft.fft)(x.astype(np.float64), axis=dim)
    got = call_one("aten::_fft_r2c.out", In(x), [dim], 0, onesided, dtype=dtype, shape=expected.shape)
    finite = np.isfinite(x).all(dim)
    got, expected = np.moveaxis(got, dim, -1), np.moveaxis(expected, dim, -1)
    check(got[finite], expected[finite], dtype)
    assert not np.isfinite(got[~finite]).any()


@given(signal=signals(), norm=st.integers(0, 2), odd=st.integers(0, 1), double=st.booleans(), seed=st.integers(0, 999),
       data=st.data())  # fmt: skip
@EXAMPLES
def test_complex_to_real(signal, norm, odd, double, seed, data):
    shape, dims = signal
    size = max(1, 2 * (shape[dims[-1]] - 1) + odd)
    x = random_signal(seed, shape, np.complex128 if double else np.complex64)
    sizes = [shape[d] for d in dims[:-1]] + [size]
    # numpy scales inverse transforms the other way round: not at all is "forward"
    expected = np.fft.irfftn(x.astype(np.complex128), s=sizes, axes=dims, norm=NORMS[2 - norm])
    dtype = np.float64 if double else np.float32
    got = call_one("aten::_fft_c2r.out", In(x, data.draw(dim_orders(len(shape)))), dims, norm, size,
                   dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(len(shape))))  # fmt: skip
    check(got, expected, dtype)


@pytest.mark.parametrize("shape, dim", [((9, 260), 1), ((19, 258), 1), ((5, 260, 3), 1), ((151, 7), 0)])
@pytest.mark.parametrize("odd", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_lines_to_real(shape, dim, odd, dtype):
    x = random_signal(0, shape, np.complex128 if dtype == np.float64 else np.complex64)
    x[0, 1] = np.inf  # spoils its own line alone
    size = 2 * (shape[dim] - 1) + odd
    with np.errstate(invalid="ignore"):
        expected = np.fft.irfft(x.astype(np.complex128), size, axis=dim, norm="forward")
    got = call_one("aten::_fft_c2r.out", In(x), [dim], 0, size, dtype=dtype, shape=expected.shape)
    finite = np.isfinite(x).all(dim)
    got, expected = np.moveaxis(got, dim, -1), np.moveaxis(expected, dim, -1)
    check(got[finite], expected[finite], dtype)
    assert not np.isfinite(got[~finite]).any()


@given(signal=signals(), norm=st.integers(0, 2), forward=st.booleans(), double=st.booleans(), seed=st.integers(0, 999),
       data=st.data())  # fmt: skip
@EXAMPLES
def test_complex_to_complex(signal, norm, forward, double, seed, data):
    shape, dims = signal
    dtype = np.complex128 if double else np.complex64
    x = random_signal(seed, shape, dtype)
    transform = np.fft.fftn if forward else np.fft.ifftn
    expected = transform(x.astype(np.complex128), axes=dims, norm=NORMS[norm if forward else 2 - norm])
    got = call_one("aten::_fft_c2c.out", In(x, data.draw(dim_orders(len(shape)))), dims, norm, forward,
                   dtype=dtype, shape=shape, dim_order=data.draw(dim_orders(len(shape))))  # fmt: skip
    check(got, expected, dtype)


@pytest.mark.parametrize("length", [1000, 1024, 1078, 4099, 2 * 29 * 31])
def test_long_transforms(length):
    x = random_signal(1, (2, length), np.float32)
    got = call_one("aten::_fft_r2c.out", x, [1], 0, True, dtype=np.complex64, shape=(2, length // 2 + 1))
    check(got, np.fft.rfft(x.astype(np.float64)), np.complex64)


@pytest.mark.parametrize("operator, dtype, args, message", [
    ("_fft_r2c", np.float32, [[3], 0, True], "dim"),
    ("_fft_r2c", np.float32, [[0, 0], 0, True], r"dim: expected each dim once, got \[0, 0\]"),
    ("_fft_r2c", np.int32, [[0], 0, True], "self: expected a floating dtype"),
    ("_fft_c2r", np.complex64, [[0], 0, 9], "last_dim_size: expected 1 to 5, got 9"),
    ("_fft_c2c", np.float32, [[0], 0, True], "self: expected a complex dtype"),
])  # fmt: skip
def test_refused_transforms(operator, dtype, args, message):
    out = np.float32 if operator == "_fft_c2r" else np.complex64
    with pytest.raises(en.ExecutionError, match=message):
        call_one(f"aten::{operator}.out", np.ones((3, 2), dtype), *args, dtype=out, shape=(3, 2))
