"""Parts of tensors, and writes of parts."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import executorch_numpy_runtime as en
from builder import ProgramBuilder

from .data_call import array, arrays, check, examples, refuses

bounds = st.one_of(st.none(), st.integers(-8, 8), st.sampled_from([2**63 - 1, -(2**63)]))


def at(dim, key):
    return (slice(None),) * dim + (key,)


@examples
@given(st.data(), arrays(min_dims=1), bounds, bounds, st.integers(1, 3))
def test_slice(data, x, start, end, step):
    dim = data.draw(st.integers(0, x.ndim - 1))
    key = at(dim, slice(start, end, step))
    check(data, "aten::slice_copy.Tensor_out", x, dim - x.ndim, start, end, step, expected=x[key])
    changed = x.copy()
    changed[key] = src = array(x.dtype, x[key].shape, 7)
    check(data, "aten::slice_scatter.out", x, src, dim, start, end, step, expected=changed)


@examples
@given(st.data(), arrays(min_dims=1))
def test_select(data, x):
    dim = data.draw(st.integers(0, x.ndim - 1))
    if x.shape[dim] == 0:
        return
    index = data.draw(st.integers(-x.shape[dim], x.shape[dim] - 1))
    check(data, "aten::select_copy.int_out", x, dim, index, expected=x[at(dim, index)])
    changed = x.copy()
    changed[at(dim, index)] = src = array(x.dtype, x[at(dim, index)].shape, 7)
    check(data, "aten::select_scatter.out", x, src, dim, index, expected=changed)
    check(data, "aten::unbind_copy.int_out", x, dim, expected=list(np.moveaxis(x, dim, 0)))


@examples
@given(st.data(), arrays(min_dims=1))
def test_narrow_and_splits(data, x):
    dim = data.draw(st.integers(0, x.ndim - 1))
    size = x.shape[dim]
    start = data.draw(st.integers(0, size))
    length = data.draw(st.integers(0, size - start))
    check(data, "aten::narrow_copy.out", x, dim, start, length, expected=x[at(dim, slice(start, start + length))])
    cuts = sorted(data.draw(st.lists(st.integers(0, size), max_size=3)))
    parts = np.split(x, cuts, dim)
    sizes = [part.shape[dim] for part in parts]
    check(data, "aten::split_with_sizes_copy.out", x, sizes, dim, expected=parts)
    step = data.draw(st.integers(1, 6))
    parts = np.split(x, range(step, size, step), dim)
    check(data, "aten::split_copy.Tensor_out", x, step, dim, expected=parts)


@examples
@given(st.data(), arrays(min_dims=1, max_dims=3, max_side=9), st.integers(1, 3))
def test_unfold(data, x, step):
    dim = data.draw(st.integers(0, x.ndim - 1))
    size = data.draw(st.integers(min(1, x.shape[dim]), x.shape[dim]))
    if size == 0:
        return
    windows = sliding_window_view(x, size, dim)[at(dim, slice(None, None, step))]
    check(data, "aten::unfold_copy.out", x, dim, size, step, expected=windows)


@examples
@given(st.data(), arrays(min_dims=2), st.integers(-6, 6))
def test_diagonals(data, x, offset):
    a = data.draw(st.integers(0, x.ndim - 1))
    b = data.draw(st.sampled_from([d for d in range(x.ndim) if d != a]))
    offset = max(-x.shape[a], min(offset, x.shape[b]))
    expected = np.diagonal(x, offset, a, b)
    check(data, "aten::diagonal_copy.out", x, offset, a, b - x.ndim, expected=expected)
    changed = x.copy()
    src = array(x.dtype, expected.shape, 7)
    view = np.diagonal(changed, offset, a, b)
    view.flags.writeable = True
    view[...] = src
    check(data, "aten::diagonal_scatter.out", x, src, offset, a, b, expected=changed)


def test_as_strided_reads_the_storage():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    windows = as_strided(x.ravel()[1:], (3, 2), (4, 12))

    class NoDraw:
        def draw(self, _):
            return False

    check(NoDraw(), "aten::as_strided_copy.out", x, [3, 2], [1, 3], 1, expected=windows)
    refuses(
        "aten::as_strided_copy.out",
        x,
        [3, 2],
        [1, 9],
        1,
        outs=[windows],
        match=r"size: expected a window within the storage of 12 elements, got sizes \[3, 2\]",
    )
    refuses("aten::as_strided_copy.out", x, [3, 2], [1, 3], -1, outs=[windows], match="storage_offset")
    refuses("aten::as_strided_copy.out", x, [3, 2], [1], 0, outs=[windows], match="stride: expected 2 strides")


def test_refusals():
    x = np.zeros((2, 3), np.float32)
    refuses("aten::slice_copy.Tensor_out", x, 2, 0, 1, 1, outs=[x], match="dim: expected -2 to 1 for rank 2, got 2")
    refuses("aten::slice_copy.Tensor_out", x, 0, 0, 1, 0, outs=[x], match="step: expected at least 1, got 0")
    refuses(
        "aten::select_copy.int_out",
        x,
        1,
        3,
        outs=[x[:, 0]],
        match=r"index: expected -3 to 2 for dim 1 of shape \[2, 3\], got 3",
    )
    refuses("aten::narrow_copy.out", x, 1, 2, 2, outs=[x], match="length: expected 0 to 1 from start 2, got 2")
    refuses("aten::unfold_copy.out", x, 1, 4, 1, outs=[x[None]], match="size: expected 0 to 3, got 4")
    refuses("aten::diagonal_copy.out", x, 0, 1, 1, outs=[x[0]], match="dim2")
    refuses("aten::slice_scatter.out", x, x, 0, 0, 1, 1, outs=[x], match="src: expected shape .1, 3.")


def test_refused_splits(load):
    for sizes in ([1, 1], [2, 2], [-1, 4]):
        program = ProgramBuilder()
        x = program.input(np.float32, (2, 3))
        parts = [program.tensor(np.float32, (2, 2), dynamic=True) for _ in sizes]
        program.call("aten::split_with_sizes_copy.out", x, sizes, 1, program.value(parts))
        program.output(*parts)
        with pytest.raises(en.ExecutionError, match="split_sizes: expected sizes that sum to 3"):
            load(program)([np.zeros((2, 3), np.float32)])
