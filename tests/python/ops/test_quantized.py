"""quantized_decomposed operators against their definitions, in numpy."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en

from .single_call import BFLOAT16, FLOATS, In, Out, assert_close, call, call_one, dim_orders, random_array

F32, F64, I64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
STORAGE = [np.dtype(t) for t in ("int8", "uint8", "int16", "uint16", "int32")]
SHAPES = [(), (1,), (7,), (0, 3), (3, 5), (2, 3, 4), (2, 3, 4, 5), (1, 300)]
NAME = "quantized_decomposed::"
scales_ = st.floats(1e-3, 10).map(lambda x: float(np.float32(x)))
EXAMPLES = settings(max_examples=60, deadline=None)


@st.composite
def ranges(draw: st.DrawFn, dtype: np.dtype) -> tuple[int, int, int]:
    """quant_min, quant_max and a zero point between them; 8-bit ones where the dtype is wider."""
    info = np.iinfo(dtype)
    low, high = max(info.min, -128), min(info.max, 255)
    low = draw(st.sampled_from([low, low + 1, 0]))
    return low, high, draw(st.integers(low, high))


def quantize(x, inverse, zero, low, high, dtype):
    """Rounds the float32 quotient to even."""
    quanta = np.rint(x.astype(F32) * np.asarray(inverse, F32)).astype(F64) + zero
    return np.clip(np.nan_to_num(quanta, nan=low), low, high).astype(dtype)


@given(dtype=st.sampled_from(FLOATS), storage=st.sampled_from(STORAGE), shape=st.sampled_from(SHAPES), scale=scales_,
       as_tensors=st.booleans(), seed=st.integers(0, 999), data=st.data())  # fmt: skip
@EXAMPLES
def test_quantize_per_tensor(dtype, storage, shape, scale, as_tensors, seed, data):
    low, high, zero = data.draw(ranges(storage))
    x = random_array(seed, dtype, shape, low=-200 * scale, high=200 * scale, specials=False)
    parameters = [np.array(scale, F64), np.array(zero, I64)] if as_tensors else [scale, zero]
    operator = NAME + ("quantize_per_tensor.Tensor_out" if as_tensors else "quantize_per_tensor.out")
    got = call_one(operator, In(x, data.draw(dim_orders(len(shape)))), *parameters, low, high, storage,
                   dtype=storage, shape=shape, dim_order=data.draw(dim_orders(len(shape))))  # fmt: skip
    np.testing.assert_array_equal(got, quantize(x, 1 / scale, zero, low, high, storage))


@given(storage=st.sampled_from(STORAGE), dtype=st.sampled_from(FLOATS), shape=st.sampled_from(SHAPES), scale=scales_,
       as_tensors=st.booleans(), seed=st.integers(0, 999), data=st.data())  # fmt: skip
@EXAMPLES
def test_dequantize_per_tensor(storage, dtype, shape, scale, as_tensors, seed, data):
    low, high, zero = data.draw(ranges(storage))
    q = random_array(seed, storage, shape, low=low, high=high)
    parameters = [np.array([scale], F32), np.array([zero], np.int32)] if as_tensors else [scale, zero]
    operator = NAME + ("dequantize_per_tensor.Tensor_out" if as_tensors else "dequantize_per_tensor.out")
    got = call_one(operator, In(q, data.draw(dim_orders(len(shape)))), *parameters, low, high, storage, dtype,
                   dtype=dtype, shape=shape, dim_order=data.draw(dim_orders(len(shape))))  # fmt: skip
    expected = (q.astype(F32) - F32.type(zero)) * F32.type(scale)
    assert_close(got, expected, dtype, ulps=0 if dtype == F32 else 2**29 if dtype == F64 else 1)


@given(
    dtype=st.sampled_from(FLOATS),
    storage=st.sampled_from(STORAGE),
    shape=st.sampled_from(SHAPES[1:]),
    parameter=st.sampled_from([F32, F64]),
    with_zero_points=st.booleans(),
    seed=st.integers(0, 999),
    data=st.data(),
)
@EXAMPLES
def test_per_channel(dtype, storage, shape, parameter, with_zero_points, seed, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    low, high, _ = data.draw(ranges(storage))
    random = np.random.default_rng(seed)
    scales = random.uniform(0.01, 2, shape[axis]).astype(F32).astype(parameter)
    zeros = random.integers(low, high + 1, shape[axis])
    along = [-1 if d == axis else 1 for d in range(len(shape))]
    x = random_array(seed, dtype, shape, low=-100, high=100, specials=False)
    orders = [data.draw(dim_orders(len(shape))) for _ in range(2)]
    got = call_one(NAME + "quantize_per_channel.out", In(x, orders[0]), scales, zeros, axis, low, high, storage,
                   dtype=storage, shape=shape, dim_order=orders[1])  # fmt: skip
    inverse = (1 / scales.astype(F64)).reshape(along)
    np.testing.assert_array_equal(got, quantize(x, inverse, zeros.reshape(along), low, high, storage))
    back = call_one(
        NAME + "dequantize_per_channel.out",
        In(got, orders[1]),
        scales,
        zeros if with_zero_points else None,
        axis,
        low,
        high,
        storage,
        F32,
        dtype=F32,
        shape=shape,
    )
    shifted = got.astype(F32) - (zeros.reshape(along).astype(F32) if with_zero_points else 0)
    np.testing.assert_array_equal(back, (shifted * scales.astype(F32).reshape(along)).astype(F32))


@pytest.mark.parametrize("parameter", [F32, F64])
@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize(("columns", "group"), [(12, 4), (12, 12), (8, 32)])
@pytest.mark.parametrize("with_zero_points", [False, True])
def test_per_channel_group(storage, columns, group, parameter, with_zero_points):
    random = np.random.default_rng(0)
    low, high = max(np.iinfo(storage).min, -1000), min(np.iinfo(storage).max, 1000)
    levels = random.integers(low, high + 1, (3, columns)).astype(storage)
    parameters = (3, columns // min(group, columns))
    scales = random.uniform(0.01, 2, parameters).astype(F32).astype(parameter)
    zeros = random.integers(-8, 8, parameters).astype(np.int32)
    got = call_one(
        NAME + "dequantize_per_channel_group.out",
        levels,
        scales,
        zeros if with_zero_points else None,
        low,
        high,
        storage,
        group,
        F32,
        dtype=F32,
        shape=(3, columns),
    )
    runs = levels.reshape(*parameters, -1).astype(F32) - (zeros[..., None].astype(F32) if with_zero_points else 0)
    np.testing.assert_array_equal(got, (runs * scales.astype(F32)[..., None]).astype(F32).reshape(3, columns))


def test_per_channel_group_refuses():
    levels, scales = np.ones((2, 12), np.int8), np.ones((2, 3), F32)
    for message, sizes, group in (("group_size", scales, 1), ("group_size", scales, 5), ("scales", scales[:1], 4)):
        with pytest.raises(en.ExecutionError, match=message):
            call_one(NAME + "dequantize_per_channel_group.out", levels, sizes, None, -8, 7, np.int8, group, F32,
                     dtype=F32, shape=(2, 12))  # fmt: skip


@given(dtype=st.sampled_from(FLOATS), shape=st.sampled_from([(1, 5), (4, 8), (2, 3, 7), (0, 4)]),
       parameter=st.sampled_from([F32, F64]), seed=st.integers(0, 999))  # fmt: skip
@EXAMPLES
def test_per_token(dtype, shape, parameter, seed):
    x = random_array(seed, dtype, shape, specials=False)
    tokens = (*shape[:-1], 1)
    scales, zeros = call(NAME + "choose_qparams_per_token_asymmetric.out", x, np.int8,
                         outs=[Out(parameter, tokens), Out(I64, tokens)])  # fmt: skip
    low, high = (f(x.astype(F32), -1, keepdims=True, initial=0) for f in (np.min, np.max))
    scale = np.maximum((high - low) / F32.type(255), np.finfo(F32).eps)
    zero = np.where((-128 + low / scale) + (127 + high / scale) > 0, -128 - low / scale, 127 - high / scale)
    np.testing.assert_array_equal(scales, scale)
    np.testing.assert_array_equal(zeros, np.rint(np.clip(zero, -128, 127)))

    quantized = call_one(NAME + "quantize_per_token.out", x, scales, zeros, -128, 127, np.int8,
                         dtype=np.int8, shape=shape)  # fmt: skip
    quanta = x.astype(parameter) * (1 / scales) + zeros.astype(parameter)
    np.testing.assert_array_equal(quantized, np.clip(np.rint(quanta), -128, 127))
    back = call_one(NAME + "dequantize_per_token.out", quantized, scales, zeros, -128, 127, np.int8, dtype,
                    dtype=dtype, shape=shape)  # fmt: skip
    expected = (quantized.astype(F64) - zeros) * scales.astype(F64)
    assert_close(back, expected, dtype, ulps=1)
    assert np.all(np.abs(back.astype(F64) - x.astype(F64)) <= scales * 0.51 + 0.04 * np.abs(expected))


@given(
    dtype=st.sampled_from(FLOATS),
    shape=st.sampled_from([(1,), (3, 5), (2, 3, 4)]),
    eps=st.sampled_from([1e-5, 0.1, 1.0]),
    storage=st.sampled_from(STORAGE[:2]),
    seed=st.integers(0, 999),
)
@EXAMPLES
def test_choose_qparams(dtype, shape, eps, storage, seed):
    info = np.iinfo(storage)
    x = random_array(seed, dtype, shape, specials=False)
    scale, zero = call(NAME + "choose_qparams.Tensor_out", x, int(info.min), int(info.max), eps, storage,
                       outs=[Out(F64, (1,)), Out(I64, (1,))])  # fmt: skip
    low, high = min(x.astype(F32).min(), F32.type(0)), max(x.astype(F32).max(), F32.type(0))
    expected = max((high - low) / F32.type(255), F32.type(eps))
    assert scale == expected
    assert zero == np.clip(info.min - np.rint(low / expected), info.min, info.max)


@given(
    storage=st.sampled_from(STORAGE[:2]),
    shapes=st.sampled_from([((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 3), (5, 1)), ((), (2,)), ((0, 3), (3,))]),
    scales=st.tuples(scales_, scales_, scales_),
    seed=st.integers(0, 999),
    data=st.data(),
)
@EXAMPLES
def test_quantized_add(storage, shapes, scales, seed, data):
    a, b = (random_array(seed + i, storage, shape, low=-128, high=127) for i, shape in enumerate(shapes))
    (low, high, a_zero), (_, _, b_zero), (_, _, zero) = (data.draw(ranges(storage)) for _ in range(3))
    total = (a.astype(F32) - F32.type(a_zero)) * F32.type(scales[0]) + (b.astype(F32) - F32.type(b_zero)) * F32.type(
        scales[1]
    )
    expected = quantize(total, 1 / scales[2], zero, low, high, storage)
    got = call_one(NAME + "add.out", In(a, data.draw(dim_orders(a.ndim))), scales[0], a_zero, low, high, b, scales[1],
                   b_zero, low, high, scales[2], zero, low, high, dtype=storage, shape=expected.shape)  # fmt: skip
    np.testing.assert_array_equal(got, expected)


def pack(values, bits):
    """4-bit values lie high nibble first with 8 added, 2-bit ones from the lowest bits up with 2 added."""
    if bits == 8:
        return values.astype(np.int8)
    shifted = (values + (8 if bits == 4 else 2)).astype(np.uint8)
    if bits == 4:
        return shifted[:, ::2] << 4 | shifted[:, 1::2]
    return shifted[:, ::4] | shifted[:, 1::4] << 2 | shifted[:, 2::4] << 4 | shifted[:, 3::4] << 6


@pytest.mark.parametrize("bits", [8, 4, 2])
@given(
    groups=st.sampled_from([0, 1, 2]),
    with_zero_points=st.booleans(),
    index_dtype=st.sampled_from([np.int64, np.int32]),
    index_shape=st.sampled_from([(), (3,), (2, 4), (0,)]),
    parameter=st.sampled_from([F32, np.dtype(np.float16)]),
    out=st.sampled_from([None, F32, np.dtype(np.float16), BFLOAT16]),
    wide_rows=st.sampled_from([16, 1200]),
    seed=st.integers(0, 999),
)
@EXAMPLES
def test_embeddings(bits, groups, with_zero_points, index_dtype, index_shape, parameter, out, wide_rows, seed):
    random = np.random.default_rng(seed)
    rows, columns = 5, wide_rows
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    values = random.integers(low, high + 1, (rows, columns))
    shape = (rows, groups) if groups else (rows,)
    scales = random.integers(1, 9, shape).astype(parameter) / parameter.type(8)
    zeros = random.integers(low, high + 1, shape).astype(parameter) if with_zero_points else None
    indices = random.integers(0, rows, index_shape).astype(index_dtype)
    each = columns // max(groups, 1)
    wide = lambda p: np.repeat(p.astype(F32).reshape(rows, -1), each, 1)  # noqa: E731
    expected = ((values - (0 if zeros is None else wide(zeros))) * wide(scales))[indices]
    name = "embedding_byte" if bits == 8 else f"embedding_{bits}bit"
    dtype = parameter if out is None else out
    weight = pack(values, bits)
    got = call_one(f"{NAME}{name}.{'out' if out is None else 'dtype_out'}", weight, scales, zeros, low, high, indices,
                   *([] if out is None else [out]), dtype=dtype, shape=expected.shape)  # fmt: skip
    assert_close(got, expected, dtype, ulps=1)


@given(
    dtype=st.sampled_from(FLOATS[:1] + FLOATS[2:]),
    rows=st.integers(0, 5),
    inner=st.sampled_from([1, 4, 9, 64, 3000]),
    columns=st.sampled_from([1, 2, 5, 50]),
    with_zero_points=st.booleans(),
    seed=st.integers(0, 999),
)
@EXAMPLES
def test_mixed_products(dtype, rows, inner, columns, with_zero_points, seed):
    random = np.random.default_rng(seed)
    x = random_array(seed, dtype, (rows, inner), specials=False)
    weight = random.integers(-128, 128, (inner, columns)).astype(np.int8)
    scales = random.uniform(0.01, 1, inner).astype(dtype)
    zeros = random.integers(-5, 6, inner).astype(dtype) if with_zero_points else None
    wide = lambda p: p.astype(F64)[:, None]  # noqa: E731
    real = (weight - (0 if zeros is None else wide(zeros))) * wide(scales)
    tolerance = 2e-6 * (np.abs(x.astype(F64)) @ np.abs(real)).max(initial=1)
    got = call_one(NAME + "mixed_mm.out", x, weight, scales, zeros, dtype=dtype, shape=(rows, columns))
    assert_close(got, x.astype(F64) @ real, dtype, ulps=1, atol=tolerance)

    groups = 2 if inner % 2 == 0 else 1
    shape = (columns, groups) if groups == 2 else (columns,)
    scales = random.uniform(0.01, 1, shape).astype(dtype)
    zeros = random.integers(-5, 6, shape).astype(dtype) if with_zero_points else None
    wide = lambda p: np.repeat(p.astype(F64).reshape(columns, groups), inner // groups, 1)  # noqa: E731
    real = (weight.T - (0 if zeros is None else wide(zeros))) * wide(scales)
    tolerance = 2e-6 * (np.abs(x.astype(F64)) @ np.abs(real.T)).max(initial=1)
    got = call_one(NAME + "mixed_linear.out", x, np.ascontiguousarray(weight.T), scales, zeros, None,
                   dtype=dtype, shape=(rows, columns))  # fmt: skip
    assert_close(got, x.astype(F64) @ real.T, dtype, ulps=1, atol=tolerance)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_scales_that_are_none_are_refused(scale):
    with pytest.raises(en.ExecutionError, match="scale: expected a positive number"):
        call_one(
            NAME + "quantize_per_tensor.out", np.ones(3, F32), scale, 0, -128, 127, np.int8, dtype=np.int8, shape=(3,)
        )


def test_ranges_beyond_the_dtype_are_refused():
    with pytest.raises(
        en.ExecutionError, match=r"quant_min: expected a range up to quant_max within \[-128, 127\], got \[-200, 127\]"
    ):
        call_one(
            NAME + "quantize_per_tensor.out", np.ones(3, F32), 1.0, 0, -200, 127, np.int8, dtype=np.int8, shape=(3,)
        )


def test_rows_that_an_embedding_lacks_are_refused():
    with pytest.raises(en.ExecutionError, match="indices: expected 0 to 2, got 4 at 0"):
        call_one(NAME + "embedding_byte.out", np.zeros((3, 2), np.int8), np.ones(3, F32), None, -128, 127,
                 np.array([4]), dtype=F32, shape=(1, 2))  # fmt: skip
