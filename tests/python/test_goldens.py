"""Real exported programs against PyTorch eager's outputs."""

from __future__ import annotations

import pytest

import executorch_numpy_runtime as en
import goldens

CASES = goldens.cases()
EXTERNAL_0_6 = "external_data_mlp_p"  # its data file is of a layout that no later version reads
VERSIONS = [c for c in goldens.version_cases() if (c.folder.name, c.name) != ("0.6.0", EXTERNAL_0_6)]


def check(case: goldens.Case) -> None:
    program = en.Runtime.get().load_program(case.program, data=case.data)
    arrays = case.arrays()
    for method_name, runs in case.meta["methods"].items():
        method = program.load_method(method_name)
        for run in runs:
            goldens.check_run(case, run, method(goldens.inputs_of(run, arrays)), arrays)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: goldens.Case) -> None:
    check(case)


@pytest.mark.parametrize("case", VERSIONS, ids=lambda case: f"{case.folder.name}-{case.name}")
def test_golden_of_another_exporter(case: goldens.Case) -> None:
    assert case.meta["exporter"].split()[1] == case.folder.name
    check(case)


def test_data_files_of_0_6_are_refused_by_name() -> None:
    folder = goldens.FIXTURES / "versions" / "0.6.0"
    with pytest.raises(en.ProgramLoadError, match=r"data file: is of the layout that ExecuTorch 0\.6 wrote"):
        en.Runtime.get().load_program(folder / f"{EXTERNAL_0_6}.pte", data=folder / f"{EXTERNAL_0_6}.ptd")


def test_there_are_goldens() -> None:
    assert len(CASES) >= 80
    assert len({case.folder.name for case in VERSIONS}) >= 9
