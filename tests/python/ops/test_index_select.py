"""Slices and elements picked by one list of indices."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from .data_call import DTYPES, array, arrays, call, check, examples, refuses

INDEX_TYPES = st.sampled_from([np.int32, np.int64])


def draw_indices(data, size, low=0, **options):
    numbers = data.draw(st.lists(st.integers(low, size - 1), max_size=5, **options)) if size else []
    return np.array(numbers, data.draw(INDEX_TYPES))


def at(dim, key):
    return (slice(None),) * dim + (key,)


@examples
@given(st.data(), arrays(min_dims=1))
def test_index_select(data, x):
    dim = data.draw(st.integers(0, x.ndim - 1))
    index = draw_indices(data, x.shape[dim])
    check(data, "aten::index_select.out", x, dim - x.ndim, index, expected=x.take(index, dim))


@examples
@given(st.data(), arrays(min_dims=2, max_dims=2), st.lists(st.integers(0, 3), max_size=2))
def test_embedding(data, weight, shape):
    if weight.shape[0] == 0:
        shape = [0, *shape]
    rows = np.random.default_rng(0).integers(0, max(1, weight.shape[0]), shape).astype(data.draw(INDEX_TYPES))
    check(data, "aten::embedding.out", weight, rows, -1, False, False, expected=weight[rows])


@examples
@given(st.data(), arrays(min_dims=1))
def test_changes_of_rows(data, x):
    dim = data.draw(st.integers(0, x.ndim - 1))
    index = draw_indices(data, x.shape[dim], unique=True)
    source = array(x.dtype, (*x.shape[:dim], len(index), *x.shape[dim + 1 :]), 3)
    copied = x.copy()
    copied[at(dim, index)] = source
    check(data, "aten::index_copy.out", x, dim, index, source, expected=copied)
    added = x.copy()
    added[at(dim, index)] += source
    check(data, "aten::index_add.out", x, dim, index, source, 1, expected=added)
    filled = x.copy()
    filled[at(dim, index)] = 3
    back = (index - x.shape[dim]).astype(index.dtype)
    check(data, "aten::index_fill.int_Scalar_out", x, dim, back, 3, expected=filled)
    check(data, "aten::index_fill.int_Tensor_out", x, dim, index, np.array(3, np.uint8), expected=filled)


def test_index_add_accumulates_with_alpha():
    x, index = np.ones((2, 3), np.float32), np.array([1, 1, 0])
    source = array(np.float32, (3, 3))
    expected = x.copy()
    np.add.at(expected, index, source * np.float32(-0.5))
    (got,) = call("aten::index_add.out", x, 0, index, source, -0.5, outs=[x])
    np.testing.assert_array_equal(got, expected)


@examples
@given(st.data(), arrays())
def test_take_and_put(data, x):
    index = draw_indices(data, x.size, -x.size)
    check(data, "aten::take.out", x, index, expected=x.ravel()[index])
    source = array(x.dtype, index.shape, 3)
    expected = x.copy().ravel()
    np.add.at(expected, index, source)
    check(data, "aten::put.out", x, index, source, True, expected=expected.reshape(x.shape))
    expected = x.copy().ravel()
    for i, value in zip(index, source, strict=True):
        expected[i] = value
    check(data, "aten::put.out", x, index, source, False, expected=expected.reshape(x.shape))


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_embedding(dtype):
    weight = array(dtype, (500, 129))
    rows = np.random.default_rng(0).integers(0, 500, (40, 100))
    (got,) = call("aten::embedding.out", weight, rows, -1, False, False, outs=[weight[rows]])
    np.testing.assert_array_equal(got, weight[rows])


def test_refusals():
    x = np.zeros((2, 3), np.float32)
    refuses(
        "aten::embedding.out",
        x,
        np.array([0, 2]),
        -1,
        False,
        False,
        outs=[x],
        match="indices: expected 0 to 1, got 2 at 1",
    )
    refuses(
        "aten::embedding.out",
        x,
        np.array([-1]),
        -1,
        False,
        False,
        outs=[x],
        match="indices: expected 0 to 1, got -1 at 0",
    )
    refuses("aten::embedding.out", x, np.array([0.0]), -1, False, False, outs=[x], match="indices: expected int64")
    for wrong in (2**63 - 1, -(2**63), -4, 2**31):
        index = np.zeros(5000, np.int64)
        index[4321] = wrong
        match = f"index: expected 0 to 2, got {wrong} at 4321"
        refuses("aten::index_select.out", x, 1, index, outs=[x[:, index * 0]], match=match)
    refuses("aten::index_select.out", x, 1, np.array([3]), outs=[x], match="index: expected 0 to 2, got 3 at 0")
    refuses("aten::index_select.out", x, 0, np.array([[0]]), outs=[x], match="index: expected rank 0 or 1")
    refuses("aten::index_add.out", x, 0, np.array([0]), x, 1, outs=[x], match="source: expected shape .1, 3.")
    refuses("aten::take.out", x, np.array([6]), outs=[x[0]], match="index: expected -6 to 5, got 6 at 0")
