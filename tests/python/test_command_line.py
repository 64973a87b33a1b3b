"""python -m executorch_numpy_runtime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from builder import ProgramBuilder, bundled_program
from executorch_numpy_runtime.__main__ import main, parser
from goldens import FIXTURES

MODEL = str(FIXTURES / "mlp_p.pte")


def test_help_of_every_command(capsys):
    for command in ([], ["info"], ["inspect"], ["run"], ["bench"], ["profile"], ["verify"]):
        with pytest.raises(SystemExit) as caught:
            parser().parse_args([*command, "--help"])
        assert caught.value.code == 0
        assert "usage: python -m executorch_numpy_runtime" in capsys.readouterr().out


def test_it_runs_as_a_module():
    command = [sys.executable, "-m", "executorch_numpy_runtime", "info"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and "backends: ['XnnpackBackend']" in result.stdout


def test_it_ends_quietly_where_nobody_reads():
    command = [sys.executable, "-m", "executorch_numpy_runtime", "inspect", MODEL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait(timeout=120) == 0


def test_inspect(capsys):
    for name in ("mlp_p", "mlp_x", "state_initialised_p", "constant_methods_p", "nested_values_p", "bfloat16_mlp_p"):
        assert main(["inspect", str(FIXTURES / f"{name}.pte")]) == 0
        assert "bytes: planned" in capsys.readouterr().out
    assert main(["inspect", str(FIXTURES / "external_data_mlp_p.pte")]) == 0
    assert "does not load: forward: 4 tensors are kept outside" in capsys.readouterr().out


def test_run_reads_and_writes_arrays(tmp_path, capsys):
    p = ProgramBuilder()
    x, y = p.input(np.float32, (3,)), p.input(np.int64, (2,))
    p.scalar_input(7)
    p.output(p.call("aten::neg.out", x, out=p.tensor(np.float32, (3,))), y, 2.5)
    model, out = tmp_path / "model.pte", tmp_path / "out.npz"
    model.write_bytes(p.build())
    np.savez(tmp_path / "in.npz", np.array([1, 2, 3], np.float32), np.array([4, 5]))
    np.save(tmp_path / "seven.npy", np.array(7))
    files = ["--inputs", str(tmp_path / "in.npz"), str(tmp_path / "seven.npy")]
    assert main(["run", str(model), *files, "--output", str(out)]) == 0
    assert "output 0: float32 [3]" in capsys.readouterr().out
    with np.load(out) as written:
        assert [written[f"output_{i}"].tolist() for i in range(3)] == [[-1, -2, -3], [4, 5], 2.5]
    assert main(["run", str(model)]) == 0  # made-up inputs


def test_bench_and_profile(capsys):
    assert main(["bench", MODEL, "--seconds", "0.01", "--threads", "1"]) == 0
    assert "median" in capsys.readouterr().out
    assert main(["profile", MODEL, "--top", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 1 <= len(lines) <= 3 and " us " in lines[0]


def test_verify(tmp_path, capsys):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    p.output(p.call("aten::neg.out", x, out=p.tensor(np.float32, (2,))))
    ones = np.ones(2, np.float32)
    for expected, status in ((-ones, 0), (ones, 1)):
        path = tmp_path / "model.bpte"
        path.write_bytes(bundled_program(p.build(), {"forward": [([ones], [expected])]}))
        assert main(["verify", str(path)]) == status
    captured = capsys.readouterr()
    assert "1 cases as expected" in captured.out and "2 of 2 elements of output 0 differ" in captured.err


@pytest.mark.parametrize(("arguments", "message"), [
    (["run", "/no/such.pte"], "ProgramLoadError: no such file: '/no/such.pte'"),
    (["run", MODEL, "--method", "x"], "ProgramLoadError: method 'x' not found: the program has forward"),
    (["run", MODEL, "--inputs", "/no/such.npy"], "FileNotFoundError"),
    (["run", MODEL, "--inputs", MODEL], "expected a .npy or .npz file of numbers"),
    (["bench", MODEL, "--threads", "-1"], "ValueError: num_threads: expected at least 0, got -1"),
    (["verify", MODEL], "not a bundled program, or one without cases"),
    (["inspect", str(Path(__file__))], "not an ExecuTorch program (.pte)"),
], ids=str)  # fmt: skip
def test_errors_are_one_line(arguments, message, capsys):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
