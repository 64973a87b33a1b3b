"""Images whose layout exporters mistake: pixels (NHWC) that nodes written for planes (NCHW) read, and vice versa."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import PayloadBuilder, PayloadValue, ProgramBuilder
from quantised_values import FROM, TO, image, quanta, quantised_input, real, run

PIXELS = (0, 2, 3, 1)
SHAPES = pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 4, 4, 4)], ids=str)  # sizes need not tell


def pixels_to_planes(x: np.ndarray) -> np.ndarray:
    return x.transpose(0, 3, 1, 2)


def image_given_in_planes(g: PayloadBuilder, x: np.ndarray) -> tuple[PayloadValue, np.ndarray]:
    """The floats in planes of an image that the graph has in pixels, and what they are."""
    quantised, planes = quantised_input(g, x.shape), g.value((x.shape[0], x.shape[3], *x.shape[1:3]), "qint8", **FROM)
    given = g.output((x.shape[0], x.shape[3], *x.shape[1:3]))
    g.node("StaticTranspose", num_dims=4, perm=(0, 3, 1, 2), input=quantised, output=planes)
    g.node("Convert", input=planes, output=given)
    return given, real(quanta(x, **FROM), **FROM)


@pytest.mark.parametrize("shape", [(2, 4, 5, 3), (2, 4, 4, 4)], ids=str)
@pytest.mark.parametrize("operation", ["Clamp", "StaticSlice", "StaticResizeBilinear2D", "Multiply"])
def test_images_read_where_they_leave_the_graph(shape: tuple[int, ...], operation: str) -> None:
    """They leave in planes, but what else reads them is written for pixels. Sizes need not tell."""
    x = image(shape)
    g = PayloadBuilder()
    given, pixels = image_given_in_planes(g, x)
    fields: dict[str, Any] = {"input": given}
    if operation == "Clamp":
        fields |= {"output_min": -1.0, "output_max": 0.5}
        expected = np.clip(pixels, -1, 0.5)
    elif operation == "StaticSlice":
        fields |= {"num_dims": 4, "offsets": [0, 1, 0, 1], "sizes": [shape[0], 2, shape[2], 2]}
        expected = pixels[:, 1:3, :, 1:3]
    elif operation == "StaticResizeBilinear2D":
        fields |= {"new_height": 2 * shape[1] - 1, "new_width": shape[2], "flags": 8}
        expected = np.repeat(pixels, 2, 1)[:, :-1]
        expected[:, 1::2] = (pixels[:, :-1] + pixels[:, 1:]) / 2
    else:
        by_channel = np.arange(shape[3], dtype=np.float32)
        fields = {"input1": g.constant(by_channel), "input2": given}
        expected = pixels * by_channel
    result = g.value(expected.shape)
    g.node(operation, output=result, **fields)
    back = g.output(pixels_to_planes(expected).shape)
    g.node("StaticTranspose", num_dims=4, perm=(0, 3, 1, 2), input=result, output=back)
    first, second = run(g, x)
    np.testing.assert_array_equal(first, pixels_to_planes(pixels))
    np.testing.assert_allclose(second, pixels_to_planes(expected), rtol=1e-6, atol=1e-6)


def test_images_read_in_planes_where_that_was_meant() -> None:
    x = image((2, 4, 5, 3))
    g = PayloadBuilder()
    given, pixels = image_given_in_planes(g, x)
    planes = pixels_to_planes(pixels)
    g.node("Clamp", input=given, output=g.output(planes.shape), output_min=0.0)
    first, second = run(g, x)
    np.testing.assert_array_equal(first, planes)
    np.testing.assert_array_equal(second, np.maximum(planes, 0))


def test_images_read_in_planes_behind_what_needs_them() -> None:
    """Nodes behind the first that needs planes are written for planes, those in front of it for pixels."""
    x = image((2, 4, 4, 4))
    g = PayloadBuilder()
    given, pixels = image_given_in_planes(g, x)
    in_pixels, planes = g.value(pixels.shape), pixels_to_planes(pixels)
    g.node("Abs", input=given, output=in_pixels)
    g.node("StaticReshape", num_dims=2, new_shape=(2, 64), input=given, output=g.output((2, 64)))
    g.node("Negate", input=given, output=g.output(planes.shape))
    back = g.output(planes.shape)
    g.node("StaticTranspose", num_dims=4, perm=(0, 3, 1, 2), input=in_pixels, output=back)
    outputs = run(g, x)
    for got, expected in zip(outputs, (planes, planes.reshape(2, 64), -planes, np.abs(planes)), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 4, 4, 4)], ids=str)
def test_images_turned_too_early_for_a_convolution_that_quantises_them(shape: tuple[int, ...]) -> None:
    """x * factors is written for planes, the convolution and the sum behind it for pixels."""
    x, factors = image(shape), image((2, shape[1], 1, 1), 1)
    channels = shape[1]
    weight = np.random.default_rng(9).integers(-127, 127, (channels, 1, 1, channels), dtype=np.int8)
    g = PayloadBuilder()
    pixels, scaled = g.value((shape[0], *shape[2:], channels)), g.value(shape)
    quantised = g.value(shape, "qdint8", num_nonbatch_dims=3)
    convolved, total = g.value(pixels.dims), g.value(pixels.dims)
    g.node("StaticTranspose", num_dims=4, perm=(0, 2, 3, 1), input=g.input(shape), output=pixels)
    g.node("Multiply", input1=pixels, input2=g.input(factors.shape), output=scaled)
    g.node("Convert", input=scaled, output=quantised)
    ones = dict.fromkeys(("kernel_height", "kernel_width", "stride_height", "stride_width"), 1)
    ones |= {"dilation_height": 1, "dilation_width": 1, "groups": 1}
    filters = g.constant(weight, "qcint8", scales=np.full(channels, 0.01, np.float32))
    bias = g.constant(np.zeros(channels, np.float32))
    ones |= {"group_input_channels": channels, "group_output_channels": channels}
    g.node("Conv2d", input=quantised, filter=filters, bias=bias, output=convolved, **ones)
    g.node("Add", input1=convolved, input2=pixels, output=total)
    g.node("StaticTranspose", num_dims=4, perm=(0, 3, 1, 2), input=total, output=g.output(shape))
    (got,) = run(g, x, factors)
    expected = np.einsum("nchw,oc->nohw", x * factors, weight[:, 0, 0] * np.float32(0.01)) + x
    np.testing.assert_allclose(got, expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("turned_first", [False, True])
def test_sums_of_an_image_and_a_convolution_s_are_pixels(turned_first: bool) -> None:
    """What quantises the sum for the next convolution takes pixels, and the image is turned where it is."""
    shape = (2, 4, 4, 4)
    x, shortcut = image(shape), image(shape, 1)
    weight = np.random.default_rng(9).integers(-127, 127, (4, 1, 1, 4), dtype=np.int8)
    g = PayloadBuilder()
    filters, bias = (
        g.constant(weight, "qcint8", scales=np.full(4, 0.01, np.float32)),
        g.constant(np.zeros(4, np.float32)),
    )
    ones = dict.fromkeys(("kernel_height", "kernel_width", "stride_height", "stride_width"), 1)
    ones |= {"dilation_height": 1, "dilation_width": 1, "groups": 1}
    ones |= {"group_input_channels": 4, "group_output_channels": 4}

    def turned(array: np.ndarray) -> PayloadValue:
        pixels = g.value(shape)
        g.node("StaticTranspose", num_dims=4, perm=(0, 2, 3, 1), input=g.input(array.shape), output=pixels)
        return pixels

    def convolved(pixels: PayloadValue) -> PayloadValue:
        quantised, result = g.value(shape, "qdint8", num_nonbatch_dims=3), g.value(shape)
        g.node("Convert", input=pixels, output=quantised)
        g.node("Conv2d", input=quantised, filter=filters, bias=bias, output=result, **ones)
        return result

    first = convolved(turned(x))
    second, total = turned(shortcut), g.value(shape)
    operands = (second, first) if turned_first else (first, second)
    g.node("Add", input1=operands[0], input2=operands[1], output=total)
    g.node("StaticTranspose", num_dims=4, perm=(0, 3, 1, 2), input=convolved(total), output=g.output(shape))
    (got,) = run(g, x, shortcut)
    real_weight = weight[:, 0, 0] * np.float32(0.01)
    expected = np.einsum("nchw,oc->nohw", np.einsum("nchw,oc->nohw", x, real_weight) + shortcut, real_weight)
    np.testing.assert_allclose(got, expected, atol=0.02 * np.abs(expected).max())


def in_pixels(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], shape[2], shape[3], shape[1])


def turned(g: PayloadBuilder, planes: PayloadValue) -> PayloadValue:
    pixels = g.value(in_pixels(planes.dims), planes.datatype, **TO)
    g.node("StaticTranspose", num_dims=4, perm=PIXELS, input=planes, output=pixels)
    return pixels


@SHAPES
@pytest.mark.parametrize("exporter_knows", [False, True])
def test_arguments_in_pixels_that_nodes_read_as_planes(shape: tuple[int, ...], exporter_knows: bool) -> None:
    """Which of both it was is told by the turn behind the sum."""
    x = image(shape)
    g = PayloadBuilder()
    quantised = quantised_input(g, in_pixels(shape))
    total = g.value(in_pixels(shape) if exporter_knows else shape, "qint8", **TO)
    g.node("Add", input1=quantised, input2=quantised, output=total)
    pixels = total if exporter_knows else turned(g, total)
    g.node("Convert", input=pixels, output=g.output(in_pixels(shape)))
    (got,) = run(g, x, dim_orders={0: PIXELS, 1: PIXELS})
    np.testing.assert_array_equal(quanta(got, **TO), quanta(2 * real(quanta(x, **FROM), **FROM), **TO))


@SHAPES
def test_arguments_in_pixels_that_nodes_read_both_ways(shape: tuple[int, ...]) -> None:
    """A square for planes, in front of a convolution; the sum of its image and the argument for pixels."""
    x = image(shape)
    channels = shape[1]
    weight = np.random.default_rng(9).integers(-127, 127, (channels, 1, 1, channels), dtype=np.int8)
    g = PayloadBuilder()
    quantised = quantised_input(g, in_pixels(shape))
    squared, convolved, total = (
        g.value(shape, "qint8", **TO),
        *(g.value(in_pixels(shape), "qint8", **TO) for _ in range(2)),
    )
    g.node("Multiply", input1=quantised, input2=quantised, output=squared)
    ones = dict.fromkeys(("kernel_height", "kernel_width", "stride_height", "stride_width"), 1)
    ones |= {"dilation_height": 1, "dilation_width": 1, "groups": 1}
    ones |= {"group_input_channels": channels, "group_output_channels": channels}
    filters = g.constant(weight, "qint8", scale=0.002)
    g.node("Conv2d", input=turned(g, squared), filter=filters, output=convolved, **ones)
    g.node("Add", input1=quantised, input2=convolved, output=total)
    g.node("Convert", input=total, output=g.output(in_pixels(shape)))
    (got,) = run(g, x, dim_orders={0: PIXELS, 1: PIXELS})
    given = real(quanta(x, **FROM), **FROM)
    square = real(quanta(given * given, **TO), **TO)
    image_of = np.einsum("nchw,oc->nohw", square, weight[:, 0, 0] * np.float32(0.002))
    expected = given + real(quanta(image_of, **TO), **TO)
    assert np.abs(quanta(got, **TO) - quanta(expected, **TO)).max() <= 1


@SHAPES
def test_arguments_in_pixels_in_front_of_a_linear_layer(shape: tuple[int, ...]) -> None:
    x = image(shape)
    weight = np.random.default_rng(9).integers(-127, 127, (3, shape[3]), dtype=np.int8)
    g = PayloadBuilder()
    quantised, result = quantised_input(g, in_pixels(shape)), g.value((*shape[:3], 3), "qint8", **TO)
    g.node("FullyConnected", input=quantised, filter=g.constant(weight, "qint8", scale=0.005), output=result)
    g.node("Convert", input=result, output=g.output(result.dims))
    (got,) = run(g, x, dim_orders={0: PIXELS})
    expected = real(quanta(x, **FROM), **FROM) @ (weight * np.float32(0.005)).T
    assert np.abs(quanta(got, **TO) - quanta(expected, **TO)).max() <= 1


@SHAPES
def test_images_turned_for_a_sum_that_nodes_in_front_of_it_read_as_planes(shape: tuple[int, ...]) -> None:
    """The sum's other operand is a pooled image, in pixels; the clamp and the softmax were written for planes."""
    x, y = image(shape), image(shape, 1)
    g = PayloadBuilder()
    quantised, clamped, floats = g.value(shape, "qint8", **TO), g.value(shape, "qint8", **TO), g.value(shape)
    g.node("Convert", input=g.input(shape), output=quantised)
    pixels = turned(g, quantised)
    pooled, total = (g.value(in_pixels(shape), "qint8", **levels) for levels in (FROM, TO))
    window = dict.fromkeys(("pooling_height", "stride_height", "stride_width", "dilation_height", "dilation_width"), 1)
    given_in_pixels = quantised_input(g, in_pixels(shape))
    g.node("MaxPooling2d", input=given_in_pixels, output=pooled, **window, pooling_width=2, padding_left=1)
    g.node("Clamp", input=pixels, output=clamped, output_min=-1.0)
    g.node("Convert", input=pixels, output=floats)
    g.node("Softmax", input=floats, output=g.output(shape))
    g.node("Add", input1=pooled, input2=pixels, output=total)
    g.node("Convert", input=clamped, output=g.output(shape))
    g.node("Convert", input=total, output=g.output(in_pixels(shape)))
    first, second, third = run(g, x, y, dim_orders={1: PIXELS, 4: PIXELS})
    given = real(quanta(x, **TO), **TO)
    powers = np.exp(given - given.max(3, keepdims=True))
    np.testing.assert_allclose(first, powers / powers.sum(3, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(quanta(second, **TO), quanta(np.maximum(given, -1), **TO))
    other = real(quanta(y, **FROM), **FROM)
    highest = np.maximum(other, np.pad(other, ((0, 0),) * 3 + ((1, 0),), constant_values=-9)[..., :-1])
    assert np.abs(quanta(third, **TO) - quanta(highest + given, **TO)).max() <= 1


@SHAPES
def test_images_that_leave_in_pixels_and_are_read_as_planes(shape: tuple[int, ...]) -> None:
    x, factors = image(shape), image((shape[3],), 1)
    g = PayloadBuilder()
    quantised, pixels, scaled = g.value(shape, "qint8", **TO), g.output(in_pixels(shape)), g.value(shape)
    g.node("Convert", input=g.input(shape), output=quantised)
    g.node("Convert", input=turned(g, quantised), output=pixels)
    g.node("Multiply", input1=pixels, input2=g.constant(factors), output=scaled)
    g.node("StaticTranspose", num_dims=4, perm=PIXELS, input=scaled, output=g.output(in_pixels(shape)))
    first, second = run(g, x, dim_orders={1: PIXELS, 2: PIXELS})
    given = real(quanta(x, **TO), **TO)
    np.testing.assert_array_equal(quanta(first, **TO), quanta(given, **TO))
    np.testing.assert_allclose(second, given * factors, rtol=1e-6)


def test_softmax_along_the_columns_of_an_argument_in_pixels() -> None:
    x = image((2, 3, 4, 5))
    g = PayloadBuilder()
    g.node("Softmax", input=g.input((2, 4, 5, 3)), output=g.output((2, 4, 5, 3)))
    (got,) = run(g, x, dim_orders={0: PIXELS, 1: PIXELS})
    powers = np.exp(x - x.max(3, keepdims=True))
    np.testing.assert_allclose(got, powers / powers.sum(3, keepdims=True), rtol=1e-5)


def quantised_at_run_time(g: PayloadBuilder, floats: PayloadValue, num_nonbatch_dims: int) -> PayloadValue:
    quantised = g.value(floats.dims, "qdint8", num_nonbatch_dims=num_nonbatch_dims)
    g.node("Convert", input=floats, output=quantised)
    return quantised


def linear(g: PayloadBuilder, rows: PayloadValue, weight: np.ndarray, output: PayloadValue) -> np.ndarray:
    scales = np.full(len(weight), 0.01, np.float32)
    filters, bias = g.constant(weight, "qcint8", scales=scales), g.constant(np.zeros(len(weight), np.float32))
    g.node("FullyConnected", input=rows, filter=filters, bias=bias, output=output)
    return weight * np.float32(0.01)


def pointwise(g: PayloadBuilder, pixels: PayloadValue, weight: np.ndarray, output: PayloadValue) -> np.ndarray:
    scales = np.full(len(weight), 0.01, np.float32)
    filters = g.constant(weight[:, None, None, :], "qcint8", scales=scales)
    bias = g.constant(np.zeros(len(weight), np.float32))
    ones = dict.fromkeys(("kernel_height", "kernel_width", "stride_height", "stride_width"), 1)
    ones |= {"dilation_height": 1, "dilation_width": 1, "groups": 1}
    ones |= {"group_input_channels": weight.shape[1], "group_output_channels": len(weight)}
    g.node("Conv2d", input=pixels, filter=filters, bias=bias, output=output, **ones)
    return weight * np.float32(0.01)


def weights(rows: int, columns: int, seed: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).integers(-127, 127, (rows, columns), dtype=np.int8)


def assert_near(got: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(got, expected, atol=0.02 * np.abs(expected).max())


@SHAPES
@pytest.mark.parametrize("in_pixels_already", [False, True])
def test_images_that_a_linear_layer_and_a_convolution_quantise(shape: tuple[int, ...], in_pixels_already: bool) -> None:
    """One conversion of the image in pixels for both, but the linear layer reads rows of planes."""
    x = image(shape)
    g = PayloadBuilder()
    pixels = g.input(in_pixels(shape)) if in_pixels_already else g.value(in_pixels(shape))
    if not in_pixels_already:
        g.node("StaticTranspose", num_dims=4, perm=PIXELS, input=g.input(shape), output=pixels)
    quantised = quantised_at_run_time(g, pixels, 3)
    by_columns = linear(g, quantised, weights(6, shape[3]), g.output((*shape[:3], 6)))
    by_channels = pointwise(g, quantised, weights(5, shape[1]), g.output((*in_pixels(shape)[:3], 5)))
    first, second = run(g, x, dim_orders={0: PIXELS} if in_pixels_already else None)
    assert_near(first, x @ by_columns.T)
    assert_near(second, np.einsum("nchw,oc->nhwo", x, by_channels))


@SHAPES
@pytest.mark.parametrize("behind_convolution", [False, True])
def test_convolutions_that_quantise_what_a_linear_layer_gives(shape: tuple[int, ...], behind_convolution: bool) -> None:
    """The image is turned where the linear layer's comes from, or, in pixels already, not at all."""
    x, channels = image(shape), shape[1]
    g = PayloadBuilder()
    pixels = g.value(in_pixels(shape))
    g.node("StaticTranspose", num_dims=4, perm=PIXELS, input=g.input(shape), output=pixels)
    given = pixels
    if behind_convolution:
        convolved, given = g.value(in_pixels(shape)), g.value(shape)
        first = pointwise(g, quantised_at_run_time(g, pixels, 3), weights(channels, channels, 1), convolved)
        g.node("StaticTranspose", num_dims=4, perm=(0, 3, 1, 2), input=convolved, output=given)
        x = np.einsum("nchw,oc->nohw", x, first)
    planes, result = g.value(shape), g.output(in_pixels(shape))
    by_columns = linear(g, quantised_at_run_time(g, given, 1), weights(shape[3], shape[3]), planes)
    by_channels = pointwise(g, quantised_at_run_time(g, planes, 3), weights(channels, channels), result)
    (got,) = run(g, image(shape))
    assert_near(got, np.einsum("nchw,oc->nhwo", x @ by_columns.T, by_channels))


@SHAPES
def test_sums_of_a_linear_layer_s_and_a_convolution_s_are_pixels(shape: tuple[int, ...]) -> None:
    x, channels = image(shape), shape[1]
    g = PayloadBuilder()
    planes, pixels, given = g.value(shape), g.value(in_pixels(shape)), g.input(shape)
    by_columns = linear(g, quantised_at_run_time(g, given, 1), weights(shape[3], shape[3]), planes)
    g.node("StaticTranspose", num_dims=4, perm=PIXELS, input=planes, output=pixels)
    other, total = g.input(in_pixels(shape)), g.value(in_pixels(shape))
    window = dict.fromkeys(("pooling_height", "stride_height", "stride_width", "dilation_height", "dilation_width"), 1)
    pooled = g.value(in_pixels(shape))
    g.node("MaxPooling2d", input=other, output=pooled, **window, pooling_width=2, padding_left=1)
    g.node("Add", input1=pixels, input2=pooled, output=total)
    by_channels = pointwise(
        g, quantised_at_run_time(g, total, 3), weights(channels, channels), g.output(in_pixels(shape))
    )
    y = image(shape, 1)
    highest = np.maximum(y, np.pad(y, ((0, 0),) * 3 + ((1, 0),), constant_values=-9)[..., :-1])
    (got,) = run(g, x, y, dim_orders={1: PIXELS})
    assert_near(got, np.einsum("nchw,oc->nhwo", x @ by_columns.T + highest, by_channels))


@pytest.mark.parametrize("orders", [((0, 2, 1, 3), (0, 1, 2, 3)), ((0, 1, 2, 3), (0, 2, 1, 3)), (PIXELS, (1, 2, 0, 3))])
@pytest.mark.parametrize("dynamic", [False, True])
def test_dims_of_one_lie_anywhere(orders: tuple[tuple[int, ...], ...], dynamic: bool) -> None:
    """Exporters read dim orders off strides, which do not tell where dims of 1 are; the payload has another order."""
    x = image((1, 1, 3, 4))
    g = PayloadBuilder()
    inside = g.input(x.shape)
    g.node(
        "StaticSlice",
        num_dims=4,
        offsets=[0, 0, 1, 0],
        sizes=[1, 1, 0 if dynamic else 2, 4],
        input=inside,
        output=g.output((1, 1, 2, 4)),
    )
    p = ProgramBuilder()
    given = p.input(np.float32, x.shape, dim_order=orders[0], dynamic=dynamic)
    result = p.tensor(np.float32, (1, 1, 2, 4), dim_order=orders[1], dynamic=dynamic)
    p.delegate_call("XnnpackBackend", g.build(), [given], [result])
    after = p.tensor(np.float32, (1, 1, 2, 4), dim_order=orders[1], dynamic=dynamic)
    p.output(result, p.call("aten::abs.out", result, out=after))
    first, second = en.Runtime.get().load_program(p.build()).load_method("forward")([x])
    np.testing.assert_array_equal(first, x[:, :, 1:])
    np.testing.assert_array_equal(second, np.abs(x[:, :, 1:]))
