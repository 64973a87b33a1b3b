"""Copies that rearrange."""

from typing import Any

import numpy as np

from .case import F16, F32, RNG, Case, Laid, floats


def movement():
    x, image, heads = floats(1024, 2048), floats(8, 64, 56, 56), floats(8, 128, 12, 64)
    shuffled, last, first = (8, 16, 112, 112), (0, 2, 3, 1), (0, 1, 2, 3)
    i, u8, h = RNG.integers(0, 99, (1024, 2048)), RNG.integers(0, 99, (1024, 2048)).astype(np.uint8), x.astype(F16)
    part, pieces = floats(1024, 512), [floats(64, 128) for _ in range(16)]
    rows_last = image.transpose(last).copy()
    few = floats(8192, 8)

    def scattered(array, new):
        result = array.copy()
        result[:, 3:515] = new
        return result

    rows: list[tuple[Any, ...]] = [
        ("clone", "aten::clone.out", (x, None), lambda: x.copy()),
        ("transpose", "aten::t_copy.out", (x,), lambda: x.T.copy()),
        ("permute heads", "aten::permute_copy.out", (heads, [0, 2, 1, 3]), lambda: heads.transpose(0, 2, 1, 3).copy()),
        ("permute to NHWC", "aten::permute_copy.out", (image, [0, 2, 3, 1]),
         lambda: image.transpose(0, 2, 3, 1).copy()),
        ("expand", "aten::expand_copy.out", (x[:1], [1024, 2048], False), lambda: np.repeat(x[:1], 1024, 0)),
        ("slice columns", "aten::slice_copy.Tensor_out", (x, 1, 3, 1800, 1), lambda: x[:, 3:1800].copy()),
        ("slice step", "aten::slice_copy.Tensor_out", (x, 1, 0, 2048, 2), lambda: x[:, ::2].copy()),
        ("select", "aten::select_copy.int_out", (image, 1, 3), lambda: image[:, 3].copy()),
        ("cat rows", "aten::cat.out", ([x, x], 0), lambda: np.concatenate([x, x])),
        ("cat columns", "aten::cat.out", ([x, x], 1), lambda: np.concatenate([x, x], 1)),
        ("stack", "aten::stack.out", ([x, x], 0), lambda: np.stack([x, x])),
        ("stack last", "aten::stack.out", ([x, x], -1), lambda: np.stack([x, x], -1)),
        ("repeat", "aten::repeat.out", (x, [1, 3]), lambda: np.tile(x, (1, 3))),
        ("repeat, short rows", "aten::repeat.out", (few, [1, 3]), lambda: np.tile(few, (1, 3))),
        ("roll", "aten::roll.out", (x, [5, 7], [0, 1]), lambda: np.roll(x, (5, 7), (0, 1))),
        ("flip columns", "aten::flip.out", (x, [1]), lambda: np.flip(x, 1).copy()),
        ("tril", "aten::tril.out", (x, 0), lambda: np.tril(x)),
        ("pixel_shuffle", "aten::pixel_shuffle.out", (image, 2),
         lambda: image.reshape(8, 16, 2, 2, 56, 56).transpose(0, 1, 4, 2, 5, 3).reshape(shuffled)),
        ("pad constant", "aten::constant_pad_nd.out", (image, [1, 1, 1, 1], 0.0),
         lambda: np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)])),
        ("pad reflection", "aten::reflection_pad2d.out", (image, [1, 1, 1, 1]),
         lambda: np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)], mode="reflect")),
        ("transpose int64", "aten::t_copy.out", (i,), lambda: i.T.copy()),
        ("transpose bytes", "aten::t_copy.out", (u8,), lambda: u8.T.copy()),
        ("transpose float16", "aten::t_copy.out", (h,), lambda: h.T.copy()),
        ("transpose keys", "aten::transpose_copy.int_out", (heads, 1, 3), lambda: heads.swapaxes(1, 3).copy()),
        ("permute to NCHW", "aten::permute_copy.out", (rows_last, [0, 3, 1, 2]),
         lambda: rows_last.transpose(0, 3, 1, 2).copy()),
        ("permute reversed", "aten::permute_copy.out", (heads, [3, 2, 1, 0]),
         lambda: heads.transpose(3, 2, 1, 0).copy()),
        ("to NHWC in memory", "dim_order_ops::_clone_dim_order.out", (image, False, list(last)), None,
         [(image.shape, F32, last)]),
        ("to NCHW in memory", "dim_order_ops::_clone_dim_order.out", (Laid(image, last), False, list(first)), None,
         [(image.shape, F32)]),
        ("view", "aten::view_copy.out", (x, [2048, 1024]), lambda: x.reshape(2048, 1024).copy()),
        ("unsqueeze", "aten::unsqueeze_copy.out", (x, 0), lambda: x[None].copy()),
        ("expand column", "aten::expand_copy.out", (x[:, :1].copy(), [1024, 2048], False),
         lambda: np.repeat(x[:, :1], 2048, 1)),
        ("slice rows", "aten::slice_copy.Tensor_out", (x, 0, 3, 900, 1), lambda: x[3:900].copy()),
        ("split columns", "aten::split_copy.Tensor_out", (x, 512, 1),
         lambda: [x[:, k : k + 512].copy() for k in range(0, 2048, 512)], [((1024, 512), F32)] * 4, True),
        ("unbind", "aten::unbind_copy.int_out", (heads, 2), lambda: [heads[:, :, k].copy() for k in range(12)],
         [((8, 128, 64), F32)] * 12, True),
        ("cat, 16 parts", "aten::cat.out", (pieces, 1), lambda: np.concatenate(pieces, 1)),
        ("cat channels", "aten::cat.out", ([image, image], 1), lambda: np.concatenate([image, image], 1)),
        ("cat bytes", "aten::cat.out", ([u8, u8], 1), lambda: np.concatenate([u8, u8], 1)),
        ("slice_scatter", "aten::slice_scatter.out", (x, part, 1, 3, 515, 1), lambda: scattered(x, part)),
        ("unfold", "aten::unfold_copy.out", (x, 1, 64, 32),
         lambda: np.lib.stride_tricks.sliding_window_view(x, 64, 1)[:, ::32].copy()),
        ("as_strided", "aten::as_strided_copy.out", (x, [1000, 2000], [2048, 1], 0), lambda: x[:1000, :2000].copy()),
        ("diagonal", "aten::diagonal_copy.out", (x, 0, 0, 1), lambda: np.diagonal(x).copy()),
        ("repeat_interleave", "aten::repeat_interleave.Tensor_out", (np.full(500_000, 3), 1_500_000),
         lambda: np.repeat(np.arange(500_000), 3)),
        ("flip rows", "aten::flip.out", (x, [0]), lambda: np.flip(x, 0).copy()),
        ("triu int64", "aten::triu.out", (i, 1), lambda: np.triu(i, 1)),
        ("pixel_unshuffle", "aten::pixel_unshuffle.out", (image, 2),
         lambda: image.reshape(8, 64, 28, 2, 28, 2).transpose(0, 1, 3, 5, 2, 4).reshape(8, 256, 28, 28)),
        ("pad constant 1d", "aten::constant_pad_nd.out", (x, [3, 5], 0.0), lambda: np.pad(x, [(0, 0), (3, 5)])),
        ("pad replication", "aten::replication_pad2d.out", (image, [1, 1, 1, 1]),
         lambda: np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)], mode="edge")),
        ("full int64", "aten::full.out", ([1024, 2048], 3), lambda: np.full((1024, 2048), 3)),
        ("full_like", "aten::full_like.out", (x, 3.0, None), lambda: np.full_like(x, 3.0)),
        ("full", "aten::full.out", ([1024, 2048], 3.0), lambda: np.full((1024, 2048), 3.0, F32)),
        ("arange", "aten::arange.start_out", (0, 1_000_000, 1), lambda: np.arange(0, 1_000_000)),
    ]  # fmt: skip
    return [Case("movement", *row) for row in rows]
