"""Jumps, moves and loops, as exported conditions and loops use them."""

from __future__ import annotations

import numpy as np
import pytest

from builder import ProgramBuilder
from executorch_numpy_runtime import ExecutionError, ProgramLoadError


def select(p: ProgramBuilder, flag, x, factor_true: int, factor_false: int, out):
    """out = x + factor * x, the factor by the flag: the form torch.cond is exported in."""
    jump = p.jump_if_false(flag)
    yes = p.call("aten::add.out", x, x, factor_true, out=p.tensor(np.float32, (2,)))
    p.move(yes, out)
    skip = p.jump_if_false(p.value(False))
    jump.destination = p.position
    no = p.call("aten::add.out", x, x, factor_false, out=p.tensor(np.float32, (2,)))
    p.move(no, out)
    skip.destination = p.position
    return out


@pytest.mark.parametrize("planned", [True, False])
def test_both_branches(load, planned):
    p = ProgramBuilder()
    flag = p.input(np.bool_, ())
    x = p.input(np.float32, (2,))
    p.output(select(p, flag, x, 1, 9, p.tensor(np.float32, (2,), planned=planned)))
    method = load(p)
    one = np.ones(2, np.float32)
    for value, expected in [(True, 2), (False, 10), (True, 2)]:
        np.testing.assert_array_equal(method([np.array(value), one])[0], expected)


@pytest.mark.parametrize("planned", [True, False])
def test_consecutive_conditions_do_not_overwrite_each_other(load, planned):
    p = ProgramBuilder()
    flag = p.input(np.bool_, ())
    x = p.input(np.float32, (2,))
    first = select(p, flag, x, 1, 2, p.tensor(np.float32, (2,), planned=planned))
    second = select(p, flag, first, 3, 4, p.tensor(np.float32, (2,), planned=planned))
    p.output(first, second)
    method = load(p)
    one = np.ones(2, np.float32)
    for value, expected in [(True, [2, 8]), (False, [3, 15])]:
        assert [o[0] for o in method([np.array(value), one])] == expected


def test_a_condition_is_true_where_all_elements_are(load):
    p = ProgramBuilder()
    flags = p.input(np.bool_, (3,), dynamic=True)
    x = p.input(np.float32, (2,))
    p.output(select(p, flags, x, 1, 2, p.tensor(np.float32, (2,))))
    method = load(p)
    one = np.ones(2, np.float32)
    for value, expected in [([True] * 3, 2), ([True, False, True], 3), ([], 2)]:
        assert method([np.array(value, bool), one])[0][0] == expected


