"""Views, moves and frees point tensors elsewhere. Exporters use them with care; a file may use them anyhow."""

from __future__ import annotations

import numpy as np
import pytest

from builder import PayloadBuilder, ProgramBuilder
from executorch_numpy_runtime import ExecutionError, ProgramLoadError

N = 8
ONES = np.ones(N, np.float32)


def started(size=N):
    p = ProgramBuilder()
    return p, p.input(np.float32, (size,))


def negated(p, x, **options):
    return p.call("aten::neg.out", x, out=p.tensor(np.float32, (N,), **options))


def view(p, x, out):
    p.call("executorch_prim::et_view.default", x, list(out.sizes), out)
    return out


def fail(p, x):
    index = p.constant(np.array([1000]))
    p.call("aten::index_select.out", x, 0, index, out=p.tensor(np.float32, (1,)))


@pytest.mark.parametrize("in_list", [False, True])
def test_freed_outputs_are_refused(load, in_list):
    p, x = started()
    y = negated(p, x)
    p.free(y)
    p.output(p.value([y]) if in_list else y)
    method = load(p)
    for _ in range(2):
        with pytest.raises(ExecutionError, match="output 0: the tensor has no memory"):
            method([ONES])


@pytest.mark.parametrize("options", [{}, {"planned": False}, {"planned": False, "dynamic": True}])
def test_freed_tensors_may_be_written_again(load, options):
    p, x = started()
    y = negated(p, x, **options)
    p.free(y)
    p.call("aten::neg.out", x, out=y)
    p.output(y)
    method = load(p)
    for _ in range(2):
        np.testing.assert_array_equal(method([ONES])[0], -ONES)


def test_freed_tensors_are_zeros_where_they_are_updated(load):
    p, x = started()
    y = negated(p, x)
    p.free(y)
    index = p.constant(np.array([2]))
    p.raw_call("aten::copy_", [y.index, p.constant(np.zeros(1, np.float32)).index, p.value(False).index, y.index])
    p.call("aten::index_add.out", y, 0, index, p.constant(np.ones(1, np.float32)), 1, out=p.tensor(np.float32, (N,)))
    p.output(y)
    np.testing.assert_array_equal(load(p)([ONES])[0], np.zeros(N, np.float32))


def test_delegates_may_write_freed_tensors(load):
    p, x = started()
    y = negated(p, x)
    p.free(y)
    g = PayloadBuilder()
    g.node("Abs", input=g.input((N,)), output=g.output((N,)))
    p.delegate_call("XnnpackBackend", g.build(), [x], [y])
    p.output(y)
    np.testing.assert_array_equal(load(p)([-ONES])[0], ONES)


def test_freed_inputs_have_memory_in_the_next_call(load):
    p, x = started()
    p.output(negated(p, x))
    p.free(x)
    method = load(p)
    for _ in range(2):
        np.testing.assert_array_equal(method([ONES])[0], -ONES)


def test_moves_of_freed_tensors_are_refused(load):
    p, x = started()
    y = negated(p, x)
    p.free(y)
    p.move(y, p.tensor(np.float32, (N,)))
    p.output(x)
    with pytest.raises(ExecutionError, match="without memory"):
        load(p)([ONES])


def test_views_have_their_bases_dtype(load):
    p, x = started()
    p.output(view(p, x, p.tensor(np.float64, (N,), planned=False)))
    with pytest.raises(ExecutionError, match=r"et_view\.default: out: expected float32, got float64"):
        load(p)([ONES])


def test_views_of_constants_are_not_written(load):
    p, x = started()
    constant = p.constant(np.arange(N, dtype=np.float32))
    p.call("aten::neg.out", x, out=view(p, constant, p.tensor(np.float32, (N,), planned=False)))
    p.output(constant)
    with pytest.raises(ExecutionError, match="a constant cannot be written"):
        load(p)([ONES])


