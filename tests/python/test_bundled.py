"""Bundled programs: a .pte with example inputs and expected outputs."""

from __future__ import annotations

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import PayloadBuilder, ProgramBuilder, bundled_program, delegated_program


def doubled() -> bytes:
    p = ProgramBuilder()
    x = p.input(np.float32, (2, 3))
    p.output(p.call("aten::add.out", x, x, 1, out=p.tensor(np.float32, (2, 3))))
    return p.build()


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_cases_are_there_and_verified():
    program = en.Runtime.get().load_program(bundled_program(doubled(), {"forward": [([X], [2 * X]), ([-X], [-2 * X])]}))
    assert program.method_names == ["forward"]
    ((inputs, expected), _) = program.bundled_cases["forward"]
    np.testing.assert_array_equal(inputs[0], X)
    np.testing.assert_array_equal(expected[0], 2 * X)
    assert program.verify_bundled() == 2


def test_bundled_programs_with_delegates_are_verified():
    g = PayloadBuilder()
    g.node("Negate", input=g.input((2, 3)), output=g.output((2, 3)))
    bundle = bundled_program(delegated_program(g), {"forward": [([X], [-X])]})
    assert en.Runtime.get().load_program(bundle).verify_bundled() == 1


def test_a_difference_is_named():
    wrong = 2 * X
    wrong[0, 0] += 1
    program = en.Runtime.get().load_program(bundled_program(doubled(), {"forward": [([X], [2 * X]), ([X], [wrong])]}))
    with pytest.raises(en.ExecutionError, match="forward: bundled case 1: 1 of 6 elements of output 0 differ"):
        program.verify_bundled()
    assert program.verify_bundled(atol=2) == 2


def test_a_plain_program_has_no_cases():
    program = en.Runtime.get().load_program(doubled())
    assert program.bundled_cases == {} and program.verify_bundled() == 0


def test_outputs_of_another_kind_are_a_difference():
    for expected, message in ((2.0, "of ndarray, expected float"), (None, "of ndarray, expected NoneType")):
        program = en.Runtime.get().load_program(bundled_program(doubled(), {"forward": [([X], [expected])]}))
        with pytest.raises(en.ExecutionError, match=f"forward: bundled case 0: output 0 is {message}"):
            program.verify_bundled()


def test_numbers_are_compared():
    p = ProgramBuilder()
    p.output(2.5, float("nan"))
    for expected, is_right in (([2.5, float("nan")], True), ([2.5, 1.0], False), ([X, float("nan")], False)):
        program = en.Runtime.get().load_program(bundled_program(p.build(), {"forward": [([], expected)]}))
        if is_right:
            assert program.verify_bundled() == 1
        else:
            with pytest.raises(en.ExecutionError, match="bundled case 0: output"):
                program.verify_bundled()
