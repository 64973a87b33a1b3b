"""Every node of XNNPACK payloads in a program of its own, against numpy, over datatypes and with clamped results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import NODES, PayloadBuilder, ProgramBuilder, delegated_program, pack_int4

DTYPES = {"fp32": np.dtype(np.float32), "fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
BYTES = {"qint8": np.dtype(np.int8), "quint8": np.dtype(np.uint8)}
SCALE, ZEROS = 0.0625, {"qint8": -3, "quint8": 125}  # of every static value of bytes


@dataclass
class NodeCase:
    """What the node computes of its inputs; images are NHWC as in the delegate's memory."""

    expected: Callable[..., np.ndarray]
    shapes: list[tuple[int, ...]]
    fields: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ("input",)
    positive: bool = False


def windows(x: np.ndarray, size: int) -> np.ndarray:
    n, h, w, c = x.shape
    return x.reshape(n, h // size, size, w // size, size, c)


def convolved(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A 2x2 kernel [O, 2, 2, I] without padding."""
    h, w = x.shape[1] - 1, x.shape[2] - 1
    parts = [x[:, i : i + h, j : j + w] @ weight[:, i, j].T for i in range(2) for j in range(2)]
    return np.sum(parts, 0)


def transposed(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Stride 2, kernel [O, 2, 2, I]."""
    out = np.zeros((x.shape[0], 2 * x.shape[1], 2 * x.shape[2], weight.shape[0]))
    for i in range(2):
        for j in range(2):
            out[:, i::2, j::2] = x @ weight[:, i, j].T
    return out


def resized(x: np.ndarray) -> np.ndarray:
    """Two rows and columns become three, corners aligned."""
    rows = np.stack([x[:, 0], (x[:, 0] + x[:, 1]) / 2, x[:, 1]], 1)
    return np.stack([rows[:, :, 0], (rows[:, :, 0] + rows[:, :, 1]) / 2, rows[:, :, 1]], 2)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


SHAPE, IMAGE = (2, 3, 5), (1, 4, 4, 3)
POOL = {"pooling_height": 2, "pooling_width": 2, "stride_height": 2, "stride_width": 2}
ONES = {"stride_height": 1, "stride_width": 1, "dilation_height": 1, "dilation_width": 1, "groups": 1}
KERNEL = {"kernel_height": 2, "kernel_width": 2}


def unary(function: Callable[[np.ndarray], np.ndarray], positive: bool = False, **fields: Any) -> NodeCase:
    return NodeCase(function, [SHAPE], fields, positive=positive)


def binary(function: Callable[..., np.ndarray], positive: bool = False) -> NodeCase:
    return NodeCase(function, [SHAPE, (3, 1)], {}, ("input1", "input2"), positive)


def concatenation(count: int) -> NodeCase:
    shapes = [(2, i + 1, 5) for i in range(count)]
    return NodeCase(lambda *x: np.concatenate(x, 1), shapes, {"axis": 1}, tuple(f"input{i + 1}" for i in range(count)))


CASES = {
    "Add": binary(np.add),
    "Subtract": binary(np.subtract),
    "Multiply": binary(np.multiply),
    "Div": binary(np.divide, positive=True),
    "Minimum": binary(np.minimum),
    "Maximum": binary(np.maximum),
    "PReLU": NodeCase(lambda x, s: np.where(x < 0, x * s, x), [SHAPE, (5,)], {}, ("input1", "input2")),
    "BatchMatrixMultiply": NodeCase(np.matmul, [(2, 3, 4), (2, 4, 5)], {}, ("input1", "input2")),
    "Softmax": unary(lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    "Sigmoid": unary(lambda x: 1 / (1 + np.exp(-x))),
    "Clamp": unary(lambda x: x),
    "Floor": unary(np.floor),
    "Ceiling": unary(np.ceil),
    "SquareRoot": unary(np.sqrt, positive=True),
    "ReciprocalSquareRoot": unary(lambda x: 1 / np.sqrt(x), positive=True),
    "Hardswish": unary(lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "LeakyReLU": unary(lambda x: np.where(x < 0, 0.25 * x, x), negative_slope=0.25),
    "ELU": unary(lambda x: np.where(x < 0, 0.5 * np.expm1(x), x), alpha=0.5),
    "Negate": unary(np.negative),
    "Square": unary(np.square),
    "Abs": unary(np.abs),
    "Log": unary(np.log, positive=True),
    "Gelu": unary(lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
    "Tanh": unary(np.tanh),
    "Exp": unary(np.exp),
    "Sin": unary(np.sin),
    "Cos": unary(np.cos),
    "Copy": unary(lambda x: x),
    "StaticTranspose": unary(lambda x: x.transpose(2, 0, 1), num_dims=3, perm=[2, 0, 1]),
    "StaticReshape": unary(lambda x: x.reshape(5, 6), num_dims=2, new_shape=[5, 0]),
    "StaticSlice": unary(lambda x: x[:, 1:3, 2:5], num_dims=3, offsets=[0, 1, 2], sizes=[2, 2, 3]),
    "StaticConstantPad": unary(
        lambda x: np.pad(x, [(0, 0), (1, 0), (0, 2)], constant_values=0.5),
        pre_paddings=[0, 1, 0], post_paddings=[0, 0, 2], padding_value=0.5,
    ),
    **{f"Concatenate{count}": concatenation(count) for count in (2, 3, 4, 5)},
    "AvgPooling2d": NodeCase(lambda x: windows(x, 2).mean((2, 4)), [IMAGE], POOL),
    "MaxPooling2d": NodeCase(
        lambda x: windows(x, 2).max((2, 4)), [IMAGE], POOL | {"dilation_height": 1, "dilation_width": 1}
    ),
    "GlobalAvgPooling2d": NodeCase(lambda x: x.mean((1, 2), keepdims=True), [IMAGE], {"flags": 0x40}),
    "StaticResizeBilinear2D": NodeCase(resized, [(1, 2, 2, 3)], {"new_height": 3, "new_width": 3, "flags": 8}),
    "FullyConnected": NodeCase(lambda x, w: x @ w.T, [(2, 6), (4, 6)], {}, ("input", "filter")),
    "Conv2d": NodeCase(
        convolved, [IMAGE, (4, 2, 2, 3)], KERNEL | ONES | {"group_input_channels": 3, "group_output_channels": 4},
        ("input", "filter"),
    ),
    "DepthwiseConv2d": NodeCase(
        lambda x, w: sum(x[:, i : i + 3, j : j + 3] * w[0, i, j] for i in range(2) for j in range(2)),
        [IMAGE, (1, 2, 2, 3)], KERNEL | ONES | {"groups": 3, "group_input_channels": 1, "group_output_channels": 1},
        ("input", "filter"),
    ),
    "ConvTranspose2d": NodeCase(
        transposed, [IMAGE, (4, 2, 2, 3)],
        KERNEL | ONES | {"stride_height": 2, "stride_width": 2, "group_input_channels": 3, "group_output_channels": 4},
        ("input", "filter"),
    ),
    "ScaledDotProductAttention": NodeCase(attention, [(1, 2, 3, 4)] * 3, {}, ("query", "key", "value")),
}  # fmt: skip

# Nodes whose activation is fused; XNNPACK reads no bounds from others.
CLAMPED = {
    *("Add", "Subtract", "Multiply", "Div", "Clamp", "FullyConnected", "Conv2d", "DepthwiseConv2d", "ConvTranspose2d"),
    *("AvgPooling2d", "MaxPooling2d", "GlobalAvgPooling2d"),
}
STATIC_BYTES = {
    *(CLAMPED - {"Div"}),
    *("Copy", "StaticTranspose", "StaticReshape", "StaticSlice", "StaticConstantPad", "StaticResizeBilinear2D"),
    *("Concatenate2", "Concatenate3", "Concatenate4", "Concatenate5"),
}
ELSEWHERE = {"Convert", "ArgMaxPooling2d"}


def test_every_node_has_a_case() -> None:
    assert set(CASES) | ELSEWHERE == set(NODES)


def numbers(case: NodeCase, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    low = 0.25 if case.positive else -2
    return [random.uniform(low, 2, shape) for shape in case.shapes]


def filter_zero(datatype: str) -> int:
    return {"qint8": 0, "quint8": 131}[datatype]


def run(name: str, case: NodeCase, arrays: list[np.ndarray], datatype: str, expected: np.ndarray, **clamp: Any) -> Any:
    """Filters and what else stands second in a convolution are constants, the rest inputs."""
    g = PayloadBuilder()
    options = {"scale": SCALE, "zero_point": ZEROS[datatype]} if datatype in ZEROS else {}
    slots: dict[str, Any] = {}
    given = []
    for role, array in zip(case.inputs, arrays, strict=True):
        if role == "filter":
            filter_options = options and options | {"zero_point": filter_zero(datatype)}
            slots[role] = g.constant(array, datatype, **filter_options)
        else:
            slots[role] = g.input(array.shape, datatype, **options)
            given.append(array)
    if name == "ScaledDotProductAttention":
        slots["scale"] = g.constant(np.array([1 / math.sqrt(case.shapes[0][-1])], arrays[0].dtype), datatype)
        slots["mask"] = g.constant(np.zeros((3, 3), arrays[0].dtype), datatype)
    output = g.output(expected.shape, datatype, **options)
    g.node(name, **slots, **case.fields, output=output, **clamp)
    return en.Runtime.get().load_program(delegated_program(g)).load_method("forward")(given)[0]


@pytest.mark.parametrize("datatype", DTYPES)
@pytest.mark.parametrize(
    ("name", "clamped"), [(name, False) for name in CASES] + [(name, True) for name in sorted(CLAMPED)]
)
def test_floating_nodes(name: str, datatype: str, clamped: bool) -> None:
    case = CASES[name]
    dtype = DTYPES[datatype]
    arrays = [array.astype(dtype) for array in numbers(case, 1)]
    expected = case.expected(*[array.astype(np.float64) for array in arrays])
    low, high = np.quantile(expected, [0.3, 0.7]) if clamped else (-np.inf, np.inf)
    clamp = {"output_min": float(low), "output_max": float(high)} if clamped else {}
    got = run(name, case, arrays, datatype, expected, **clamp)
    assert got.dtype == dtype
    tolerance = 4 * float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(got.astype(np.float64), np.clip(expected, low, high), rtol=tolerance, atol=2 * tolerance)


@pytest.mark.parametrize("datatype", DTYPES)
@pytest.mark.parametrize("filter_is_constant", [False, True])
def test_a_bias_that_is_computed(datatype: str, filter_is_constant: bool) -> None:
    dtype = DTYPES[datatype]
    x, weight, bias = (np.random.default_rng(5).uniform(-2, 2, shape).astype(dtype) for shape in ((3, 6), (4, 6), (4,)))
    g = PayloadBuilder()
    slots = {"input": g.input(x.shape, datatype)}
    slots["filter"] = g.constant(weight, datatype) if filter_is_constant else g.input(weight.shape, datatype)
    slots["bias"] = g.input(bias.shape, datatype)
    g.node("FullyConnected", **slots, output=g.output((3, 4), datatype))
    method = en.Runtime.get().load_program(delegated_program(g)).load_method("forward")
    (got,) = method([x, bias] if filter_is_constant else [x, weight, bias])
    wide = [array.astype(np.float64) for array in (x, weight, bias)]
    tolerance = 4 * float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(got.astype(np.float64), wide[0] @ wide[1].T + wide[2], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["Conv2d", "DepthwiseConv2d", "ConvTranspose2d"])
def test_a_bias_of_a_convolution_that_is_computed(name: str) -> None:
    case = CASES[name]
    arrays = [array.astype(np.float32) for array in numbers(case, 1)]
    plain = case.expected(*arrays)
    bias = np.random.default_rng(7).uniform(-2, 2, plain.shape[-1]).astype(np.float32)
    g = PayloadBuilder()
    slots = {"input": g.input(arrays[0].shape), "filter": g.constant(arrays[1]), "bias": g.input(bias.shape)}
    g.node(name, **slots, **case.fields, output=g.output(plain.shape), output_min=-1.0)
    (got,) = en.Runtime.get().load_program(delegated_program(g)).load_method("forward")([arrays[0], bias])
    np.testing.assert_allclose(got, np.maximum(plain + bias, -1), rtol=1e-5, atol=1e-5)


def test_strides_that_leave_too_many_phases_are_refused() -> None:
    g = PayloadBuilder()
    fields = CASES["ConvTranspose2d"].fields | {"stride_height": 2**16, "stride_width": 2}
    filters = g.constant(np.ones((4, 2, 2, 3), np.float32))
    g.node("ConvTranspose2d", input=g.input((1, 1, 1, 3)), filter=filters, **fields, output=g.output((1, 2, 2, 4)))
    with pytest.raises(en.ExecuTorchError, match="stride_height: strides of 65536 by 2, expected a product"):
        en.Runtime.get().load_program(delegated_program(g)).load_method("forward")


@pytest.mark.parametrize("filter_is_constant", [False, True])
@pytest.mark.parametrize("bias_is_constant", [False, True])
def test_a_sum_behind_a_product_with_computed_weights(filter_is_constant: bool, bias_is_constant: bool) -> None:
    x, weight, bias, other = (
        np.random.default_rng(6).uniform(-2, 2, shape).astype(np.float32) for shape in ((3, 6), (4, 6), (4,), (3, 4))
    )
    g = PayloadBuilder()
    slots, given = {"input": g.input(x.shape)}, [x]
    for name, array, is_constant in (("filter", weight, filter_is_constant), ("bias", bias, bias_is_constant)):
        slots[name] = g.constant(array) if is_constant else g.input(array.shape)
        given += [] if is_constant else [array]
    product = g.value((3, 4))
    g.node("FullyConnected", **slots, output=product)
    g.node("Add", input1=g.input((3, 4)), input2=product, output=g.output((3, 4)))
    (got,) = en.Runtime.get().load_program(delegated_program(g)).load_method("forward")([*given, other])
    np.testing.assert_allclose(got, x @ weight.T + bias + other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("datatype", BYTES)
@pytest.mark.parametrize(
    ("name", "clamped"),
    [(name, False) for name in sorted(STATIC_BYTES)] + [(name, True) for name in sorted(CLAMPED & STATIC_BYTES)],
)
def test_static_byte_nodes(name: str, datatype: str, clamped: bool) -> None:
    """Within a quantum of the numbers the bytes stand for; kernels' own tests are exact."""
    case = CASES[name]
    limits = np.iinfo(BYTES[datatype])
    arrays, reals = [], []
    for role, array in zip(case.inputs, numbers(case, 2), strict=True):
        zero = filter_zero(datatype) if role == "filter" else ZEROS[datatype]
        quanta = np.clip(np.rint(array / SCALE) + zero, limits.min, limits.max).astype(BYTES[datatype])
        arrays.append(quanta)
        reals.append((quanta.astype(np.float64) - zero) * SCALE)
    expected = case.expected(*reals)
    low, high = (-0.5, 0.75) if clamped else (-np.inf, np.inf)
    clamp = {"output_min": low, "output_max": high} if clamped else {}
    got = run(name, case, arrays, datatype, expected, **clamp)
    quanta = np.clip(np.rint(np.clip(expected, low, high) / SCALE) + ZEROS[datatype], limits.min, limits.max)
    assert got.dtype == BYTES[datatype]
    assert np.abs(got.astype(np.int64) - quanta).max() <= 1


def test_argmax_pooling_gives_64_bit_indices() -> None:
    x = np.random.default_rng(3).permutation(48).reshape(IMAGE).astype(np.float32)
    g = PayloadBuilder()
    value, index = g.output((1, 2, 2, 3)), g.output((1, 2, 2, 3), "int32")
    g.node(
        "ArgMaxPooling2d",
        input=g.input(IMAGE),
        output_value=value,
        output_index=index,
        pooling_height=2,
        pooling_width=2,
    )
    values, indices = en.Runtime.get().load_program(delegated_program(g)).load_method("forward")([x])
    parts = windows(x, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 2, 2, 3, 4)
    np.testing.assert_array_equal(values, parts.max(-1))
    np.testing.assert_array_equal(indices, parts.argmax(-1))
    assert indices.dtype == np.int64


@pytest.mark.parametrize("datatype", BYTES)
def test_conversions_to_bytes_and_back(datatype: str) -> None:
    x = np.random.default_rng(4).uniform(-2, 2, (3, 7)).astype(np.float32)
    g = PayloadBuilder()
    quantised = g.value((3, 7), datatype, scale=SCALE, zero_point=ZEROS[datatype])
    out = g.output((3, 7))
    g.node("Convert", input=g.input((3, 7)), output=quantised)
    g.node("Convert", input=quantised, output=out)
    (got,) = en.Runtime.get().load_program(delegated_program(g)).load_method("forward")([x])
    np.testing.assert_array_equal(got, np.rint(x / SCALE) * SCALE)


@pytest.mark.parametrize("datatype", ["fp32", "fp16"])
@pytest.mark.parametrize("group_size", [0, 32, 64, 96, 128, 256])
def test_dynamic_products_with_4_bit_weights_at_every_group_size(group_size: int, datatype: str) -> None:
    columns = group_size * 2 or 77
    random = np.random.default_rng(group_size)
    values = random.integers(-8, 8, (5, columns))
    scales = random.uniform(0.01, 0.1, (5, columns // group_size if group_size else 1)).astype(ml_dtypes.bfloat16)
    real = values * np.repeat(scales.astype(np.float64), group_size or columns, 1)
    g = PayloadBuilder()
    x, quantised = g.input((3, columns), datatype), g.value((3, columns), "qdint8", num_nonbatch_dims=1)
    options = {"scales": scales.astype(np.float32), "scales_as_buffer": True, "group_size": group_size}
    weight = g.constant(pack_int4(values), "qbint4" if group_size else "qcint4", dims=(5, columns), **options)
    g.node("Convert", input=x, output=quantised)
    g.node("FullyConnected", input=quantised, filter=weight, output=g.output((3, 5), datatype))
    rows = random.uniform(-1, 1, (3, columns)).astype(DTYPES[datatype])
    (got,) = en.Runtime.get().load_program(delegated_program(g, constants="named")).load_method("forward")([rows])
    quantum = np.ptp(np.concatenate([rows, np.zeros((3, 1))], 1).astype(np.float64), axis=1, keepdims=True) / 255
    bound = quantum * np.abs(real).sum(1) + 2e-3 * (datatype == "fp16")
    assert np.all(np.abs(got - rows.astype(np.float64) @ real.T) <= bound)


@pytest.mark.parametrize("datatype", ["fp16", "bf16"])
def test_scales_of_channels_kept_as_halves(datatype: str) -> None:
    random = np.random.default_rng(8)
    values = random.integers(-127, 128, (5, 24)).astype(np.int8)
    scales = random.uniform(0.001, 0.01, 5).astype(DTYPES[datatype])
    g = PayloadBuilder()
    x, quantised = g.input((3, 24), datatype), g.value((3, 24), "qdint8", num_nonbatch_dims=1)
    weight = g.constant(values, "qcint8", scales=scales, scales_as_buffer=True)
    g.node("Convert", input=x, output=quantised)
    g.node("FullyConnected", input=quantised, filter=weight, output=g.output((3, 5), datatype))
    rows = random.uniform(-1, 1, (3, 24)).astype(DTYPES[datatype])
    (got,) = en.Runtime.get().load_program(delegated_program(g)).load_method("forward")([rows])
    exact = rows.astype(np.float64) @ (values * scales.astype(np.float64)[:, None]).T
    np.testing.assert_allclose(got.astype(np.float64), exact, atol=0.06)


def test_tensors_of_another_dtype_than_the_payloads_are_refused() -> None:
    g = PayloadBuilder()
    g.node("Clamp", input=g.input((2, 3)), output=g.output((2, 3)), output_min=0.0)
    p = ProgramBuilder()
    x, y = p.input(np.int8, (2, 3)), p.tensor(np.float32, (2, 3))
    p.delegate_call("XnnpackBackend", g.build(), [x], [y])
    p.output(y)
    with pytest.raises(en.ExecuTorchError, match="argument 0 is int8, expected float32"):
        en.Runtime.get().load_program(p.build()).load_method("forward")([np.ones((2, 3), np.int8)])


def test_more_dims_than_xnnpack_has() -> None:
    shape = (2, 1, 3, 2, 1, 2, 2, 3)
    x = np.random.default_rng(4).uniform(-1, 1, shape).astype(np.float32)
    y = np.random.default_rng(5).uniform(-1, 1, (3, 2, 1, 2, 1, 3)).astype(np.float32)
    order = (7, 0, 2, 1, 3, 6, 4, 5)
    g = PayloadBuilder()
    total, result = g.value(shape), g.output(tuple(shape[d] for d in order))
    g.node("Add", input1=g.input(shape), input2=g.input(y.shape), output=total)
    g.node("StaticTranspose", perm=order, num_dims=8, input=total, output=result)
    (got,) = en.Runtime.get().load_program(delegated_program(g)).load_method("forward")([x, y])
    np.testing.assert_array_equal(got, (x + y).transpose(order))


@pytest.mark.parametrize("bound", [1, 5, 64])
def test_dynamic_rows_at_their_bounds(bound: int) -> None:
    weight = np.random.default_rng(5).uniform(-1, 1, (4, 3)).astype(np.float32)
    g = PayloadBuilder()
    g.node("FullyConnected", input=g.input((bound, 3)), filter=g.constant(weight), output=g.output((bound, 4)))
    method = en.Runtime.get().load_program(delegated_program(g, dynamic=True)).load_method("forward")
    for rows in (bound, 0, 1, bound - 1, bound, 1):
        x = np.random.default_rng(rows).uniform(-1, 1, (rows, 3)).astype(np.float32)
        np.testing.assert_allclose(method([x])[0], x @ weight.T, rtol=1e-5, atol=1e-6)
    with pytest.raises(en.ExecutionError, match=f"input 0: .*dim 0: .*at most {bound}|input 0"):
        method([np.ones((bound + 1, 3), np.float32)])


def test_scalars_do_not_take_several_results() -> None:
    g = PayloadBuilder()
    g.node("Clamp", input=g.input((5,)), output=g.output((5,)), output_min=0.0)
    p = ProgramBuilder()
    x, y = p.input(np.float32, (5,)), p.tensor(np.float32, ())
    p.delegate_call("XnnpackBackend", g.build(), [x], [y])
    p.output(y)
    with pytest.raises(en.ExecutionError, match=r"output: the result has shape \[5\], expected a scalar"):
        en.Runtime.get().load_program(p.build()).load_method("forward")([np.ones(5, np.float32)])


@pytest.mark.parametrize("node", ["StaticReshape", "StaticTranspose"])
def test_scalars_are_reshaped_and_transposed(node: str) -> None:
    """Exporters give scalars one dim of 1, and write no items of a shape or permutation."""
    nodes: dict[str, dict[str, Any]] = {
        "StaticReshape": {"num_dims": 0, "new_shape": []},
        "StaticTranspose": {"num_dims": 0, "perm": []},
    }
    g = PayloadBuilder()
    g.node(node, input=g.input((1,)), output=(value := g.value((1,))), **nodes[node])
    g.node("Square", input=value, output=g.output((1,)))
    p = ProgramBuilder()
    x, y = p.input(np.float32, ()), p.tensor(np.float32, ())
    p.delegate_call("XnnpackBackend", g.build(), [x], [y])
    p.output(y)
    result = en.Runtime.get().load_program(p.build()).load_method("forward")([np.float32(3)])[0]
    assert result.shape == () and result == 9


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


@pytest.mark.parametrize("between", ["nothing", "a sigmoid", "a transpose", "a row", "a reshape"])
def test_softmax_of_what_a_convolution_gives(between: str) -> None:
    """Along the columns of an image in pixels, as the program has them; of other values, along the last dim."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1, 4, 5, 3), np.float32)
    weight = rng.standard_normal((6, 2, 2, 3), np.float32)
    image = convolved(x, weight)
    g = PayloadBuilder()
    value = g.value(image.shape)
    filters, bias = g.constant(weight), g.constant(np.zeros(6, np.float32))
    shape = {"group_input_channels": 3, "group_output_channels": 6}
    g.node("Conv2d", input=g.input(x.shape), filter=filters, bias=bias, output=value, **ONES, **KERNEL, **shape)
    axis = 2
    if between == "a sigmoid":
        image = 1 / (1 + np.exp(-image))
        g.node("Sigmoid", input=value, output=(value := g.value(image.shape)))
    elif between == "a transpose":
        image = image.transpose(0, 2, 3, 1)
        g.node("StaticTranspose", num_dims=4, perm=(0, 2, 3, 1), input=value, output=(value := g.value(image.shape)))
    elif between == "a row":
        planes, row = image.transpose(0, 3, 1, 2), rng.standard_normal(4).astype(np.float32)
        g.node("StaticTranspose", num_dims=4, perm=(0, 3, 1, 2), input=value, output=(value := g.value(planes.shape)))
        image, axis = planes + row, 3
        g.node("Add", input1=value, input2=g.constant(row), output=(value := g.value(image.shape)))
    elif between == "a reshape":
        image, axis = image.reshape(1, 4, 3, 6), 3
        g.node("StaticReshape", num_dims=4, new_shape=image.shape, input=value, output=(value := g.value(image.shape)))
    g.node("Softmax", input=value, output=g.output(image.shape))
    (got,) = en.Runtime.get().load_program(delegated_program(g)).load_method("forward")([x])
    np.testing.assert_allclose(got, softmax(image, axis), rtol=1e-5, atol=1e-6)
