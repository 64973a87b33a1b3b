"""The committed type stub is the one the extension gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import executorch_numpy_runtime as en

PATTERNS = Path(__file__).parent.parent.parent / "src/bindings/stub_patterns.txt"


def test_the_stub_is_up_to_date(tmp_path):
    out = tmp_path / "_core.pyi"
    command = ["-m", "nanobind.stubgen", "-q", "-m", "executorch_numpy_runtime._core", "-p"]
    subprocess.run([sys.executable, *command, str(PATTERNS), "-o", str(out)], check=True)
    committed = Path(en.__file__).with_name("_core.pyi").read_text()
    assert committed == out.read_text(), f"run: python {' '.join(command)} src/bindings/stub_patterns.txt -o ..."
