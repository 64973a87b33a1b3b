"""Reductions and scans over dims, against numpy in float64 or int64."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en

from .single_call import (
    BOOL,
    FLOATS,
    INTEGERS,
    REALS,
    SIGNED,
    In,
    Out,
    assert_close,
    call,
    call_one,
    dim_orders,
    random_array,
)

F32, F64, I64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
SHAPES = [(), (1,), (5,), (4, 7), (2, 3, 5), (3, 1, 4, 2), (33, 65), (2000,), (3, 2, 1000), (70, 3)]
EXAMPLES = settings(max_examples=40, deadline=None)


@st.composite
def reduction(draw, dtypes, *, specials=False, single=False, low=-4, high=4):
    """An input in any layout, dims to reduce, and whether they are kept."""
    shape = draw(st.sampled_from(SHAPES))
    dtype = draw(st.sampled_from(dtypes))
    rank = len(shape)
    x = random_array(draw(st.integers(0, 2**32)), dtype, shape, specials=specials, low=low, high=high)
    every = list(range(-max(rank, 1), max(rank, 1)))
    if single:
        dims = [draw(st.sampled_from(every))]
    else:
        dims = draw(st.lists(st.sampled_from(every), unique_by=lambda d: d % max(rank, 1)))
    return In(x, draw(dim_orders(rank))), dims, draw(st.booleans()), draw(st.integers(0, 10**9))


def axes(x, dims):
    """numpy's axis: no dims mean all of them."""
    return tuple(d % x.ndim for d in dims) if dims and x.ndim else None


def layout(seed, rank):
    return [int(d) for d in np.random.default_rng(seed).permutation(rank)]


def wide(x):
    return x.astype(np.float64) if x.dtype in FLOATS else x.astype(np.int64)


def out_options(expected, seed):
    return {"shape": expected.shape, "dim_order": layout(seed, expected.ndim)}


def tolerance(x):
    """Of sums: rounding at the size of the partial sums, which grow as random walks do, and in float64's oracle."""
    if not x.size:
        return 1e-30
    terms = float(np.abs(x.astype(np.float64)).max()) * math.sqrt(x.size)
    epsilon = 4 * np.finfo(np.float64).eps if x.dtype == F64 else np.finfo(np.float32).eps
    return float(epsilon) * (1 + terms)


@given(case=reduction(REALS))
@EXAMPLES
def test_sum(case):
    given_x, dims, keep, seed = case
    x = given_x.array
    expected = np.asarray(wide(x).sum(axes(x, dims), keepdims=keep))
    result = x.dtype if x.dtype in FLOATS else I64
    got = call_one("aten::sum.IntList_out", given_x, dims, keep, None, dtype=result, **out_options(expected, seed))
    assert_close(got, expected, result, ulps=4, atol=tolerance(x) if x.dtype in FLOATS else 0)


def test_sum_of_nothing_given_is_all_and_of_no_elements_is_zero():
    x = np.ones((2, 3), np.float32)
    assert call_one("aten::sum.IntList_out", x, None, False, None, dtype=F32, shape=()) == 6
    empty = np.ones((2, 0), np.float32)
    np.testing.assert_array_equal(
        call_one("aten::sum.IntList_out", empty, [1], False, None, dtype=F32, shape=(2,)), np.zeros(2, F32)
    )
    assert np.isnan(call_one("aten::mean.out", empty, [1], False, None, dtype=F32, shape=(2,))).all()
    assert call_one("aten::prod.out", empty, None, dtype=F32, shape=()) == 1


def test_sum_in_another_dtype():
    x = np.array([1.7, 1.7], np.float32)
    assert call_one("aten::sum.IntList_out", x, None, False, np.int32, dtype=np.int32, shape=()) == 2
    assert call_one("aten::sum.IntList_out", x, None, False, np.float64, dtype=F64, shape=()) == pytest.approx(3.4)
    big = np.full(1000, 200, np.uint8)
    assert call_one("aten::sum.IntList_out", big, None, False, None, dtype=I64, shape=()) == 200_000


@given(case=reduction(FLOATS))
@EXAMPLES
def test_mean(case):
    given_x, dims, keep, seed = case
    x = given_x.array
    expected = np.asarray(wide(x).mean(axes(x, dims), keepdims=keep))
    got = call_one("aten::mean.out", given_x, dims, keep, None, dtype=x.dtype, **out_options(expected, seed))
    assert_close(got, expected, x.dtype, ulps=4, atol=tolerance(x))


