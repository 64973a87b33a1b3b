"""Everything this package raises on purpose.

ExecuTorchError
├── ProgramLoadError        the file, or a part of it, is not a valid program
├── BackendNotAvailable     the program needs a delegate this runtime does not have
├── OperatorNotFound        the program needs operators this runtime does not have
└── ExecutionError          a call, its inputs or an operator's arguments are wrong
"""


class ExecuTorchError(Exception):
    """Base class of all errors of this package."""


class ProgramLoadError(ExecuTorchError):
    """The file is missing, damaged, of another kind, or of a version this runtime does not know."""


class BackendNotAvailable(ExecuTorchError):
    """The program was lowered to a delegate this runtime does not have; the message names it."""


class OperatorNotFound(ExecuTorchError):
    """The program calls operators this runtime does not have; the message lists each, with the methods that need it."""


class ExecutionError(ExecuTorchError):
    """A call failed: wrong inputs, or an operator whose arguments do not fit. The method's state is unchanged."""
