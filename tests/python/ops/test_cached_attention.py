"""The llama:: operators: attention over caches, writing to caches, the Hadamard transform, tiles of an image."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en
from builder import ProgramBuilder

from .single_call import FLOATS, In, Out, assert_close, call_one, dim_orders, random_array

F32 = np.dtype(np.float32)
EXAMPLES = settings(max_examples=40, deadline=None)


def attention(q, k, v, *, start, mask=None, causal=False, scale=None):
    """[batch, position, head, size] in float64."""
    q, k, v = (np.moveaxis(x.astype(np.float64), 1, 2) for x in (q, k, v))
    queries = q.shape[2]
    keys = k.shape[2] if mask is not None else start + queries
    k, v = (np.repeat(x[:, :, :keys], q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ np.swapaxes(k, 2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if causal:
        scores = np.where(np.arange(keys) <= start + np.arange(queries)[:, None], scores, -np.inf)
    if mask is not None:
        scores = scores + mask.astype(np.float64)
    top = scores.max(3, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(3, keepdims=True)
    return np.moveaxis(weights / np.where(total == 0, 1, total) @ v, 2, 1)


@given(
    dtype=st.sampled_from(FLOATS),
    batch=st.integers(1, 2),
    queries=st.sampled_from([1, 2, 7, 33]),
    start=st.integers(0, 9),
    kv_heads=st.sampled_from([1, 2]),
    group=st.sampled_from([1, 3, 4]),
    size=st.sampled_from([1, 8, 17]),
    kind=st.sampled_from(["causal", "all", "mask"]),
    scale=st.sampled_from([None, 0.25]),
    seed=st.integers(0, 2**32),
)
@EXAMPLES
def test_custom_sdpa(dtype, batch, queries, start, kv_heads, group, size, kind, scale, seed):
    length = start + queries + 3
    q = random_array(seed, dtype, (batch, queries, kv_heads * group, size), specials=False)
    k = random_array(seed + 1, dtype, (batch, length, kv_heads, size), specials=False)
    v = random_array(seed + 2, dtype, (batch, length, kv_heads, size), specials=False)
    mask = None
    if kind == "mask":
        mask = random_array(seed + 3, F32, (queries, length), specials=False)
        mask[np.random.default_rng(seed).random(mask.shape) < 0.3] = -np.inf
    expected = attention(q, k, v, start=start, mask=mask, causal=kind == "causal", scale=scale)
    got = call_one("llama::custom_sdpa.out", q, k, v, start, mask, 0.0, kind == "causal", scale, dtype=dtype,
                   shape=q.shape)  # fmt: skip
    assert_close(got, expected, dtype, ulps=32, atol=64 * float(np.finfo(F32).eps))


@pytest.mark.parametrize("position_dim", [1, 2])
@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("start, length", [(3, 9), (270, 300)])
def test_custom_quantized_sdpa(position_dim, queries, start, length):
    random = np.random.default_rng(7)
    shapes = {"q": (2, queries, 4, 8), "k": (2, length, 2, 8), "v": (2, length, 2, 8)}
    arrays, numbers, parameters = {}, {}, []
    for name, shape in shapes.items():
        x = random.integers(-128, 128, shape, dtype=np.int8)
        zero = random.integers(-20, 20, (*shape[:3], 1), dtype=np.int8)
        scale = random.uniform(0.01, 0.02, (*shape[:3], 1)).astype(np.float32)
        numbers[name] = (x.astype(np.float32) - zero) * scale
        moved = [np.ascontiguousarray(np.moveaxis(a, 1, position_dim)) for a in (x, zero, scale)]
        arrays[name] = moved[0]
        parameters += moved[1:]
    expected = attention(numbers["q"], numbers["k"], numbers["v"], start=start, causal=True)
    got = call_one("llama::custom_quantized_sdpa.out", arrays["q"], arrays["k"], arrays["v"], start, None, 0.0, True,
                   None, *parameters, position_dim == 2, dtype=F32, shape=arrays["q"].shape)  # fmt: skip
    np.testing.assert_allclose(np.moveaxis(got, position_dim, 1), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float16])
def test_update_cache(dtype):
    value = np.arange(2 * 3 * 2 * 4).reshape(2, 3, 2, 4).astype(dtype)
    p = ProgramBuilder()
    cache = p.zero_buffer(dtype, (2, 7, 2, 4), name="cache")
    p.call("llama::update_cache.out", p.input(dtype, value.shape), cache, 2, out=p.tensor(dtype, (1,)))
    p.output(cache)
    (got,) = en.Runtime.get().load_program(p.build()).load_method("forward")([value])
    expected = np.zeros((2, 7, 2, 4), dtype)
    expected[:, 2:5] = value
    np.testing.assert_array_equal(got, expected)


def test_update_cache_with_indices():
    value = np.arange(2 * 3 * 1 * 4, dtype=np.float32).reshape(2, 3, 1, 4)
    indices = np.array([[4, 0, 2], [1, 1, 3]])
    p = ProgramBuilder()
    cache = p.zero_buffer(np.float32, (2, 5, 1, 4), name="cache")
    slots = p.input(np.float32, value.shape), cache, 0, p.input(np.int64, indices.shape)
    p.call("llama::update_cache_with_indices.out", *slots, out=p.tensor(np.float32, (1,)))
    p.output(cache)
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    (got,) = method([value, indices])
    expected = np.zeros((2, 5, 1, 4), np.float32)
    for batch in range(2):
        for position in range(3):
            expected[batch, indices[batch, position]] = value[batch, position]
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(en.ExecutionError, match="indices: expected 0 to 4, got 5 at 0"):
        method([value, indices + 1])
    assert np.array_equal(method.state["cache"], expected)


def test_sdpa_with_kv_cache_over_steps():
    random = np.random.default_rng(3)
    p = ProgramBuilder()
    keys, values = (p.zero_buffer(np.float32, (1, 8, 2, 4), name=name) for name in "kv")
    q, k, v = (p.input(np.float32, (1, 2, heads, 4)) for heads in (4, 2, 2))
    start = p.input(np.int64, ())
    position = p.value(0)
    p.call("aten::_local_scalar_dense", start, position)
    p.call("llama::sdpa_with_kv_cache.out", q, k, v, keys, values, position, 2, None, 0.0, True, None,
           out=(out := p.tensor(np.float32, (1, 2, 4, 4))))  # fmt: skip
    p.output(out)
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    all_keys, all_values = np.zeros((1, 8, 2, 4), np.float32), np.zeros((1, 8, 2, 4), np.float32)
    for step in (0, 2, 4):
        x = random.normal(size=(1, 2, 4, 4)).astype(np.float32)
        all_keys[:, step : step + 2] = x[:, :, :2]
        all_values[:, step : step + 2] = x[:, :, 2:]
        (got,) = method([x, x[:, :, :2], x[:, :, 2:], np.array(step)])
        expected = attention(x, all_keys, all_values, start=step, causal=True)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(
        en.ExecutionError, match=r"start_pos: expected positions among the 8 of key_cache, got \[7, 7 \+ 2\)"
    ):
        method([x, x[:, :, :2], x[:, :, 2:], np.array(7)])
    np.testing.assert_array_equal(method.state["k"], all_keys)


@pytest.mark.parametrize("change, message", [
    ({"start": -1}, "start_pos: expected a position, got -1"),
    ({"start": 3}, r"start_pos: expected positions among the 4 of key, got \[3, 3 \+ 2\)"),
    ({"k": (1, 4, 3, 8)}, "key: expected a divisor of query's 4 heads, got 3"),
    ({"k": (1, 4, 2, 7)}, "key: expected batch 1 and size 8 as query has"),
    ({"v": (1, 3, 2, 8)}, r"value: expected the shape of key, \[1, 4, 2, 8\], got \[1, 3, 2, 8\]"),
    ({"mask": (2, 3)}, r"attn_mask: expected shape \[2, 4\], got \[2, 3\]"),
    ({"mask": (2, 4), "causal": True}, "attn_mask: expected None where is_causal is set"),
    ({"dropout": 0.5}, "drpout_p: expected 0, got 0.5"),
])  # fmt: skip
def test_refused_attention(change, message):
    shapes = {"q": (1, 2, 4, 8), "k": (1, 4, 2, 8), "v": (1, 4, 2, 8)} | {k: s for k, s in change.items() if k in "kv"}
    if "k" in change:
        shapes["v"] = change["k"]
    arrays = [np.ones(s, np.float32) for s in shapes.values()]
    mask = np.zeros(change["mask"], np.float32) if "mask" in change else None
    with pytest.raises(en.ExecutionError, match=message):
        call_one("llama::custom_sdpa.out", *arrays, change.get("start", 0), mask, change.get("dropout", 0.0),
                 change.get("causal", False), None, dtype=F32, shape=shapes["q"])  # fmt: skip


def hadamard_28():
    """By Williamson's construction, written out."""
    blocks = [np.array([[1 if row[(j - i) % 7] == "+" else -1 for j in range(7)] for i in range(7)])
              for row in ("+------", "++----+", "+-+--+-", "+--++--")]  # fmt: skip
    a, b, c, d = blocks
    return np.block([[a, b, c, d], [-b, a, -d, c], [-c, d, a, -b], [-d, -c, b, a]])


