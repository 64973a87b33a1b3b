"""Functions of two and three tensors, against numpy under PyTorch's promotion rules."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

import executorch_numpy_runtime as en

from .single_call import (
    BFLOAT16,
    BOOL,
    FLOATS,
    INTEGERS,
    REALS,
    SIGNED,
    In,
    assert_close,
    broadcast_pairs,
    call_one,
    dim_orders,
    random_array,
)

F32 = np.dtype(np.float32)
HALVES = [np.dtype(np.float16), BFLOAT16]


def category(dtype):
    return 0 if dtype == BOOL else 1 if dtype.kind in "iu" else 2


def promote(a, b):
    """torch.promote_types."""
    if a == b:
        return a
    if category(a) != category(b):
        return a if category(a) > category(b) else b
    if category(a) == 1:
        return np.promote_types(a, b)
    if {a, b} == set(HALVES):
        return F32
    return a if a.itemsize >= b.itemsize else b


def result_type(a, b):
    """torch.result_type of two arrays: rank 0 counts only in a higher category."""
    if (a.ndim == 0) == (b.ndim == 0):
        return promote(a.dtype, b.dtype)
    high, low = (a, b) if a.ndim else (b, a)
    return high.dtype if category(high.dtype) >= category(low.dtype) else promote(high.dtype, low.dtype)


def compute(array, common):
    """As `common` rounds it, in float64 where that is floating."""
    with np.errstate(all="ignore"):
        cast = np.asarray(array).astype(common)
    return cast.astype(np.float64) if category(common) == 2 else cast


def factor(array, common):
    """Halves are multiplied with, and divided by, an unrounded rank-0 number."""
    return array.astype(np.float64) if array.ndim == 0 and common in HALVES else compute(array, common)


def draw_pair(data, seed, dtype_a, dtype_b, shapes, **options):
    a = random_array(seed, dtype_a, shapes[0], **options)
    b = random_array(seed + 1, dtype_b, shapes[1], **options)
    common = result_type(a, b)
    assume(not (common.kind == "f" and common not in FLOATS))
    assume(not ({dtype_a.kind, dtype_b.kind} == {"i", "u"} and common.kind == "f"))  # uint64 with a signed integer
    shape = np.broadcast_shapes(*shapes)
    layouts = [data.draw(dim_orders(len(s))) for s in (*shapes, shape)]
    return In(a, layouts[0]), In(b, layouts[1]), common, {"shape": shape, "dim_order": layouts[2]}


def pair_strategy(dtypes):
    return given(dtype_a=st.sampled_from(dtypes), dtype_b=st.sampled_from(dtypes), shapes=broadcast_pairs(),
                 seed=st.integers(0, 2**32), data=st.data())  # fmt: skip


EXAMPLES = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@pair_strategy(REALS)
@EXAMPLES
def test_arithmetic(name, dtype_a, dtype_b, shapes, seed, data):
    a, b, common, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    assume(name != "sub" or BOOL not in (dtype_a, dtype_b))
    x = compute(a.array, common)
    y = factor(b.array, common) if name == "mul" else compute(b.array, common)
    with np.errstate(all="ignore"):
        expected = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name](x, y)
    alpha = [] if name == "mul" else [1]
    got = call_one(f"aten::{name}.out", a, b, *alpha, dtype=common, **options)
    assert_close(got, expected, common, ulps=1)


@pair_strategy([*FLOATS, *SIGNED])
@EXAMPLES
def test_alpha(dtype_a, dtype_b, shapes, seed, data):
    a, b, common, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    x, y = compute(a.array, common), compute(b.array, common)
    with np.errstate(all="ignore"):
        expected = x - (np.asarray(3).astype(x.dtype) * y)
    assert_close(call_one("aten::sub.out", a, b, 3, dtype=common, **options), expected, common, ulps=2, atol=2e-6)


@pair_strategy(REALS)
@EXAMPLES
def test_true_division(dtype_a, dtype_b, shapes, seed, data):
    a, b, common, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    common = common if category(common) == 2 else F32
    with np.errstate(all="ignore"):
        expected = compute(a.array, common) / factor(b.array, common)
    assert_close(call_one("aten::div.out", a, b, dtype=common, **options), expected, common, ulps=1)


@pytest.mark.parametrize("mode", ["floor", "trunc"])
@pair_strategy([*FLOATS, *INTEGERS])
@EXAMPLES
def test_rounded_division(mode, dtype_a, dtype_b, shapes, seed, data):
    a, b, common, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    x, y = compute(a.array, common), compute(b.array, common)
    got = lambda: call_one("aten::div.out_mode", a, b, mode, dtype=common, **options)  # noqa: E731
    if category(common) == 1:
        if x.size and not np.all(y):
            with pytest.raises(en.ExecutionError, match="other: expected divisors other than 0 of integers, got 0"):
                got()
            return
        with np.errstate(all="ignore"):
            quotient = x // y
            if mode == "trunc" and common.kind == "i":
                quotient = quotient + ((x % y != 0) & ((x < 0) != (y < 0))).astype(common)
        np.testing.assert_array_equal(got(), quotient)
        return
    finite = np.isfinite(np.asarray(x)).all() and np.isfinite(np.asarray(y)).all()
    assume(finite and np.all(np.abs(y) > 0.01))
    exact = x / y
    # At the border of two integers the rounding of the quotient itself decides.
    assume(np.all(np.abs(exact - np.round(exact)) > 1e-2) if exact.size else True)
    assume(np.all(np.abs(exact) < 100) if exact.size else True)
    np.testing.assert_array_equal(got().astype(np.float64), (np.floor if mode == "floor" else np.trunc)(exact))


@pytest.mark.parametrize("name", ["remainder", "fmod"])
@pair_strategy(INTEGERS)
@EXAMPLES
def test_integer_remainders(name, dtype_a, dtype_b, shapes, seed, data):
    a, b, common, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    b.array[b.array == 0] = 1
    x, y = compute(a.array, common), compute(b.array, common)
    with np.errstate(all="ignore"):
        expected = (np.remainder if name == "remainder" else np.fmod)(x, y)
    got = call_one(f"aten::{name}.Tensor_out", a, b, dtype=common, **options)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_floating_remainders(name, dtype):
    x = np.array([5.5, -5.5, 5.5, -5.5, 0.0, 7, 1, np.inf, np.nan, 5, -5], dtype)
    y = np.array([2, 2, -2, -2, 3, np.inf, 0, 2, 2, 5, 5], dtype)
    with np.errstate(all="ignore"):
        expected = (np.remainder if name == "remainder" else np.fmod)(x.astype(np.float64), y.astype(np.float64))
    got = call_one(f"aten::{name}.Tensor_out", x, y, dtype=dtype, shape=x.shape)
    assert_close(got, expected, dtype, ulps=0)


@pytest.mark.parametrize("name", ["remainder.Scalar_out", "fmod.Scalar_out", "floor_divide.Scalar_out"])
def test_a_zero_number_divides_no_integers(name):
    with pytest.raises(en.ExecutionError, match="other: expected divisors other than 0 of integers, got 0"):
        call_one(f"aten::{name}", np.ones(3, np.int32), 0, dtype=np.int32, shape=(3,))


COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
               "ge": np.greater_equal}  # fmt: skip


@pytest.mark.parametrize("name", sorted(COMPARISONS))
@pair_strategy(REALS)
@EXAMPLES
def test_comparison(name, dtype_a, dtype_b, shapes, seed, data):
    a, b, common, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    expected = COMPARISONS[name](compute(a.array, common), compute(b.array, common))
    np.testing.assert_array_equal(call_one(f"aten::{name}.Tensor_out", a, b, dtype=BOOL, **options), expected)


@pytest.mark.parametrize("name", sorted(COMPARISONS))
@pytest.mark.parametrize("number", [1, 0, 2.5, True, -3])
@pytest.mark.parametrize("dtype", [F32, np.dtype(np.int32), np.dtype(np.float16), np.dtype(np.int8), BOOL], ids=str)
def test_comparison_with_a_number(name, number, dtype):
    x = random_array(5, dtype, (3, 40))
    expected = COMPARISONS[name](x.astype(np.float64), float(number))
    np.testing.assert_array_equal(call_one(f"aten::{name}.Scalar_out", x, number, dtype=BOOL, shape=x.shape), expected)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
@pair_strategy(REALS)
@EXAMPLES
def test_logic(name, dtype_a, dtype_b, shapes, seed, data):
    a, b, _, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    expected = getattr(np, name)(a.array.astype(bool), b.array.astype(bool))
    np.testing.assert_array_equal(call_one(f"aten::{name}.out", a, b, dtype=BOOL, **options), expected)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pair_strategy(REALS)
@EXAMPLES
def test_extremes(name, dtype_a, dtype_b, shapes, seed, data):
    a, b, common, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    expected = getattr(np, name)(compute(a.array, common), compute(b.array, common))
    assert_close(call_one(f"aten::{name}.out", a, b, dtype=common, **options), expected, common, ulps=0)


@pytest.mark.parametrize("name", ["and", "or", "xor"])
@pair_strategy([*INTEGERS, BOOL])
@EXAMPLES
def test_bits(name, dtype_a, dtype_b, shapes, seed, data):
    a, b, common, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    expected = getattr(np, f"bitwise_{name}")(compute(a.array, common), compute(b.array, common))
    got = call_one(f"aten::bitwise_{name}.Tensor_out", a, b, dtype=common, **options)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts(dtype):
    x = random_array(6, dtype, (64,))
    bits = dtype.itemsize * 8
    count = np.random.default_rng(0).integers(0, bits + 3, 64).astype(dtype)
    wide, shift = x.astype(object), count.astype(object)
    left = np.array([(int(v) << int(s)) & (2**bits - 1) if s < bits else 0 for v, s in zip(wide, shift, strict=True)],
                    dtype=f"uint{bits}").view(dtype)  # fmt: skip
    right = np.array([int(v) >> int(s) for v, s in zip(wide, shift, strict=True)], dtype=dtype)
    np.testing.assert_array_equal(
        call_one("aten::bitwise_left_shift.Tensor_out", x, count, dtype=dtype, shape=x.shape), left
    )
    np.testing.assert_array_equal(
        call_one("aten::bitwise_right_shift.Tensor_out", x, count, dtype=dtype, shape=x.shape), right
    )


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts_by_one_number(dtype):
    x = random_array(6, dtype, (131,))
    bits = dtype.itemsize * 8
    for count in range(bits + 2):
        left = [(int(v) << count) & (2**bits - 1) for v in x]
        for side, expected in (
            ("left", np.array(left, dtype=f"uint{bits}").view(dtype)),
            ("right", np.array([int(v) >> count for v in x], dtype=dtype)),
        ):
            got = call_one(f"aten::bitwise_{side}_shift.Tensor_Scalar_out", x, count, dtype=dtype, shape=x.shape)
            np.testing.assert_array_equal(got, expected)


def test_shifts_by_negative_counts():
    x = np.array([5, -5], np.int32)
    count = np.array([-1, -1], np.int32)
    got = call_one("aten::bitwise_left_shift.Tensor_out", x, count, dtype=np.int32, shape=(2,))
    np.testing.assert_array_equal(got, [0, 0])
    got = call_one("aten::bitwise_right_shift.Tensor_out", x, count, dtype=np.int32, shape=(2,))
    np.testing.assert_array_equal(got, [0, -1])


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5, 7])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_powers_with_a_number(exponent, dtype):
    x = random_array(7, dtype, (100,), low=0.1, high=3, specials=False)
    got = call_one("aten::pow.Tensor_Scalar_out", x, exponent, dtype=dtype, shape=x.shape)
    assert_close(got, x.astype(np.float64) ** exponent, dtype, ulps=4)


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_integer_powers(dtype):
    x = np.arange(-5, 6).astype(dtype)
    y = np.array([0, 1, 2, 3, 4, 5, 6, -1, -1, 7, 8]).astype(dtype)
    with np.errstate(over="ignore"):
        expected = np.array([int(b) ** int(e) if e >= 0 else (int(b) if abs(int(b)) == 1 else 0)
                             for b, e in zip(x, y, strict=True)]).astype(dtype)  # fmt: skip
    np.testing.assert_array_equal(call_one("aten::pow.Tensor_Tensor_out", x, y, dtype=dtype, shape=x.shape), expected)
    with pytest.raises(en.ExecutionError, match="exponent: expected at least 0 for integers, got -1"):
        call_one("aten::pow.Tensor_Scalar_out", x, -1, dtype=dtype, shape=x.shape)


def test_powers_of_a_number():
    y = np.array([0, 1, 2, -1], np.float32)
    np.testing.assert_allclose(call_one("aten::pow.Scalar_out", 2.5, y, dtype=F32, shape=(4,)), 2.5**y, rtol=1e-6)
    n = np.array([0, 1, 5], np.int64)
    np.testing.assert_array_equal(call_one("aten::pow.Scalar_out", 3, n, dtype=np.int64, shape=(3,)), 3**n)


@pytest.mark.parametrize("name, reference", [
    ("atan2", np.arctan2), ("hypot", np.hypot), ("copysign", np.copysign), ("fmax", np.fmax), ("fmin", np.fmin),
    ("logaddexp", np.logaddexp),
])  # fmt: skip
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_other_floating_functions(name, reference, dtype):
    x, y = random_array(8, dtype, (13, 20)), random_array(9, dtype, (20,))
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64), y.astype(np.float64))
    assert_close(call_one(f"aten::{name}.out", x, y, dtype=dtype, shape=(13, 20)), expected, dtype, ulps=6, atol=1e-38)


@pytest.mark.parametrize("dtype", [F32, np.dtype(np.int64), BFLOAT16, np.dtype(np.int8)], ids=str)
@pytest.mark.parametrize("name, reference", [
    ("add.Scalar_out", lambda x: x + 3), ("sub.Scalar_out", lambda x: x - 3), ("rsub.Scalar_out", lambda x: 3 - x),
    ("mul.Scalar_out", lambda x: x * 3),
])  # fmt: skip
def test_arithmetic_with_a_number(name, reference, dtype):
    x = random_array(10, dtype, (5, 9), specials=False)
    alpha = [] if name.startswith("mul") else [1]
    expected = reference(x.astype(np.float64) if dtype in FLOATS else x.astype(np.int64)).astype(dtype)
    assert_close(call_one(f"aten::{name}", x, 3, *alpha, dtype=dtype, shape=x.shape), expected, dtype, ulps=1)


def test_a_floating_number_lifts_integers():
    x = np.array([1, 2], np.int32)
    np.testing.assert_array_equal(
        call_one("aten::add.Scalar_out", x, 0.5, 1, dtype=F32, shape=(2,)), np.array([1.5, 2.5], F32)
    )


def test_bool_addition_is_or():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    np.testing.assert_array_equal(call_one("aten::add.out", a, b, 1, dtype=BOOL, shape=(4,)), a | b)
    np.testing.assert_array_equal(call_one("aten::add.out", a, b, 0, dtype=BOOL, shape=(4,)), a)
    np.testing.assert_array_equal(call_one("aten::mul.out", a, b, dtype=BOOL, shape=(4,)), a & b)


@pytest.mark.parametrize("args, message", [
    ((np.ones(2, bool), np.ones(2, bool), 1), "self: expected a dtype with a difference, got bool"),
    ((np.ones(2, np.int32), np.ones(2, np.int32), 2.5), "alpha: expected an integer for int32"),
    ((np.ones(2, np.int32), np.ones(3, np.int32), 1), r"other: expected a shape that broadcasts with \[2\], got \[3\]"),
])  # fmt: skip
def test_refused_subtractions(args, message):
    with pytest.raises(en.ExecutionError, match=message):
        call_one("aten::sub.out", *args, dtype=args[0].dtype, shape=(2,))


def test_floats_have_no_bits():
    x = np.ones(2, np.float32)
    with pytest.raises(en.ExecutionError, match="self: expected an integer dtype or bool, got float32"):
        call_one("aten::bitwise_and.Tensor_out", x, x, dtype=F32, shape=(2,))


@pytest.mark.parametrize("low, high", [(-1, 2), (None, 1), (0, None), (2, 1), (-0.5, 1.5), (float("nan"), 1)])
@pytest.mark.parametrize("dtype", [*FLOATS, *SIGNED, np.dtype(np.uint8)], ids=str)
def test_clamp(low, high, dtype):
    x = random_array(11, dtype, (7, 11))
    common = dtype if dtype in FLOATS or not any(isinstance(v, float) for v in (low, high)) else F32
    if common.kind == "u" and low == -1:
        low = 1
    wide = x.astype(np.float64)
    if low is not None:
        wide = np.maximum(wide, low)
    if high is not None:
        wide = np.minimum(wide, high)
    assert_close(call_one("aten::clamp.out", x, low, high, dtype=common, shape=x.shape), wide, common, ulps=0)


def test_clamp_needs_a_bound():
    with pytest.raises(en.ExecutionError, match="min: expected min, max or both"):
        call_one("aten::clamp.out", np.ones(2, np.float32), None, None, dtype=F32, shape=(2,))


@pytest.mark.parametrize("dtype", [F32, np.dtype(np.float16), np.dtype(np.int32)], ids=str)
def test_clamp_with_tensors(dtype):
    x = random_array(12, dtype, (4, 1, 6), specials=False)
    low, high = random_array(13, dtype, (5, 1), specials=False), random_array(14, dtype, (6,), specials=False)
    expected = np.minimum(np.maximum(x, low), high)
    got = call_one("aten::clamp.Tensor_out", x, low, high, dtype=dtype, shape=expected.shape)
    np.testing.assert_array_equal(got, expected)
    got = call_one("aten::clamp.Tensor_out", x, None, high, dtype=dtype, shape=np.minimum(x, high).shape)
    np.testing.assert_array_equal(got, np.minimum(x, high))


@pair_strategy(REALS)
@EXAMPLES
def test_where(dtype_a, dtype_b, shapes, seed, data):
    a, b, common, options = draw_pair(data, seed, dtype_a, dtype_b, shapes)
    condition = random_array(seed + 2, BOOL, shapes[0])
    x, y = compute(a.array, common), compute(b.array, common)
    got = call_one("aten::where.self_out", In(condition, data.draw(dim_orders(condition.ndim))), a, b, dtype=common,
                   **options)  # fmt: skip
    assert_close(got, np.where(condition, x, y), common, ulps=0)


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.int32)], ids=str)
def test_addcmul(dtype):
    a, b, c = (random_array(15 + i, dtype, s, specials=False) for i, s in enumerate([(4, 5), (5,), (4, 1)]))
    wide = [v.astype(np.float64) for v in (a, b, c)]
    expected = (wide[0] + 2 * wide[1] * wide[2]).astype(dtype)
    got = call_one("aten::addcmul.out", a, b, c, 2, dtype=dtype, shape=(4, 5))
    assert_close(got, expected, dtype, ulps=4, atol=1e-5)


def test_addcdiv_and_lerp():
    a, b, c = (random_array(18 + i, F32, (6,), low=1, high=2, specials=False) for i in range(3))
    got = call_one("aten::addcdiv.out", a, b, c, 0.5, dtype=F32, shape=(6,))
    np.testing.assert_allclose(got, a + 0.5 * b / c, rtol=1e-6)
    np.testing.assert_allclose(
        call_one("aten::lerp.Tensor_out", a, b, c, dtype=F32, shape=(6,)), a + c * (b - a), rtol=1e-5
    )
    np.testing.assert_allclose(
        call_one("aten::lerp.Scalar_out", a, b, 0.25, dtype=F32, shape=(6,)), a + 0.25 * (b - a), rtol=1e-6
    )
    n = np.ones(6, np.int64)
    with pytest.raises(
        en.ExecutionError, match="tensor2: expected a floating dtype to divide integers, got int64 and int64"
    ):
        call_one("aten::addcdiv.out", a, n, n, 1, dtype=F32, shape=(6,))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_to_num(dtype):
    x = np.array([np.nan, np.inf, -np.inf, 1.5], dtype)
    got = call_one("aten::nan_to_num.out", x, None, None, -2.0, dtype=dtype, shape=(4,))
    largest = np.asarray(np.finfo(dtype).max if dtype != BFLOAT16 else 3.3895314e38).astype(dtype)
    np.testing.assert_array_equal(got, np.array([0, largest, -2, 1.5], dtype))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_arithmetic(dtype):
    random = np.random.default_rng(0)
    a = (random.normal(size=(3, 4)) + 1j * random.normal(size=(3, 4))).astype(dtype)
    b = (random.normal(size=4) + 1j * random.normal(size=4)).astype(dtype)
    for name, reference in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}.items():
        alpha = [1] if name in ("add", "sub") else []
        got = call_one(f"aten::{name}.out", a, b, *alpha, dtype=dtype, shape=(3, 4))
        np.testing.assert_allclose(got, reference(a, b), rtol=2e-6)
    got = call_one("aten::eq.Tensor_out", a, np.broadcast_to(b, (3, 4)).copy(), dtype=BOOL, shape=(3, 4))
    assert not got.any()
    assert call_one("aten::eq.Tensor_out", a, a, dtype=BOOL, shape=(3, 4)).all()
    r = random.normal(size=(3, 4)).astype(np.float32)
    np.testing.assert_allclose(call_one("aten::mul.out", a, r, dtype=dtype, shape=(3, 4)), a * r, rtol=1e-6)


# Lengths that fill no whole vectors; operands that repeat along rows, columns or both.
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shapes", [((131,), (131,)), ((7, 1), (7, 67)), ((7, 67), (7, 1)), ((1,), (40,)), ((40,), ()),
                                    ((5, 1), (5, 1)), ((0, 3), (1, 3))])  # fmt: skip
def test_complex_arithmetic_of_many(dtype, shapes):
    random = np.random.default_rng(2)
    a, b = (np.asarray(random.normal(size=s) + 1j * random.normal(size=s), dtype) for s in shapes)
    tolerance = 4 * np.finfo(dtype).eps
    for name, alpha, expected in [("add", [2], a + 2 * b), ("sub", [3], a - 3 * b), ("mul", [], a * b)]:
        got = call_one(f"aten::{name}.out", a, b, *alpha, dtype=dtype, shape=expected.shape)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    got = call_one("aten::eq.Tensor_out", a, b, dtype=BOOL, shape=expected.shape)
    np.testing.assert_array_equal(got, a == b)
    half_equal = np.where(np.arange(a.size).reshape(a.shape) % 2 == 0, a, a.conj()).astype(dtype)
    for name, reference in (("eq", np.equal), ("ne", np.not_equal)):
        got = call_one(f"aten::{name}.Tensor_out", a, half_equal, dtype=BOOL, shape=a.shape)
        np.testing.assert_array_equal(got, reference(a, half_equal))


def test_isclose_and_allclose():
    a = np.array([1, 2, np.nan, np.inf], np.float32)
    b = np.array([1 + 1e-6, 2.1, np.nan, np.inf], np.float32)
    got = call_one("aten::isclose.out", a, b, 1e-5, 1e-8, False, dtype=BOOL, shape=(4,))
    np.testing.assert_array_equal(got, [True, False, False, True])
    got = call_one("aten::isclose.out", a, b, 1e-5, 1e-8, True, dtype=BOOL, shape=(4,))
    np.testing.assert_array_equal(got, [True, False, True, True])
    assert not call_one("aten::allclose.out", a, b, 1e-5, 1e-8, True, False, dtype=BOOL, shape=())
    assert call_one("aten::allclose.out", a, b, 1e-1, 1e-8, True, False, dtype=BOOL, shape=())


def test_gcd_lcm():
    a, b = np.array([12, -18, 0, 7], np.int64), np.array([8, 27, 5, 0], np.int64)
    np.testing.assert_array_equal(call_one("aten::gcd.out", a, b, dtype=np.int64, shape=(4,)), np.gcd(a, b))
    np.testing.assert_array_equal(call_one("aten::lcm.out", a, b, dtype=np.int64, shape=(4,)), np.lcm(a, b))


def test_no_elements_are_divided_by_zero():
    x, zeros = np.ones((0, 3), np.int32), np.zeros(3, np.int32)
    assert call_one("aten::floor_divide.out", x, zeros, dtype=np.int32, shape=(0, 3)).shape == (0, 3)


def test_halves_are_divided_by_an_unrounded_number():
    x, y = np.array([-3.734375], BFLOAT16), np.array(3.7339, np.float32)
    assert call_one("aten::floor_divide.out", x, y, dtype=BFLOAT16, shape=(1,)) == -2


def test_bool_is_clamped_by_tensors():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    np.testing.assert_array_equal(call_one("aten::clamp_min.Tensor_out", a, b, dtype=BOOL, shape=(4,)), a | b)


def test_lerp_weights_have_the_dtype_of_the_ends():
    x = np.ones(2, np.float32)
    with pytest.raises(en.ExecutionError, match="weight: expected float32, got float64"):
        call_one("aten::lerp.Tensor_out", x, x, np.ones(2), dtype=F32, shape=(2,))