@pytest.mark.parametrize("kind", ["free", "move", "view"])
def test_states_keep_their_own_memory(load, kind):
    p, x = started()
    state = p.zero_buffer(np.float32, (1000,), name="state")
    if kind == "free":
        p.free(state)
    elif kind == "move":
        p.move(p.constant(np.arange(3)), state)
    else:
        p.call("executorch_prim::et_view.default", x, [N], state)
        p.call("aten::copy_", state, x, False, state)
    fail(p, x)
    p.output(x)
    method = load(p)
    method.state["state"] = np.arange(1000, dtype=np.float32)
    with pytest.raises(ExecutionError, match="index: expected 0 to 7, got 1000 at 0"):
        method([ONES])
    np.testing.assert_array_equal(method.state["state"], np.arange(1000, dtype=np.float32))
    method.reset()
    np.testing.assert_array_equal(method.state["state"], np.zeros(1000, np.float32))


def test_views_of_what_an_instruction_writes_are_read_first(load):
    # The indices would be overwritten with huge ones while they are used.
    p = ProgramBuilder()
    indices, numbers = p.input(np.int64, (N,)), p.input(np.int64, (N,))
    base = p.call("aten::clone.out", indices, None, out=p.tensor(np.int64, (N,)))
    out = p.tensor(np.int64, (N,), share=base)
    out.offset += 8
    p.arenas[1] += 16
    p.output(p.call("aten::index_select.out", numbers, 0, view(p, base, p.tensor(np.int64, (N,))), out=out))
    got = load(p)([np.arange(N)[::-1], 1 << np.arange(40, 40 + N)])[0]
    np.testing.assert_array_equal(got, 1 << np.arange(40, 40 + N)[::-1])


def test_two_results_in_one_place_through_a_view_are_refused(load):
    p, x = started()
    values, indices = p.tensor(np.int64, (2,)), p.tensor(np.int64, (2,))
    numbers = p.call("aten::_to_copy.out", x, False, None, out=p.tensor(np.int64, (N,)))
    view(p, values, indices)
    p.call("aten::topk.values", numbers, 2, 0, True, True, out=(values, indices))
    p.output(values)
    with pytest.raises(
        ExecutionError,
        match=r"topk.values: (values is written where indices|indices is written where values) lies as well",
    ):
        load(p)([ONES])


def test_long_chains_and_lists_load_quickly(load):
    p, x = started()
    size = p.value([N])
    last = x
    for _ in range(20_000):
        following = p.tensor(np.float32, (N,), share=x)
        p.raw_call("executorch_prim::et_view.default", [last.index, size.index, following.index])
        last = following
    p.output(last)
    np.testing.assert_array_equal(load(p)([ONES])[0], ONES)

    p, x = started()
    tensors, axis = p.value([x] * 30_000), p.value(0)
    out = p.tensor(np.float32, (N * 30_000,))
    for _ in range(1000):
        p.raw_call("aten::cat.out", [tensors.index, axis.index, out.index, out.index])
    with pytest.raises(ProgramLoadError, match="take more than 20000000 tensors"):
        load(p)

    p, x = started(10_000)
    parts = p.value([p.tensor(np.float32, (1,)) for _ in range(10_000)])
    p.raw_call("aten::split_copy.Tensor_out", [x.index, p.value(1).index, p.value(0).index, parts.index, parts.index])
    p.output(x)
    load(p)([np.ones(10_000, np.float32)])

    p, x = started()
    for i in range(15_000):
        p.tensor(np.float32, (N,), share=x).name = f"state{i}"
    p.output(negated(p, x))
    with pytest.raises(ProgramLoadError, match="too many states: 15000"):
        load(p)


def test_compiled_regions_follow_views_to_memory_that_is_not_the_planned_one(load):
    p, x = started()
    base = p.call("aten::abs.out", x, out=p.tensor(np.float32, (N,)))
    elsewhere = view(p, base, p.tensor(np.float32, (N,)))
    p.call("aten::add.out", x, x, 1, out=p.tensor(np.float32, (N,), share=base))
    p.output(negated(p, elsewhere))
    x = np.arange(N, dtype=np.float32) - 3
    np.testing.assert_array_equal(load(p)([x])[0], -2 * x)

    p, x = started()
    elsewhere = view(p, x, p.tensor(np.float32, (N,)))
    p.call("aten::abs.out", x, out=p.tensor(np.float32, (N,), share=elsewhere))
    p.output(negated(p, elsewhere))
    x = np.arange(N, dtype=np.float32) - 3
    np.testing.assert_array_equal(load(p)([x])[0], -x)
