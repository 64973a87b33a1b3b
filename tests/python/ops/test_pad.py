"""Padding with constants, reflections and the border."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from .data_call import DTYPES, array, arrays, call, check, examples, refuses

MODES = {"reflection": "reflect", "replication": "edge"}


def crop_and_pad(x, pairs, **mode):
    """numpy's pad with negative amounts; pairs come outermost dim first."""
    crops = tuple(slice(max(0, -a), size - max(0, -b)) for (a, b), size in zip(pairs, x.shape, strict=True))
    return np.pad(x[crops], [(max(0, a), max(0, b)) for a, b in pairs], **mode) if pairs else x


def flat(pairs):
    return [amount for pair in reversed(pairs) for amount in pair]


@examples
@given(st.data(), arrays(), st.integers(0, 3))
def test_constant(data, x, value):
    pairs = [(data.draw(st.integers(-(size // 2), 3)), data.draw(st.integers(-(size // 2), 3))) for size in x.shape]
    unpadded = data.draw(st.integers(0, x.ndim))
    pairs[:unpadded] = [(0, 0)] * unpadded
    expected = crop_and_pad(x, pairs, constant_values=value)
    check(data, "aten::constant_pad_nd.out", x, flat(pairs[unpadded:]), value, expected=expected)


@examples
@given(st.data(), st.sampled_from(sorted(MODES)), st.integers(1, 3), st.integers(1, 2), st.sampled_from(DTYPES[:13]))
def test_from_inside(data, kind, dims, leading, dtype):
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=dims + leading, max_size=dims + leading))
    x = array(dtype, sizes)
    pairs = [(0, 0)] * leading
    for size in sizes[leading:]:
        limit = size - 1 if kind == "reflection" else 4
        pairs.append((data.draw(st.integers(0, limit)), data.draw(st.integers(0, limit))))
    expected = np.pad(x, pairs, mode=MODES[kind])
    check(data, f"aten::{kind}_pad{dims}d.out", x, flat(pairs[leading:]), expected=expected)


@pytest.mark.parametrize("kind", sorted(MODES))
def test_wide_rows(kind):
    x = array(np.float32, (2, 3, 300, 501))
    expected = np.pad(x, [(0, 0), (0, 0), (7, 5), (3, 9)], mode=MODES[kind])
    (got,) = call(f"aten::{kind}_pad2d.out", x, [3, 9, 7, 5], outs=[expected])
    np.testing.assert_array_equal(got, expected)


def test_refusals():
    x = np.zeros((2, 3, 4), np.float32)
    refuses("aten::constant_pad_nd.out", x, [1], 0, outs=[x], match="pad: expected pairs")
    refuses(
        "aten::constant_pad_nd.out",
        x,
        [-5, 6],
        0,
        outs=[x],
        match=r"pad: expected to crop at most what shape \[2, 3, 4\] has, got \[-5, 6\]",
    )
    refuses("aten::reflection_pad1d.out", x, [4, 0], outs=[x], match="padding: expected less than the padded dim")
    refuses("aten::replication_pad2d.out", x, [1, 1], outs=[x], match="padding: expected 4 numbers")
    refuses("aten::replication_pad1d.out", x[0, 0], [1, 1], outs=[x[0, 0]], match="self: expected rank 2 or 3")