def test_mean_of_integers_needs_a_dtype():
    x = np.array([1, 2], np.int64)
    assert call_one("aten::mean.out", x, None, False, np.float32, dtype=F32, shape=()) == 1.5
    assert call_one("aten::mean.dtype_out", x, np.float32, dtype=F32, shape=()) == 1.5
    with pytest.raises(en.ExecutionError, match="self: expected a floating dtype to take the mean in, got int64"):
        call_one("aten::mean.out", x, None, False, None, dtype=I64, shape=())


@given(case=reduction([*FLOATS, *INTEGERS], single=True, low=0.9, high=1.1))
@EXAMPLES
def test_prod(case):
    given_x, dims, keep, seed = case
    x = given_x.array
    result = x.dtype if x.dtype in FLOATS else I64
    with np.errstate(all="ignore"):
        expected = np.asarray(wide(x).prod(axes(x, dims), keepdims=keep))
    got = call_one("aten::prod.int_out", given_x, dims[0], keep, None, dtype=result, **out_options(expected, seed))
    assert_close(got, expected, result, ulps=8 + x.size)  # every factor rounds


@pytest.mark.parametrize("name, reference", [("amax", np.max), ("amin", np.min)])
@given(case=reduction(REALS, specials=True))
@EXAMPLES
def test_extremes(name, reference, case):
    given_x, dims, keep, seed = case
    x = given_x.array
    expected = np.asarray(reference(x.astype(np.float64) if x.dtype in FLOATS else x, axes(x, dims), keepdims=keep))
    got = call_one(f"aten::{name}.out", given_x, dims, keep, dtype=x.dtype, **out_options(expected, seed))
    assert_close(got, expected, x.dtype, ulps=0)


@pytest.mark.parametrize("name, reference, arg", [
    ("max.dim_max", np.max, np.argmax), ("min.dim_min", np.min, np.argmin),
])  # fmt: skip
@given(case=reduction(REALS, specials=True, single=True))
@EXAMPLES
def test_extremes_and_their_places(name, reference, arg, case):
    given_x, dims, keep, seed = case
    x = given_x.array
    comparable = x.astype(np.float64) if x.dtype in FLOATS else x
    axis = axes(x, dims)
    expected = np.asarray(reference(comparable, axis, keepdims=keep))
    place = np.asarray(arg(comparable, axis[0] if axis else None, keepdims=keep))
    order = layout(seed, expected.ndim)
    values, indices = call(
        f"aten::{name}",
        given_x,
        dims[0],
        keep,
        outs=[Out(x.dtype, expected.shape, order), Out(I64, expected.shape, order)],
    )
    assert_close(values, expected, x.dtype, ulps=0)
    np.testing.assert_array_equal(indices, place)


@pytest.mark.parametrize("name, reference", [("argmax", np.argmax), ("argmin", np.argmin)])
@given(case=reduction([*FLOATS, *INTEGERS], specials=True, single=True), whole=st.booleans())
@EXAMPLES
def test_places(name, reference, case, whole):
    given_x, dims, keep, seed = case
    x = given_x.array
    comparable = x.astype(np.float64) if x.dtype in FLOATS else x
    dim = None if whole else dims[0]
    axis = None if whole or not x.ndim else dims[0]
    expected = np.asarray(reference(comparable, axis, keepdims=keep))
    got = call_one(f"aten::{name}.out", given_x, dim, keep, dtype=I64, **out_options(expected, seed))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("shape", [(700, 3), (515, 16), (200, 5), (9, 17), (7, 70), (5, 1100)])
