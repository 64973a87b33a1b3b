"""What this build of the runtime can do, and its process-wide settings."""

from __future__ import annotations

import importlib.util
import operator
import os
import sys
import threading
import weakref
from typing import Any, SupportsIndex

from . import _core
from .errors import BackendNotAvailable, ExecutionError

# The newest exporter whose files the tests run.
EXECUTORCH_VERSION = "1.5.1"

_SUPPORTED_DTYPES = [
    "float32",
    "float64",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
    "uint16(bfloat16-bits)",
]


def _check_environment() -> None:
    text = os.environ.get("ENR_NUM_THREADS", "").strip()
    if text and not text.isdecimal():
        raise ExecutionError(f"ENR_NUM_THREADS={text}: expected a number of threads, or 0 for the default")
    _core.isa()  # raises where ENR_ISA names none: kernels, which look it up too, must not throw


_check_environment()


def runtime_info() -> dict[str, Any]:
    """Versions, backends, operators, dtypes, the instruction set in use and the number of threads."""
    return {
        "executorch_version": EXECUTORCH_VERSION,
        "backends": _core.backend_names(),
        "operators": _core.operator_names(),
        "kernel_libs": ["portable", "optimized", "quantized", "lstm"],
        "supported_dtypes": list(_SUPPORTED_DTYPES),
        "bfloat16": _bfloat16_form(),
        "cpu": _core.isa(),
        "num_threads": _core.num_threads(),
    }


def _bfloat16_form() -> str:
    # Found, not imported: that takes 6 MB, which programs without such values need not spend.
    return "uint16-passthrough" if importlib.util.find_spec("ml_dtypes") is None else "ml_dtypes"


def set_num_threads(count: int) -> None:
    """Threads that one call may use, the calling one included, 256 at most; 0 restores the default.

    The default fits the process's affinity mask and its cgroup's CPU quota. Takes effect with the next call, for the
    whole process.

    Raises:
        ValueError: the count is negative.
    """
    if not isinstance(count, SupportsIndex):
        raise TypeError(f"num_threads: expected an int, got {type(count).__name__}")
    if operator.index(count) < 0:
        raise ValueError(f"num_threads: expected at least 0, got {count}")
    _core.set_num_threads(min(operator.index(count), sys.maxsize))


def get_num_threads() -> int:
    """Threads that one call may use, the calling one included."""
    return _core.num_threads()


_methods: weakref.WeakSet[_core.Method] = weakref.WeakSet()
_methods_lock = threading.Lock()


def remember_method(method: _core.Method) -> None:
    """Count a loaded method in, for as long as it lives."""
    with _methods_lock:
        _methods.add(method)


def xnnpack_workspace_size_bytes() -> int:
    """Bytes that delegated programs hold for intermediate values, summed over all loaded methods of the process."""
    with _methods_lock:
        methods = list(_methods)
    return sum(method.memory_report()["workspace"] for method in methods)


def openvino_inference_precision() -> str:
    """Kept for code written for version 1.x: this runtime has no OpenVINO delegate.

    Raises:
        BackendNotAvailable: always.
    """
    raise BackendNotAvailable(
        "OpenvinoBackend: this runtime has no OpenVINO delegate; it runs XnnpackBackend and undelegated programs. "
        "Export with XnnpackPartitioner, or with none."
    )
