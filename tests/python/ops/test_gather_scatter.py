"""Elements picked and changed by an index of their own."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from .data_call import DTYPES, REALS, array, arrays, call, check, examples, refuses


def draw_index(data, x, dim):
    sizes = [data.draw(st.integers(0, 4 if d == dim else n)) for d, n in enumerate(x.shape)]
    if x.shape[dim] == 0:
        sizes[dim] = 0
    index = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, max(1, x.shape[dim]), sizes)
    return index.astype(data.draw(st.sampled_from([np.int32, np.int64])))


def places(index, dim):
    """The key of the elements that the index names."""
    key = list(np.indices(index.shape))
    key[dim] = index
    return tuple(key)


@examples
@given(st.data(), arrays(min_dims=1))
def test_gather(data, x):
    dim = data.draw(st.integers(0, x.ndim - 1))
    index = draw_index(data, x, dim)
    check(data, "aten::gather.out", x, dim - x.ndim, index, False, expected=x[places(index, dim)])


@examples
@given(st.data(), arrays(min_dims=1))
def test_scatter(data, x):
    dim = data.draw(st.integers(0, x.ndim - 1))
    index = draw_index(data, x, dim)
    src = array(x.dtype, [n + 1 for n in index.shape], 3)
    used = src[tuple(slice(0, n) for n in index.shape)]
    expected = x.copy()
    for place in np.ndindex(index.shape):
        expected[(*place[:dim], index[place], *place[dim + 1 :])] = used[place]
    check(data, "aten::scatter.src_out", x, dim, index, src, expected=expected)
    filled = x.copy()
    filled[places(index, dim)] = 3
    check(data, "aten::scatter.value_out", x, dim, index, 3, expected=filled)
    added = x.copy()
    np.add.at(added, places(index, dim), used)
    check(data, "aten::scatter_add.out", x, dim, index, src, expected=added)


def reduced(x, index, src, dim, reduce, include_self):
    """PyTorch's scatter_reduce, element by element, for arrays that float64 holds."""
    groups = {}
    for place in np.ndindex(index.shape):
        groups.setdefault((*place[:dim], int(index[place]), *place[dim + 1 :]), []).append(float(src[place]))
    result = x.copy()
    for place, members in groups.items():
        if include_self:
            members = [float(x[place]), *members]
        if reduce == "mean":
            total = sum(members) / len(members)
            result[place] = np.floor(total) if x.dtype.kind in "iu" else total
        else:
            result[place] = {"sum": sum, "prod": np.prod, "amax": max, "amin": min}[reduce](members)
    return result


@examples
@given(st.data(), st.sampled_from(["sum", "prod", "mean", "amax", "amin"]), st.booleans(), st.sampled_from(
    [np.dtype(t) for t in ("float32", "float64", "int64", "int32")]))  # fmt: skip
def test_scatter_reduce(data, reduce, include_self, dtype):
    x = data.draw(arrays([dtype], min_dims=1, max_dims=3, max_side=3))
    dim = data.draw(st.integers(0, x.ndim - 1))
    index = draw_index(data, x, dim)
    src = array(dtype, index.shape, 3) % 4
    x = x % 4
    expected = reduced(x, index, src, dim, reduce, include_self)
    arguments = (x, dim, index, src, reduce, include_self)
    check(data, "aten::scatter_reduce.two_out", *arguments, expected=expected, tolerance=1e-5)
    if include_self and reduce in ("sum", "prod"):
        old_name = {"sum": "add", "prod": "multiply"}[reduce]
        check(data, "aten::scatter.reduce_out", x, dim, index, src, old_name, expected=expected, tolerance=1e-5)


def test_maximum_keeps_nan():
    x, src = np.array([1, np.nan, 3], np.float32), np.array([np.nan, 5, 2], np.float32)
    index = np.arange(3)
    (got,) = call("aten::scatter_reduce.two_out", x, 0, index, src, "amax", True, outs=[x])
    np.testing.assert_array_equal(got, [np.nan, np.nan, 3])


@pytest.mark.parametrize("dtype", [d for d in REALS if d.kind in "iu"])
def test_integers_wrap(dtype):
    x = np.full(1, np.iinfo(dtype).max, dtype)
    (got,) = call("aten::scatter_add.out", x, 0, np.array([0]), np.ones(1, dtype), outs=[x])
    assert got.tolist() == [np.iinfo(dtype).min]


def test_rank_zero():
    x = np.float32(5)
    (got,) = call("aten::gather.out", np.array(x), 0, np.array(0), False, outs=[np.array(x)])
    assert got == 5
    (got,) = call("aten::scatter_add.out", np.array(x), -1, np.array(0), np.array(x), outs=[np.array(x)])
    assert got == 10


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_gather(dtype):
    x = array(dtype, (50, 200, 30))
    index = np.random.default_rng(0).integers(0, 200, (50, 120, 30))
    (got,) = call("aten::gather.out", x, 1, index, False, outs=[x[:, :120]])
    np.testing.assert_array_equal(got, np.take_along_axis(x, index, 1))


def test_refusals():
    x, index = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.int64)
    refuses("aten::gather.out", x, 0, index + 2, False, outs=[x], match="index: expected 0 to 1, got 2 at 0")
    refuses("aten::gather.out", x, 0, index - 1, False, outs=[x], match="index: expected 0 to 1, got -1 at 0")
    refuses("aten::gather.out", x, 0, index[0], False, outs=[x], match="index: expected rank 2")
    wide = np.zeros((2, 4), np.int64)
    refuses("aten::gather.out", x, 0, wide, False, outs=[x], match="index: expected at most shape .2, 3. but along")
    refuses("aten::scatter.src_out", x, 0, index, x[:, :2], outs=[x], match="src: expected at least the index's shape")
    refuses("aten::scatter_add.out", x, 0, index, x.astype(np.float64), outs=[x], match="src: expected dtype float32")
    refuses("aten::scatter_reduce.two_out", x, 0, index, x, "median", True, outs=[x], match="reduce: expected sum")
