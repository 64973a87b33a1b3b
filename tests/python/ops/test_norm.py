"""Softmax, normalisation layers and distances, against numpy in float64."""

from __future__ import annotations

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en

from .single_call import BFLOAT16, FLOATS, In, Out, assert_close, call, call_one, dim_orders, random_array

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
EXAMPLES = settings(max_examples=40, deadline=None)


def eps_of(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def softmax(x, axis, logarithm):
    shifted = x - x.max(axis, keepdims=True, initial=-np.inf)
    result = np.exp(shifted)
    total = result.sum(axis, keepdims=True)
    return shifted - np.log(total) if logarithm else result / total


@pytest.mark.parametrize("logarithm", [False, True])
@given(
    dtype=st.sampled_from(FLOATS),
    shape=st.sampled_from([(), (1,), (9,), (3, 70), (2, 3, 5), (0, 4), (4, 2, 1, 33), (700, 1), (301, 9)]),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
@EXAMPLES
def test_softmax(logarithm, dtype, shape, seed, data):
    x = random_array(seed, dtype, shape, specials=False)
    rank = len(shape)
    dim = data.draw(st.integers(-max(rank, 1), max(rank, 1) - 1))
    with np.errstate(divide="ignore"):  # the logarithm of a sum over nothing
        expected = softmax(x.astype(np.float64).reshape(shape or (1,)), dim, logarithm).reshape(shape)
    name = "_log_softmax" if logarithm else "_softmax"
    got = call_one(f"aten::{name}.out", In(x, data.draw(dim_orders(rank))), dim, False, dtype=dtype, shape=shape,
                   dim_order=data.draw(dim_orders(rank)))  # fmt: skip
    assert_close(got, expected, dtype, ulps=8, atol=eps_of(dtype) * 4)


def test_softmax_of_large_and_masked_numbers():
    x = np.array([[1e30, 1e30, -np.inf], [1000, 0, -1000], [np.nan, 0, 0]], np.float32)
    got = call_one("aten::_softmax.out", x, 1, False, dtype=F32, shape=x.shape)
    np.testing.assert_allclose(got, np.array([[0.5, 0.5, 0], [1, 0, 0], [np.nan] * 3], F32), atol=1e-30)


def test_softmax_of_one_number():
    x = np.array([[3], [-np.inf], [np.nan], [np.inf]], np.float32)
    got = call_one("aten::_softmax.out", x, 1, False, dtype=F32, shape=x.shape)
    np.testing.assert_array_equal(got, np.array([[1], [np.nan], [np.nan], [np.nan]], F32))


def test_softmax_of_halves_in_float32():
    x = random_array(1, np.dtype(np.float16), (2, 5), specials=False)
    got = call_one("aten::_softmax.out", x, 1, True, dtype=F32, shape=x.shape)
    np.testing.assert_allclose(got, softmax(x.astype(np.float64), 1, False), rtol=1e-6)


def test_integers_have_no_softmax():
    with pytest.raises(en.ExecutionError, match="self: expected a floating dtype, got int64"):
        call_one("aten::_softmax.out", np.ones(2, np.int64), 0, False, dtype=np.int64, shape=(2,))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_layer_norm(dtype, affine, order):
    x = random_array(2, dtype, (3, 4, 35), specials=False)
    w, b = random_array(3, dtype, (4, 35), specials=False), random_array(4, dtype, (4, 35), specials=False)
    v = x.astype(np.float64)
    mean, var = v.mean((1, 2), keepdims=True), v.var((1, 2), keepdims=True)
    expected = (v - mean) / np.sqrt(var + 1e-5)
    if affine:
        expected = expected * w.astype(np.float64) + b.astype(np.float64)
    got, got_mean, got_rstd = call(
        "aten::native_layer_norm.out", In(x, order), [4, 35], *([w, b] if affine else [None, None]), 1e-5,
        outs=[Out(dtype, x.shape, order), Out(dtype, (3, 1, 1)), Out(dtype, (3, 1, 1))],
    )  # fmt: skip
    assert_close(got, expected, dtype, ulps=16, atol=eps_of(dtype) * 16)
    assert_close(got_mean, mean, dtype, ulps=8, atol=eps_of(dtype))
    assert_close(got_rstd, 1 / np.sqrt(var + 1e-5), dtype, ulps=8)


# Rows so short that many are computed side by side.
@pytest.mark.parametrize("given", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("rows, cols", [(70, 1), (131, 2), (64, 3), (3, 5), (199, 7), (65, 8), (400, 9)])
def test_layer_norm_of_short_rows(dtype, rows, cols, given):
    x = random_array(7, dtype, (rows, cols), specials=False)
    parameters = [random_array(8 + i, dtype, (cols,), specials=False) for i in range(2)]
    v, (w, b) = x.astype(np.float64), (a.astype(np.float64) for a in parameters)
    mean, var = v.mean(1, keepdims=True), v.var(1, keepdims=True)
    expected = (v - mean) / np.sqrt(var + 1e-5) * (w if given[0] else 1) + (b if given[1] else 0)
    got, got_mean, got_rstd = call(
        "aten::native_layer_norm.out", x, [cols], *(a if g else None for a, g in zip(parameters, given, strict=True)),
        1e-5, outs=[Out(dtype, x.shape), Out(dtype, (rows, 1)), Out(dtype, (rows, 1))],
    )  # fmt: skip
    # A difference much smaller than the numbers has few digits left.
    spread = np.abs(v).max(1, keepdims=True) / np.sqrt(var + 1e-5)
    scale = 1 + spread * (np.abs(w) if given[0] else 1) + (np.abs(b) if given[1] else 0)
    assert (np.abs(got.astype(np.float64) - expected) <= eps_of(dtype) * 8 * scale).all()
    assert_close(got_mean, mean, dtype, ulps=8, atol=eps_of(dtype) * np.abs(v).max())
    assert_close(got_rstd, 1 / np.sqrt(var + 1e-5), dtype, ulps=32)


def test_layer_norm_of_short_rows_far_from_zero_and_not_finite():
    x = np.array([[4096, 4097, 4098]] * 40, np.float32)
    x[3, 1], x[5, 0] = np.nan, np.inf
    got, mean, _ = call("aten::native_layer_norm.out", x, [3], None, None, 0.0,
                        outs=[Out(F32, x.shape), Out(F32, (40, 1)), Out(F32, (40, 1))])  # fmt: skip
    fine = np.isfinite(x).all(1)
    np.testing.assert_allclose(got[fine], np.tile([-(1.5**0.5), 0, 1.5**0.5], (38, 1)), rtol=1e-6)
    assert np.isnan(got[~fine]).all() and np.isnan(mean[3, 0]) and mean[5, 0] == np.inf


def test_layer_norm_with_float32_parameters():
    x = random_array(5, BFLOAT16, (6, 16), specials=False)
    w = random_array(6, F32, (16,), specials=False)
    v = x.astype(np.float64)
    expected = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5) * w
    got, mean, _ = call("aten::native_layer_norm.out", x, [16], w, None, 1e-5,
                        outs=[Out(BFLOAT16, x.shape), Out(F32, (6, 1)), Out(F32, (6, 1))])  # fmt: skip
    assert_close(got, expected, BFLOAT16, ulps=1, atol=1e-4)
    np.testing.assert_allclose(mean, v.mean(1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("shape, weight, message", [
    ([5], None, r"normalized_shape: expected the last dims of \[2, 4\], got \[5\]"),
    ([4], np.ones(3, np.float32), r"weight: expected shape \[4\], got \[3\]"),
])  # fmt: skip
def test_refused_layer_norms(shape, weight, message):
    outs = [Out(F32, (2, 4)), Out(F32, (2, 1)), Out(F32, (2, 1))]
    with pytest.raises(en.ExecutionError, match=message):
        call("aten::native_layer_norm.out", np.ones((2, 4), np.float32), shape, weight, None, 1e-5, outs=outs)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rms_norm(dtype):
    x, w = random_array(7, dtype, (5, 33), specials=False), random_array(8, dtype, (33,), specials=False)
    v = x.astype(np.float64)
    expected = v / np.sqrt((v * v).mean(1, keepdims=True) + 1e-6) * w.astype(np.float64)
    got = call_one("aten::rms_norm.out", x, [33], w, 1e-6, dtype=dtype, shape=x.shape)
    assert_close(got, expected, dtype, ulps=16)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1)])
def test_group_norm(dtype, groups, order):
    x = random_array(9, dtype, (2, 6, 5, 7), specials=False)
    w, b = random_array(10, dtype, (6,), specials=False), random_array(11, dtype, (6,), specials=False)
    v = x.astype(np.float64).reshape(2, groups, -1)
    mean, var = v.mean(2), v.var(2)
    expected = ((v - mean[..., None]) / np.sqrt(var + 1e-5)[..., None]).reshape(x.shape)
    expected = expected * w.astype(np.float64).reshape(6, 1, 1) + b.astype(np.float64).reshape(6, 1, 1)
    got, got_mean, got_rstd = call(
        "aten::native_group_norm.out", In(x, order), w, b, 2, 6, 35, groups, 1e-5,
        outs=[Out(dtype, x.shape, order), Out(dtype, (2, groups)), Out(dtype, (2, groups))],
    )  # fmt: skip
    assert_close(got, expected, dtype, ulps=16, atol=eps_of(dtype) * 16)
    assert_close(got_mean, mean, dtype, ulps=8, atol=eps_of(dtype))
    assert_close(got_rstd, 1 / np.sqrt(var + 1e-5), dtype, ulps=8)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1)])
