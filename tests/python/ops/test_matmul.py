"""Matrix products, against numpy."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en

from .single_call import FLOATS, INTEGERS, In, Out, assert_sum_close, call, call_one, dim_orders, small_array, wide

DTYPES = [*FLOATS, *INTEGERS]
F32 = np.dtype(np.float32)
SIZES = st.sampled_from([0, 1, 2, 3, 5, 16, 17, 33, 64])
SCALARS = st.sampled_from([0, 1, 1, 2, -3])
EXAMPLES = settings(max_examples=80, deadline=None)
PRODUCT = {"dtype": st.sampled_from(DTYPES), "m": SIZES, "n": SIZES, "k": SIZES, "seed": st.integers(0, 999),
           "data": st.data()}  # fmt: skip


def drawn(data, array):
    return In(array, data.draw(dim_orders(array.ndim)))


@given(**PRODUCT)
@EXAMPLES
def test_mm(dtype, m, n, k, seed, data):
    a, b = small_array(seed, dtype, (m, k)), small_array(seed + 1, dtype, (k, n))
    got = call_one("aten::mm.out", drawn(data, a), drawn(data, b), dtype=dtype, shape=(m, n),
                   dim_order=data.draw(dim_orders(2)))  # fmt: skip
    assert_sum_close(got, wide(a) @ wide(b), abs(wide(a)) @ abs(wide(b)), dtype)


@given(batch=st.sampled_from([0, 1, 3]), **PRODUCT)
@EXAMPLES
def test_bmm(batch, dtype, m, n, k, seed, data):
    a, b = small_array(seed, dtype, (batch, m, k)), small_array(seed + 1, dtype, (batch, k, n))
    got = call_one("aten::bmm.out", drawn(data, a), drawn(data, b), dtype=dtype, shape=(batch, m, n),
                   dim_order=data.draw(dim_orders(3)))  # fmt: skip
    assert_sum_close(got, wide(a) @ wide(b), abs(wide(a)) @ abs(wide(b)), dtype)


@given(dtype=st.sampled_from([np.complex64, np.complex128]), m=SIZES, n=SIZES, k=SIZES,
       batch=st.sampled_from([0, 1, 3]), alpha=SCALARS, beta=SCALARS, seed=st.integers(0, 999))  # fmt: skip
@EXAMPLES
def test_complex_products(dtype, m, n, k, batch, alpha, beta, seed):
    random = np.random.default_rng(seed)
    shapes = (batch, m, k), (batch, k, n), (batch, m, n)
    a, b, c = ((random.normal(size=s) + 1j * random.normal(size=s)).astype(dtype) for s in shapes)
    tolerance = 16 * (k + 1) * np.finfo(dtype).eps
    for operator, arguments, expected in [
        ("bmm", (a, b), a @ b),
        ("bmm", (a, In(b, (0, 2, 1))), a @ b),
        ("baddbmm", (c, a, b, beta, alpha), alpha * (a @ b) + beta * c),
    ]:
        got = call_one(f"aten::{operator}.out", *arguments, dtype=dtype, shape=(batch, m, n))
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def addends(data, *sizes):
    """A shape that broadcasts to these sizes."""
    shape = [data.draw(st.sampled_from([1, n])) for n in sizes]
    return tuple(shape[data.draw(st.integers(0, len(shape))) :])


@pytest.mark.parametrize("operator", ["addmm", "baddbmm"])
@given(alpha=SCALARS, beta=SCALARS, batch=st.sampled_from([0, 1, 3]), **PRODUCT)
@EXAMPLES
def test_products_and_sums(operator, alpha, beta, batch, dtype, m, n, k, seed, data):
    batches = () if operator == "addmm" else (batch,)
    if dtype.kind == "u":
        alpha, beta = abs(alpha), abs(beta)
    a, b = small_array(seed, dtype, (*batches, m, k)), small_array(seed + 1, dtype, (*batches, k, n))
    c = small_array(seed + 2, dtype, addends(data, *batches, m, n))
    expected = alpha * (wide(a) @ wide(b)) + beta * wide(c)
    magnitude = abs(alpha) * (abs(wide(a)) @ abs(wide(b))) + abs(beta * wide(c))
    got = call_one(f"aten::{operator}.out", drawn(data, c), drawn(data, a), drawn(data, b), beta, alpha,
                   dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(expected.ndim)))  # fmt: skip
    assert_sum_close(got, expected, magnitude, dtype)


@given(leading=st.sampled_from([(), (1,), (5,), (2, 3), (0, 2)]), has_bias=st.booleans(), **PRODUCT)
@EXAMPLES
def test_linear(leading, has_bias, dtype, m, n, k, seed, data):
    x, w = small_array(seed, dtype, (*leading, m, k)), small_array(seed + 1, dtype, (n, k))
    b = small_array(seed + 2, dtype, (n,)) if has_bias else np.zeros(n, dtype)
    expected, magnitude = wide(x) @ wide(w).T + wide(b), abs(wide(x)) @ abs(wide(w)).T + abs(wide(b))
    got = call_one("aten::linear.out", drawn(data, x), drawn(data, w), b if has_bias else None,
                   dtype=dtype, shape=expected.shape, dim_order=data.draw(dim_orders(expected.ndim)))  # fmt: skip
    assert_sum_close(got, expected, magnitude, dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_an_addend_without_weight_does_not_count_even_if_it_is_nan(dtype):
    a, b = small_array(1, dtype, (2, 3)), small_array(2, dtype, (3, 4))
    got = call_one("aten::addmm.out", np.full((2, 4), np.nan, dtype), a, b, 0, 1, dtype=dtype, shape=(2, 4))
    assert_sum_close(got, wide(a) @ wide(b), abs(wide(a)) @ abs(wide(b)), dtype)


@pytest.mark.parametrize("operator, shapes, message", [
    ("mm", [(2, 3), (4, 2)], r"mat2: expected sizes to multiply with \[2, 3\], got \[4, 2\]"),
    ("mm", [(2, 3), (3,)], "mat2: expected rank 2"),
    ("bmm", [(2, 3, 4), (3, 4, 5)], r"mat2: expected sizes to multiply with \[2, 3, 4\], got \[3, 4, 5\]"),
    ("linear", [(2, 3), (4, 5)], r"input: expected a last size of 5, as of weight \[4, 5\], got \[2, 3\]"),
])  # fmt: skip
def test_refused_products(operator, shapes, message):
    args = [np.ones(shape, F32) for shape in shapes] + ([None] if operator == "linear" else [])
    with pytest.raises(en.ExecutionError, match=message):
        call_one(f"aten::{operator}.out", *args, dtype=F32, shape=(2,) * len(shapes[0]))


def test_mixed_dtypes_are_refused_as_eager_does():
    with pytest.raises(en.ExecutionError, match="mat2: expected float32, got float64"):
        call_one("aten::mm.out", np.ones((2, 2), F32), np.ones((2, 2)), dtype=F32, shape=(2, 2))


def test_unsigned_by_signed_bytes():
    random = np.random.default_rng(0)
    a = random.integers(0, 256, (20, 16)).astype(np.uint8)
    b = random.integers(-128, 128, (16, 8)).astype(np.int8)
    got = call_one("aten::_int_mm.out", a, b, dtype=np.dtype(np.int32), shape=(20, 8))
    np.testing.assert_array_equal(got, a.astype(np.int32) @ b.astype(np.int32))


def test_outer_products_of_mixed_dtypes():
    self = np.array([[1], [2]], np.int8)
    a, b = np.array([3, 300], np.int16), np.array([0.5, -1, 2], np.float32)
    got = call_one("aten::addr.out", self, a, b, 2, 3, dtype=F32, shape=(2, 3))
    np.testing.assert_array_equal(got, 2 * self + 3 * np.outer(a, b))


def test_attention_of_whole_queries_is_cut_off():
    random = np.random.default_rng(1)
    q = random.integers(-3, 4, (1, 3, 4)).astype(np.int32)
    k, v = (random.uniform(-9, 9, (1, 5, 4)).astype(np.float32) for _ in range(2))
    scores = q @ k.swapaxes(1, 2) / 2
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    outs = [Out(q.dtype, (1, 3, 4)), Out(q.dtype, (1, 3, 5))]
    name = "aten::_scaled_dot_product_attention_math.out"
    got, kept = call(name, q, k, v, None, 0.0, False, None, None, False, outs=outs)
    np.testing.assert_array_equal(got, np.trunc(weights @ v))
    np.testing.assert_array_equal(kept, np.trunc(weights))