def test_other_conditions_are_refused(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    jump = p.jump_if_false(x)
    jump.destination = 1
    p.output(x)
    with pytest.raises(Exception, match="bool"):
        load(p)([np.ones(2, np.float32)])


def test_a_condition_on_sizes(load):
    """What is computed from sizes is declared as an int, and a comparison makes it a bool."""
    p = ProgramBuilder()
    rows = p.input(np.float32, (8, 1), dynamic=True)
    x = p.input(np.float32, (2,))
    size, is_large = p.value(0), p.value(0)
    p.call("aten::sym_size.int", rows, 0, size)
    p.call("executorch_prim::gt.Scalar", size, 4, is_large)
    p.output(select(p, is_large, x, 1, 9, p.tensor(np.float32, (2,))), is_large)
    method = load(p)
    one = np.ones(2, np.float32)
    for count in (5, 2, 8, 4, 0):
        result, flag = method([np.ones((count, 1), np.float32), one])
        assert result[0] == (2 if count > 4 else 10)
        assert flag is (count > 4)


def test_an_int_that_stays_one_is_no_condition(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    select(p, p.value(1), x, 1, 2, p.tensor(np.float32, (2,)))
    p.output(x)
    with pytest.raises(ProgramLoadError, match=r"cond_value_index: value \d+ is an int that nothing writes"):
        load(p)
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    size = p.value(0)
    p.call("aten::sym_size.int", x, 0, size)
    p.output(select(p, size, x, 1, 2, p.tensor(np.float32, (2,))))
    with pytest.raises(ExecutionError, match="a branch depends on an int, expected a bool"):
        load(p)([np.ones(2, np.float32)])


def test_a_loop_counts_and_carries_a_tensor(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    i, limit = p.value(0), p.value(5)
    start = p.value(0)
    p.call("executorch_prim::add.Scalar", start, 0, i)
    carried = p.tensor(np.float32, (2,))
    p.move(x, carried)
    head = p.position
    more = p.value(False)
    p.call("executorch_prim::lt.Scalar", i, limit, more)
    done = p.jump_if_false(more)
    step = p.call("aten::add.out", carried, x, 1, out=p.tensor(np.float32, (2,)))
    p.move(step, carried)
    p.call("executorch_prim::add.Scalar", i, 1, i)
    p.jump_if_false(p.value(False), head)
    done.destination = p.position
    p.output(carried)
    method = load(p)
    for value in (1, 2):
        np.testing.assert_array_equal(method([np.full(2, value, np.float32)])[0], 6 * value)


def test_a_scan_over_rows_of_varying_size(load):
    """As torch.scan is exported: the carried tensor begins as a copy, and a list of rows grows by one in each step."""
    p = ProgramBuilder()
    start, rows = p.input(np.float32, (8,), dynamic=True), p.input(np.float32, (3, 8), dynamic=True)
    carried, kept = p.tensor(np.float32, (8,), dynamic=True), p.tensor(np.float32, (3, 8), dynamic=True)
    i = p.value(0)
    p.call("aten::copy_", carried, start, False, carried)
    head = p.position
    row = p.call("aten::select_copy.int_out", rows, 0, i, out=p.tensor(np.float32, (8,), dynamic=True))
    total = p.call("aten::add.out", carried, row, 1, out=p.tensor(np.float32, (8,), dynamic=True))
    product = p.call("aten::mul.out", carried, row, out=p.tensor(np.float32, (8,), dynamic=True))
    p.call("aten::copy_", carried, total, False, carried)
    p.call("executorch_prim::et_copy_index.tensor", kept, product, i)
    p.call("executorch_prim::add.Scalar", i, 1, i)
    done = p.value(False)
    p.call("executorch_prim::eq.Scalar", i, 3, done)
    p.jump_if_false(done, head)
    p.call("executorch_prim::sub.Scalar", i, 3, i)
    p.output(carried, kept)
    method = load(p)
    for size in (8, 1, 5, 2, 8):
        x = np.arange(1, size + 1, dtype=np.float32)
        steps = np.arange(3 * size, dtype=np.float32).reshape(3, size)
        last, products = method([x, steps])
        np.testing.assert_array_equal(last, x + steps.sum(0))
        np.testing.assert_array_equal(
            products, [x * steps[0], (x + steps[0]) * steps[1], (x + steps[0] + steps[1]) * steps[2]]
        )


def test_an_endless_loop_is_stopped(load):
    p = ProgramBuilder()
    flag = p.value(False)
    p.call("executorch_prim::eq.Scalar", 1, 2, flag)
    p.jump_if_false(flag, 0)
    p.output(1)
    with pytest.raises(ExecutionError, match="stopped after 10000000 instructions: the program seems to loop for ever"):
        load(p)([])


@pytest.mark.parametrize("leaves", [False, True])
def test_a_loop_that_nothing_ends_is_not_entered(load, leaves):
    p = ProgramBuilder()
    x = p.input(np.float32, (100_000,))
    flag, changing = p.value(False), p.value(False)
    y = p.call("aten::neg.out", x, out=p.tensor(np.float32, (100_000,)))
    p.call("executorch_prim::eq.Scalar", 1, 2, changing)
    leave = p.jump_if_false(changing) if leaves else None
    p.jump_if_false(flag, 0)
    if leave is not None:
        leave.destination = p.position
    p.output(y)
    method = load(p)
    ones = [np.ones(100_000, np.float32)]
    if leaves:
        assert method(ones)[0][0] == -1
    else:
        with pytest.raises(ExecutionError, match=r"nothing ends the loop from instruction 0: the program would loop"):
            method(ones)


def test_a_freed_tensor_cannot_be_read(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    y = p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (2,)))
    p.free(y)
    p.output(p.call("aten::clone.out", y, None, out=p.tensor(np.float32, (2,))))
    with pytest.raises(ExecutionError, match="no memory"):
        load(p)([np.ones(2, np.float32)])


def test_views_follow_their_tensor_in_every_call(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2, 6), dynamic=True)
    y = p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (2, 6), dynamic=True))
    view = p.tensor(np.float32, (12,), dynamic=True, planned=False)
    p.call("executorch_prim::et_view.default", y, [-1], view)
    p.output(view)
    method = load(p)
    for sizes in [(2, 6), (1, 3), (2, 2), (0, 4)]:
        array = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
        np.testing.assert_array_equal(method([array])[0], array.reshape(-1))


def test_a_constant_cannot_be_written(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    p.output(p.call("aten::clone.out", x, None, out=p.constant(np.zeros(2, np.float32))))
    with pytest.raises(ExecutionError, match="constant cannot be written"):
        load(p)([np.ones(2, np.float32)])
