"""Constants of several sizes, layouts and uses in the same bytes of a file: each use gets its own packed form."""

from __future__ import annotations

import numpy as np

import executorch_numpy_runtime as en
from builder import PayloadBuilder, ProgramBuilder, delegated_program

RNG = np.random.default_rng(3)


def twin(p, constant, sizes, dim_order):
    """Another tensor on the bytes of `constant`."""
    other = p.tensor(np.float32, sizes, dim_order=dim_order, planned=False)
    other.data_buffer_idx = constant.data_buffer_idx
    return other


def test_filters_of_other_sizes(load):
    weight = RNG.random((8, 64, 1, 1), np.float32)
    images = [RNG.random((1, channels, 5, 5), np.float32) for channels in (2, 64)]
    p = ProgramBuilder()
    large = p.constant(weight)
    small = twin(p, large, (8, 2, 1, 1), (0, 1, 2, 3))
    for image, w in zip(images, (small, large), strict=True):
        x = p.input(np.float32, image.shape)
        out = p.tensor(np.float32, (1, 8, 5, 5))
        p.output(p.call("aten::convolution.out", x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, out=out))
    weights = (weight.reshape(-1)[:16].reshape(8, 2), weight[..., 0, 0])
    for got, image, w in zip(load(p)(images), images, weights, strict=True):
        np.testing.assert_allclose(got[0], np.einsum("oi,ihw->ohw", w, image[0]), rtol=1e-5)


def test_matrices_in_other_orders(load):
    matrix, x = RNG.random((32, 32), np.float32), RNG.random((3, 32), np.float32)
    p = ProgramBuilder()
    given, rows = p.input(np.float32, x.shape), p.constant(matrix)
    for w in (rows, twin(p, rows, matrix.shape, (1, 0))):
        p.output(p.call("aten::mm.out", given, w, out=p.tensor(np.float32, (3, 32))))
    for got, w in zip(load(p)([x]), (matrix, matrix.T), strict=True):
        np.testing.assert_allclose(got, x @ w, rtol=1e-5)


def test_one_filter_with_several_geometries():
    """A delegated filter that is used with strides and dilations of which only some suit Winograd's transforms."""
    x, weight = RNG.random((1, 32, 32, 32), np.float32) - 0.5, RNG.random((32, 3, 3, 32), np.float32) - 0.5
    geometries = [(1, 1), (2, 1), (1, 2)]
    for order in (geometries, geometries[::-1]):
        g = PayloadBuilder()
        image, filters = g.input(x.shape), g.constant(weight)
        expected = []
        for stride, dilation in order:
            size = (32 - 2 * dilation - 1) // stride + 1
            g.node(
                "Conv2d", input=image, filter=filters, output=g.output((1, size, size, 32)), kernel_height=3,
                kernel_width=3, stride_height=stride, stride_width=stride, dilation_height=dilation,
                dilation_width=dilation, group_input_channels=32, group_output_channels=32, groups=1,
            )  # fmt: skip
            taps = [(i, j) for i in range(3) for j in range(3)]
            last = (size - 1) * stride + 1
            expected.append(sum(
                x[:, i * dilation :, j * dilation :][:, :last:stride, :last:stride] @ weight[:, i, j].T for i, j in taps
            ))  # fmt: skip
        method = en.Runtime.get().load_program(delegated_program(g)).load_method("forward")
        for got, numbers in zip(method([x]), expected, strict=True):
            np.testing.assert_allclose(got, numbers, rtol=1e-4, atol=1e-4)
