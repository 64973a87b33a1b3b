"""Order along a dim."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from .data_call import FLOATS, REALS, array, arrays, call, check, examples, refuses


def with_specials(x):
    """NaN, infinities and zeros of both signs among floats."""
    if x.dtype.kind in "iub":
        return x
    x = x.copy()
    specials = [np.nan, np.inf, -np.inf, -0.0, 0.0, np.nan]
    flat = x.reshape(-1)
    flat[::3] = np.resize(np.array(specials, np.float32).astype(x.dtype), len(flat[::3]))
    return x


def stable_order(x, dim, descending):
    """NaN is above everything; equal values keep their order."""
    wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x
    if not descending:
        return np.argsort(wide, dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(wide, dim), dim, kind="stable"), dim)


@examples
@given(st.data(), arrays(REALS, min_dims=1, max_dims=3), st.booleans(), st.booleans())
def test_sort(data, x, descending, special):
    x = with_specials(x) if special else x
    dim = data.draw(st.integers(0, x.ndim - 1))
    order = stable_order(x, dim, descending)
    expected = (np.take_along_axis(x, order, dim), order)
    check(data, "aten::sort.values", x, dim - x.ndim, descending, expected=expected)
    check(data, "aten::sort.values_stable", x, True, dim, descending, expected=expected)
    check(data, "aten::argsort.stable_out", x, True, dim, descending, expected=order)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int32, np.float32, np.int64, np.float64])
@pytest.mark.parametrize("descending", [False, True])
def test_short_lines(dtype, descending):
    """Networks sort these: of every length, with equal values, with far apart and with neighbouring ones."""
    rng = np.random.default_rng(5)
    for length in [*range(34), 47, 63, 64, 65, 96, 100, 127, 128, 129]:
        x = rng.integers(0, 40, (50, length)).astype(dtype)
        if dtype == np.int64:
            ends = np.iinfo(dtype).min, np.iinfo(dtype).max
            x[10:20] = rng.integers(*ends, (10, length))
            x[20:30] = rng.choice([ends[0], ends[0] + 1, -1, 0, 1, ends[1] - 1, ends[1]], (10, length))
        elif np.issubdtype(dtype, np.floating):
            x[10:20] = rng.normal(0, 1, (10, length))
            x[20:30] = rng.choice([1, np.nextafter(dtype(1), dtype(2)), -1, 0, np.inf, np.nan], (10, length))
        values, indices = call("aten::sort.values", x, 1, descending, outs=[x.copy(), np.empty(x.shape, np.int64)])
        order = stable_order(x, 1, descending)
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("lines", [1, 3, 7, 8, 9, 21])
@pytest.mark.parametrize("length", [2, 5, 16, 64, 100])
def test_short_lines_along_any_dim(dtype, lines, length):
    """Several are sorted together; of two dims each."""
    x = np.random.default_rng(6).integers(0, 50, (2, length, lines)).astype(dtype)
    x = with_specials(x)
    for descending in (False, True):
        order = stable_order(x, 1, descending)
        expected = np.take_along_axis(x, order, 1)
        values, indices = call("aten::sort.values", x, 1, descending, outs=[x, order])
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(values, expected)
        k = (length + 1) // 2
        values, indices = call("aten::topk.values", x, k, 1, descending, True, outs=[x[:, :k], order[:, :k]])
        np.testing.assert_array_equal(values, expected[:, :k])
        np.testing.assert_array_equal(np.take_along_axis(x, indices, 1), values)
        ranked = np.sort(indices, 1)
        assert (ranked[:, 1:] != ranked[:, :-1]).all()


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("descending", [False, True])
def test_long_lines(dtype, descending):
    x = with_specials(np.random.default_rng(0).normal(0, 50, (3, 3000)).astype(np.float32).astype(dtype)) if (
        dtype in FLOATS
    ) else array(dtype, (3, 3000))  # fmt: skip
    order = stable_order(x, 1, descending)
    values, indices = call("aten::sort.values_stable", x, True, 1, descending, outs=[x, order])
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16])
@pytest.mark.parametrize("k", [40, 200, 500, 1500])
def test_topk_of_long_lines(dtype, k):
    # Distinct values, but for the last line's, in which many are equal.
    rng = np.random.default_rng(0)
    x = np.stack([rng.permutation(2048), np.arange(2048), np.arange(2048)[::-1], rng.integers(0, 300, 2048)])
    x = x.astype(dtype)
    for largest in (False, True):
        order = stable_order(x, 1, largest)[:, :k]
        values, indices = call("aten::topk.values", x, k, 1, largest, True, outs=[x[:, :k], order])
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
        np.testing.assert_array_equal(indices[:3], order[:3])
        np.testing.assert_array_equal(np.take_along_axis(x, indices, 1), values)
        assert all(len(set(row)) == k for row in indices.tolist())


# As torch.topk answers.
FEW_OF_EQUALS = {
    (1, True): [38], (1, False): [51], (4, True): [218, 38, 308, 128], (4, False): [141, 51, 321, 231],
    (10, True): [128, 218, 578, 308, 38, 668, 488, 398, 295, 385],
    (10, False): [141, 231, 411, 591, 321, 681, 501, 51, 244, 154],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [t for t in REALS if t != np.bool_])
@pytest.mark.parametrize("inner", [1, 3])
def test_few_of_equal_values_are_those_that_eager_takes(dtype, inner):
    line = ((np.arange(700) * 7 + 3) % 90).astype(dtype)
    x = np.stack([line] * inner, 1)
    for (k, largest), expected in FEW_OF_EQUALS.items():
        order = np.stack([expected] * inner, 1)
        values, indices = call("aten::topk.values", x, k, 0, largest, True, outs=[x[:k], order])
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(values, line[order])


# The same of short lines: of 100 values, and of 16 equal ones.
SHORT_OF_EQUALS = {
    (100, 30, 4, True): [38, 8, 68, 98], (100, 30, 4, False): [21, 81, 51, 4],
    (100, 30, 10, True): [98, 38, 68, 8, 85, 25, 55, 12, 72, 42],
    (100, 30, 10, False): [21, 81, 51, 4, 34, 64, 94, 17, 77, 47],
    (16, 7, 4, True): [10, 11, 12, 9], (16, 7, 4, False): [10, 11, 12, 9],
    (16, 7, 10, True): [8, 15, 14, 13, 12, 11, 10, 9, 2, 3], (16, 7, 10, False): [8, 15, 14, 13, 12, 11, 10, 9, 2, 3],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [t for t in REALS if t != np.bool_])
@pytest.mark.parametrize("inner", [1, 3, 9])
def test_few_of_equal_values_in_short_lines_are_those_that_eager_takes(dtype, inner):
    for (length, period, k, largest), expected in SHORT_OF_EQUALS.items():
        line = ((np.arange(length) * 7 + 3) % period).astype(dtype)
        x, order = np.stack([line] * inner, 1), np.stack([expected] * inner, 1)
        values, indices = call("aten::topk.values", x, k, 0, largest, True, outs=[x[:k], order])
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(values, line[order])


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("kind", ["any", "rising", "falling", "NaN first"])
def test_few_of_many(dtype, kind):
    x = array(dtype, (3, 2000)) if dtype not in FLOATS else np.random.default_rng(0).normal(0, 50, (3, 2000))
    x = np.sort(x) if kind == "rising" else np.flip(np.sort(x), 1) if kind == "falling" else x
    x = with_specials(x.astype(dtype))
    if kind == "NaN first" and dtype in FLOATS:
        x[:, :1900] = np.nan
    for largest in (False, True):
        for k in (1, 2, 31):
            top = np.take_along_axis(x, stable_order(x, 1, largest)[:, :k], 1)
            order = np.empty(top.shape, np.int64)
            values, indices = call("aten::topk.values", x, k, 1, largest, True, outs=[top, order])
            np.testing.assert_array_equal(values, top)
            np.testing.assert_array_equal(np.take_along_axis(x, indices, 1), top)
            assert all(len(set(row)) == k for row in indices.tolist())


@examples
@given(st.data(), arrays(REALS, min_dims=1, max_dims=3, max_side=9), st.booleans(), st.booleans())
def test_topk(data, x, largest, special):
    x = with_specials(x) if special else x
    dim = data.draw(st.integers(0, x.ndim - 1))
    k = data.draw(st.integers(0, x.shape[dim]))
    order = stable_order(x, dim, largest)
    top = np.take_along_axis(x, order, dim)[(slice(None),) * dim + (slice(0, k),)]
    values, indices = call("aten::topk.values", x, k, dim, largest, True, outs=[top, np.empty(top.shape, np.int64)])
    np.testing.assert_array_equal(values, top)
    np.testing.assert_array_equal(np.take_along_axis(x, indices, dim), top)


@examples
@given(st.data(), arrays(REALS[:12], min_dims=1, max_dims=3, max_side=9), st.booleans(), st.booleans())
def test_middle_values(data, x, keepdim, special):
    x = with_specials(x) if special else x
    dim = data.draw(st.integers(0, x.ndim - 1))
    if x.shape[dim] == 0:
        return

    def pick(place):
        ordered = np.take_along_axis(x, stable_order(x, dim, False), dim)
        return np.take_along_axis(ordered, np.expand_dims(place, dim), dim)

    counts = x.shape[dim] - np.isnan(x.astype(np.float64)).sum(dim)
    last = np.full(counts.shape, x.shape[dim] - 1)
    median = np.where(counts <= last, last, (x.shape[dim] - 1) // 2)
    k = data.draw(st.integers(1, x.shape[dim]))
    for operator, args, place in [
        ("aten::median.dim_values", (dim, keepdim), median),
        ("aten::nanmedian.dim_values", (dim, keepdim), np.maximum(counts - 1, 0) // 2),
        ("aten::kthvalue.values", (k, dim, keepdim), np.full(counts.shape, k - 1)),
    ]:
        expected = pick(place)
        planned = expected if keepdim else expected.squeeze(dim)
        values, indices = call(operator, x, *args, outs=[planned, np.empty(planned.shape, np.int64)])
        np.testing.assert_array_equal(values, planned)
        found = np.take_along_axis(x, indices if keepdim else np.expand_dims(indices, dim), dim)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", REALS[:12])
def test_median_of_all(dtype):
    x = array(dtype, (3, 6))
    (got,) = call("aten::median.out", x, outs=[np.empty((), dtype)])
    assert got == np.sort(x.ravel())[8]


@examples
@given(arrays(REALS[4:12], min_dims=1, max_dims=1, max_side=12))
def test_mode(x):
    if x.size == 0:
        return
    x = x % np.array(3, x.dtype)
    values, counts = np.unique(x, return_counts=True)
    best = values[counts.argmax()]
    value, index = call("aten::mode.values", x, 0, False, outs=[np.empty((), x.dtype), np.empty((), np.int64)])
    assert value == best
    assert index == np.flatnonzero(x == best)[-1]


def test_refusals():
    x, i = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.int64)
    refuses("aten::sort.values", x, 2, False, outs=[x, i], match="dim: expected -2 to 1 for rank 2, got 2")
    refuses("aten::topk.values", x, 4, 1, True, True, outs=[x, i], match="k: expected 0 to 3, got 4")
    refuses("aten::kthvalue.values", x, 0, 1, True, outs=[x, i], match="k: expected 1 to 3, got 0")
    refuses("aten::sort.values", x, 1, False, outs=[x, i.astype(np.int32)], match="indices: expected dtype int64")
    z = x.astype(np.complex64)
    refuses("aten::sort.values", z, 1, False, outs=[z, i], match="self: expected a dtype that it takes, got complex64")
