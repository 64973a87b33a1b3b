"""The public classes: a runtime loads programs, a program has methods, a method is called."""

from __future__ import annotations

import enum
import io
import operator
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, TypeAlias

from . import _core, info
from ._compare import check_outputs
from ._metadata import MethodMeta
from ._state import States
from .errors import ProgramLoadError

Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO"


class Verification(enum.Enum):
    """Accepted for compatibility with ``executorch.runtime``: this runtime always checks everything."""

    Minimal = 0
    InternalConsistency = 1


def _core_source(source: Source, what: str = "source") -> str | bytes:
    """A path as str, or a whole file as bytes."""
    if isinstance(source, (str, os.PathLike)):
        return os.fsdecode(source)
    if isinstance(source, bytes):
        return source
    if isinstance(source, io.TextIOBase):
        raise TypeError(f"{what}: expected a binary file, got one in text mode: open it with mode 'rb'")
    read = getattr(source, "read", None)
    data: Any = read() if callable(read) else source
    try:
        return data if isinstance(data, bytes) else bytes(memoryview(data))
    except TypeError:
        got = type(source).__name__ + (f" that reads {type(data).__name__}" if data is not source else "")
        raise TypeError(f"{what}: expected a path, bytes or a binary file, got {got}") from None


def _data_files(given: Any, what: str) -> list[str | bytes]:
    """One source, several or None as a list."""
    if given is None:
        return []
    one = (str, os.PathLike, bytes, bytearray, memoryview, Mapping)
    if isinstance(given, Iterable) and not isinstance(given, one) and not hasattr(given, "read"):
        return [_core_source(item, f"{what}[{i}]") for i, item in enumerate(given)]
    return [_core_source(given, what)]


class Method(_core.Method):
    """A loaded method of a program. Call it with a sequence of inputs, get a list of outputs.

    Inputs are arrays, anything numpy can read as one, or the traced value of a non-tensor input; they are checked
    completely before anything runs. Outputs are fresh arrays. Wrong inputs (the message names the one) and failing
    operators raise ExecutionError and leave the state unchanged.

    A method owns its memory and state. Calls from several threads wait for each other; two methods, or a method and its
    clone, run in parallel. The GIL is released while it computes, unless that takes less than a few microseconds.
    """

    def __init__(self, program: _core.Program, name: str, shares: bool) -> None:
        super().__init__(program, name, shares)
        self._state: States | None = None
        info.remember_method(self)

    def execute(self, inputs: Sequence[Any]) -> list[Any]:
        """The same as calling the method; the name of ``executorch.runtime``."""
        return self(inputs)

    @property
    def name(self) -> str:
        """The method's name in the program."""
        return str(self.metadata["name"])

    @property
    def metadata(self) -> MethodMeta:
        """``num_inputs``, ``num_outputs``, ``inputs``, ``outputs`` and ``backends``.

        Each input and output is a dictionary with ``kind``; tensors have ``scalar_type`` (a code), ``dtype``,
        ``shape`` (the upper bound where ``dynamic``), ``dim_order``, ``is_memory_planned`` and ``nbytes``; others have
        ``value``, of inputs the only one the program was exported for, and -1 and ``[]`` for code and shape.
        It also has the methods of ``executorch.runtime``: ``num_inputs()``, ``input_tensor_meta(0).sizes()``, ...
        """
        return MethodMeta(self.describe())

    @property
    def state(self) -> States:
        """The buffers that keep their content from call to call, by name."""
        if self._state is None:
            self._state = States(self)
        return self._state

    def reset(self) -> None:
        """Put every buffer back to its value at load: the exported initial value, or zeros."""
        super().reset()

    @property
    def memory(self) -> dict[str, int]:
        """Bytes by use: ``planned`` (arenas), ``constant`` (in the file), ``packed`` (constants in kernel layouts,
        shared by the program's methods) and ``workspace`` (intermediate values; what operators that are not delegated
        need is known after the first call)."""
        return self.memory_report()

    def profile(self, inputs: Sequence[Any]) -> tuple[list[Any], list[dict[str, Any]]]:
        """Run once and record every operator, delegate, region of operators, and step inside the last two.

        Returns:
            The outputs, and the events in order of completion: dictionaries with ``kind``, ``name``, ``detail``,
            ``instruction``, ``start_ns`` and ``duration_ns``.
        """
        return super().profile(inputs)

    def __copy__(self) -> Method:
        """The same method: `Program.clone_method` makes another one."""
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a loaded method cannot be pickled: load the program in the process that needs it")

    def __repr__(self) -> str:
        if not hasattr(self, "_state"):  # a traceback with values shows it while loading fails
            return "<Method: not loaded>"
        meta = self.metadata
        return f"<Method {meta['name']!r}: {meta['num_inputs']} inputs, {meta['num_outputs']} outputs>"


