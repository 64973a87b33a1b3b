"""Distinct values and slices."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from .data_call import REALS, arrays, call, check, examples, refuses


@examples
@given(st.data(), arrays(REALS, max_dims=3))
def test_unique(data, x):
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(x.shape)
    none = np.empty(0, np.int64)
    check(data, "aten::_unique2.out", x, True, True, True, expected=(values, inverse, counts))
    check(data, "aten::_unique2.out", x, True, False, False, expected=(values, none, none))
    check(data, "aten::_unique.out", x, True, True, expected=(values, inverse))


@examples
@given(st.data(), arrays(REALS[:12], min_dims=1, max_dims=3, max_side=3))
def test_unique_slices(data, x):
    dim = data.draw(st.integers(0, x.ndim - 1))
    if 0 in x.shape:
        return
    x = np.concatenate([x, x], dim)
    values, inverse, counts = np.unique(x, axis=dim, return_inverse=True, return_counts=True)
    wants_inverse, wants_counts = data.draw(st.booleans()), data.draw(st.booleans())  # eager returns both in any case
    arguments = (x, dim - x.ndim, True, wants_inverse, wants_counts)
    check(data, "aten::unique_dim.out", *arguments, expected=(values, inverse.reshape(-1), counts))


@examples
@given(st.data(), arrays(REALS[:12], min_dims=1, max_dims=1, max_side=12))
def test_unique_consecutive(data, x):
    x = x // np.array(8, x.dtype)
    starts = np.flatnonzero(np.append(x[:1] == x[:1], x[1:] != x[:-1]))
    counts = np.diff(np.append(starts, x.size))
    inverse = np.repeat(np.arange(len(starts)), counts)
    check(data, "aten::unique_consecutive.out", x, True, True, None, expected=(x[starts], inverse, counts))


def test_each_nan_is_its_own():
    x = np.array([np.nan, 1, np.nan, -0.0, 0.0], np.float32)
    outs = [np.empty(4, np.float32), np.empty(5, np.int64), np.empty(4, np.int64)]
    values, _, counts = call("aten::_unique2.out", x, True, True, True, outs=outs)
    np.testing.assert_array_equal(values, [0, 1, np.nan, np.nan])
    assert counts.tolist() == [2, 1, 1, 1]


def test_refusals():
    x = np.zeros((2, 3), np.complex64)
    i = np.zeros(2, np.int64)
    refuses(
        "aten::_unique2.out",
        x,
        True,
        True,
        True,
        outs=[x[0], i, i],
        match="self: expected a dtype that it takes, got complex64",
    )
    y = np.zeros((2, 0), np.float32)
    refuses(
        "aten::unique_dim.out",
        y,
        0,
        True,
        True,
        True,
        outs=[y, i, i],
        match=r"self: expected slices with elements along dim 0, got shape \[2, 0\]",
    )
