"""Positions among sorted values, membership, histograms."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from .data_call import REALS, array, arrays, call, check, examples, refuses

NUMBERS = [d for d in REALS if d.kind != "b"]
SIDES = ["left", "right"]


@examples
@given(st.data(), arrays(NUMBERS), st.integers(0, 9), st.sampled_from(SIDES), st.sampled_from([np.int32, np.int64]))
def test_shared_boundaries(data, x, count, side, out_type):
    boundaries = np.sort(array(x.dtype, (count,), 3))
    expected = np.searchsorted(boundaries.astype(np.float64), x.astype(np.float64), side).astype(out_type)
    options = (out_type == np.int32, side == "right")
    check(data, "aten::bucketize.Tensor_out", x, boundaries, *options, expected=expected)
    check(data, "aten::searchsorted.Tensor_out", boundaries, x, *options, None, None, expected=expected)
    sorter = np.random.default_rng(0).permutation(count)
    shuffled = np.empty_like(boundaries)
    shuffled[sorter] = boundaries
    check(data, "aten::searchsorted.Tensor_out", shuffled, x, options[0], False, side, sorter, expected=expected)


@examples
@given(st.data(), st.sampled_from(NUMBERS), st.integers(1, 3), st.sampled_from(SIDES))
def test_a_sequence_for_each_line(data, dtype, rows, side):
    boundaries = np.sort(array(dtype, (2, rows, 5), 3))
    x = array(dtype, (2, rows, 4))
    lines = zip(boundaries.reshape(-1, 5), x.reshape(-1, 4), strict=True)
    expected = np.array([np.searchsorted(b.astype(np.float64), v.astype(np.float64), side) for b, v in lines])
    arguments = (boundaries, x, False, side == "right", None, None)
    check(data, "aten::searchsorted.Tensor_out", *arguments, expected=expected.reshape(x.shape))


def test_scalars_and_nan():
    boundaries = np.array([1, 3, 5], np.float32)
    for value, position in [(0.5, 0), (3, 1), (9.0, 3), (float("nan"), 3)]:
        (got,) = call("aten::bucketize.Scalar_out", value, boundaries, False, False, outs=[np.empty((), np.int64)])
        assert got == position
        args = (boundaries, value, True, True, None, None)
        (got,) = call("aten::searchsorted.Scalar_out", *args, outs=[np.empty((), np.int32)])
        assert got == position + (value == 3)


@examples
@given(st.data(), arrays(NUMBERS), arrays(NUMBERS), st.booleans())
def test_isin(data, x, others, invert):
    expected = np.isin(x.astype(np.float64), others.astype(np.float64), invert=invert)
    check(data, "aten::isin.Tensor_Tensor_out", x, others, False, invert, expected=expected)
    expected = np.isin(x.astype(np.float64), [3], invert=invert)
    check(data, "aten::isin.Tensor_Scalar_out", x, 3, False, invert, expected=expected)


@examples
@given(st.data(), arrays([np.dtype("float32"), np.dtype("float64")]), st.integers(1, 8))
def test_histc(data, x, bins):
    expected = np.histogram(x, bins, (-8.0, 24.0))[0].astype(x.dtype)
    check(data, "aten::histc.out", x, bins, -8.0, 24.0, expected=expected)
    if x.size:
        low, high = float(x.min()), float(x.max())
        low, high = (low - 1, high + 1) if low == high else (low, high)
        expected = call("aten::histc.out", x, bins, low, high, outs=[np.empty(bins, x.dtype)])
        check(data, "aten::histc.out", x, bins, 0, 0, expected=expected[0])
        assert expected[0].sum() == x.size


@examples
@given(st.data(), st.sampled_from([d for d in NUMBERS if d.kind in "iu"][:5]), st.integers(0, 9), st.integers(0, 50))
def test_bincount(data, dtype, count, minlength):
    x = np.abs(array(dtype, (count,)))
    check(data, "aten::bincount.out", x, None, minlength, expected=np.bincount(x, minlength=minlength))
    weights = array(np.float64, (count,), 3)
    if count:
        expected = np.bincount(x, weights, minlength)
        check(data, "aten::bincount.out", x, weights, minlength, expected=expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint64])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 1000])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("out_type", [np.int32, np.int64])
def test_many_values(dtype, count, side, out_type):
    boundaries = np.sort(np.random.default_rng(0).integers(0, 2 * count + 1, count)).astype(dtype)
    x = np.random.default_rng(1).integers(0, 2 * count + 2, (201, 5)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[0, 3] = np.nan
    expected = np.searchsorted(boundaries, x, side).astype(out_type)
    (got,) = call("aten::bucketize.Tensor_out", x, boundaries, out_type == np.int32, side == "right", outs=[expected])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("others", [[], [-(2**63), 2**63 - 1], [2**63 - 1, 2**63 - 5], [-(2**63)], [3, 7, 400, 5]])
def test_isin_of_integers_near_and_far(others, invert):
    x = np.array([*range(-3, 12), 399, 400, 401, -(2**63), -(2**63) + 1, 2**63 - 5, 2**63 - 1])
    tests = np.array(others, np.int64)
    expected = np.array([(v in others) != invert for v in x.tolist()])
    (got,) = call("aten::isin.Tensor_Tensor_out", x, tests, False, invert, outs=[expected])
    np.testing.assert_array_equal(got, expected)


def test_sequences_of_another_dtype():
    sequence, values = np.array([0, 2, 2**53 + 1]), np.array([0.5, 2, 3], np.float32)
    for name, args in (("searchsorted", (sequence, values)), ("bucketize", (values, sequence))):
        rest = [False, False, None, None] if name == "searchsorted" else [False, False]
        (got,) = call(f"aten::{name}.Tensor_out", *args, *rest, outs=[np.zeros(3, np.int64)])
        np.testing.assert_array_equal(got, [1, 1, 2])


def test_refusals():
    b, x, i = np.zeros(3, np.float32), np.zeros((2, 2), np.float32), np.zeros((2, 2), np.int64)
    refuses("aten::bucketize.Tensor_out", x, b, True, False, outs=[i], match="out: expected dtype int32")
    sorter = np.array([0, 1, 3])
    args = (b, x, False, False, None, sorter)
    refuses("aten::searchsorted.Tensor_out", *args, outs=[i], match="sorter: expected 0 to 2, got 3 at 2")
    refuses("aten::searchsorted.Tensor_out", b, x, False, False, "middle", None, outs=[i], match="side: expected left")
    refuses("aten::histc.out", x, 0, 0, 1, outs=[b], match="bins: expected at least 1")
    refuses("aten::bincount.out", np.array([1, -1]), None, 0, outs=[i[0]], match="self: .*got -1 at position 1")
