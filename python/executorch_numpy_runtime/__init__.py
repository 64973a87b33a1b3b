"""Run ExecuTorch ``.pte`` programs on the CPU with numpy arrays in and out.

>>> import numpy as np
>>> import executorch_numpy_runtime as en
>>> program = en.Runtime.get().load_program("model.pte")
>>> method = program.load_method("forward")
>>> outputs = method([np.zeros((1, 3, 224, 224), np.float32)])
"""

from . import _core
from ._program import Method, Program, Runtime, Verification
from ._state import States
from .errors import BackendNotAvailable, ExecutionError, ExecuTorchError, OperatorNotFound, ProgramLoadError
from .info import EXECUTORCH_VERSION as __et_version__
from .info import (
    get_num_threads,
    openvino_inference_precision,
    runtime_info,
    set_num_threads,
    xnnpack_workspace_size_bytes,
)

__version__ = _core.version()

__all__ = [
    "BackendNotAvailable",
    "ExecuTorchError",
    "ExecutionError",
    "Method",
    "OperatorNotFound",
    "Program",
    "ProgramLoadError",
    "Runtime",
    "States",
    "Verification",
    "__et_version__",
    "__version__",
    "get_num_threads",
    "openvino_inference_precision",
    "runtime_info",
    "set_num_threads",
    "xnnpack_workspace_size_bytes",
]
