"""Functions of one tensor, against numpy and scipy-free formulas in float64."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en

from .single_call import (
    BFLOAT16,
    BOOL,
    FLOATS,
    INTEGERS,
    SHAPES,
    SIGNED,
    UNSIGNED,
    In,
    Out,
    assert_close,
    call,
    call_one,
    dim_orders,
    random_array,
)

F32 = np.dtype(np.float32)
erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])
lgamma = np.vectorize(
    lambda x: math.lgamma(x) if np.isfinite(x) and not (x <= 0 and x == int(x)) else np.inf, otypes=[np.float64]
)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 50))))


# Name -> (reference in float64, low, high) of functions whose integer form is float32.
FLOATING = {
    "acos": (np.arccos, -1, 1),
    "acosh": (np.arccosh, 0.5, 9),
    "asin": (np.arcsin, -1, 1),
    "asinh": (np.arcsinh, -9, 9),
    "atan": (np.arctan, -9, 9),
    "atanh": (np.arctanh, -1, 1),
    "cos": (np.cos, -9, 9),
    "cosh": (np.cosh, -9, 9),
    "erf": (erf, -3, 3),
    "erfc": (erfc, -3, 3),
    "exp": (np.exp, -9, 9),
    "exp2": (np.exp2, -9, 9),
    "expm1": (np.expm1, -3, 3),
    "log": (np.log, -1, 9),
    "log10": (np.log10, -1, 9),
    "log1p": (np.log1p, -1.5, 9),
    "log2": (np.log2, -1, 9),
    "reciprocal": (lambda x: 1 / x, -9, 9),
    "rsqrt": (lambda x: 1 / np.sqrt(x), -1, 9),
    "sigmoid": (sigmoid, -9, 9),
    "sin": (np.sin, -9, 9),
    "sinh": (np.sinh, -9, 9),
    "sqrt": (np.sqrt, -1, 9),
    "tan": (np.tan, -9, 9),
    "tanh": (np.tanh, -9, 9),
}
# Activations, for floating tensors only; arguments that follow the tensor.
ACTIVATIONS = {
    "silu": (lambda x: x * sigmoid(x), ()),
    "mish": (lambda x: x * np.tanh(softplus(x)), ()),
    "hardswish": (lambda x: x * np.clip(x + 3, 0, 6) / 6, ()),
    "hardsigmoid": (lambda x: np.clip(x + 3, 0, 6) / 6, ()),
    "log_sigmoid": (lambda x: -np.log1p(np.exp(-x)), ()),
    "softplus": (lambda x: np.where(x * 2 > 5, x, np.log1p(np.exp(np.minimum(x * 2, 9))) / 2), (2, 5)),
    "leaky_relu": (lambda x: np.where(x > 0, x, x * 0.25), (0.25,)),
    "elu": (lambda x: np.where(x > 0, 1.5 * x, 1.5 * 2 * np.expm1(x)), (2.0, 1.5, 1)),
    "celu": (lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2)), (2.0,)),
    "selu": (lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), ()),
    "hardtanh": (lambda x: np.clip(x, -0.5, 0.75), (-0.5, 0.75)),
    "relu": (lambda x: np.where(x < 0, 0 * x, x), ()),
    "relu6": (lambda x: np.clip(x, 0, 6), ()),
    "threshold": (lambda x: np.where(x <= 0.5, 7.0, x), (0.5, 7.0)),
    "hardshrink": (lambda x: np.where((x >= -0.5) & (x <= 0.5), 0, x), (0.5,)),
    "softshrink": (lambda x: np.where(x > 0.5, x - 0.5, np.where(x < -0.5, x + 0.5, x * 0)), (0.5,)),
}


def in_float64(reference, array):
    with np.errstate(all="ignore"):
        return reference(np.asarray(array).astype(np.float64))


@pytest.mark.parametrize("name", sorted(FLOATING))
@given(
    dtype=st.sampled_from([*FLOATS, *SIGNED, UNSIGNED[0], BOOL]),
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
@settings(max_examples=12, deadline=None)
def test_floating_function(name, dtype, shape, seed, data):
    reference, low, high = FLOATING[name]
    x = random_array(seed, dtype, shape, low=low, high=high)
    if dtype.kind in "iu":
        x = np.clip(x, 0, 20).astype(dtype)
    result = dtype if dtype in FLOATS else F32
    order_in, order_out = data.draw(dim_orders(len(shape))), data.draw(dim_orders(len(shape)))
    got = call_one(f"aten::{name}.out", In(x, order_in), dtype=result, shape=shape, dim_order=order_out)
    atol = float(ml_dtypes.finfo(result).eps) if name in ("sin", "cos", "tan", "exp", "cosh", "sinh") else 0.0
    assert_close(got, in_float64(reference, x), result, ulps=5, atol=atol)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
@given(dtype=st.sampled_from(FLOATS), shape=st.sampled_from(SHAPES), seed=st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_activation(name, dtype, shape, seed):
    reference, arguments = ACTIVATIONS[name]
    x = random_array(seed, dtype, shape, low=-8, high=8, specials=False)
    got = call_one(f"aten::{name}.out", x, *arguments, dtype=dtype, shape=shape)
    assert_close(got, in_float64(reference, x), dtype, ulps=8, atol=float(ml_dtypes.finfo(dtype).eps))


@pytest.mark.parametrize(("approximate", "reference"), [
    ("none", lambda x: x / 2 * (1 + erf(x / math.sqrt(2)))),
    ("tanh", lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
])  # fmt: skip
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gelu(approximate, reference, dtype):
    x = random_array(1, dtype, (4, 101), specials=False)
    got = call_one("aten::gelu.out", x, approximate, dtype=dtype, shape=x.shape)
    assert_close(got, in_float64(reference, x), dtype, ulps=8, atol=float(ml_dtypes.finfo(dtype).eps) * 4)


def test_gelu_refuses_an_unknown_approximation():
    with pytest.raises(en.ExecutionError, match=r"approximate.*'none' or 'tanh'"):
        call_one("aten::gelu.out", np.ones(3, np.float32), "other", dtype=F32, shape=(3,))


@pytest.mark.parametrize("dim", [-1, 0, 1])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_glu(dim, dtype):
    x = random_array(2, dtype, (4, 6, 2), specials=False)
    a, b = np.split(x.astype(np.float64), 2, axis=dim)
    got = call_one("aten::glu.out", In(x, (2, 0, 1)), dim, dtype=dtype, shape=a.shape)
    assert_close(got, a * sigmoid(b), dtype, ulps=8)


def test_glu_refuses_an_odd_size():
    with pytest.raises(en.ExecutionError, match="even size in dim 0, got 3"):
        call_one("aten::glu.out", np.ones((3, 2), np.float32), 0, dtype=F32, shape=(1, 2))


@pytest.mark.parametrize("name, reference", [
    ("ceil", np.ceil), ("floor", np.floor), ("round", np.round), ("trunc", np.trunc), ("neg", np.negative),
    ("abs", np.abs), ("sign", lambda x: (x > 0) * 1.0 - (x < 0) * 1.0), ("square", np.square),
])  # fmt: skip
@given(dtype=st.sampled_from([*FLOATS, *INTEGERS]), shape=st.sampled_from(SHAPES), seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_dtype_keeping_function(name, reference, dtype, shape, seed):
    x = random_array(seed, dtype, shape)
    with np.errstate(all="ignore"):
        expected = np.asarray(reference(x.astype(np.float64)) if dtype in FLOATS else reference(x))
    assert_close(call_one(f"aten::{name}.out", x, dtype=dtype, shape=shape), expected.astype(dtype), dtype, ulps=0)


@pytest.mark.parametrize("decimals", [-1, 2, 0])
def test_round_decimals(decimals):
    x = np.array([12.345, -7.5, 25, 35, np.inf, np.nan], np.float64)
    got = call_one("aten::round.decimals_out", x, decimals, dtype=x.dtype, shape=x.shape)
    np.testing.assert_allclose(got, np.round(x, decimals))


@pytest.mark.parametrize("name, reference", [
    ("isnan", np.isnan), ("isinf", np.isinf), ("isposinf", np.isposinf), ("isneginf", np.isneginf),
    ("signbit", np.signbit), ("logical_not", np.logical_not),
])  # fmt: skip
@given(dtype=st.sampled_from([*FLOATS, *INTEGERS]), shape=st.sampled_from(SHAPES), seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_predicate(name, reference, dtype, shape, seed):
    x = random_array(seed, dtype, shape)
    wide = x.astype(np.float64) if dtype in FLOATS or name != "logical_not" else x
    got = call_one(f"aten::{name}.out", x, dtype=BOOL, shape=shape)
    np.testing.assert_array_equal(got, reference(wide))


@given(dtype=st.sampled_from([*INTEGERS, BOOL]), shape=st.sampled_from(SHAPES), seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_bitwise_not(dtype, shape, seed):
    x = random_array(seed, dtype, shape)
    np.testing.assert_array_equal(call_one("aten::bitwise_not.out", x, dtype=dtype, shape=shape), ~x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_logit(dtype):
    x = random_array(3, dtype, (50,), low=0, high=1, specials=False)
    wide = np.clip(x.astype(np.float64), 0.125, 0.875)
    got = call_one("aten::logit.out", x, 0.125, dtype=dtype, shape=x.shape)
    assert_close(got, np.log(wide / (1 - wide)), dtype, ulps=8, atol=float(ml_dtypes.finfo(dtype).eps))
    edge = np.array([0, 1, 2], F32)
    np.testing.assert_array_equal(
        call_one("aten::logit.out", edge, None, dtype=F32, shape=(3,)), np.array([-np.inf, np.inf, np.nan], F32)
    )


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex(dtype):
    random = np.random.default_rng(0)
    x = (random.normal(size=(3, 5)) + 1j * random.normal(size=(3, 5))).astype(dtype)
    real = np.dtype(dtype).type(0).real.dtype
    for name, reference, result in [
        ("neg", np.negative, dtype), ("_conj_physical", np.conj, dtype), ("abs", np.abs, real),
        ("exp", np.exp, dtype), ("sqrt", np.sqrt, dtype), ("reciprocal", lambda v: 1 / v, dtype),
    ]:  # fmt: skip
        got = call_one(f"aten::{name}.out", x, dtype=result, shape=x.shape)
        assert got.dtype == np.dtype(result)
        np.testing.assert_allclose(got, reference(x), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", [0, 1, 3, 64, 131, 1000])
def test_many_complex_numbers(dtype, n):
    random = np.random.default_rng(n)
    x = (random.normal(size=n) + 1j * random.normal(size=n)).astype(dtype)
    real = np.dtype(dtype).type(0).real.dtype
    tolerance = 4 * np.finfo(dtype).eps
    for name, arguments, expected in [
        ("neg", (), -x), ("_conj_physical", (), x.conj()), ("abs", (), np.abs(x).astype(real)),
        ("pow.Tensor_Scalar", (2,), x * x),
    ]:  # fmt: skip
        operator = f"aten::{name}_out" if "." in name else f"aten::{name}.out"
        got = call_one(operator, x, *arguments, dtype=expected.dtype, shape=x.shape)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_magnitudes_at_the_ends_of_the_range(dtype):
    limits = np.finfo(dtype)
    parts = np.array([0, -0.0, limits.tiny, limits.tiny / 4, limits.max / 2, -limits.max / 2, 1, np.inf, -np.inf,
                      np.nan, 1e-30, 1e30], limits.dtype)  # fmt: skip
    re, im = np.meshgrid(parts, parts)
    x = np.empty(re.shape, dtype)
    x.real, x.imag = re, im
    got = call_one("aten::abs.out", x, dtype=limits.dtype, shape=x.shape)
    np.testing.assert_allclose(got, np.hypot(re, im), rtol=2 * limits.eps, atol=0)


@pytest.mark.parametrize("name, reference, x", [
    ("sinc", np.sinc, [0, 0.5, -2.3]),
    ("lgamma", lgamma, [0.5, 3.0, 10.25, -1.5]),
    ("i0", np.i0, [0, 1.5, -20, 45]),
    ("deg2rad", np.deg2rad, [0, 90, -33]),
    ("rad2deg", np.rad2deg, [0, 1, -3]),
])  # fmt: skip
def test_special(name, reference, x):
    x = np.array(x, np.float64)
    np.testing.assert_allclose(call_one(f"aten::{name}.out", x, dtype=x.dtype, shape=x.shape), reference(x), rtol=1e-7)


def test_erfinv_undoes_erf():
    y = np.array([-1, -0.9999, -0.7, -1e-9, 0, 0.3, 0.99999999, 1, 2])
    x = call_one("aten::erfinv.out", y, dtype=y.dtype, shape=y.shape)
    assert np.isnan(x[-1])
    np.testing.assert_allclose(erf(x[:-1]), y[:-1], rtol=1e-14)


def test_digamma():
    x = np.array([1, 0.5, 10.0, -0.5, 0.0, -1.0])
    expected = [-0.5772156649015329, -1.9635100260214235, 2.251752589066721, 0.03648997397857652, -np.inf, np.nan]
    np.testing.assert_allclose(call_one("aten::digamma.out", x, dtype=x.dtype, shape=x.shape), expected, rtol=1e-12)


def test_log_sigmoid_forward_fills_its_buffer():
    x = random_array(4, F32, (30,), specials=False)
    out, buffer = call("aten::log_sigmoid_forward.output", x, outs=[Out(F32, x.shape), Out(F32, x.shape)])
    np.testing.assert_allclose(out, -np.log1p(np.exp(-x)), rtol=1e-5)
    np.testing.assert_allclose(buffer, np.exp(-np.abs(x)), rtol=1e-5)


@pytest.mark.parametrize("name", ["abs", "neg", "relu", "ceil"])
def test_bool_is_refused(name):
    with pytest.raises(en.ExecutionError, match="self: expected a number dtype, got bool"):
        call_one(f"aten::{name}.out", np.ones(2, bool), dtype=BOOL, shape=(2,))


@pytest.mark.parametrize("name", ["silu", "gelu", "hardswish", "elu"])
def test_integers_are_refused_by_activations(name):
    arguments = {"gelu": ["none"], "elu": [1, 1, 1]}.get(name, [])
    with pytest.raises(en.ExecutionError, match="self: expected a floating dtype, got int64"):
        call_one(f"aten::{name}.out", np.ones(2, np.int64), *arguments, dtype=np.int64, shape=(2,))


def test_a_floating_result_is_not_written_to_integers():
    with pytest.raises(en.ExecutionError, match="out: expected a dtype that takes float32 results, got int32"):
        call_one("aten::exp.out", np.ones(2, np.float32), dtype=np.int32, shape=(2,))


def test_half_kinds_round_once():
    x = np.array([1.0009765625, 3.14], BFLOAT16)
    got = call_one("aten::exp.out", x, dtype=BFLOAT16, shape=x.shape)
    np.testing.assert_array_equal(got, np.exp(x.astype(np.float64)).astype(BFLOAT16))


def test_dynamic_sizes():
    from .single_call import load_call

    method, _ = load_call("aten::tanh.out", np.zeros((8, 4), np.float32), outs=[Out(F32, (8, 4), dynamic=True)])
    assert method([np.zeros((8, 4), np.float32)])[0].shape == (8, 4)


def test_threshold_of_integers():
    x = np.array([-1, 3, 4], np.int16)
    np.testing.assert_array_equal(call_one("aten::threshold.out", x, 3, 7, dtype=np.int16, shape=(3,)), [7, 7, 4])


def test_limits_of_activations():
    with pytest.raises(en.ExecutionError, match=r"lambd: expected a finite number of at least 0, got -0.5"):
        call_one("aten::softshrink.out", np.ones(2, np.float32), -0.5, dtype=F32, shape=(2,))
    with pytest.raises(en.ExecutionError, match="min_val: expected no negative limits for uint8"):
        call_one("aten::hardtanh.out", np.ones(2, np.uint8), -1, 1, dtype=np.uint8, shape=(2,))
