"""Fixtures of all tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder


@pytest.fixture
def load() -> Callable[[ProgramBuilder], en.Method]:
    """Writes a builder's program and loads its method ``forward``."""

    def load_method(program: ProgramBuilder, **options: Any) -> en.Method:
        return en.Runtime.get().load_program(program.build(), **options).load_method("forward")

    return load_method
