"""Operators between dequantisations and a quantisation compute in integers: the level nearest to the real result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en
from builder import ProgramBuilder
from builder.program import TensorValue

QUANTIZE = "quantized_decomposed::quantize_per_tensor.out"
DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor.out"
DEQUANTIZE_CHANNELS = "quantized_decomposed::dequantize_per_channel.out"


class Network:
    """A program of one operator. Its result is quantised, or else left as it is."""

    def __init__(self, random: np.random.Generator, dtype: Any, quantised: bool) -> None:
        self.random, self.dtype, self.quantised = random, dtype, quantised
        self.limits = (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        self.program = ProgramBuilder()
        self.inputs: list[np.ndarray] = []

    def tensor(self, shape: tuple[int, ...], dtype: Any = np.float32) -> TensorValue:
        return self.program.tensor(dtype, shape)

    def call(self, name: str, *args: Any, shape: tuple[int, ...]) -> TensorValue:
        return self.program.call(name, *args, out=self.tensor(shape))

    def input(self, shape: tuple[int, ...], scale: float, zero_point: int) -> TensorValue:
        low, high = self.limits
        self.inputs.append(self.random.integers(low, high + 1, shape).astype(self.dtype))
        x = self.program.input(self.dtype, shape)
        return self.call(DEQUANTIZE, x, scale, zero_point, low, high, self.dtype, None, shape=shape)

    def weights(self, shape: tuple[int, ...], axis: int | None) -> TensorValue:
        """Of bytes; with a scale for each entry of the dim `axis`, or one for all."""
        levels = self.program.constant(self.random.integers(-127, 128, shape).astype(np.int8))
        if axis is None:
            return self.call(DEQUANTIZE, levels, 0.0123, 0, -127, 127, np.int8, None, shape=shape)
        scales = self.random.uniform(0.001, 0.02, shape[axis]).astype(np.float32)
        points = self.program.constant(np.zeros(shape[axis], np.int64))
        parameters = (self.program.constant(scales), points, axis, -127, 127, np.int8, None)
        return self.call(DEQUANTIZE_CHANNELS, levels, *parameters, shape=shape)

    def bias(self, count: int) -> TensorValue:
        return self.program.constant(self.random.uniform(-1, 1, count).astype(np.float32))

    def build(self, result: TensorValue, scale: float, zero_point: int) -> bytes:
        if self.quantised:
            out = self.tensor(tuple(result.sizes), self.dtype)
            result = self.program.call(QUANTIZE, result, scale, zero_point, *self.limits, self.dtype, out=out)
        self.program.output(result)
        return self.program.build()


# Each computes the operator on `n`, for a result of `out_scale`.
Build = Callable[[Network, Callable[[Any], Any], float], TensorValue]


def convolution(n: Network, draw: Callable[[Any], Any], out_scale: float) -> TensorValue:
    dims, kind = draw(st.sampled_from([1, 2])), draw(st.sampled_from(["plain", "depthwise", "grouped", "transposed"]))
    channels, kernel, stride = (
        draw(st.sampled_from([4, 12, 16])),
        draw(st.sampled_from([1, 3])),
        draw(st.sampled_from([1, 2])),
    )
    outputs = channels if kind in ("depthwise", "grouped") else draw(st.sampled_from([3, 8, 24]))
    groups = {"depthwise": channels, "grouped": 2}.get(kind, 1)
    pad = draw(st.integers(0, kernel // 2))
    size, transposed = 9, kind == "transposed"
    x = n.input((2, channels, *[size] * dims), 0.05, draw(st.sampled_from([3, 100])))
    shape = (channels, outputs) if transposed else (outputs, channels // groups)
    w = n.weights((*shape, *[kernel] * dims), draw(st.sampled_from([None, int(transposed)])))
    b = n.bias(outputs) if draw(st.booleans()) else None
    spatial = (size - 1) * stride - 2 * pad + kernel if transposed else (size + 2 * pad - kernel) // stride + 1
    window = ([stride] * dims, [pad] * dims, [1] * dims, transposed, [0] * dims, groups)
    return n.call("aten::convolution.out", x, w, b, *window, shape=(2, outputs, *[spatial] * dims))


def linear(n: Network, draw: Callable[[Any], Any], out_scale: float) -> TensorValue:
    x, w = n.input((5, 24), 0.05, -7 if n.dtype is np.int8 else 7), n.weights((8, 24), draw(st.sampled_from([None, 0])))
    if draw(st.booleans()):
        return n.call("aten::linear.out", x, w, n.bias(8), shape=(5, 8))
    turned = n.call("aten::permute_copy.out", w, [1, 0], shape=(24, 8))
    if draw(st.booleans()):
        return n.call("aten::mm.out", x, turned, shape=(5, 8))
    return n.call("aten::addmm.out", n.bias(8), x, turned, 1, 1, shape=(5, 8))


def binary(n: Network, draw: Callable[[Any], Any], out_scale: float) -> TensorValue:
    name = draw(st.sampled_from(["add", "sub", "mul"]))
    shape = (2, 3, 4, 5)
    other = draw(st.sampled_from([shape, (2, 3, 1, 1)]))
    x, y = n.input(shape, 0.021, 5), n.input(other, 0.034, 11)
    return n.call(f"aten::{name}.out", x, y, *([] if name == "mul" else [1]), shape=shape)


def unary(n: Network, draw: Callable[[Any], Any], out_scale: float) -> TensorValue:
    name = draw(st.sampled_from(["sigmoid", "tanh", "relu", "hardswish", "leaky_relu", "hardtanh"]))
    args = {"leaky_relu": [0.3], "hardtanh": [-0.5, 0.75]}.get(name, [])
    x = n.input((2, 3, 17), 0.021, 5)
    y = n.call(f"aten::{name}.out", x, *args, shape=(2, 3, 17))
    return n.call("aten::hardtanh.out", y, -1.0, 0.6, shape=(2, 3, 17)) if draw(st.booleans()) else y


def pool(n: Network, draw: Callable[[Any], Any], out_scale: float) -> TensorValue:
    x = n.input((2, 5, 6, 6), 0.021, 5)
    if draw(st.booleans()):
        return n.call("aten::mean.out", x, [2, 3], True, None, shape=(2, 5, 1, 1))
    args = ([2, 2], [2, 2], [0, 0], False, True, None)
    return n.call("aten::avg_pool2d.out", x, *args, shape=(2, 5, 3, 3))


def concat(n: Network, draw: Callable[[Any], Any], out_scale: float) -> TensorValue:
    parts = [n.input((2, 3, 4), 0.021, 5), n.input((2, 2, 4), out_scale, 7), n.input((2, 1, 4), 0.034, 0)]
    return n.call("aten::cat.out", parts, 1, shape=(2, 6, 4))


def moved(n: Network, draw: Callable[[Any], Any], out_scale: float) -> TensorValue:
    x = n.input((3, 4, 5), 0.021, 5)
    x = n.call("aten::permute_copy.out", x, [0, 2, 1], shape=(3, 5, 4))
    x = n.call("aten::slice_copy.Tensor_out", x, 1, 1, 4, 1, shape=(3, 3, 4))
    y = n.call("aten::sigmoid.out", x, shape=(3, 3, 4))
    return n.call("aten::view_copy.out", y, [9, 4], shape=(9, 4))


def clamped(n: Network, draw: Callable[[Any], Any], out_scale: float) -> TensorValue:
    y = convolution(n, draw, out_scale)
    shape = tuple(y.sizes)
    y = n.call("aten::relu.out", y, shape=shape)
    return n.call("aten::hardtanh.out", y, -0.5, 20 * out_scale, shape=shape)


def run(program: bytes, inputs: list[Any], *, raised: bool) -> tuple[np.ndarray, list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENR_RAISE", "1" if raised else "0")
        method = en.Runtime.get().load_program(program).load_method("forward")
    outputs, events = method.profile(inputs)
    return outputs[0], [event["name"] for event in events if event["kind"] == "step"]


def check(build: Build, data: st.DataObject, seed: int, dtype: Any, scale: float, zero_point: int) -> list[str]:
    drawn: list[Any] = []

    def draw(strategy: st.SearchStrategy[Any]) -> Any:
        drawn.append(data.draw(strategy))
        return drawn[-1]

    quantised, real = (
        Network(np.random.default_rng(seed), dtype, True),
        Network(np.random.default_rng(seed), dtype, False),
    )
    program = quantised.build(build(quantised, draw, scale), scale, zero_point)
    again = iter(drawn)
    plain = real.build(build(real, lambda strategy: next(again), scale), scale, zero_point)
    levels, steps = run(program, quantised.inputs, raised=True)
    exact = run(plain, real.inputs, raised=False)[0] / np.float64(scale) + zero_point
    low, high = quantised.limits
    assert levels.dtype == dtype
    difference = np.abs(levels - np.clip(exact, low, high))
    np.testing.assert_array_less(difference, 0.501)
    return steps


BUILDS = [convolution, clamped, linear, binary, unary, pool, concat, moved]


@pytest.mark.parametrize("build", BUILDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_results_are_the_nearest_levels(build: Build, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 1000))
    dtype = data.draw(st.sampled_from([np.int8, np.uint8]))
    scale = data.draw(st.sampled_from([0.021, 0.04, 0.11]))
    steps = check(build, data, seed, dtype, scale, data.draw(st.sampled_from([0, 5, 100])))
    assert steps


CONVOLUTIONS = {1: "conv int8", 4: "depthwise int8"}


@pytest.mark.parametrize("groups", CONVOLUTIONS)
def test_a_quantised_convolution_computes_in_integers(groups: int) -> None:
    n = Network(np.random.default_rng(0), np.int8, True)
    x, w = n.input((1, 4, 8, 8), 0.05, 3), n.weights((4, 4 // groups, 3, 3), 0)
    window = ([1, 1], [1, 1], [1, 1], False, [0, 0], groups)
    y = n.call("aten::convolution.out", x, w, n.bias(4), *window, shape=(1, 4, 8, 8))
    y = n.call("aten::relu.out", y, shape=(1, 4, 8, 8))
    steps = run(n.build(y, 0.1, -3), n.inputs, raised=True)[1]
    assert CONVOLUTIONS[groups] in steps
    assert not any(name in ("dequantize", "quantize") for name in steps)


def test_what_others_read_stays_real() -> None:
    """A result that is not only quantised is computed in floats."""
    n = Network(np.random.default_rng(0), np.int8, True)
    y = n.call("aten::linear.out", n.input((2, 8), 0.05, 0), n.weights((3, 8), 0), None, shape=(2, 3))
    n.program.output(y)
    assert "gemm int8" not in run(n.build(y, 0.1, 0), n.inputs, raised=True)[1]


def test_weights_with_zero_points_and_weights_returned() -> None:
    random = np.random.default_rng(0)
    integers, points = random.integers(-100, 100, (3, 8)).astype(np.int8), np.array([1, -2, 3])
    scales = np.array([0.01, 0.02, 0.03], np.float32)
    n = Network(random, np.int8, True)
    x = n.input((2, 8), 0.05, 0)
    for zero_points in (points, np.zeros(3, np.int64)):
        parameters = (n.program.constant(scales), n.program.constant(zero_points), 0, -127, 127, np.int8, None)
        w = n.call(DEQUANTIZE_CHANNELS, n.program.constant(integers), *parameters, shape=(3, 8))
        y = n.call("aten::linear.out", x, w, None, shape=(2, 3))
        n.program.output(w, y)
    method = en.Runtime.get().load_program(n.program.build()).load_method("forward")
    outputs = method(n.inputs)
    for i, zero_points in enumerate((points, np.zeros(3, np.int64))):
        w = (integers - zero_points[:, None]) * scales[:, None]
        np.testing.assert_allclose(outputs[2 * i], w, rtol=1e-6)
        np.testing.assert_allclose(outputs[2 * i + 1], n.inputs[0] * 0.05 @ w.T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 24), (2, 5, 24)])
@pytest.mark.parametrize("returned", [False, True])
def test_what_is_quantised_at_run_time_multiplies_integers(shape: tuple[int, ...], returned: bool) -> None:
    n = Network(np.random.default_rng(0), np.int8, False)
    inputs = [n.random.normal(size=shape).astype(np.float32)]
    x = n.program.input(np.float32, shape)
    scale, zero_point = n.tensor((1,), np.float64), n.tensor((1,), np.int64)
    choose, eps = "quantized_decomposed::choose_qparams.Tensor_out", 2.0**-12
    n.program.call(choose, x, -128, 127, eps, np.int8, out=[scale, zero_point])
    limits = (-128, 127, np.int8)
    q = n.program.call(
        QUANTIZE.replace(".out", ".Tensor_out"), x, scale, zero_point, *limits, out=n.tensor(shape, np.int8)
    )
    y = n.call(DEQUANTIZE.replace(".out", ".Tensor_out"), q, scale, zero_point, *limits, None, shape=shape)
    if len(shape) == 3:
        y = n.call("aten::view_copy.out", y, [10, 24], shape=(10, 24))
    w = n.call("aten::permute_copy.out", n.weights((8, 24), 0), [1, 0], shape=(24, 8))
    y = n.call("aten::addmm.out", n.bias(8), y, w, 1, 1, shape=(int(np.prod(shape[:-1])), 8))
    y = n.call("aten::relu.out", y, shape=tuple(y.sizes))
    n.program.output(y, *([q] if returned else []))
    program = n.program.build()
    raised, steps = run(program, inputs, raised=True)
    np.testing.assert_allclose(raised, run(program, inputs, raised=False)[0], rtol=1e-5, atol=1e-5)
    assert ("gemm dynamic int8" in steps) != returned  # integers that are returned are the operator's


def quantise_rows(n: Network, x: TensorValue, shape: tuple[int, ...]) -> TensorValue:
    name, rows = "quantized_decomposed::", (*shape[:-1], 1)
    scale, zero_point = n.tensor(rows, np.float64), n.tensor(rows, np.int64)
    n.program.call(name + "choose_qparams_per_token_asymmetric.out", x, np.int8, out=[scale, zero_point])
    limits = (-128, 127, np.int8)
    q = n.program.call(name + "quantize_per_token.out", x, scale, zero_point, *limits, out=n.tensor(shape, np.int8))
    return n.call(name + "dequantize_per_token.out", q, scale, zero_point, *limits, np.float32, shape=shape)


def quantise_tensor(n: Network, x: TensorValue, shape: tuple[int, ...]) -> TensorValue:
    scale, zero_point = n.tensor((1,), np.float64), n.tensor((1,), np.int64)
    choose, limits = "quantized_decomposed::choose_qparams.Tensor_out", (-128, 127, np.int8)
    n.program.call(choose, x, -128, 127, 2.0**-12, np.int8, out=[scale, zero_point])
    quantise, dequantise = (name.replace(".out", ".Tensor_out") for name in (QUANTIZE, DEQUANTIZE))
    q = n.program.call(quantise, x, scale, zero_point, *limits, out=n.tensor(shape, np.int8))
    return n.call(dequantise, q, scale, zero_point, *limits, None, shape=shape)


def grouped_weights(n: Network, outputs: int, inputs: int, group: int, limit: int) -> TensorValue:
    """Levels in [-limit, limit), a scale for each `group` of an output's."""
    random, count = n.random, (outputs, inputs // group)
    levels = n.program.constant(random.integers(-limit, limit, (outputs, inputs)).astype(np.int8))
    scales = n.program.constant(random.uniform(0.001, 0.02, count).astype(np.float32))
    zeros = n.program.constant(np.zeros(count, np.int32))
    parameters = (-limit, limit - 1, np.int8, group, np.float32)
    name = "quantized_decomposed::dequantize_per_channel_group.out"
    return n.call(name, levels, scales, zeros, *parameters, shape=(outputs, inputs))


@pytest.mark.parametrize(
    ("group", "limit", "step"),
    [(32, 8, "gemm dynamic int4"), (96, 8, "gemm dynamic int4"), (32, 100, "gemm"), (24, 8, "gemm")],
)
@pytest.mark.parametrize("shape", [(5, 96), (2, 3, 96), (1, 1, 96)])
def test_rows_multiply_groups_of_weights(shape: tuple[int, ...], group: int, limit: int, step: str) -> None:
    n = Network(np.random.default_rng(1), np.int8, False)
    inputs = [n.random.normal(size=shape).astype(np.float32)]
    y = quantise_rows(n, n.program.input(np.float32, shape), shape)
    w = grouped_weights(n, 40, 96, group, limit)
    n.program.output(n.call("aten::linear.out", y, w, n.bias(40), shape=(*shape[:-1], 40)))
    program = n.program.build()
    raised, steps = run(program, inputs, raised=True)
    # A level may be the other neighbour where a number is in the middle between two.
    np.testing.assert_allclose(raised, run(program, inputs, raised=False)[0], rtol=1e-5, atol=1e-3)
    assert step in steps and "dequantize rows" not in (steps if "int4" in step else [])


@pytest.mark.parametrize("shape", [(5, 24), (2, 5, 24)])
@pytest.mark.parametrize("axis", [0, None])
def test_rows_multiply_bytes(shape: tuple[int, ...], axis: int | None) -> None:
    n = Network(np.random.default_rng(2), np.int8, False)
    inputs = [n.random.normal(size=shape).astype(np.float32)]
    y = quantise_rows(n, n.program.input(np.float32, shape), shape)
    rows = int(np.prod(shape[:-1]))
    y = n.call("aten::view_copy.out", y, [rows, 24], shape=(rows, 24))
    for outputs in (8, 16):  # two that read the same levels
        w = n.call("aten::permute_copy.out", n.weights((outputs, 24), axis), [1, 0], shape=(24, outputs))
        n.program.output(n.call("aten::mm.out", y, w, shape=(rows, outputs)))
    program = n.program.build()
    raised, steps = run(program, inputs, raised=True)
    np.testing.assert_allclose(raised, run(program, inputs, raised=False)[0], rtol=1e-5, atol=1e-3)
    assert steps == ["quantize rows", "gemm dynamic int8", "gemm dynamic int8"]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dims", [1, 2])
def test_convolutions_multiply_what_is_quantised_at_run_time(transposed: bool, dims: int) -> None:
    n = Network(np.random.default_rng(3), np.int8, False)
    shape = (2, 8, *[6] * dims)
    inputs = [n.random.normal(size=shape).astype(np.float32)]
    y = quantise_tensor(n, n.program.input(np.float32, shape), shape)
    w = n.weights((8, 8, *[3] * dims), int(transposed))
    window = ([1] * dims, [1] * dims, [1] * dims, transposed, [0] * dims, 1)
    y = n.call("aten::convolution.out", y, w, n.bias(8), *window, shape=shape)
    n.program.output(n.call("aten::relu.out", y, shape=shape))
    program = n.program.build()
    raised, steps = run(program, inputs, raised=True)
    np.testing.assert_allclose(raised, run(program, inputs, raised=False)[0], rtol=1e-5, atol=1e-5)
    assert "conv dynamic int8" in steps


def weights_in_pieces(n: Network, sizes: tuple[int, int], group: int, zeros: np.ndarray) -> TensorValue:
    """As torchao's are where its operators are decomposed: (levels - zero points) * scales, in groups of inputs."""
    outputs, inputs = sizes
    parts = (outputs, inputs // group, group) if group != inputs else (outputs, inputs)
    ones = (*parts[:-1], 1)
    levels = n.program.constant(n.random.integers(-8, 8, sizes).astype(np.int8))
    scales = n.program.constant(n.random.uniform(0.01, 0.05, ones[:-1]).astype(np.float32))

    def view(x: TensorValue, shape: tuple[int, ...], dtype: Any = np.float32) -> TensorValue:
        return n.program.call("aten::view_copy.out", x, list(shape), out=n.tensor(shape, dtype))

    def real(x: TensorValue) -> TensorValue:
        return n.call("dim_order_ops::_to_dim_order_copy.out", x, False, None, shape=tuple(x.sizes))

    points = n.program.constant(zeros.astype(np.int8).reshape(ones[:-1]))
    shifted = n.call(
        "aten::sub.out", real(view(levels, parts, np.int8)), real(view(points, ones, np.int8)), 1, shape=parts
    )
    return view(n.call("aten::mul.out", shifted, view(scales, ones), shape=parts), sizes)


@pytest.mark.parametrize("group", [32, 96])
@pytest.mark.parametrize("zero", [0, 3])
@pytest.mark.parametrize("quantises", [False, True])
def test_weights_in_pieces(group: int, zero: int, quantises: bool) -> None:
    n = Network(np.random.default_rng(4), np.int8, False)
    x = n.program.input(np.float32, (3, 96))
    inputs = [n.random.normal(size=(3, 96)).astype(np.float32)]
    y = quantise_rows(n, x, (3, 96)) if quantises else n.call("aten::neg.out", x, shape=(3, 96))
    zeros = np.full((40, 96 // group), zero)
    w = n.call("aten::permute_copy.out", weights_in_pieces(n, (40, 96), group, zeros), [1, 0], shape=(96, 40))
    n.program.output(n.call("aten::addmm.out", n.bias(40), y, w, 1, 1, shape=(3, 40)))
    program = n.program.build()
    raised, steps = run(program, inputs, raised=True)
    np.testing.assert_allclose(raised, run(program, inputs, raised=False)[0], rtol=1e-5, atol=1e-3)
    if quantises:
        assert steps == ["quantize rows", "gemm dynamic int4"] if zero == 0 else "gemm" in steps
    else:
        assert steps == ["Neg", "gemm"]  # the weights are made once


def test_constants_of_constants_are_computed_once() -> None:
    n = Network(np.random.default_rng(5), np.int8, False)
    x = n.program.input(np.float32, (3, 4))
    a, b = (n.program.constant(n.random.normal(size=size).astype(np.float32)) for size in ((3, 4), (4,)))
    c = n.call("aten::exp.out", n.call("aten::add.out", a, b, 1, shape=(3, 4)), shape=(3, 4))
    bytes_ = n.program.constant(n.random.integers(0, 255, (2, 6)).astype(np.uint8))
    seen = n.program.call("aten::view_copy.out", bytes_, [3, 4], out=n.tensor((3, 4), np.uint8))
    real = n.call("dim_order_ops::_to_dim_order_copy.out", seen, False, None, shape=(3, 4))
    y = n.call("aten::mul.out", n.call("aten::mul.out", x, c, shape=(3, 4)), real, shape=(3, 4))
    n.program.output(y, c, seen)
    program, inputs = n.program.build(), [n.random.normal(size=(3, 4)).astype(np.float32)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENR_RAISE", "0")
        expected = en.Runtime.get().load_program(program).load_method("forward")(inputs)
    method = en.Runtime.get().load_program(program).load_method("forward")
    for got, plain in zip(method(inputs), expected, strict=True):
        np.testing.assert_array_equal(got, plain)
    steps = [event["name"] for event in method.profile(inputs)[1] if event["kind"] == "step"]
    assert "Exp" not in steps and "Add" not in steps


def quantise_in_pieces(n: Network, x: TensorValue, rows: int, columns: int) -> TensorValue:
    """As torchao's operators do it where they are decomposed."""
    whole, one, each = (rows, columns), (rows, 1), (rows,)
    copy = "dim_order_ops::_to_dim_order_copy.out"

    def number(value: float, dtype: Any = np.float32) -> TensorValue:
        return n.program.constant(np.array(value, dtype))

    def to(value: TensorValue, dtype: Any) -> TensorValue:
        return n.program.call(copy, value, False, None, out=n.tensor(tuple(value.sizes), dtype))

    def view(value: TensorValue, shape: tuple[int, ...], dtype: Any = np.float32) -> TensorValue:
        return n.program.call("aten::view_copy.out", value, list(shape), out=n.tensor(shape, dtype))

    def extreme(name: str, limit: str) -> TensorValue:
        found = n.call(f"aten::{name}.out", x, [1], False, shape=each)
        return n.call(
            f"aten::{limit}.out", found, n.call("aten::full_like.out", found, 0, None, shape=each), shape=each
        )

    low, high = extreme("amin", "minimum"), extreme("amax", "maximum")
    quotient = n.call("aten::div.out", n.call("aten::sub.out", high, low, 1, shape=each), number(255), shape=each)
    scale = n.call("aten::clamp.out", quotient, 1e-6, None, shape=each)
    steps = n.call("aten::round.out", n.call("aten::div.out", low, scale, shape=each), shape=each)
    lowest = to(number(-128, np.int64), np.float32)
    point = n.call("aten::clamp.out", n.call("aten::sub.out", lowest, steps, 1, shape=each), -128, 127, shape=each)
    point = to(point, np.int8)
    inverse = n.call("aten::reciprocal.out", view(scale, one), shape=one)
    inverse = n.call("aten::mul.out", inverse, number(1), shape=one)
    y = n.call("aten::round.out", n.call("aten::mul.out", x, inverse, shape=whole), shape=whole)
    y = n.call("aten::add.out", y, to(view(point, one, np.int8), np.float32), 1, shape=whole)
    levels = to(n.call("aten::clamp.out", y, -128, 127, shape=whole), np.int8)
    difference = (to(levels, np.float32), to(view(point, one, np.int8), np.float32))
    return n.call("aten::mul.out", n.call("aten::sub.out", *difference, 1, shape=whole), view(scale, one), shape=whole)


@pytest.mark.parametrize("zero", [0, 3])
def test_rows_quantised_in_pieces(zero: int) -> None:
    n = Network(np.random.default_rng(6), np.int8, False)
    x = n.program.input(np.float32, (5, 96))
    y = quantise_in_pieces(n, x, 5, 96)
    w = weights_in_pieces(n, (40, 96), 32, np.full((40, 3), zero))
    w = n.call("aten::permute_copy.out", w, [1, 0], shape=(96, 40))
    n.program.output(n.call("aten::addmm.out", n.bias(40), y, w, 1, 1, shape=(5, 40)))
    program = n.program.build()
    inputs = [n.random.normal(size=(5, 96)).astype(np.float32)]
    inputs[0][1] = 0
    inputs[0][2] = np.abs(inputs[0][2])
    raised, steps = run(program, inputs, raised=True)
    np.testing.assert_allclose(raised, run(program, inputs, raised=False)[0], rtol=1e-5, atol=1e-3)
    assert steps == ["quantize rows", *(["gemm dynamic int4"] if zero == 0 else ["dequantize rows", "gemm"])]
