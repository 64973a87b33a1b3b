"""Convolutions, pools, resampling."""

import numpy as np

from .case import F16, F32, F64, Case, Constant, Laid, floats


def convolutions() -> list[Case]:
    image, wide = floats(1, 64, 56, 56), floats(1, 32, 112, 112)
    signal, volume = floats(1, 64, 4000), floats(1, 16, 8, 28, 28)
    double, last = image.astype(F64), (0, 2, 3, 1)

    def conv(name, x, weight, out, stride=1, padding=0, groups=1, transposed=False, dilation=1, order=None):
        dims = x.ndim - 2
        given = Laid(x, order) if order else x
        arguments = (given, Constant(floats(*weight).astype(x.dtype)), None, [stride] * dims, [padding] * dims,
                     [dilation] * dims, transposed, [0] * dims, groups)  # fmt: skip
        return Case("convolution", name, "aten::convolution.out", arguments, None, [(out, x.dtype, order)])

    return [
        conv("3x3", image, (64, 64, 3, 3), (1, 64, 56, 56), padding=1),
        conv("3x3 NHWC", image, (64, 64, 3, 3), (1, 64, 56, 56), padding=1, order=last),
        conv("3x3, 8 images", floats(8, 64, 28, 28), (64, 64, 3, 3), (8, 64, 28, 28), padding=1),
        conv("3x3, dilated", image, (64, 64, 3, 3), (1, 64, 56, 56), padding=2, dilation=2),
        conv("3x3, strided", image, (128, 64, 3, 3), (1, 128, 28, 28), padding=1, stride=2),
        conv("1x1", image, (128, 64, 1, 1), (1, 128, 56, 56)),
        conv("1x1, strided", image, (128, 64, 1, 1), (1, 128, 28, 28), stride=2),
        conv("7x7, 3 channels", floats(1, 3, 224, 224), (64, 3, 7, 7), (1, 64, 112, 112), stride=2, padding=3),
        conv("3x3, 1 channel", floats(1, 1, 28, 28), (8, 1, 3, 3), (1, 8, 28, 28), padding=1),
        conv("depthwise 3x3", wide, (32, 1, 3, 3), (1, 32, 112, 112), padding=1, groups=32),
        conv("depthwise 5x5, strided", wide, (32, 1, 5, 5), (1, 32, 56, 56), padding=2, groups=32, stride=2),
        conv("grouped 3x3", image, (64, 16, 3, 3), (1, 64, 56, 56), padding=1, groups=4),
        conv("transposed 2x2", image, (64, 32, 2, 2), (1, 32, 112, 112), stride=2, transposed=True),
        conv("transposed 4x4", image, (64, 32, 4, 4), (1, 32, 112, 112), stride=2, padding=1, transposed=True),
        conv("1d, 9", signal, (64, 64, 9), (1, 64, 4000), padding=4),
        conv("1d, depthwise 9", signal, (64, 1, 9), (1, 64, 4000), padding=4, groups=64),
        conv("1d, 1 channel", floats(1, 1, 16000), (64, 1, 10), (1, 64, 3199), stride=5),
        conv("3x3 float64", double, (64, 64, 3, 3), (1, 64, 56, 56), padding=1),
        conv("3x3 float16", image.astype(F16), (64, 64, 3, 3), (1, 64, 56, 56), padding=1),
        conv("transposed 2x2 float64", double, (64, 32, 2, 2), (1, 32, 112, 112), stride=2, transposed=True),
        conv("3d 3x3x3", volume, (16, 16, 3, 3, 3), (1, 16, 8, 28, 28), padding=1),
    ]  # fmt: skip


def pools() -> list[Case]:
    image, volume = floats(1, 64, 56, 56), floats(1, 16, 8, 28, 28)
    pooled = (1, 64, 28, 28)
    max_pool, average = "aten::max_pool2d_with_indices.out", "aten::avg_pool2d.out"
    return [
        Case("pooling", "max 3x3", max_pool, (image, [3, 3], [2, 2], [1, 1], [1, 1], False),
             None, [(pooled, F32), (pooled, np.int64)]),
        Case("pooling", "max 2x2", max_pool, (image, [2, 2], [2, 2], [0, 0], [1, 1], False),
             lambda: image.reshape(1, 64, 28, 2, 28, 2).max((3, 5)), [(pooled, F32), (pooled, np.int64)]),
        Case("pooling", "max 5x5", max_pool, (image, [5, 5], [1, 1], [2, 2], [1, 1], False),
             None, [(image.shape, F32), (image.shape, np.int64)]),
        Case("pooling", "average 2x2", average, (image, [2, 2], [2, 2], [0, 0], False, True, None),
             lambda: image.reshape(1, 64, 28, 2, 28, 2).mean((3, 5))),
        Case("pooling", "average 3x3", average, (image, [3, 3], [1, 1], [1, 1], False, True, None),
             None, [(image.shape, F32)]),
        Case("pooling", "average 3d", "aten::avg_pool3d.out",
             (volume, [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None),
             lambda: volume.reshape(1, 16, 4, 2, 14, 2, 14, 2).mean((3, 5, 7))),
        Case("pooling", "adaptive average", "aten::_adaptive_avg_pool2d.out", (image, [7, 7]),
             lambda: image.reshape(1, 64, 7, 8, 7, 8).mean((3, 5))),
        Case("pooling", "global average", "aten::_adaptive_avg_pool2d.out", (image, [1, 1]),
             lambda: image.mean((2, 3), keepdims=True)),
        Case("pooling", "adaptive max", "aten::adaptive_max_pool2d.out", (image, [7, 7]),
             lambda: image.reshape(1, 64, 7, 8, 7, 8).max((3, 5)), [((1, 64, 7, 7), F32), ((1, 64, 7, 7), np.int64)]),
    ]  # fmt: skip


def resampling() -> list[Case]:
    image, grid = floats(1, 64, 56, 56), floats(1, 56, 56, 2, low=-1, high=1)
    twice = [((1, 64, 112, 112), F32)]
    return [
        Case("resampling", "nearest", "aten::upsample_nearest2d.vec_out", (image, None, [2.0, 2.0]),
             lambda: image.repeat(2, 2).repeat(2, 3)),
        Case("resampling", "bilinear", "aten::upsample_bilinear2d.vec_out", (image, None, False, [2.0, 2.0]),
             None, twice),
        Case("resampling", "bilinear, corners", "aten::upsample_bilinear2d.vec_out", (image, [100, 90], True, None),
             None, [((1, 64, 100, 90), F32)]),
        Case("resampling", "bicubic", "aten::upsample_bicubic2d.out", (image, [112, 112], False, None, None),
             None, twice),
        Case("resampling", "bilinear, antialiased", "aten::_upsample_bilinear2d_aa.out",
             (image, [28, 28], False, None, None), None, [((1, 64, 28, 28), F32)]),
        Case("resampling", "linear", "aten::upsample_linear1d.out", (floats(1, 64, 4000), [8000], False, None),
             None, [((1, 64, 8000), F32)]),
        Case("resampling", "grid_sampler", "aten::grid_sampler_2d.out", (image, grid, 0, 0, False),
             None, [(image.shape, F32)]),
        Case("resampling", "grid_sampler, nearest", "aten::grid_sampler_2d.out", (image, grid, 1, 0, False),
             None, [(image.shape, F32)]),
        Case("resampling", "im2col", "aten::im2col.out", (image, [3, 3], [1, 1], [1, 1], [1, 1]),
             None, [((1, 576, 3136), F32)]),
    ]  # fmt: skip