class Program:
    """A loaded program."""

    def __init__(self, core_program: _core.Program) -> None:
        self._core_program = core_program
        self._methods: dict[str, Method] = {}
        self._lock = threading.Lock()

    @property
    def method_names(self) -> list[str]:
        """Names of the methods, in the file's order."""
        return self._core_program.method_names()

    def load_method(self, name: str) -> Method:
        """The method of that name, loaded at the first request; later ones get the same object, with its state.

        Raises:
            ProgramLoadError: no such method, missing external data, or a damaged delegate payload.
            OperatorNotFound, BackendNotAvailable: the program needs what this runtime does not have.
        """
        name = self._known(name)
        with self._lock:
            if name not in self._methods:
                self._methods[name] = Method(self._core_program, name, True)
            return self._methods[name]

    def _known(self, name: str) -> str:
        """The name; the core refuses unknown ones, and this what is no name at all, in the same words."""
        if isinstance(name, str) and not any("\ud800" <= c <= "\udfff" for c in name):
            return name
        raise ProgramLoadError(f"method {name!r} not found: the program has {', '.join(self.method_names)}")

    def clone_method(self, name: str) -> Method:
        """A new, independent copy of a method, with memory and state of its own but shared weights: to run the same
        method in several threads at once.

        Raises:
            The same as load_method.
        """
        return Method(self._core_program, self._known(name), False)

    def metadata(self, name: str) -> MethodMeta:
        """``Method.metadata`` without loading the method.

        Raises:
            ProgramLoadError: no such method.
        """
        return MethodMeta(self._core_program.metadata(self._known(name)))

    def seed(self, value: int) -> None:
        """Seed what ``rand``, ``randn`` and ``native_dropout`` draw from (0 at load).

        Every method of the program has a stream of its own, so that methods may run in parallel; a method's stream
        depends on the seed and on how many methods were loaded before it.
        """
        if not 0 <= operator.index(value) < 2**64:
            raise ValueError(f"seed: expected from 0 to 2**64 - 1, got {value}")
        self._core_program.seed(operator.index(value))

    @property
    def bundled_cases(self) -> dict[str, list[tuple[list[Any], list[Any]]]]:
        """Example inputs with the outputs expected for them, by method, of a bundled program (``.bpte``); empty for
        others."""
        return self._core_program.bundled_cases()

    def verify_bundled(self, *, rtol: float = 1e-5, atol: float = 1e-8) -> int:
        """Run all bundled cases and compare: shapes and dtypes exactly, floats within the tolerances, NaN equal to NaN.

        Returns:
            How many cases were run.

        Raises:
            ExecutionError: an output differs; the message names method, case and output.
        """
        count = 0
        for name, cases in self.bundled_cases.items():
            method = self.clone_method(name)
            for index, (inputs, expected) in enumerate(cases):
                check_outputs(method(inputs), expected, f"{name}: bundled case {index}", rtol, atol)
                count += 1
        return count

    def __copy__(self) -> Program:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a loaded program cannot be pickled: load it in the process that needs it")

    def __repr__(self) -> str:
        return f"<Program: {', '.join(self.method_names)}>"


class _BackendRegistry:
    """Names as in ``executorch.runtime``."""

    @property
    def registered_backend_names(self) -> list[str]:
        return _core.backend_names()

    def is_available(self, backend_name: str) -> bool:
        return backend_name in self.registered_backend_names


class _OperatorRegistry:
    """Names as in ``executorch.runtime``."""

    @property
    def operator_names(self) -> set[str]:
        return set(_core.operator_names())


class Runtime:
    """Loads programs. ``Runtime.get()`` gives the one of the process."""

    _instance: Runtime | None = None

    def __init__(self, num_threads: int | None = None) -> None:
        """``num_threads``: as ``set_num_threads``, for the whole process; None leaves the setting alone."""
        if num_threads is not None:
            info.set_num_threads(num_threads)
        self.backend_registry = _BackendRegistry()
        self.operator_registry = _OperatorRegistry()

    @classmethod
    def get(cls) -> Runtime:
        """The runtime of the process."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def load_program(
        self,
        source: Source,
        *,
        data: Source | Iterable[Source] | None = None,
        data_path: Source | None = None,
        verification: Verification = Verification.InternalConsistency,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
    ) -> Program:
        """Load a ``.pte``: a path (mapped), bytes (held), another buffer (copied) or a binary file (read).

        Args:
            source: the program.
            data: one or several ``.ptd`` files with constants kept outside of the program, in the same forms.
            data_path: the same, under the name ``executorch.runtime`` has for one.
            verification, enable_etdump, debug_buffer_size: accepted for compatibility; everything is always checked,
                and profiling is ``Method.profile``.

        Raises:
            ProgramLoadError: not a valid program; the message says where and why.
        """
        del verification, enable_etdump, debug_buffer_size
        files = _data_files(data, "data") + _data_files(data_path, "data_path")
        return Program(_core.Program.load(_core_source(source), files))
