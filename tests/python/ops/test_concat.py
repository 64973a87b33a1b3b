"""Joining and repeating."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import executorch_numpy_runtime as en
from builder import ProgramBuilder

from .data_call import DTYPES, array, arrays, check, examples, refuses


@examples
@given(st.data(), arrays(min_dims=1), st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_cat(data, x, lengths):
    dim = data.draw(st.integers(0, x.ndim - 1))
    parts = [array(x.dtype, (*x.shape[:dim], n, *x.shape[dim + 1 :]), n) for n in lengths]
    check(data, "aten::cat.out", parts, dim - x.ndim, expected=np.concatenate(parts, dim))
    empty = np.zeros(0, x.dtype)
    check(data, "aten::cat.out", [empty, *parts], dim, expected=np.concatenate(parts, dim))


@examples
@given(st.data(), st.sampled_from(DTYPES[:3]))
def test_cat_promotes(data, dtype):
    parts = [array(np.int32, (2, 3)), array(dtype, (1, 3))]
    check(data, "aten::cat.out", parts, 0, expected=np.concatenate([part.astype(dtype) for part in parts]))


@examples
@given(st.data(), arrays(max_dims=3), st.integers(1, 4))
def test_stack(data, x, count):
    dim = data.draw(st.integers(0, x.ndim))
    parts = [array(x.dtype, x.shape, i) for i in range(count)]
    check(data, "aten::stack.out", parts, dim - x.ndim - 1, expected=np.stack(parts, dim))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 16])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64", "complex128"])
def test_columns(count, dtype):
    parts = [array(np.dtype(dtype), (2500,), i) for i in range(count)]
    together = np.stack(parts, -1)
    p = ProgramBuilder()
    stacked = p.tensor(together.dtype, together.shape)
    p.call("aten::stack.out", [p.input(part.dtype, part.shape) for part in parts], -1, out=stacked)
    columns = [p.tensor(part.dtype, part.shape) for part in parts]
    p.call("aten::unbind_copy.int_out", stacked, 1, p.value(columns))
    p.output(stacked, *columns)
    got = en.Runtime.get().load_program(p.build()).load_method("forward")(parts)
    for array_got, expected in zip(got, [together, *parts], strict=True):
        np.testing.assert_array_equal(array_got, expected)


@examples
@given(st.data(), arrays(max_dims=3, max_side=3))
def test_repeat(data, x):
    repeats = data.draw(st.lists(st.integers(0, 3), min_size=x.ndim, max_size=x.ndim + 1))
    check(data, "aten::repeat.out", x, repeats, expected=np.tile(x, repeats))


@examples
@given(st.data(), st.lists(st.integers(0, 4), max_size=6), st.sampled_from([np.int32, np.int64]))
def test_repeat_interleave(data, repeats, dtype):
    counts = np.array(repeats, dtype)
    expected = np.repeat(np.arange(len(counts), dtype=dtype), counts)
    check(data, "aten::repeat_interleave.Tensor_out", counts, None, expected=expected)
    check(data, "aten::repeat_interleave.Tensor_out", counts, len(expected), expected=expected)


@examples
@given(st.data(), st.lists(arrays([np.dtype("float32")], max_dims=2), min_size=1, max_size=3))
def test_block_diag(data, parts):
    blocks = [np.atleast_2d(part) for part in parts]
    expected = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), np.float32)
    row = column = 0
    for block in blocks:
        expected[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    check(data, "aten::block_diag.out", parts, expected=expected)


def test_refusals():
    x = np.zeros((2, 3), np.float32)
    refuses(
        "aten::cat.out",
        [x, x[:, :2]],
        0,
        outs=[x],
        match=r"tensors: expected item 1 to have the sizes of \[2, 3\] outside of dim 0, got \[2, 2\]",
    )
    refuses("aten::cat.out", [x, x], 2, outs=[x], match="dim: expected -2 to 1 for rank 2, got 2")
    refuses("aten::stack.out", [x, x[:1]], 0, outs=[x[None]], match="tensors: expected item 1 of shape .2, 3.")
    refuses("aten::repeat.out", x, [2], outs=[x], match="repeats: expected at least 2 numbers")
    refuses("aten::repeat.out", x, [2, -1], outs=[x], match="repeats: expected numbers of at least 0")
    bad = np.array([1, -1])
    refuses("aten::repeat_interleave.Tensor_out", bad, None, outs=[bad], match="repeats: .*got -1 at 1")
