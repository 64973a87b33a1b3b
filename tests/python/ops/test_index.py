"""Advanced indexing with any mix of None, masks and integers."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from builder import OptionalTensors

from .data_call import DTYPES, array, arrays, call, check, examples, refuses


@st.composite
def indices(draw, shape):
    """A list of indices for the shape, and the key that means the same to numpy."""
    items, key = [], []
    dim = 0
    common = draw(st.lists(st.integers(1, 3), max_size=2))
    while dim < len(shape) and (not items or draw(st.booleans())):
        has_arrays = any(isinstance(k, np.ndarray) for k in key)
        kind = draw(st.sampled_from(["none", "ints"] if has_arrays else ["none", "mask", "ints"]))
        if kind == "none" or (kind == "ints" and shape[dim] == 0):
            items.append(None)
            key.append(slice(None))
            dim += 1
        elif kind == "mask":
            dims = draw(st.integers(1, min(2, len(shape) - dim)))
            mask = np.random.default_rng(draw(st.integers(0, 99))).random(shape[dim : dim + dims]) < 0.5
            items.append(mask)
            key.append(mask)
            common = [int(mask.sum())] if draw(st.booleans()) else [1]
            dim += dims
        else:
            size = shape[dim]
            sizes = [1 if draw(st.booleans()) else n for n in common][draw(st.integers(0, len(common))) :]
            ints = np.random.default_rng(draw(st.integers(0, 99))).integers(-size, size, sizes)
            ints = np.asarray(ints, draw(st.sampled_from([np.int32, np.int64])))
            items.append(ints)
            key.append(ints)
            dim += 1
    return items, tuple(key)


def is_consistent(x, key):
    try:
        x[key]
    except IndexError:
        return False
    return any(isinstance(k, np.ndarray) for k in key)


@examples
@given(st.data(), arrays(min_dims=1))
def test_index(data, x):
    items, key = data.draw(indices(x.shape))
    if is_consistent(x, key):
        check(data, "aten::index.Tensor_out", x, OptionalTensors(items), expected=x[key])


@examples
@given(st.data(), arrays(min_dims=1), st.booleans())
def test_index_put(data, x, accumulate):
    items, key = data.draw(indices(x.shape))
    if not is_consistent(x, key):
        return
    expected = x.copy()
    # One value for all where they are stored, so that repeated indices do not matter.
    values = array(x.dtype, x[key].shape if accumulate else (), 3)
    if accumulate:
        np.add.at(expected, key, values)
    else:
        expected[key] = values
    arguments = (x, OptionalTensors(items), values, accumulate)
    tolerance = 0.05 if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else 0
    check(data, "aten::index_put.out", *arguments, expected=expected, tolerance=tolerance)
    check(data, "aten::index_put_", *arguments, expected=expected, in_place=True, tolerance=tolerance)


@examples
@given(st.data(), arrays(min_dims=2, max_dims=3))
def test_values_broadcast(data, x):
    if 0 in x.shape:
        return
    rows = np.arange(x.shape[0])[::-1].copy()
    values = array(x.dtype, x.shape[-1:], 3)
    expected = np.broadcast_to(values, x.shape)
    check(data, "aten::index_put.out", x, OptionalTensors([rows]), values, False, expected=expected)


@pytest.mark.parametrize("count", [200, 3000])  # chunks are shared by their elements, or by where they go
@pytest.mark.parametrize("width", [8, 300])
@pytest.mark.parametrize("accumulate", [False, True])
def test_put_of_many_chunks_on_all_threads(count, width, accumulate):
    rng = np.random.default_rng(0)
    x, values = array(np.int64, (500, width)), array(np.int64, (count, width), 1)
    rows = rng.integers(-500, 500, count)
    expected = x.copy()
    for row, value in zip(rows, values, strict=True):
        expected[row] = expected[row] + value if accumulate else value
    (got,) = call("aten::index_put.out", x, OptionalTensors([rows]), values, accumulate, outs=[x])
    np.testing.assert_array_equal(got, expected)


def test_the_last_of_repeated_indices_stays():
    x = np.zeros(3, np.float32)
    index, values = np.array([1, 1, -2]), np.array([5, 6, 7], np.float32)
    (got,) = call("aten::index_put.out", x, OptionalTensors([index]), values, False, outs=[x])
    assert got.tolist() == [0, 7, 0]


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind != "b"])
def test_large(dtype):
    x = array(dtype, (300, 70, 9))
    rows = np.random.default_rng(0).integers(-300, 300, 5000)
    (got,) = call("aten::index.Tensor_out", x, OptionalTensors([rows]), outs=[x[rows]])
    np.testing.assert_array_equal(got, x[rows])
    columns = rows[:400] % 70
    (got,) = call("aten::index.Tensor_out", x, OptionalTensors([None, columns]), outs=[x[:, columns]])
    np.testing.assert_array_equal(got, x[:, columns])


def test_refusals():
    x = np.zeros((2, 3), np.float32)
    index = "aten::index.Tensor_out"
    refuses(
        index,
        x,
        OptionalTensors([None, np.array([3])]),
        outs=[x],
        match="indices: expected -3 to 2 in item 1, got 3 at 0",
    )
    refuses(
        index, x, OptionalTensors([np.array([-3])]), outs=[x], match="indices: expected -2 to 1 in item 0, got -3 at 0"
    )
    refuses(
        index,
        x,
        OptionalTensors([np.ones(3, bool)]),
        outs=[x],
        match=r"indices: expected item 0 to have the sizes of dims 0 to 0 of shape \[2, 3\], got \[3\]",
    )
    refuses(index, x, OptionalTensors([np.array([0.0])]), outs=[x], match="indices: expected int64, int32, bool")
    too_many = OptionalTensors([np.array([0])] * 3)
    refuses(index, x, too_many, outs=[x], match="indices: expected indices of at most 2 dims, got more in item 2")
    apart = OptionalTensors([np.array([0, 1]), np.array([0, 1, 2])])
    refuses(index, x, apart, outs=[x], match=r"indices: expected a shape that broadcasts with \[2\], got \[3\]")
    one = OptionalTensors([np.array([0])])
    refuses(
        "aten::index_put.out",
        x,
        one,
        np.zeros(2, np.float32),
        False,
        outs=[x],
        match=r"values: expected a shape that broadcasts with \[1, 3\], got \[2\]",
    )
    refuses("aten::index_put.out", x, one, np.zeros(3), False, outs=[x], match="values: expected dtype float32")


def test_a_refused_put_changes_nothing():
    import executorch_numpy_runtime as en
    from builder import ProgramBuilder

    program = ProgramBuilder()
    state = program.buffer(np.arange(3, dtype=np.float32), name="state")
    index = program.input(np.int64, (2,))
    program.call("aten::index_put_", state, OptionalTensors([index]), program.constant(np.float32(9)), False, state)
    program.output(state)
    method = en.Runtime.get().load_program(program.build()).load_method("forward")
    with pytest.raises(en.ExecutionError, match="indices: expected -3 to 2 in item 0, got 3 at 1"):
        method([np.array([0, 3])])
    assert method([np.array([1, 1])])[0].tolist() == [0, 9, 2]
