"""Copies that keep the shape, and conversions of dtype."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from .data_call import BFLOAT16, DTYPES, array, arrays, call, check, examples, refuses

COPIES = ["aten::alias_copy.out", "aten::detach_copy.out", "aten::lift_fresh_copy.out", "et_copy::_h2d_copy.out",
          "et_copy::_d2h_copy.out"]  # fmt: skip


@examples
@given(st.data(), st.sampled_from(COPIES), arrays())
def test_plain_copies(data, operator, x):
    check(data, operator, x, expected=x)


@examples
@given(st.data(), arrays())
def test_clones(data, x):
    check(data, "aten::clone.out", x, None, expected=x)
    check(data, "dim_order_ops::_clone_dim_order.out", x, False, None, expected=x)


@examples
@given(st.data(), arrays(), st.sampled_from(DTYPES))
def test_conversions(data, x, dtype):
    if dtype.kind == "u" and (x.dtype.kind in "fVc" or x.dtype == BFLOAT16):
        x = np.abs(x.real).astype(x.dtype)  # what a negative number becomes is the processor's own
    if x.dtype.kind == "c" and dtype.kind == "b":
        expected = x != 0
    else:
        expected = (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype)
    check(data, "aten::_to_copy.out", x, False, None, expected=expected)
    check(data, "dim_order_ops::_to_dim_order_copy.out", x, False, None, expected=expected)


def test_float_to_bool_is_not_zero():
    x = np.array([0.0, -0.0, 0.25, np.nan, -np.inf], np.float32)
    (got,) = call("aten::_to_copy.out", x, False, None, outs=[np.empty(5, bool)])
    assert got.tolist() == [False, False, True, True, True]


@examples
@given(st.data(), arrays(max_side=3), st.integers(0, 4), st.sampled_from(DTYPES[:4]))
def test_copy_broadcasts_and_converts(data, x, dropped, dtype):
    source = array(dtype, [1 if i % 2 else size for i, size in enumerate(x.shape)][dropped:])
    source = np.abs(source) if x.dtype.kind == "u" else source
    expected = np.broadcast_to(source, x.shape).astype(x.dtype)
    check(data, "aten::copy.out", x, source, False, expected=expected)
    check(data, "aten::copy_", x, source, False, expected=expected, in_place=True)


@examples
@given(st.data(), arrays([np.dtype("complex64"), np.dtype("complex128")]))
def test_complex_views(data, x):
    pairs = np.stack([x.real, x.imag], -1)
    check(data, "aten::view_as_real_copy.out", x, expected=pairs)
    check(data, "aten::view_as_complex_copy.out", pairs, expected=x)


def test_refusals():
    x = np.zeros((2, 3), np.float32)
    refuses("aten::copy.out", x, np.zeros((2, 2), np.float32), False, outs=[x], match="src.*broadcast")
    refuses("aten::copy.out", x, np.zeros((4, 2, 3), np.float32), False, outs=[x], match="src.*broadcast")
    refuses("aten::alias_copy.out", x, outs=[x.astype(np.int32)], match="out: expected dtype float32, got int32")
    refuses("aten::view_as_real_copy.out", x, outs=[np.zeros((2, 3, 2), np.float32)], match="complex")


@pytest.mark.parametrize("shape", [(1000, 1001), (3, 5, 7, 11, 13), (64, 3, 224, 5)])
def test_large_copies(shape):
    x = array(np.float32, shape)
    (got,) = call("aten::clone.out", x, None, outs=[x])
    np.testing.assert_array_equal(got, x)
    (got,) = call("aten::_to_copy.out", x, False, None, outs=[x.astype(np.int16)])
    np.testing.assert_array_equal(got, x.astype(np.int16))