def hadamard(power):
    matrix = np.ones((1, 1))
    for _ in range(power):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


@given(
    dtype=st.sampled_from(FLOATS),
    rows=st.sampled_from([(), (1,), (3,), (2, 5)]),
    power=st.integers(0, 9),
    by_28=st.booleans(),
    data=st.data(),
)
@EXAMPLES
def test_fast_hadamard_transform(dtype, rows, power, by_28, data):
    size = 2**power * (28 if by_28 else 1)
    shape = (*rows, size)
    x = random_array(5, dtype, shape, specials=False)
    expected = x.astype(np.float64).reshape(*rows, -1, 2**power) @ hadamard(power) / 2 ** (power / 2)
    if by_28:
        assert np.array_equal(hadamard_28() @ hadamard_28().T, 28 * np.eye(28))
        expected = np.einsum("ij,...jk->...ik", hadamard_28(), expected)
    got = call_one("llama::fast_hadamard_transform.out", In(x, data.draw(dim_orders(len(shape)))), dtype=dtype,
                   shape=shape)  # fmt: skip
    scale = float(np.abs(expected).max(initial=1))
    epsilon = {2: 1e-3 if dtype == np.float16 else 8e-3, 4: 1e-6, 8: 1e-14}[dtype.itemsize]
    np.testing.assert_allclose(got.astype(np.float64), expected.reshape(shape), rtol=epsilon, atol=epsilon * scale)


