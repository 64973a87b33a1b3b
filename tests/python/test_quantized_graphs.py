"""Quantised graphs as exporters write them: results with parameters of their own, arguments and dims that were lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import PayloadBuilder, ProgramBuilder, Scalar
from quantised_values import FROM, TO, image, quanta, quantised_input, real, run

MOVEMENTS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "slice": (
        "StaticSlice",
        {"num_dims": 4, "offsets": (0, 1, 0, 2), "sizes": (1, 2, 4, 3)},
        lambda x: x[:, 1:3, :, 2:5],
    ),
    "transpose": ("StaticTranspose", {"num_dims": 4, "perm": (0, 3, 1, 2)}, lambda x: x.transpose(0, 3, 1, 2)),
    "reshape": ("StaticReshape", {"num_dims": 2, "new_shape": (4, 24)}, lambda x: x.reshape(4, 24)),
    "pad": (
        "StaticConstantPad",
        {"pre_paddings": (0, 1, 0, 0), "post_paddings": (0, 0, 2, 0), "padding_value": 0.6},
        lambda x: np.pad(x, ((0, 0), (1, 0), (0, 2), (0, 0)), constant_values=np.float32(0.6)),
    ),
    "copy": ("Copy", {}, lambda x: x),
    "max pool": (
        "MaxPooling2d",
        {"pooling_height": 2, "pooling_width": 2, "stride_height": 2, "stride_width": 2, "dilation_height": 1}
        | {"dilation_width": 1},
        lambda x: x.reshape(1, 2, 2, 2, 2, 6).max((2, 4)),
    ),
}


@pytest.mark.parametrize("name", MOVEMENTS)
def test_results_of_movement_with_parameters_of_their_own(name: str) -> None:
    kind, fields, move = MOVEMENTS[name]
    x = image((1, 4, 4, 6))
    given = real(quanta(x, **FROM), **FROM)
    expected = move(given)
    g = PayloadBuilder()
    quantised = quantised_input(g, x.shape)
    moved, result = g.value(expected.shape, "qint8", **TO), g.output(expected.shape)
    g.node(kind, input=quantised, output=moved, **fields)
    g.node("Convert", input=moved, output=result)
    (got,) = run(g, x)
    np.testing.assert_array_equal(quanta(got, **TO), quanta(expected, **TO))


def test_two_transposes_that_requantise_in_between() -> None:
    x = image((1, 4, 5, 6))
    g = PayloadBuilder()
    planes, pixels, result = g.value((1, 6, 4, 5), "qint8", **TO), g.value(x.shape, "qint8", **TO), g.output(x.shape)
    g.node("StaticTranspose", num_dims=4, perm=(0, 3, 1, 2), input=quantised_input(g, x.shape), output=planes)
    g.node("StaticTranspose", num_dims=4, perm=(0, 2, 3, 1), input=planes, output=pixels)
    g.node("Convert", input=pixels, output=result)
    (got,) = run(g, x)
    np.testing.assert_array_equal(quanta(got, **TO), quanta(real(quanta(x, **FROM), **FROM), **TO))


@pytest.mark.parametrize("producer", ["Add", "Conv2d", "Clamp"])
def test_clamps_to_other_parameters(producer: str) -> None:
    """Products are rounded once, to the clamp's parameters; sums are rounded to their own first."""
    x = image((1, 3, 4, 5))
    narrow = {"scale": 0.011, "zero_point": -128}
    g = PayloadBuilder()
    quantised = quantised_input(g, x.shape)
    given = real(quanta(x, **FROM), **FROM)
    between = g.value(x.shape, "qint8", **TO)
    if producer == "Add":
        g.node("Add", input1=quantised, input2=quantised, output=between)
        before = real(quanta(2 * given, **TO), **TO)
    elif producer == "Conv2d":
        eye = np.eye(5, dtype=np.int8).reshape(5, 1, 1, 5) * 64
        weight = g.constant(eye, "qint8", scale=1 / 64)
        ones = dict.fromkeys(("kernel_height", "kernel_width", "stride_height", "stride_width"), 1)
        ones |= {"dilation_height": 1, "dilation_width": 1, "groups": 1}
        g.node(
            "Conv2d",
            input=quantised,
            filter=weight,
            output=between,
            **ones,
            group_input_channels=5,
            group_output_channels=5,
        )
        before = given
    else:
        g.node("Clamp", input=quantised, output=between, output_min=-1.0, output_max=9.0)
        before = np.maximum(given, -1)
    clamped, result = g.value(x.shape, "qint8", **narrow), g.output(x.shape)
    g.node("Clamp", input=between, output=clamped, output_min=0.0, output_max=2.0)
    g.node("Convert", input=clamped, output=result)
    (got,) = run(g, x)
    np.testing.assert_array_equal(quanta(got, **narrow), quanta(np.clip(before, 0, 2), **narrow))