def test_batch_norm_with_running_statistics(dtype, order):
    x = random_array(12, dtype, (2, 5, 3, 4), specials=False)
    w, b, m = (random_array(13 + i, dtype, (5,), specials=False) for i in range(3))
    v = random_array(16, dtype, (5,), low=0.5, high=2, specials=False)
    channel = lambda a: a.astype(np.float64).reshape(5, 1, 1)  # noqa: E731
    expected = (x.astype(np.float64) - channel(m)) / np.sqrt(channel(v) + 1e-3) * channel(w) + channel(b)
    outs = [Out(dtype, x.shape, order), Out(dtype, (0,)), Out(dtype, (0,))]
    got = call("aten::_native_batch_norm_legit_no_training.out", In(x, order), w, b, m, v, 0.1, 1e-3, outs=outs)
    assert_close(got[0], expected, dtype, ulps=16, atol=eps_of(dtype) * 16)
    same = call("aten::native_batch_norm.out", In(x, order), w, b, m, v, False, 0.1, 1e-3, outs=outs)
    np.testing.assert_array_equal(same[0], got[0])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_batch_norm_with_batch_statistics(dtype):
    x = random_array(17, dtype, (4, 3, 10), specials=False)
    v = x.astype(np.float64)
    mean, var = v.mean((0, 2)), v.var((0, 2))
    expected = (v - mean.reshape(3, 1)) / np.sqrt(var.reshape(3, 1) + 1e-5)
    outs = [Out(dtype, x.shape), Out(dtype, (3,)), Out(dtype, (3,))]
    got = call("aten::_native_batch_norm_legit.no_stats_out", x, None, None, True, 0.1, 1e-5, outs=outs)
    assert_close(got[0], expected, dtype, ulps=16, atol=eps_of(dtype) * 16)
    assert_close(got[1], mean, dtype, ulps=8, atol=eps_of(dtype))
    assert_close(got[2], 1 / np.sqrt(var + 1e-5), dtype, ulps=8)


