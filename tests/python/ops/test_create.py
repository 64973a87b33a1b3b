"""Tensors made from numbers."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from .data_call import BFLOAT16, DTYPES, REALS, array, arrays, call, check, examples, refuses


@examples
@given(st.data(), arrays(), st.integers(0, 3))
def test_fills(data, x, value):
    full = np.full(x.shape, value, x.dtype)
    shape = list(x.shape)
    check(data, "aten::full.out", shape, value, expected=full)
    check(data, "aten::full_like.out", x, value, None, expected=full)
    check(data, "aten::fill.Scalar_out", x, value, expected=full)
    check(data, "aten::fill.Tensor_out", x, np.array(value, np.int32), expected=full)
    check(data, "aten::zeros.out", shape, expected=np.zeros_like(x))
    check(data, "aten::ones.out", shape, expected=np.ones_like(x))
    check(data, "aten::zeros_like.out", x, None, expected=np.zeros_like(x))
    check(data, "aten::ones_like.out", x, None, expected=np.ones_like(x))
    check(data, "aten::scalar_tensor.out", value, expected=np.array(value, x.dtype))


def test_empty_has_the_shape():
    for operator in ("aten::empty.out", "dim_order_ops::_empty_dim_order.out"):
        (got,) = call(operator, [2, 3], None, outs=[np.empty((2, 5), np.int16)], dynamic=True)
        assert got.shape == (2, 3)


@examples
@given(st.data(), st.sampled_from([d for d in REALS if d.kind in "iuf"]), st.integers(-9, 9), st.integers(-9, 9))
def test_arange_of_ints(data, dtype, start, end):
    step = data.draw(st.integers(1, 3)) * (1 if end >= start else -1)
    if dtype.kind == "u" and min(start, end) < 0:
        return
    check(data, "aten::arange.start_out", start, end, step, expected=np.arange(start, end, step).astype(dtype))
    if end >= 0:
        check(data, "aten::arange.out", end, expected=np.arange(end).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, BFLOAT16])
def test_arange_of_floats(dtype):
    expected = np.arange(0.5, 30, 0.3).astype(dtype)
    (got,) = call("aten::arange.start_out", 0.5, 30.0, 0.3, outs=[expected])
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=1e-6)


def test_arange_keeps_all_bits_of_int64():
    start = 2**62 + 1
    (got,) = call("aten::arange.start_out", start, start + 6, 2, outs=[np.empty(3, np.int64)])
    assert got.tolist() == [start, start + 2, start + 4]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 10, 1001])
def test_linspace(dtype, steps):
    expected = np.linspace(-1.5, 7.25, steps, dtype=dtype)
    (got,) = call("aten::linspace.out", -1.5, 7.25, steps, outs=[expected])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    (got,) = call("aten::logspace.out", -1.5, 2.25, steps, 2.0, outs=[expected])
    np.testing.assert_allclose(got, np.logspace(-1.5, 2.25, steps, base=2.0, dtype=dtype), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 10])
def test_frequencies(dtype, n):
    expected = np.fft.fftfreq(n, 0.3).astype(dtype) if n else np.empty(0, dtype)
    np.testing.assert_allclose(call("aten::fft_fftfreq.out", n, 0.3, outs=[expected])[0], expected, rtol=1e-6)
    expected = np.fft.rfftfreq(n, 0.3).astype(dtype) if n else np.full(1, np.nan, dtype)
    np.testing.assert_allclose(call("aten::fft_rfftfreq.out", n, 0.3, outs=[expected])[0], expected, rtol=1e-6)
    refuses("aten::fft_fftfreq.out", -1, 0.3, outs=[expected], match="n: expected at least 0, got -1")


@examples
@given(st.data(), st.sampled_from(DTYPES), st.integers(0, 5), st.integers(0, 5), st.integers(-6, 6))
def test_matrices(data, dtype, n, m, offset):
    check(data, "aten::eye.out", n, expected=np.eye(n, dtype=dtype))
    check(data, "aten::eye.m_out", n, m, expected=np.eye(n, m, dtype=dtype))
    check(data, "aten::tril_indices.out", n, m, offset, expected=np.stack(np.tril_indices(n, offset, m)))
    check(data, "aten::triu_indices.out", n, m, offset, expected=np.stack(np.triu_indices(n, offset, m)))


OUT_OF_RANGE = [
    (300, np.uint8), (-129, np.int8), (2**31, np.int32), (1e39, np.float32), (-256, np.uint8), (-0.5, np.uint8),
    (-1.5, np.uint64), (255.5, np.uint8), (127.5, np.int8), (float("nan"), np.int32), (float("inf"), np.int64),
]  # fmt: skip


@pytest.mark.parametrize("value, dtype", OUT_OF_RANGE)
def test_numbers_out_of_range(value, dtype):
    x = np.zeros(3, dtype)
    refuses("aten::full.out", [3], value, outs=[x], match="fill_value: expected a number of")
    refuses("aten::fill.Scalar_out", x, value, outs=[x], match="value: expected a number of")


def test_numbers_at_the_edge_of_the_range():
    for value, dtype in [(255, np.uint8), (-1, np.uint8), (-128, np.int8), (2**63 - 1, np.int64), (2.9, np.int16)]:
        (got,) = call("aten::full.out", [2], value, outs=[np.empty(2, dtype)])
        assert got.tolist() == [np.array(int(value)).astype(dtype)] * 2
    lowest = float(np.finfo(np.float32).min)
    (got,) = call("aten::full.out", [1], lowest, outs=[np.empty(1, np.float32)])
    assert got.tolist() == [lowest]
    (got,) = call("aten::scalar_tensor.out", lowest, outs=[np.empty((), np.float16)])
    assert got == -np.inf


def test_refusals():
    x = np.zeros(4, np.float32)
    refuses("aten::arange.start_out", 0, 4, -1, outs=[x], match="step: expected one that leads from 0 to 4, got -1")
    refuses("aten::arange.start_out", 0, 4, 0, outs=[x], match="step: expected a number other than 0")
    refuses("aten::linspace.out", 0, 1, -1, outs=[x], match="steps: expected at least 0, got -1")
    refuses("aten::fill.Tensor_out", x, array(np.float32, (2,)), outs=[x], match="value: expected rank 0")
    # 2**62 * 12 is 0 in 64 bits
    refuses("aten::full.out", [2**62, 12], 1, outs=[x], match=r"out: the result has shape \[4611686018427387904, 12\]")
