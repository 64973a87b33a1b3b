"""The same elements under another shape or order of dims."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from .data_call import arrays, check, examples, refuses


@examples
@given(st.data(), arrays())
def test_view(data, x):
    sizes = list(x.shape)
    data.draw(st.randoms()).shuffle(sizes)
    check(data, "aten::view_copy.out", x, sizes, expected=x.reshape(sizes))
    check(data, "aten::_unsafe_view.out", x, [x.size], expected=x.reshape(x.size))
    if x.size and sizes:
        inferred = [-1, *sizes[1:]]
        check(data, "aten::view_copy.out", x, inferred, expected=x.reshape(inferred))


@examples
@given(st.data(), arrays())
def test_unsqueeze_and_squeeze(data, x):
    dim = data.draw(st.integers(-x.ndim - 1, x.ndim))
    one = np.expand_dims(x, dim)
    check(data, "aten::unsqueeze_copy.out", x, dim, expected=one)
    check(data, "aten::squeeze_copy.dim_out", one, dim, expected=x)
    check(data, "aten::squeeze_copy.dims_out", one, [dim], expected=x)
    check(data, "aten::squeeze_copy.dims_out", x, [], expected=x)
    check(data, "aten::squeeze_copy.out", one, expected=one.squeeze())


@examples
@given(st.data(), arrays(min_dims=1))
def test_squeeze_keeps_other_sizes(data, x):
    dim = data.draw(st.integers(0, x.ndim - 1))
    expected = x.squeeze(dim) if x.shape[dim] == 1 else x
    check(data, "aten::squeeze_copy.dim_out", x, dim, expected=expected)


@examples
@given(st.data(), arrays(max_dims=3, max_side=4))
def test_expand(data, x):
    narrow = x[tuple(slice(0, 1) if data.draw(st.booleans()) else slice(None) for _ in x.shape)]
    if any(n == 0 and w != 0 for n, w in zip(narrow.shape, x.shape, strict=True)):
        return
    sizes = [2, *(-1 if n == w and data.draw(st.booleans()) else w for n, w in zip(narrow.shape, x.shape, strict=True))]
    check(data, "aten::expand_copy.out", narrow, sizes, False, expected=np.broadcast_to(narrow, (2, *x.shape)))


@examples
@given(st.data(), arrays())
def test_permute(data, x):
    order = data.draw(st.permutations(range(x.ndim)))
    check(data, "aten::permute_copy.out", x, [d - x.ndim * (d % 2) for d in order], expected=x.transpose(order))
    if x.ndim:
        a, b = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.integers(-x.ndim, x.ndim - 1))
        check(data, "aten::transpose_copy.int_out", x, a, b, expected=x.swapaxes(a, b))
    if x.ndim <= 2:
        check(data, "aten::t_copy.out", x, expected=x.T)


def test_refusals():
    x = np.zeros((2, 3), np.float32)
    refuses("aten::view_copy.out", x, [4], outs=[np.zeros(6, np.float32)], match="size: .*6 elements, got .4.")
    refuses("aten::view_copy.out", x, [-1, -1], outs=[x], match="at most one -1")
    refuses(
        "aten::view_copy.out", x[:0], [-1, 0], outs=[x], match=r"size: expected no -1 beside a size of 0, got \[-1, 0\]"
    )
    refuses("aten::permute_copy.out", x, [0, 0], outs=[x], match=r"dims: expected each dim once, got \[0, 0\]")
    refuses("aten::permute_copy.out", x, [0], outs=[x], match="dims: expected an order of 2")
    refuses("aten::transpose_copy.int_out", x, 0, 2, outs=[x], match="dim1: expected -2 to 1 for rank 2, got 2")
    refuses("aten::unsqueeze_copy.out", x, 3, outs=[x[None]], match="dim: expected -3 to 2 for rank 3, got 3")
    refuses(
        "aten::expand_copy.out",
        x,
        [4, 3],
        False,
        outs=[x],
        match=r"size: expected one that shape \[2, 3\] expands to, got \[4, 3\]",
    )
    refuses("aten::t_copy.out", x[None], outs=[x[None]], match="rank 2 or less")
