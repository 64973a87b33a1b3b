"""Fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder
from recording import Recorder

# A change is judged by the same examples as the one before it; elsewhere every run tries others.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", metavar="FILE", help="write down which operators, dtypes and nodes the tests run")


@pytest.fixture(scope="session", autouse=True)
def recorder(request: pytest.FixtureRequest) -> Iterator[None]:
    """Only with --record: notes what the tests run."""
    path = request.config.getoption("--record")
    if path is None:
        yield
        return
    noted = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        noted.install(patch)
        yield
    noted.write(Path(path))


@pytest.fixture
def load() -> Callable[[ProgramBuilder], en.Method]:
    """Writes a builder's program and loads its method ``forward``."""

    def load_method(program: ProgramBuilder, **options: Any) -> en.Method:
        return en.Runtime.get().load_program(program.build(), **options).load_method("forward")

    return load_method
