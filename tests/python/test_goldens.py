"""Real exported programs against PyTorch eager's outputs."""

from __future__ import annotations

import pytest

import executorch_numpy_runtime as en
import goldens

CASES = goldens.cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: goldens.Case) -> None:
    program = en.Runtime.get().load_program(case.program, data=case.data)
    arrays = case.arrays()
    for method_name, runs in case.meta["methods"].items():
        method = program.load_method(method_name)
        for run in runs:
            goldens.check_run(case, run, method(goldens.inputs_of(run, arrays)), arrays)


def test_there_are_goldens() -> None:
    assert len(CASES) >= 80
