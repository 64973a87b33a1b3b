"""What a call gives."""

from __future__ import annotations

import numpy as np

from builder import ProgramBuilder


def test_outputs_are_fresh_arrays(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (3,))
    p.output(p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (3,))))
    method = load(p)
    first = method([np.ones(3, np.float32)])[0]
    second = method([np.full(3, 2, np.float32)])[0]
    np.testing.assert_array_equal(first, 1)
    first[:] = 9
    np.testing.assert_array_equal(second, 2)
    assert first.flags.owndata and first.flags.writeable and first.flags.c_contiguous


def test_an_input_may_be_an_output_and_outputs_may_repeat(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    y = p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (2,)))
    p.output(x, y, y)
    given = np.array([1, 2], np.float32)
    outputs = load(p)([given])
    for output in outputs:
        np.testing.assert_array_equal(output, given)
        assert not np.shares_memory(output, given)
    assert not np.shares_memory(outputs[1], outputs[2])


def test_a_constant_may_be_an_output(load):
    p = ProgramBuilder()
    p.output(p.constant(np.array([[1, 2], [3, 4]], np.int64)))
    method = load(p)
    got = method([])[0]
    got[:] = 0
    np.testing.assert_array_equal(method([])[0], [[1, 2], [3, 4]])


def test_channels_last_outputs_have_logical_order(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (1, 3, 2, 2))
    y = p.tensor(np.float32, (1, 3, 2, 2), dim_order=(0, 2, 3, 1))
    p.output(p.call("dim_order_ops::_clone_dim_order.out", x, False, [0, 2, 3, 1], out=y))
    given = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    np.testing.assert_array_equal(load(p)([given])[0], given)


def test_outputs_that_are_not_tensors(load):
    p = ProgramBuilder()
    p.output(3, 2.5, True, None, "text", [1, 2], [0.5, 1.5], [True, False])
    outputs = load(p)([])
    assert outputs == [3, 2.5, True, None, "text", [1, 2], [0.5, 1.5], [True, False]]
    assert [type(o) for o in outputs[:4]] == [int, float, bool, type(None)]


def test_an_unplanned_output_gets_memory(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (4,), planned=False)
    p.output(p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (4,), planned=False)))
    method = load(p)
    assert not method.metadata["inputs"][0]["is_memory_planned"]
    for value in (1, 2):
        np.testing.assert_array_equal(method([np.full(4, value, np.float32)])[0], value)