def test_batch_norm_updates_running_statistics(load):
    from builder import ProgramBuilder

    x = random_array(18, F32, (4, 3, 10), specials=False)
    p = ProgramBuilder()
    given_x = p.input(F32, x.shape)
    mean, var = p.buffer(np.zeros(3, F32)), p.buffer(np.ones(3, F32))
    outs = [p.tensor(F32, x.shape), p.tensor(F32, (3,)), p.tensor(F32, (3,))]
    p.call("aten::_native_batch_norm_legit.out", given_x, None, None, mean, var, True, 0.25, 1e-5, out=outs)
    p.output(outs[0], mean, var)
    _, new_mean, new_var = load(p)([x])
    np.testing.assert_allclose(new_mean, 0.25 * x.mean((0, 2)), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(new_var, 0.75 + 0.25 * x.var((0, 2), ddof=1), rtol=1e-5)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("shapes", [((4, 7), (5, 7)), ((2, 1, 3, 20), (6, 9, 20)), ((3, 0), (2, 0)),
                                    ((5, 3), (150, 3)), ((2, 3, 4), (2, 37, 4)),
                                    ((2, 70), (9, 70)), ((6, 150), (70, 150))])  # fmt: skip
def test_cdist(p, dtype, shapes):
    a, b = random_array(19, dtype, shapes[0], specials=False), random_array(20, dtype, shapes[1], specials=False)
    difference = np.abs(a.astype(np.float64)[..., :, None, :] - b.astype(np.float64)[..., None, :, :])
    if p == 0:
        expected = (difference != 0).sum(-1).astype(np.float64)
    elif np.isinf(p):
        expected = difference.max(-1, initial=0)
    else:
        expected = (difference**p).sum(-1) ** (1 / p)
    got = call_one("aten::_cdist_forward.out", a, b, p, None, dtype=dtype, shape=expected.shape)
    assert_close(got, expected, dtype, ulps=16)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("shape", [(6, 11), (3, 50), (90, 5)])
def test_pdist(p, dtype, shape):
    x = random_array(21, dtype, shape, specials=False)
    rows, others = np.triu_indices(shape[0], 1)
    expected = np.linalg.norm(x[rows].astype(np.float64) - x[others].astype(np.float64), p, axis=1)
    got = call_one("aten::_pdist_forward.out", In(x, (1, 0)), p, dtype=dtype, shape=expected.shape)
    assert_close(got, expected, dtype, ulps=16)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_distances_of_nan(dtype):
    x = np.zeros((40, 3), dtype)
    x[7, 1] = np.nan
    for p in (1.0, 2.0, float("inf")):
        got = call_one("aten::_cdist_forward.out", x[:5], x, p, None, dtype=dtype, shape=(5, 40))
        assert np.isnan(got[:, 7]).all() and not np.isnan(np.delete(got, 7, 1)).any()


def test_cdist_refuses_other_columns():
    with pytest.raises(en.ExecutionError, match=r"x2: expected 3 columns as x1 has, got shape \[2, 4\]"):
        call_one(
            "aten::_cdist_forward.out", np.ones((2, 3), F32), np.ones((2, 4), F32), 2.0, None, dtype=F32, shape=(2, 2)
        )


def test_fused_rms_norm_gives_the_reciprocal_root():
    x = random_array(22, F32, (3, 8), specials=False)
    root = np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-6)
    got, rstd = call("aten::_fused_rms_norm.out", x, [8], None, 1e-6, outs=[Out(F32, x.shape), Out(F32, (3, 1))])
    np.testing.assert_allclose(got, x / root, rtol=1e-5)
    np.testing.assert_allclose(rstd, 1 / root, rtol=1e-5)
