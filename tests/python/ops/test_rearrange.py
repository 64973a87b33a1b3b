"""Flips, rolls, shuffles, triangles, diagonals."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from .data_call import DTYPES, array, arrays, check, examples, refuses


@examples
@given(st.data(), arrays())
def test_flip_and_roll(data, x):
    dims = data.draw(st.lists(st.sampled_from(range(x.ndim)), unique=True)) if x.ndim else []
    check(data, "aten::flip.out", x, [d - x.ndim * (d % 2) for d in dims], expected=np.flip(x, dims))
    shifts = data.draw(st.lists(st.integers(-9, 9), min_size=len(dims) or 1, max_size=len(dims) or 1))
    expected = np.roll(x, shifts, tuple(dims)) if dims else np.roll(x, shifts[0])
    check(data, "aten::roll.out", x, shifts, dims, expected=expected)


@examples
@given(st.data(), arrays(min_dims=2), st.integers(-5, 5))
def test_rot90_and_triangles(data, x, k):
    check(data, "aten::rot90.out", x, k, [0, 1], expected=np.rot90(x, k, (0, 1)))
    check(data, "aten::tril.out", x, k, expected=np.tril(x, k))
    check(data, "aten::triu.out", x, k, expected=np.triu(x, k))


@examples
@given(st.data(), st.sampled_from(DTYPES), st.integers(1, 3), st.lists(st.integers(1, 3), min_size=3, max_size=4))
def test_pixel_shuffles(data, dtype, r, sizes):
    *batch, c, h, w = sizes
    packed = array(dtype, (*batch, c * r * r, h, w))
    blocks = packed.reshape(*batch, c, r, r, h, w)
    order = [*range(len(batch)), *(len(batch) + i for i in (0, 3, 1, 4, 2))]
    spread = blocks.transpose(order).reshape(*batch, c, h * r, w * r)
    check(data, "aten::pixel_shuffle.out", packed, r, expected=spread)
    check(data, "aten::pixel_unshuffle.out", spread, r, expected=packed)


@examples
@given(st.data(), st.sampled_from(DTYPES), st.integers(1, 3), st.integers(0, 3))
def test_channel_shuffle(data, dtype, groups, width):
    x = array(dtype, (2, groups * width, 3))
    expected = x.reshape(2, groups, width, 3).swapaxes(1, 2).reshape(x.shape)
    check(data, "aten::channel_shuffle.out", x, groups, expected=expected)


@examples
@given(st.data(), arrays(min_dims=1, max_dims=2), st.integers(-3, 3))
def test_diag_embed(data, x, offset):
    side = x.shape[-1] + abs(offset)
    expected = np.zeros((*x.shape[:-1], side, side), x.dtype)
    for place in np.ndindex(x.shape[:-1]):
        expected[place] = np.diag(x[place], offset)
    check(data, "aten::diag_embed.out", x, offset, -2, -1, expected=expected)


def test_refusals():
    x = np.zeros((2, 3), np.float32)
    refuses("aten::flip.out", x, [0, -2], outs=[x], match=r"dims: expected each dim once, got \[0, -2\]")
    refuses("aten::roll.out", x, [1, 2], [0], outs=[x], match="shifts: expected 1 shifts")
    refuses("aten::tril.out", x[0], 0, outs=[x[0]], match="self: expected a rank of at least 2")
    refuses("aten::pixel_shuffle.out", x[None], 2**32, outs=[x[None]], match="pixel_shuffle.out: .*")
    refuses("aten::pixel_shuffle.out", x[None], 2, outs=[x[None]], match="self: expected channels in multiples of 4")
    refuses("aten::pixel_unshuffle.out", x[None], 2, outs=[x[None]], match="height and width in multiples of 2")
