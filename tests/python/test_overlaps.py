"""Programs that plan an operator's result over what it reads. No exporter does, but a file can say so."""

from __future__ import annotations

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder

RANDOM = np.random.default_rng(0)


def program(operator, *args, dtype, shape, offset, dim_order=None, in_order=None):
    """One call whose result starts `offset` bytes into the first argument's memory; the input is copied there first."""
    p = ProgramBuilder()
    given = p.input(args[0].dtype, args[0].shape)
    planned = p.tensor(args[0].dtype, args[0].shape, dim_order=in_order)
    out = p.tensor(dtype, shape, dim_order=dim_order, share=planned)
    out.offset += offset
    p.arenas[1] += offset + out.size_bytes()
    p.call("aten::copy_", planned, given, False, planned)
    p.call(operator, planned, *args[1:], out=out)
    p.output(out)
    return en.Runtime.get().load_program(p.build()).load_method("forward")


X = RANDOM.normal(size=(8, 6)).astype(np.float32)


@pytest.mark.parametrize("offset", [0, 4, 64, 160])
@pytest.mark.parametrize("name, args, expected", [
    ("aten::exp.out", (), np.exp(X)),
    ("aten::permute_copy.out", ([1, 0],), X.T),
    ("aten::flip.out", ([0],), X[::-1]),
    ("aten::cumsum.out", (0, None), np.cumsum(X, 0)),
    ("aten::sum.IntList_out", ([0], False, None), X.sum(0)),
    ("aten::_softmax.out", (0, False), np.exp(X) / np.exp(X).sum(0)),
    ("aten::roll.out", ([1], [0]), np.roll(X, 1, 0)),
    ("aten::slice_copy.Tensor_out", (0, 1, None, 1), X[1:]),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_what_overlaps_is_read_first(name, args, expected, offset):
    method = program(name, X, *args, dtype=expected.dtype, shape=expected.shape, offset=offset)
    np.testing.assert_allclose(method([X])[0], expected, rtol=2e-5, atol=1e-6)


def test_other_layout_of_the_same_memory():
    method = program("aten::neg.out", X, dtype=np.float32, shape=X.shape, offset=0, dim_order=(1, 0))
    np.testing.assert_array_equal(method([X])[0], -X)


def test_wider_result_over_its_input():
    x = np.arange(24, dtype=np.int32)
    method = program("aten::_to_copy.out", x, False, None, dtype=np.int64, shape=x.shape, offset=0)
    np.testing.assert_array_equal(method([x])[0], x)


def test_two_results_in_one_place_are_refused():
    p = ProgramBuilder()
    x = p.input(np.float32, (5,))
    values = p.tensor(np.float32, (3,))
    indices = p.tensor(np.int64, (3,), share=values)
    p.arenas[1] += 24
    p.call("aten::topk.values", x, 3, 0, True, True, out=[values, indices])
    p.output(values, indices)
    with pytest.raises(
        en.ProgramLoadError, match=r"forward\[0\] aten::topk.values: values and indices are both written"
    ):
        en.Runtime.get().load_program(p.build()).load_method("forward")


def test_lists_overlap_too():
    p = ProgramBuilder()
    x, y = p.input(np.float32, (4,)), p.input(np.float32, (4,))
    a, b = p.tensor(np.float32, (4,)), p.tensor(np.float32, (4,))
    out = p.tensor(np.float32, (8,), share=a)
    out.offset += 8
    p.arenas[1] += 64
    p.call("aten::copy_", a, x, False, a)
    p.call("aten::copy_", b, y, False, b)
    p.call("aten::cat.out", [b, a], 0, out=out)
    p.output(out)
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    first, second = np.arange(4, dtype=np.float32), np.arange(4, 8, dtype=np.float32)
    np.testing.assert_array_equal(method([first, second])[0], np.concatenate([second, first]))


def test_a_failing_call_leaves_the_arguments_where_they_were():
    p = ProgramBuilder()
    x, planned = p.input(np.int64, (4,)), p.tensor(np.int64, (4,))
    divisor = p.input(np.int64, (4,))
    out = p.tensor(np.int64, (4,), share=planned)
    out.offset += 8
    p.arenas[1] += 64
    p.call("aten::copy_", planned, x, False, planned)
    p.call("aten::div.out_mode", planned, divisor, "floor", out=out)
    p.output(out)
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    for _ in range(2):
        with pytest.raises(en.ExecutionError, match="other: expected divisors other than 0 of integers, got 0"):
            method([np.arange(4), np.zeros(4, np.int64)])
        np.testing.assert_array_equal(method([np.arange(4), np.full(4, 2)])[0], [0, 0, 1, 1])
