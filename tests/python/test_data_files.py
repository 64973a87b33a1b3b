"""Constants kept outside of the program: one or several data files, as paths or bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder, data_file

A, B = np.array([1, 2, 3], np.float32), np.array([10, 20, 30], np.float32)


def program() -> bytes:
    p = ProgramBuilder()
    a, b = p.external(np.float32, (3,), "a"), p.external(np.float32, (3,), "b")
    p.output(p.call("aten::add.out", a, b, 1, out=p.tensor(np.float32, (3,))))
    return p.build()


def run(data: object) -> np.ndarray:
    result: np.ndarray = en.Runtime.get().load_program(program(), data=data).load_method("forward")([])[0]  # type: ignore[arg-type]
    return result


def test_one_file_or_several_as_bytes_or_paths(tmp_path: Path) -> None:
    both, only_a, only_b = data_file({"a": A, "b": B}), data_file({"a": A}), data_file({"b": B})
    (tmp_path / "a.ptd").write_bytes(only_a)
    for data in (both, [both], [only_a, only_b], [tmp_path / "a.ptd", only_b], [str(tmp_path / "a.ptd"), only_b]):
        np.testing.assert_array_equal(run(data), A + B)


def test_missing_names_are_listed() -> None:
    for data, names in ((None, ("a", "b")), (data_file({"b": B}), ("a",))):
        with pytest.raises(en.ProgramLoadError) as error:
            run(data)
        assert all(f"'{name}'" in str(error.value) for name in names)
        assert f"{len(names)} tensor{' is' if len(names) == 1 else 's are'} kept outside" in str(error.value)


def test_another_dtype_than_the_programs_is_refused() -> None:
    with pytest.raises(en.ProgramLoadError, match="'a'"):
        run(data_file({"a": A.astype(np.float64), "b": B}))
