"""Elements chosen by masks."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from .data_call import REALS, array, arrays, call, check, examples, refuses


def draw_mask(data, x):
    """A mask that broadcasts with x, and x narrowed in some dims."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    mask = rng.random([1 if n and data.draw(st.booleans()) else n for n in x.shape]) < 0.5
    narrow = x[tuple(slice(0, 1) if n and data.draw(st.integers(0, 3)) == 0 else slice(None) for n in x.shape)]
    return narrow, mask[(0,) * data.draw(st.integers(0, mask.ndim))] if mask.size else mask


@examples
@given(st.data(), arrays(), st.integers(0, 3))
def test_masked_fill(data, x, value):
    x, mask = draw_mask(data, x)
    mask = np.asarray(mask)
    expected = np.where(mask, np.array(value).astype(x.dtype), x)
    check(data, "aten::masked_fill.Scalar_out", x, mask, value, expected=expected)
    check(data, "aten::masked_fill.Tensor_out", x, mask, np.array(value, np.int16), expected=expected)
    if expected.shape == x.shape:
        check(data, "aten::masked_fill_.Scalar", x, mask, value, expected=expected, in_place=True)


@examples
@given(st.data(), arrays())
def test_masked_select_and_scatter(data, x):
    x, mask = draw_mask(data, x)
    wide_x, wide_mask = np.broadcast_arrays(x, mask)
    check(data, "aten::masked_select.out", x, np.asarray(mask), expected=wide_x[wide_mask])
    source = array(x.dtype, (int(wide_mask.sum()) + 2,), 3)
    expected = wide_x.copy()
    expected[wide_mask] = source[:-2]
    check(data, "aten::masked_scatter.out", x, np.asarray(mask), source, expected=expected)


@examples
@given(st.data(), arrays(REALS, min_dims=1))
def test_nonzero(data, x):
    x = np.where(x % np.array(3).astype(x.dtype) == 0, np.zeros_like(x), x) if x.dtype.kind != "b" else x
    check(data, "aten::nonzero.out", x, expected=np.argwhere(x))


def test_nonzero_of_a_number():
    for number, count in [(0.0, 0), (-2.0, 1)]:
        (got,) = call("aten::nonzero.out", np.array(number), outs=[np.empty((1, 0), np.int64)], dynamic=True)
        assert got.shape == (count, 0)


@pytest.mark.parametrize("mask_shape", [(1, 1, 300, 300), (4, 1, 1, 300), (4, 8, 300, 1), (4, 8, 300, 300)])
def test_attention_masks(mask_shape):
    x = array(np.float32, (4, 8, 300, 300))
    mask = np.random.default_rng(0).random(mask_shape) < 0.5
    (got,) = call("aten::masked_fill.Scalar_out", x, mask, float("-inf"), outs=[x])
    np.testing.assert_array_equal(got, np.where(mask, np.float32(-np.inf), x))


def test_refusals():
    x, mask = np.zeros((2, 3), np.float32), np.ones((2, 3), bool)
    refuses(
        "aten::masked_fill.Scalar_out",
        x,
        mask[:, :2],
        0,
        outs=[x],
        match=r"mask: expected a shape that broadcasts with \[2, 3\], got \[2, 2\]",
    )
    refuses("aten::masked_fill.Scalar_out", x, x, 0, outs=[x], match="mask: expected dtype bool, got float32")
    refuses("aten::masked_fill.Tensor_out", x, mask, x[0], outs=[x], match="value: expected rank 0")
    refuses("aten::masked_scatter.out", x, mask, x[0], outs=[x], match="source: expected at least 6 elements")