def test_arguments_that_are_only_quantised_and_dequantised() -> None:
    """Of the two conversions exporters write one, and give the integers no position."""
    x, y, z = image((2, 3), 1), image((4,), 2), image((5, 2), 3)
    g = PayloadBuilder()
    lost_input, lost_output = g.value(x.shape, "qint8", **TO), g.value(y.shape, "qint8", **FROM)
    first, second, third, fourth = g.output(x.shape), g.input(y.shape), g.input(z.shape), g.output(z.shape)
    g.node("Convert", input=lost_input, output=first)
    g.node("Convert", input=second, output=lost_output)
    g.node("Clamp", input=third, output=fourth, output_min=0.0)
    second.external_id, third.external_id, first.external_id, fourth.external_id = 1, 2, 3, 5
    p = ProgramBuilder()
    inputs = [p.input(np.float32, array.shape) for array in (x, y, z)]
    outputs = [p.tensor(np.float32, array.shape) for array in (x, y, z)]
    g.extra_fields[3] = Scalar("u32", 6)
    p.delegate_call("XnnpackBackend", g.build(), inputs, outputs)
    p.output(*outputs)
    got = en.Runtime.get().load_program(p.build()).load_method("forward")([x, y, z])
    np.testing.assert_array_equal(got[0], real(quanta(x, **TO), **TO))
    np.testing.assert_array_equal(got[1], real(quanta(y, **FROM), **FROM))
    np.testing.assert_array_equal(got[2], np.maximum(z, 0))


def program_of_nothing(*shapes: tuple[int, ...]) -> bytes:
    g = PayloadBuilder()
    g.extra_fields[3] = Scalar("u32", 1 + len(shapes))
    p = ProgramBuilder()
    given = p.input(np.float32, shapes[0])
    outputs = [p.tensor(np.float32, shape) for shape in shapes]
    p.delegate_call("XnnpackBackend", g.build(), [given], outputs)
    p.output(*outputs)
    return p.build()


def test_arguments_of_which_nothing_is_left() -> None:
    """Between operators that are not delegated: quantised and dequantised, by what is lost."""
    x = image((2, 3, 4))
    method = en.Runtime.get().load_program(program_of_nothing(x.shape)).load_method("forward")
    np.testing.assert_array_equal(method([x])[0], x)
    with pytest.raises(en.ProgramLoadError, match="num_externs: is 3, the graph has no values"):
        en.Runtime.get().load_program(program_of_nothing((2,), (2,))).load_method("forward")


@pytest.mark.parametrize("is_read", [False, True])
def test_outputs_of_which_nothing_is_left(is_read: bool) -> None:
    """The dequantised weights of an operator that is not delegated, in front of the outputs that are left."""
    x = image((2, 3))
    g = PayloadBuilder()
    given, result = g.input(x.shape), g.output(x.shape)
    g.node("Clamp", input=given, output=result, output_min=0.0)
    result.external_id = 2
    g.extra_fields[3] = Scalar("u32", 3)
    p = ProgramBuilder()
    argument, lost, out = p.input(np.float32, x.shape), *(p.tensor(np.float32, x.shape) for _ in range(2))
    p.delegate_call("XnnpackBackend", g.build(), [argument], [lost, out])
    p.output(*([out, lost] if is_read else [out]))
    if is_read:
        with pytest.raises(en.ProgramLoadError, match="argument 1 is read by others, but nothing writes it"):
            en.Runtime.get().load_program(p.build()).load_method("forward")
    else:
        method = en.Runtime.get().load_program(p.build()).load_method("forward")
        np.testing.assert_array_equal(method([x])[0], np.maximum(x, 0))


