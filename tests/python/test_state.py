"""Buffers that outlive a call: their start, reading, writing, resetting, sharing; and calls that fail half way."""

from __future__ import annotations

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import PayloadBuilder, ProgramBuilder
from executorch_numpy_runtime import ExecutionError


def accumulator(initial: np.ndarray | None = None, name: str | None = "total") -> ProgramBuilder:
    """total += x; gives total."""
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    total = p.zero_buffer(np.float32, (2,), name=name) if initial is None else p.buffer(initial, name=name)
    y = p.call("aten::add.out", total, x, 1, out=p.tensor(np.float32, (2,)))
    p.call("aten::copy_", total, y, False, total)
    p.output(y)
    return p


def test_zero_start_and_serialised_start(load):
    one = [np.ones(2, np.float32)]
    method = load(accumulator())
    assert [method(one)[0][0] for _ in range(3)] == [1, 2, 3]
    method = load(accumulator(np.array([5, 6], np.float32)))
    np.testing.assert_array_equal(method(one)[0], [6, 7])


def test_buffers_that_are_not_planned_start_as_the_named_constant_they_are_written_as(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    total = p.constant(np.array([5, 6], np.float32))
    total.name = "total"
    y = p.call("aten::add.out", total, x, 1, out=p.tensor(np.float32, (2,)))
    p.call("aten::copy_", total, y, False, total)
    p.output(y)
    one = [np.ones(2, np.float32)]
    method, other = load(p), load(p)
    assert [method(one)[0].tolist() for _ in range(2)] == [[6, 7], [7, 8]]
    np.testing.assert_array_equal(method.state["total"], [7, 8])
    np.testing.assert_array_equal(other.state["total"], [5, 6])
    method.reset()
    np.testing.assert_array_equal(method.state["total"], [5, 6])


def test_buffers_without_a_name_get_one_that_no_other_has(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    for name in (None, "state_2", None, "state_0", None):
        total = p.zero_buffer(np.float32, (2,), name=name)
        y = p.call("aten::add.out", total, x, 1, out=p.tensor(np.float32, (2,)))
        p.call("aten::copy_", total, y, False, total)
        p.output(y)
    method = load(p)
    assert sorted(method.state) == ["state_0", "state_1", "state_2", "state_3", "state_4"]
    method([np.ones(2, np.float32)])
    assert all(value.tolist() == [1, 1] for value in method.state.values())


def test_read_write_save_and_reset(load):
    one = [np.ones(2, np.float32)]
    method = load(accumulator(np.array([5, 6], np.float32)))
    assert list(method.state) == ["total"] and len(method.state) == 1
    method(one)
    saved = dict(method.state)
    np.testing.assert_array_equal(saved["total"], [6, 7])
    method(one)
    method.state["total"] = np.array([1, 1], np.float32)
    np.testing.assert_array_equal(method(one)[0], [2, 2])
    method.state.load(saved)
    np.testing.assert_array_equal(method(one)[0], [7, 8])
    method.reset()
    np.testing.assert_array_equal(method.state["total"], [5, 6])
    saved["total"][:] = 0
    np.testing.assert_array_equal(method.state["total"], [5, 6])


def test_wrong_states_are_refused_and_change_nothing(load):
    method = load(accumulator())
    with pytest.raises(KeyError, match="total"):
        method.state["other"]
    for wrong, message in [(np.zeros(2), "float64"), (np.zeros(3, np.float32), r"shape \[2\], got \[3\]")]:
        with pytest.raises(ExecutionError, match=message):
            method.state["total"] = wrong
    with pytest.raises(KeyError):
        method.state.load({"total": np.ones(2, np.float32), "other": np.ones(2, np.float32)})
    np.testing.assert_array_equal(method.state["total"], 0)


def test_buffers_without_a_name_are_numbered(load):
    method = load(accumulator(np.zeros(2, np.float32), name=None))
    assert list(method.state) == ["state_0"]


def test_a_method_is_one_object_and_a_clone_is_another():
    program = en.Runtime.get().load_program(accumulator().build())
    one = [np.ones(2, np.float32)]
    first = program.load_method("forward")
    assert program.load_method("forward") is first
    first(one)
    clone = program.clone_method("forward")
    assert clone(one)[0][0] == 1
    assert first(one)[0][0] == 2


def shared() -> ProgramBuilder:
    """Two methods over one buffer in arena 2, as exports with share_mutable_buffers are."""
    p = ProgramBuilder("add")
    for method, sign in ((p, 1), (p.method("subtract"), -1)):
        x = method.input(np.float32, (2,))
        total = method.buffer(np.array([10, 20], np.float32), name="total", memory_id=2)
        y = method.call("aten::add.out", total, x, sign, out=method.tensor(np.float32, (2,)))
        method.call("aten::copy_", total, y, False, total)
        method.output(y)
    return p


def test_methods_share_exactly_what_the_export_shares():
    program = en.Runtime.get().load_program(shared().build())
    one = [np.ones(2, np.float32)]
    add = program.load_method("add")
    add(one)
    subtract = program.load_method("subtract")  # loading it must not start the buffer over
    np.testing.assert_array_equal(subtract(one)[0], [10, 20])
    np.testing.assert_array_equal(add(one)[0], [11, 21])
    np.testing.assert_array_equal(subtract.state["total"], [11, 21])
    clone = program.clone_method("add")
    np.testing.assert_array_equal(clone(one)[0], [11, 21])
    other = en.Runtime.get().load_program(shared().build()).load_method("add")
    np.testing.assert_array_equal(other(one)[0], [11, 21])


def test_a_call_that_fails_half_way_leaves_the_state_as_it_was(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    index = p.input(np.int64, (1,))
    total = p.buffer(np.array([1, 2], np.float32), name="total")
    p.call("aten::copy_", total, x, False, total)
    p.output(p.call("aten::index_select.out", total, 0, index, out=p.tensor(np.float32, (1,))))
    method = load(p)
    with pytest.raises(ExecutionError, match=r"forward\[1\] aten::index_select.out: .*"):
        method([np.array([7, 8], np.float32), np.array([5])])
    np.testing.assert_array_equal(method.state["total"], [1, 2])
    np.testing.assert_array_equal(method([np.array([7, 8], np.float32), np.array([1])])[0], [8])
    np.testing.assert_array_equal(method.state["total"], [7, 8])


@pytest.mark.parametrize("whole", ["never", "before", "between"])
def test_parts_of_states_are_put_back(load, whole):
    """What operators overwrite of a state comes back when a later one fails, whatever else overwrote it."""
    first = np.arange(24, dtype=np.float32).reshape(1, 6, 2, 2)
    p = ProgramBuilder()
    x = p.input(np.float32, (1, 2, 2, 2))
    index = p.input(np.int64, (1,))
    cache, other = p.buffer(first, name="cache"), p.buffer(first[0, :, 0], name="other")

    def copies(when: str) -> None:
        if when == whole:
            p.call("aten::copy_", cache, p.constant(first + 100), False, cache)

    copies("before")
    p.call("llama::update_cache.out", x, cache, 3, out=p.tensor(np.float32, (1,)))
    copies("between")
    p.call("llama::update_cache.out", x, cache, 2, out=p.tensor(np.float32, (1,)))
    rows = p.constant(np.array([[4, 4]]))
    p.call("llama::update_cache_with_indices.out", x, cache, 0, rows, out=p.tensor(np.float32, (1,)))
    lines, columns = p.constant(np.array([1, 5, 1])), p.constant(np.array([0, 1, 1]))
    p.call("aten::index_put_", other, [lines, columns], p.constant(np.array([-1, -2, -3], np.float32)), True, other)
    p.call("aten::index_put_", other, [lines], p.constant(np.zeros((3, 2), np.float32)), False, other)
    p.output(p.call("aten::index_select.out", other, 0, index, out=p.tensor(np.float32, (1, 2))))
    method = load(p)
    value = np.full((1, 2, 2, 2), -7, np.float32)
    for _ in range(2):
        with pytest.raises(ExecutionError, match="index_select"):
            method([value, np.array([6])])
        np.testing.assert_array_equal(method.state["cache"], first)
        np.testing.assert_array_equal(method.state["other"], first[0, :, 0])
    method([value, np.array([1])])
    expected = first.copy() + (100 if whole != "never" else 0)
    expected[:, [2, 3, 4]] = -7
    if whole != "between":
        expected[:, 4] = -7
    np.testing.assert_array_equal(method.state["cache"], expected)
    np.testing.assert_array_equal(method.state["other"][[1, 5]], 0)


PLACES = ["nowhere", "read before", "read between", "written between", "written after", "written through a view",
          "given", "read through a view", "dim order", "twice"]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("operator", ["put", "add", "copy", "slice", "select"])
@pytest.mark.parametrize("named", [True, False])
def test_copies_that_are_changed_and_copied_back(load, place, operator, named):
    """Such an update may be made in the state itself, but not where that shows, also not when something fails."""
    first = np.arange(24, dtype=np.float32).reshape(6, 4)
    p = ProgramBuilder()
    new = p.input(np.float32, (2, 4))
    index = p.input(np.int64, (2,))
    pick = p.input(np.int64, (1,))
    # Exporters may leave out both name and content.
    state = p.buffer(first, name="state") if named else p.tensor(np.float32, (6, 4))

    def change(to, values, out):
        if operator in ("put", "add"):
            p.call("aten::index_put.out", to, [index], values, operator == "add", out=out)
        elif operator == "copy":
            p.call("aten::index_copy.out", to, 0, index, values, out=out)
        elif operator == "slice":
            p.call("aten::slice_scatter.out", to, values, 0, 1, 5, 3, out=out)
        else:
            row = p.call("aten::select_copy.int_out", values, 0, 1, out=p.tensor(np.float32, (4,)))
            p.call("aten::select_scatter.out", to, row, 0, 4, out=out)

    def view(value, sizes):
        return p.call("executorch_prim::et_view.default", value, list(sizes),
                      out=p.tensor(np.float32, sizes, planned=False))  # fmt: skip

    def shown(value):
        p.output(p.call("aten::mul.Scalar_out", value, 2.0, out=p.tensor(np.float32, (6, 4))))

    if place == "read before":
        shown(state)
    changed = p.tensor(np.float32, (6, 4), **({"dim_order": (1, 0)} if place == "dim order" else {}))
    change(state, new, changed)
    picked = p.call("aten::index_select.out", changed, 0, pick, out=p.tensor(np.float32, (1, 4)))
    if place == "read between":
        shown(state)
    if place == "written between":
        p.call("aten::fill_.Scalar", state, 3.0)
    if place == "written through a view":
        p.call("aten::fill_.Scalar", view(changed, (4, 6)), 3.0)
    shown(changed)
    p.call("aten::copy_", state, changed, False, state)
    if place == "written after":
        p.call("aten::fill_.Scalar", state, 3.0)
        shown(changed)
    if place == "twice":
        again = p.tensor(np.float32, (6, 4))
        change(state, new, again)
        p.call("aten::copy_", state, again, False, state)
    if place == "read through a view":
        p.output(p.call("aten::sum.IntList_out", view(changed, (4, 6)), [1], False, None,
                        out=p.tensor(np.float32, (4,))))  # fmt: skip
    if place == "given":
        p.output(changed)
    shown(changed)
    p.output(picked)
    method = load(p)

    def update(before, rows, values):
        after = before.copy()
        if operator == "add":
            np.add.at(after, rows, values)
        else:
            after[{"slice": [1, 4], "select": [4]}.get(operator, rows)] = values[1:] if operator == "select" else values
        return after

    value = first if named else np.zeros_like(first)
    for rows, at in (([1, 4], 0), ([5, 0], 7), ([1, 2], 3), ([2, 3], 2)):
        given = np.array([[1, 2, 3, 4], [7, 7, 7, 7]], np.float32) * (at + 1)
        inputs = [given, np.array(rows), np.array([at])]
        if at == 7:
            with pytest.raises(ExecutionError, match="index_select"):
                method(inputs)
            continue
        before, expected = value, []
        if place == "read before":
            expected.append(before * 2)
        after = update(before, rows, given)
        chosen = after[[at]]
        if place == "read between":
            expected.append(before * 2)
        if place == "written through a view":
            after = np.full_like(after, 3)
        expected.append(after * 2)
        value = after
        if place == "written after":
            value = np.full_like(after, 3)
            expected.append(after * 2)
        if place == "twice":
            value = update(after, rows, given)
        if place == "read through a view":
            expected.append(after.reshape(4, 6).sum(1))
        if place == "given":
            expected.append(after)
        expected += [after * 2, chosen]
        for got, right in zip(method(inputs), expected, strict=True):
            np.testing.assert_array_equal(got, right)
        if named:
            np.testing.assert_array_equal(method.state["state"], value)


def test_refused_inputs_change_nothing(load):
    method = load(accumulator())
    method([np.ones(2, np.float32)])
    with pytest.raises(ExecutionError):
        method([np.ones(3, np.float32)])
    np.testing.assert_array_equal(method.state["total"], 1)


def test_memory_is_reported(load):
    memory = load(accumulator()).memory
    assert memory["planned"] >= 16
    assert set(memory) == {"planned", "constant", "packed", "workspace"}


WEIGHT = np.random.default_rng(6).uniform(-1, 1, (96, 64)).astype(np.float32)


def plain_products() -> ProgramBuilder:
    """Two methods that multiply by one constant, in calls of an operator."""
    p = ProgramBuilder("first")
    shared = None
    for method in (p, p.method("second")):
        weight = method.constant(WEIGHT) if shared is None else method.tensor(np.float32, WEIGHT.shape, planned=False)
        weight.data_buffer_idx = shared = weight.data_buffer_idx if shared is None else shared
        y = method.tensor(np.float32, (3, 64))
        method.output(method.call("aten::mm.out", method.input(np.float32, (3, 96)), weight, out=y))
    return p


def delegated_products() -> ProgramBuilder:
    """Two methods with payloads that name one constant."""
    p = ProgramBuilder("first")
    for method in (p, p.method("second")):
        g = PayloadBuilder()
        x, y = g.input((3, 96)), g.output((3, 64))
        g.node("FullyConnected", input=x, filter=g.constant(np.ascontiguousarray(WEIGHT.T)), output=y)
        given, result = method.input(np.float32, (3, 96)), method.tensor(np.float32, (3, 64))
        method.delegate_call("XnnpackBackend", g.build(constants="named"), [given], [result])
        method.output(result)
        for key, data in g.named.items():
            p.named_data(key, data)
    return p


@pytest.mark.parametrize("make", [plain_products, delegated_products])
def test_weights_are_stored_once_across_methods(make):
    program = en.Runtime.get().load_program(make().build())
    x = np.random.default_rng(7).uniform(-1, 1, (3, 96)).astype(np.float32)
    packed = []
    for load in (program.load_method, program.load_method, program.clone_method):
        method = load("second" if packed else "first")
        np.testing.assert_allclose(method([x])[0], x @ WEIGHT, rtol=1e-4, atol=1e-5)
        packed.append(method.memory["packed"])
    assert WEIGHT.nbytes <= packed[0] < 2 * WEIGHT.nbytes
    assert packed == packed[:1] * 3


def test_weights_laid_out_anew_are_reported(load):
    """A region packs a copy of filters with the channels last."""
    p = ProgramBuilder()
    filters = np.random.default_rng(6).uniform(-1, 1, (32, 16, 3, 3)).astype(np.float32)
    y = p.tensor(np.float32, (1, 32, 10, 10))
    args = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    x = p.input(np.float32, (1, 16, 10, 10))
    p.call("aten::convolution.out", x, p.constant(filters), None, *args, out=y)
    p.output(p.call("aten::relu.out", y, out=p.tensor(np.float32, (1, 32, 10, 10))))
    method = load(p)
    method([np.ones((1, 16, 10, 10), np.float32)])
    assert method.memory["packed"] >= filters.nbytes


def test_states_written_as_items_of_a_list_are_restored(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    parts = p.value([p.zero_buffer(np.float32, (1,), name=name) for name in "ab"])
    p.raw_call("aten::split_copy.Tensor_out", [x.index, p.value(1).index, p.value(0).index, parts.index, parts.index])
    p.call("aten::index_select.out", x, 0, p.constant(np.array([9])), out=p.tensor(np.float32, (1,)))
    p.output(x)
    method = load(p)
    with pytest.raises(ExecutionError, match="index: expected 0 to 1, got 9 at 0"):
        method([np.ones(2, np.float32)])
    assert method.state["a"] == 0 and method.state["b"] == 0


def test_buffers_without_a_place_in_planned_memory(load):
    """What `MemoryPlanningPass(alloc_mutable_buffers=False)` and `emit_mutable_buffer_names` give."""
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    total = p.tensor(np.float32, (2,), planned=False)
    total.name = "total"
    y = p.call("aten::add.out", total, x, 1, out=p.tensor(np.float32, (2,)))
    p.call("aten::copy_", total, y, False, total)
    p.output(y)
    one = [np.ones(2, np.float32)]
    method = load(p)
    assert [method(one)[0][0] for _ in range(3)] == [1, 2, 3]
    assert list(method.state) == ["total"]
    method.state["total"] = np.array([5, 6], np.float32)
    np.testing.assert_array_equal(method(one)[0], [6, 7])
    method.reset()
    np.testing.assert_array_equal(method(one)[0], [1, 1])
    with pytest.raises(ExecutionError):
        method([np.ones(3, np.float32)])
    np.testing.assert_array_equal(method.state["total"], [1, 1])


def test_memory_that_nobody_writes_is_zeros(load):
    p = ProgramBuilder()
    p.output(p.tensor(np.float32, (3, 50_000), planned=False))
    for _ in range(3):
        assert not load(p)([])[0].any()


def test_buffers_without_a_name_and_a_first_value(load):
    """What exporters write by default: only that it is read before it is written tells a buffer."""
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    index = p.input(np.int64, (1,))
    total, steps = p.zero_buffer(np.float32, (2,)), p.zero_buffer(np.int64, (1,))
    viewed = p.tensor(np.int64, (1, 1), share=steps)  # a view that the exporter dropped
    written_only = p.zero_buffer(np.float32, (2,))
    both = p.call("aten::cat.out", [total, x], 0, out=p.tensor(np.float32, (4,)))
    y = p.call("aten::add.out", total, x, 1, out=p.tensor(np.float32, (2,)))
    more = p.call("aten::add.Scalar_out", viewed, 1, 1, out=p.tensor(np.int64, (1, 1)))
    p.call("aten::copy_", steps, p.tensor(np.int64, (1,), share=more), False, steps)
    p.call("aten::copy_", total, y, False, total)
    p.call("aten::copy_", written_only, y, False, written_only)
    p.call("aten::copy_", x, y, False, x)  # an input that is updated is none
    p.output(both, p.call("aten::index_select.out", total, 0, index, out=p.tensor(np.float32, (1,))))
    method = load(p)
    one, first = np.ones(2, np.float32), np.array([0])
    assert [method([one, first])[1][0] for _ in range(3)] == [1, 2, 3]
    assert list(method.state) == ["state_0", "state_1"]
    np.testing.assert_array_equal(method.state["state_0"], [3, 3])
    assert method.state["state_1"] == 3
    with pytest.raises(ExecutionError, match="index_select"):
        method([one, np.array([7])])
    np.testing.assert_array_equal(method.state["state_0"], [3, 3])
    assert method.state["state_1"] == 3
    method.state["state_0"] = np.array([5, 6], np.float32)
    np.testing.assert_array_equal(method([one, first])[0], [5, 6, 1, 1])
    method.reset()
    np.testing.assert_array_equal(method([one, first])[0], [0, 0, 1, 1])


def test_caches_without_a_name_are_put_back_and_reset(load):
    p = ProgramBuilder()
    x, index = p.input(np.float32, (1, 1, 2, 2)), p.input(np.int64, (1,))
    cache = p.zero_buffer(np.float32, (1, 6, 2, 2))
    p.call("llama::update_cache.out", x, cache, 3, out=p.tensor(np.float32, (1,)))
    p.output(p.call("aten::index_select.out", cache, 1, index, out=p.tensor(np.float32, (1, 1, 2, 2))))
    method = load(p)
    value = np.ones((1, 1, 2, 2), np.float32)
    with pytest.raises(ExecutionError, match="index_select"):
        method([value, np.array([9])])
    assert not method.state["state_0"].any()
    np.testing.assert_array_equal(method([value, np.array([3])])[0], 1)
    assert method.state["state_0"].sum() == 4
    method.reset()
    assert not method([value, np.array([2])])[0].any()


def test_shared_buffers_without_a_name():
    """A method that only reads such a buffer can reset it too."""
    p = ProgramBuilder("write")
    x = p.input(np.float32, (2,))
    total = p.zero_buffer(np.float32, (2,), memory_id=2)
    y = p.call("aten::add.out", total, x, 1, out=p.tensor(np.float32, (2,)))
    p.call("aten::copy_", total, y, False, total)
    p.output(y)
    reader = p.method("read")
    kept = reader.zero_buffer(np.float32, (2,), memory_id=2)
    reader.output(reader.call("aten::neg.out", kept, out=reader.tensor(np.float32, (2,))))
    program = en.Runtime.get().load_program(p.build())
    write, read = program.load_method("write"), program.load_method("read")
    write([np.ones(2, np.float32)])
    np.testing.assert_array_equal(read([])[0], [-1, -1])
    np.testing.assert_array_equal(read.state["state_0"], [1, 1])
    read.reset()
    np.testing.assert_array_equal(write([np.ones(2, np.float32)])[0], [1, 1])
