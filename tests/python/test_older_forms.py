"""Programs rewritten into the forms of older exporters give the same results, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import executorch_numpy_runtime as en
import goldens
from builder.rewrite import FORMS, rewrite

CASES = [case for case in goldens.cases() if not case.data]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_older_form_changes_nothing(case: goldens.Case, form: str) -> None:
    today = en.Runtime.get().load_program(case.program)
    older = en.Runtime.get().load_program(rewrite(case.program.read_bytes(), form))
    assert older.method_names == today.method_names
    arrays = case.arrays()
    for name, runs in case.meta["methods"].items():
        old_method, new_method = older.load_method(name), today.load_method(name)
        assert old_method.metadata == new_method.metadata
        for run in runs:
            inputs = goldens.inputs_of(run, arrays)
            got = old_method(inputs)
            goldens.check_run(case, run, got, arrays)
            if "rand" not in case.name and "dropout" not in case.name:
                for a, b in zip(got, new_method(inputs), strict=True):
                    np.testing.assert_array_equal(a, b)