def test_hadamard_refuses_other_sizes():
    with pytest.raises(en.ExecutionError, match=r"mat: expected a last size that is a power of two or 28 times one"):
        call_one("llama::fast_hadamard_transform.out", np.ones((2, 12), F32), dtype=F32, shape=(2, 12))


def test_fallback_copies():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(call_one("llama::fallback.out", x, dtype=np.float64, shape=(2, 3)), x)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0)])
def test_tile_crop(order):
    image = np.arange(3 * 4 * 6, dtype=np.uint8).reshape(3, 4, 6)
    expected = image.reshape(3, 2, 2, 3, 2).transpose(1, 3, 0, 2, 4).reshape(6, 3, 2, 2)
    got = call_one("preprocess::tile_crop.out", In(image, order), 2, dtype=np.uint8, shape=(6, 3, 2, 2))
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(
        en.ExecutionError, match=r"tile_size: expected a divisor of the height and width of \[3, 4, 6\], got 4"
    ):
        call_one("preprocess::tile_crop.out", image, 4, dtype=np.uint8, shape=(6, 3, 2, 2))


def test_outputs_are_planned_like_any():
    got = call_one("llama::custom_sdpa.out", *[np.ones((1, 1, 1, 2), F32)] * 3, 0, None, 0.0, True, None,
                   **vars(Out(F32, (1, 1, 1, 2), (3, 2, 1, 0))))  # fmt: skip
    np.testing.assert_array_equal(got, np.ones((1, 1, 1, 2), F32))