@pytest.mark.parametrize("floats_too", [False, True])
def test_values_of_an_image_with_the_dims_of_another_layout(floats_too: bool) -> None:
    x = image((2, 3, 4, 5))
    weight = np.random.default_rng(9).integers(-127, 127, (6, 1, 1, 3), dtype=np.int8)
    g = PayloadBuilder()
    pixels = g.value(x.shape if floats_too else (2, 4, 5, 3))
    integers = g.value(x.shape, "qdint8", num_nonbatch_dims=3)
    g.node("StaticTranspose", num_dims=4, perm=(0, 2, 3, 1), input=g.input(x.shape), output=pixels)
    g.node("Convert", input=pixels, output=integers)
    scales = np.full(6, 0.01, np.float32)
    ones = dict.fromkeys(("kernel_height", "kernel_width", "stride_height", "stride_width"), 1)
    ones |= {"dilation_height": 1, "dilation_width": 1, "groups": 1}
    filters = g.constant(weight, "qcint8", scales=scales)
    g.node(
        "Conv2d",
        input=integers,
        filter=filters,
        output=g.output((2, 4, 5, 6)),
        **ones,
        group_input_channels=3,
        group_output_channels=6,
    )
    (got,) = run(g, x)
    exact = np.einsum("nchw,oc->nhwo", x, weight.reshape(6, 3) * np.float32(0.01))
    np.testing.assert_allclose(got, exact, atol=6 / 255 / 2 * 3 * 1.3)


def test_sizes_that_a_payload_does_not_read() -> None:
    x = image((3, 4))
    g = PayloadBuilder()
    result = g.output(x.shape)
    g.node("Clamp", input=g.input(x.shape), output=result, output_min=0.0)
    result.external_id = 2
    g.extra_fields[3] = Scalar("u32", 3)
    p = ProgramBuilder()
    given, out = p.input(np.float32, x.shape), p.tensor(np.float32, x.shape)
    p.delegate_call("XnnpackBackend", g.build(), [given, p.value(3)], [out])
    p.output(out)
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    np.testing.assert_array_equal(method([x])[0], np.maximum(x, 0))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("kind", ["Clamp", "StaticTranspose", "Concatenate2"])
def test_floats_in_and_integers_out(kind: str) -> None:
    """Exporters let a node that is followed by a quantisation give integers, whatever it reads."""
    x = image((4, 6))
    g = PayloadBuilder()
    given = g.input(x.shape)
    if kind == "Clamp":
        expected, slots = np.maximum(x, 0), {"input": given, "output_min": 0.0}
    elif kind == "StaticTranspose":
        expected, slots = x.T, {"input": given, "perm": (1, 0), "num_dims": 2}
    else:
        expected, slots = np.concatenate([x, x], 1), {"input1": given, "input2": given, "axis": 1}
    integers, result = g.value(expected.shape, "qint8", **TO), g.output(expected.shape)
    g.node(kind, output=integers, **slots)
    g.node("Convert", input=integers, output=result)
    np.testing.assert_array_equal(run(g, x)[0], real(quanta(expected, **TO), **TO))


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("kind", ["Add", "Minimum", "Softmax"])
def test_integers_that_no_kernel_takes(kind: str, far: bool) -> None:
    x = image((4, 6))
    to = {"scale": 4e-5, "zero_point": 3} if far else TO
    given = real(quanta(x, **FROM), **FROM)
    g = PayloadBuilder()
    quantised, integers, result = quantised_input(g, x.shape), g.value(x.shape, "qint8", **to), g.output(x.shape)
    if kind == "Softmax":
        expected = softmax(given)
        g.node(kind, input=quantised, output=integers)
    else:
        expected = given + given if kind == "Add" else given
        g.node(kind, input1=quantised, input2=quantised, output=integers)
    g.node("Convert", input=integers, output=result)
    got = quanta(run(g, x)[0], **to)
    assert np.abs(got - quanta(expected, **to)).max() <= 1


def test_sums_of_integers_and_floats() -> None:
    x = image((4, 6))
    g = PayloadBuilder()
    given = g.input(x.shape)
    quantised = g.value(x.shape, "qint8", **FROM)
    g.node("Convert", input=given, output=quantised)
    g.node("Add", input1=quantised, input2=given, output=g.output(x.shape))
    np.testing.assert_allclose(run(g, x)[0], real(quanta(x, **FROM), **FROM) + x, rtol=1e-6)