def test_places_in_narrow_and_in_short_rows(shape, dtype):
    random = np.random.default_rng(3)
    for specials in (False, True):
        x = random.integers(0, 90, shape).astype(dtype)  # with equals
        if specials and dtype in FLOATS:
            x[shape[0] // 2, :2] = x[-1, -1] = np.nan
            x[0] = np.inf
        comparable = x.astype(np.float64) if dtype in FLOATS else x
        for name, place, extreme in (("max", np.argmax, np.max), ("min", np.argmin, np.min)):
            for axis in (0, 1):
                expected = place(comparable, axis)
                got = call_one(f"aten::arg{name}.out", x, axis, False, dtype=I64, shape=expected.shape)
                np.testing.assert_array_equal(got, expected)
                got = call_one(f"aten::a{name}.out", x, [axis], False, dtype=x.dtype, shape=expected.shape)
                np.testing.assert_array_equal(got.astype(comparable.dtype), extreme(comparable, axis))


@pytest.mark.parametrize("name", ["amax.out", "argmax.out", "max.dim_max", "max.unary_out"])
def test_no_elements_have_no_extreme(name):
    x = np.zeros((0, 3), np.float32)
    arguments = {"amax.out": [[0], False], "argmax.out": [0, False], "max.dim_max": [0, False], "max.unary_out": []}[
        name
    ]
    shape = () if name == "max.unary_out" else (3,)
    outs = [Out(I64 if name == "argmax.out" else F32, shape)] + ([Out(I64, shape)] if name == "max.dim_max" else [])
    with pytest.raises(
        en.ExecutionError, match=r"self: expected elements in dim 0 to take the maximum of, got shape \[0, 3\]"
    ):
        call(f"aten::{name}", x, *arguments, outs=outs)


@pytest.mark.parametrize("name, reference", [("any", np.any), ("all", np.all)])
@given(case=reduction(REALS, specials=True))
@EXAMPLES
def test_any_and_all(name, reference, case):
    given_x, dims, keep, seed = case
    x = given_x.array
    truth = x.astype(bool)
    result = np.dtype(np.uint8) if x.dtype == np.uint8 else BOOL
    axis = axes(x, dims) if dims else ()
    expected = np.asarray(reference(truth, axis, keepdims=keep))
    got = call_one(f"aten::{name}.dims_out", given_x, dims, keep, dtype=result, **out_options(expected, seed))
    np.testing.assert_array_equal(got.astype(bool), expected)
    whole = call_one(f"aten::{name}.all_out", given_x, dtype=result, shape=())
    assert bool(whole) == bool(reference(truth))
    if dims:
        one = np.asarray(reference(truth, axes(x, dims[:1]), keepdims=keep))
        got = call_one(f"aten::{name}.out", given_x, dims[0], keep, dtype=result, shape=one.shape)
        np.testing.assert_array_equal(got.astype(bool), one)


@pytest.mark.parametrize("name, reference", [("var", np.var), ("std", np.std)])
@given(case=reduction(FLOATS), correction=st.sampled_from([0, 1, 0.5]))
@EXAMPLES
def test_variance(name, reference, case, correction):
    given_x, dims, keep, seed = case
    x = given_x.array
    with np.errstate(all="ignore"):
        expected = np.asarray(wide(x).var(axes(x, dims), keepdims=keep, ddof=0))
        count = x.size / max(expected.size, 1)
        expected = expected * count / (count - correction) if count != correction else expected * np.nan
        expected = np.asarray(np.sqrt(expected) if name == "std" else expected)
    got = call_one(
        f"aten::{name}.correction_out", given_x, dims, correction, keep, dtype=x.dtype, **out_options(expected, seed)
    )
    assert_close(got, expected, x.dtype, ulps=8, atol=1e-6 if x.dtype == F32 else 1e-3 if x.dtype != F64 else 1e-14)
    if correction == 1:
        got = call_one(f"aten::{name}.out", given_x, dims, True, keep, dtype=x.dtype, **out_options(expected, seed))
        assert_close(got, expected, x.dtype, ulps=8, atol=1e-6 if x.dtype == F32 else 1e-3 if x.dtype != F64 else 1e-14)


def test_variance_and_mean():
    x = random_array(1, F32, (6, 50), specials=False)
    var, mean = call("aten::var_mean.correction_out", x, [1], None, True, outs=[Out(F32, (6, 1)), Out(F32, (6, 1))])
    np.testing.assert_allclose(var, x.var(1, ddof=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(mean, x.mean(1, keepdims=True), rtol=1e-4, atol=1e-6)


def test_variance_far_from_zero_keeps_its_digits():
    x = (1e4 + random_array(2, F64, (1000,), low=-1, high=1, specials=False)).astype(F32)
    got = call_one("aten::var.correction_out", x, None, 1, False, dtype=F32, shape=())
    np.testing.assert_allclose(got, x.astype(np.float64).var(ddof=1), rtol=1e-5)


@given(case=reduction([*FLOATS, np.dtype(np.int32)]))
@EXAMPLES
def test_logsumexp(case):
    given_x, dims, keep, seed = case
    x = given_x.array
    result = x.dtype if x.dtype in FLOATS else F32
    axis = axes(x, dims)
    v = x.astype(np.float64)
    top = v.max(axis, keepdims=True)
    expected = np.log(np.exp(v - top).sum(axis, keepdims=True)) + top
    expected = expected if keep or not x.ndim else np.squeeze(expected, axis)
    got = call_one("aten::logsumexp.out", given_x, dims, keep, dtype=result, **out_options(expected, seed))
    assert_close(got, expected, result, ulps=8, atol=float(ml_dtypes.finfo(result).eps) * 8)


def test_logsumexp_of_infinities():
    x = np.array([[np.inf, 1], [-np.inf, -np.inf], [1000, 1000]], np.float32)
    got = call_one("aten::logsumexp.out", x, [1], False, dtype=F32, shape=(3,))
    np.testing.assert_allclose(got, np.array([np.inf, -np.inf, 1000 + math.log(2)], F32))


@pytest.mark.parametrize("p", [0, 1, 2, 3, 0.5, float("inf"), float("-inf"), None])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_norm(p, dtype):
    x = random_array(3, dtype, (5, 31), specials=False)
    order = 2 if p is None else p
    expected = np.linalg.norm(x.astype(np.float64), order, axis=1)
    got = call_one("aten::norm.out", x, p, [1], False, dtype=dtype, shape=(5,))
    assert_close(got, expected, dtype, ulps=8)
    if p is not None:
        got = call_one("aten::linalg_vector_norm.out", x, p, [1], True, None, dtype=dtype, shape=(5, 1))
        assert_close(got[:, 0], expected, dtype, ulps=8)


@pytest.mark.parametrize("name, reference", [("cumsum", np.cumsum), ("cumprod", np.cumprod)])
@given(case=reduction([*FLOATS, *SIGNED], single=True, low=0.8, high=1.2))
@EXAMPLES
def test_running_sums(name, reference, case):
    given_x, dims, _, seed = case
    x = given_x.array
    result = x.dtype if x.dtype in FLOATS else I64
    with np.errstate(all="ignore"):
        expected = np.asarray(reference(wide(x), axis=dims[0] if x.ndim else None)).reshape(x.shape)
    got = call_one(f"aten::{name}.out", given_x, dims[0], None, dtype=result, **out_options(expected, seed))
    if result in FLOATS:
        np.testing.assert_allclose(
            got.astype(np.float64), expected, rtol=float(ml_dtypes.finfo(result).eps) * 40, atol=1e-6
        )
    else:
        np.testing.assert_array_equal(got, expected)


def running_extreme(x, better, axis):
    """Where each running extreme was last seen; NaN beats all."""
    moved = np.moveaxis(x, axis, 0)
    values, places = np.empty_like(moved), np.empty(moved.shape, np.int64)
    value, place = moved[0].copy(), np.zeros(moved.shape[1:], np.int64)
    for i, row in enumerate(moved):
        takes = (better(row, value) & ~np.isnan(value)) | np.isnan(row)
        value, place = np.where(takes, row, value), np.where(takes, i, place)
        values[i], places[i] = value, place
    return np.moveaxis(values, 0, axis), np.moveaxis(places, 0, axis)


@pytest.mark.parametrize("name, better", [("cummax", np.greater_equal), ("cummin", np.less_equal)])
@given(case=reduction([F32, F64, np.dtype(np.int32)], single=True, specials=True))
@EXAMPLES
def test_running_extremes(name, better, case):
    given_x, dims, _, seed = case
    x = given_x.array
    flat = x if x.ndim else x.reshape(1)
    expected, places = running_extreme(flat, better, dims[0])
    order = layout(seed, x.ndim)
    values, indices = call(
        f"aten::{name}.out", given_x, dims[0], outs=[Out(x.dtype, x.shape, order), Out(I64, x.shape, order)]
    )
    np.testing.assert_array_equal(values, expected.reshape(x.shape))
    np.testing.assert_array_equal(indices, places.reshape(x.shape))


@pytest.mark.parametrize("dtype", [F32, F64, I64, np.dtype(np.int32), np.dtype(np.uint8)], ids=str)
@pytest.mark.parametrize("shape, dim", [
    ((700, 1), 0), ((700, 2), 0), ((260, 3), 0), ((5, 70, 8), 1), ((90, 9), 0),  # few columns and one more
    ((300, 1), 1), ((301, 3), 1), ((40, 17), 1), ((3, 255), 1), ((3, 256), 1), ((3, 600), 1),  # lines, some short
])  # fmt: skip
def test_running_values_of_few_columns_and_of_lines(shape, dim, dtype):
    rng = np.random.default_rng(36)
    if dtype in FLOATS:
        x = rng.choice(np.array([-1.0, -0.0, 0.5, 1.0, -np.inf], dtype), shape)
        x[rng.random(shape) < 0.002] = np.nan
        result = dtype
    else:
        info = np.iinfo(dtype)
        x = rng.choice(np.array([info.min, info.max, 1, 3], dtype), shape)
        result = I64
    with np.errstate(all="ignore"):
        sums, products = x.cumsum(dim, dtype=result), x.cumprod(dim, dtype=result)
    np.testing.assert_array_equal(call_one("aten::cumsum.out", x, dim, None, dtype=result, shape=shape), sums)
    got = call_one("aten::cumprod.out", x, dim, None, dtype=result, shape=shape)
    np.testing.assert_array_equal(got, products)
    if dtype in FLOATS:
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(products[~np.isnan(got)]))
    for name, better in (("cummax", np.greater_equal), ("cummin", np.less_equal)):
        expected, places = running_extreme(x, better, dim)
        values, indices = call(f"aten::{name}.out", x, dim, outs=[Out(dtype, shape), Out(I64, shape)])
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(indices, places)


@pytest.mark.parametrize("shape", [(3, 5), (3, 40), (2, 1)])
@pytest.mark.parametrize("dim", [0, 1])
def test_running_sums_start_at_positive_zero(shape, dim):
    x = np.full(shape, -0.0, np.float32)
    assert not np.signbit(call_one("aten::cumsum.out", x, dim, None, dtype=F32, shape=shape)).any()


@pytest.mark.parametrize(
    "dims, message",
    [([2], r"dim: expected -2 to 1 for rank 2, got 2"), ([0, -2], r"dim: expected each dim once, got \[0, -2\]")],
)
def test_refused_dims(dims, message):
    with pytest.raises(en.ExecutionError, match=message):
        call_one("aten::sum.IntList_out", np.ones((2, 3), np.float32), dims, False, None, dtype=F32, shape=(3,))


def test_complex_sum():
    x = np.arange(12).reshape(3, 4).astype(np.complex64) * (1 - 2j)
    got = call_one("aten::sum.IntList_out", In(x, (1, 0)), [0], False, None, dtype=np.complex64, shape=(4,))
    np.testing.assert_allclose(got, x.sum(0))


def test_count_nonzero_and_nansum():
    x = np.array([[0, np.nan, 2], [0, 0, 1]], np.float32)
    np.testing.assert_array_equal(
        call_one("aten::count_nonzero.dim_IntList_out", x, [1], dtype=I64, shape=(2,)), [2, 1]
    )
    assert call_one("aten::count_nonzero.out", x, None, dtype=I64, shape=()) == 3
    np.testing.assert_array_equal(call_one("aten::nansum.out", x, [1], False, None, dtype=F32, shape=(2,)), [2, 1])


@pytest.mark.parametrize("operator, arguments", [
    ("sum.IntList_out", [None, False, None]), ("amax.out", [[], False]), ("argmax.out", [None, False]),
    ("any.all_out", []), ("cumsum.out", [0, None]), ("logsumexp.out", [[0], False]),
])  # fmt: skip
def test_dtypes_without_arithmetic_are_refused(operator, arguments, load):
    from builder import ProgramBuilder

    p = ProgramBuilder()
    x = p.constant(bytes(16), dtype="float8_e4m3fn", sizes=(16,))
    result = {"argmax.out": "int64", "any.all_out": "bool"}.get(operator, "float8_e4m3fn")
    shape = (16,) if operator == "cumsum.out" else ()
    out = p.tensor(result, shape)
    p.call(f"aten::{operator}", x, *arguments, out=out)
    p.output(1)
    with pytest.raises(en.ExecutionError, match=r"expected a .*, got float8_e4m3fn"):
        load(p)([])


def test_real_numbers_summed_as_complex():
    x = np.array([1.5, 2], np.float32)
    assert call_one("aten::sum.IntList_out", x, None, False, np.complex64, dtype=np.complex64, shape=()) == 3.5


def test_running_sums_of_floats_cut_to_integers():
    x = np.array([1.7, 1.7, -0.6], np.float32)
    got = call_one("aten::cumsum.out", x, 0, np.int32, dtype=np.int32, shape=(3,))
    np.testing.assert_array_equal(got, [1, 2, 2])
