"""Large inputs are read, and large outputs written, in the caller's arrays, where nobody can tell the difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder import ProgramBuilder

N = 5000  # float32: large enough not to be copied
SLOTS = 4


def ramp(start=0):
    return np.arange(start, start + N, dtype=np.float32)


def test_inputs_stay_as_they_are_where_the_program_updates_them(load):
    p = ProgramBuilder()
    x, y = p.input(np.float32, (N,)), p.input(np.float32, (N,))
    p.raw_call("aten::copy_", [x.index, y.index, p.value(False).index, x.index])
    p.output(x)
    a, b = ramp(), ramp(7)
    np.testing.assert_array_equal(load(p)([a, b])[0], b)
    np.testing.assert_array_equal(a, ramp())


def test_updates_through_a_view_do_not_reach_the_caller(load):
    p = ProgramBuilder()
    x, y = p.input(np.float32, (N,)), p.input(np.float32, (N, 1))
    view = p.tensor(np.float32, (N, 1))
    p.call("executorch_prim::et_view.default", x, [N, 1], view)
    p.raw_call("aten::copy_", [view.index, y.index, p.value(False).index, view.index])
    p.output(x)
    a, b = ramp(), ramp(3).reshape(N, 1)
    np.testing.assert_array_equal(load(p)([a, b])[0], ramp(3))
    np.testing.assert_array_equal(a, ramp())


def test_views_that_the_exporter_elided(load):
    # The reshaped input and the reshaped result exist only as second tensors in the same memory.
    p = ProgramBuilder()
    x = p.input(np.float32, (N,))
    reshaped = p.tensor(np.float32, (N // 2, 2), share=x)
    doubled = p.call("aten::add.out", reshaped, reshaped, 1, out=p.tensor(np.float32, (N // 2, 2)))
    p.output(p.tensor(np.float32, (N,), share=doubled))
    method = load(p)
    for start in (0, 100):
        np.testing.assert_array_equal(method([ramp(start)])[0], 2 * ramp(start))


@pytest.mark.parametrize("step", [1, -1, 2])
def test_any_strides(load, step):
    p = ProgramBuilder()
    x = p.input(np.float32, (N,))
    p.output(p.call("aten::neg.out", x, out=p.tensor(np.float32, (N,))))
    given_array = np.arange(2 * N, dtype=np.float32)[::step][:N]
    np.testing.assert_array_equal(load(p)([given_array])[0], -given_array)


def test_results_of_earlier_calls_are_not_written_again(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (N,))
    p.output(p.call("aten::neg.out", x, out=p.tensor(np.float32, (N,))))
    method = load(p)
    first = method([ramp()])[0]
    second = method([ramp(5)])[0]
    np.testing.assert_array_equal(first, -ramp())
    np.testing.assert_array_equal(second, -ramp(5))
    assert first.flags.owndata and first.flags.writeable


def test_dynamic_sizes(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (N, 2), dynamic=True)
    p.output(p.call("aten::neg.out", x, out=p.tensor(np.float32, (N, 2), dynamic=True)))
    method = load(p)
    for rows in (N, 0, 1, N - 1, N):
        array = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
        np.testing.assert_array_equal(method([array])[0], -array)


@pytest.mark.parametrize("use", ["only", "output", "view", "elided view", "copy", "update"])
def test_truth_values_leave_as_0_and_1_whatever_bytes_they_come_as(load, use):
    p = ProgramBuilder()
    count = 4 * N
    x = p.input(np.bool_, (count,))
    outputs = [p.call("aten::logical_not.out", x, out=p.tensor(np.bool_, (count,)))]
    if use == "output":
        outputs.append(x)
    elif use == "view":
        view = p.tensor(np.bool_, (count, 1), share=x)
        p.call("executorch_prim::et_view.default", x, [count, 1], view)
        outputs.append(p.call("aten::squeeze_copy.dims_out", view, [1], out=p.tensor(np.bool_, (count,))))
    elif use == "elided view":
        outputs.append(p.tensor(np.bool_, (count, 1), share=x))
    elif use == "copy":
        outputs.append(p.call("aten::cat.out", [x], 0, out=p.tensor(np.bool_, (count,))))
    elif use == "update":
        p.raw_call("aten::masked_fill_.Scalar", [x.index, x.index, p.value(True).index, x.index])
        outputs.append(x)
    p.output(*outputs)
    flags = np.resize(np.array([0, 1, 2, 128, 255], np.uint8), count)
    results = load(p)([flags.view(np.bool_)])
    np.testing.assert_array_equal(results[0].view(np.uint8), flags == 0)
    for result in results[1:]:
        np.testing.assert_array_equal(result.view(np.uint8).reshape(-1), flags != 0)
    assert set(flags) == {0, 1, 2, 128, 255}


def test_results_in_the_memory_of_a_state_stay_there_for_the_next_call(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (N,))
    total = p.zero_buffer(np.float32, (N,), name="total")
    p.output(p.call("aten::add.out", total, x, 1, out=p.tensor(np.float32, (N,), share=total)))
    method = load(p)
    for calls in (1, 2, 3):
        np.testing.assert_array_equal(method([ramp()])[0], calls * ramp())


@st.composite
def programs(draw):
    """Tensors in a few slots of memory, and additions and updates among them in any order."""
    count = draw(st.integers(3, 8))
    slots = draw(st.lists(st.integers(0, SLOTS - 1), min_size=count, max_size=count))
    inputs = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=2, unique_by=lambda v: slots[v]))
    tensor = st.integers(0, count - 1)
    steps = draw(st.lists(st.tuples(st.sampled_from(["add", "copy"]), tensor, tensor, tensor), max_size=6))
    outputs = draw(st.lists(tensor, min_size=1, max_size=3))
    return slots, inputs, steps, outputs


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs())
def test_sharing_memory_means_what_the_file_says(load, program):
    slots, inputs, steps, outputs = program
    p = ProgramBuilder()
    tensors = []
    for v, slot in enumerate(slots):
        value = p.input(np.float32, (N,)) if v in inputs else p.tensor(np.float32, (N,))
        value.offset = slot * N * 4
        tensors.append(value)
    p.arenas[1] = SLOTS * N * 4
    order = sorted(inputs)
    for kind, a, b, c in steps:
        if kind == "add":
            p.call("aten::add.out", tensors[a], tensors[b], 1, out=tensors[c])
        else:
            p.raw_call("aten::copy_", [tensors[c].index, tensors[a].index, p.value(False).index, tensors[c].index])
    p.output(*(tensors[v] for v in outputs))
    method = load(p)

    memory = np.zeros((SLOTS, N), np.float32)
    for start in (1, 1000):  # memory keeps what the first call left
        arrays = [ramp(start + 10 * v) for v in order]
        for v, array in zip(order, arrays, strict=True):
            memory[slots[v]] = array
        for kind, a, b, c in steps:
            memory[slots[c]] = memory[slots[a]] + memory[slots[b]] if kind == "add" else memory[slots[a]]
        got = method(arrays)
        read_first = _reads_what_nothing_wrote(slots, inputs, steps, outputs)
        for v, result in zip(outputs, got, strict=True):
            if not read_first:
                np.testing.assert_array_equal(result, memory[slots[v]])
        for v, array in zip(order, arrays, strict=True):
            np.testing.assert_array_equal(array, ramp(start + 10 * v))


def _reads_what_nothing_wrote(slots, inputs, steps, outputs):
    written = {slots[v] for v in inputs}
    for kind, a, b, c in steps:
        if slots[a] not in written or (kind == "add" and slots[b] not in written):
            return True
        written.add(slots[c])
    return any(slots[v] not in written for v in outputs)