def test_products_of_integers_that_stay_float() -> None:
    x = image((4, 6))
    weight = np.random.default_rng(9).integers(-127, 127, (3, 6), dtype=np.int8)
    g = PayloadBuilder()
    filters = g.constant(weight, "qint8", scale=0.01)
    g.node("FullyConnected", input=quantised_input(g, x.shape), filter=filters, output=g.output((4, 3)))
    expected = real(quanta(x, **FROM), **FROM) @ (weight * np.float32(0.01)).T
    np.testing.assert_allclose(run(g, x)[0], expected, rtol=1e-5, atol=1e-5)


def test_squares_are_rounded_as_functions_of_a_byte() -> None:
    """5 * 5 * 0.02 is half a quantum: XNNPACK adds the zero point before it rounds to even."""
    scale = {"scale": 0.02, "zero_point": 1}
    x = (np.arange(-12, 13) * np.float32(0.02)).astype(np.float32)
    g = PayloadBuilder()
    given, squared, result = g.value(x.shape, "qint8", **scale), g.value(x.shape, "qint8", **scale), g.output(x.shape)
    g.node("Convert", input=g.input(x.shape), output=given)
    g.node("Multiply", input1=given, input2=given, output=squared)
    g.node("Convert", input=squared, output=result)
    step = np.float32(0.02)
    numbers = np.arange(-12, 13).astype(np.float32) * step
    expected = np.rint(numbers * numbers * np.float32(1 / step) + np.float32(1)) - 1
    np.testing.assert_array_equal(np.rint(run(g, x)[0] / step), expected)


@pytest.mark.parametrize("dtype", ["qint8", "quint8"])
@pytest.mark.parametrize("function", ["silu", "tanh", "negated square"])
def test_tables_of_real_functions_round_as_conversions_do(function: str, dtype: str) -> None:
    """Without an output of the reals between two conversions there is a table; with one they are computed."""
    lowest = -128 if dtype == "qint8" else 0
    given, result = {"scale": 0.043, "zero_point": lowest + 131}, {"scale": 0.017, "zero_point": lowest + 100}
    x = ((np.arange(256) + lowest - given["zero_point"]) * np.float32(given["scale"])).astype(np.float32)

    def outputs(with_reals: bool) -> list[np.ndarray]:
        g = PayloadBuilder()
        levels, reals = g.value(x.shape, dtype, **given), g.value(x.shape)
        first = g.value(x.shape)
        answer = g.output(x.shape) if with_reals else g.value(x.shape)
        again, out = g.value(x.shape, dtype, **result), g.output(x.shape)
        g.node("Convert", input=g.input(x.shape), output=levels)
        g.node("Convert", input=levels, output=reals)
        if function == "silu":
            g.node("Sigmoid", input=reals, output=first)
            g.node("Multiply", input1=reals, input2=first, output=answer)
        elif function == "tanh":
            g.node("Abs", input=reals, output=first)
            g.node("Tanh", input=first, output=answer)
        else:
            g.node("Square", input=reals, output=first)
            g.node("Negate", input=first, output=answer)
        g.node("Convert", input=answer, output=again)
        g.node("Convert", input=again, output=out)
        return run(g, x)

    answer, levels = outputs(with_reals=True)
    scaled = np.rint(answer * np.float32(1 / np.float32(result["scale"]))) + result["zero_point"]
    expected = np.clip(scaled, lowest, lowest + 255) - result["zero_point"]
    np.testing.assert_array_equal(np.rint(levels / np.float32(result["scale"])), expected)
    np.testing.assert_array_equal(outputs(with_reals=False)[0], levels)


def test_hard_swish_is_rounded_in_the_order_of_its_factors() -> None:
    """x / 6 times the clamped factor, every time rounded to float32: other orders end on the other side of a half."""
    given, result = {"scale": 0.05, "zero_point": 0}, {"scale": 0.1, "zero_point": 0}
    x = real(np.arange(-128, 128), **given)
    g = PayloadBuilder()
    quantised, swished = g.value(x.shape, "qint8", **given), g.value(x.shape, "qint8", **result)
    g.node("Convert", input=g.input(x.shape), output=quantised)
    g.node("Hardswish", input=quantised, output=swished)
    g.node("Convert", input=swished, output=g.output(x.shape))
    expected = quanta(x / np.float32(6) * np.clip(x + np.float32(3), np.float32(0), np.float32(6)), **result)
    np.testing.assert_array_equal(quanta(run(g, x)[0], **result), expected)
