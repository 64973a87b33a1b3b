"""The buffers of a method that keep their content from call to call, such as a key-value cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _core
from ._inputs import to_array
from .errors import ExecutionError

_CODES = {"bfloat16": 15, "float8_e5m2": 23, "float8_e4m3fn": 24, "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26}


class States(Mapping[str, np.ndarray[Any, Any]]):
    """A mapping from buffer name to a copy of its content; assigning to a name overwrites the buffer.

        >>> saved = dict(method.state)          # copies of all buffers
        >>> method.state["cache"] = saved["cache"]
        >>> method.state.load(saved)            # all of them at once

    Names are the exporter's (``layers.0.k_cache``); buffers the file has no name for are ``state_0``, ``state_1``, ...
    """

    def __init__(self, method: _core.Method) -> None:
        self._method = method
        self._specs: list[dict[str, Any]] = method.states()
        self._index = {spec["name"]: i for i, spec in enumerate(self._specs)}

    def _find(self, name: str) -> int:
        try:
            return self._index[name]
        except KeyError:
            raise KeyError(f"no state {name!r}; the method has {', '.join(self._index) or 'none'}") from None

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        result: np.ndarray[Any, Any] = self._method.get_state(self._find(name))
        return result

    def _encode(self, name: str, value: Any) -> tuple[int, bytes]:
        index = self._find(name)
        current = self[name]
        spec = self._specs[index]
        code = _CODES.get(spec["dtype"])
        if code is not None:
            array = to_array(value, code, name, 0)
        else:
            array = np.asarray(value)
            if array.dtype != current.dtype:
                raise ExecutionError(f"state {name}: expected an array of {current.dtype}, got {array.dtype}")
        if list(array.shape) != spec["shape"]:
            raise ExecutionError(f"state {name}: expected shape {spec['shape']}, got {list(array.shape)}")
        return index, array.tobytes()

    def __setitem__(self, name: str, value: Any) -> None:
        self._method.set_state(*self._encode(name, value))

    def load(self, values: Mapping[str, Any]) -> None:
        """Overwrite the named buffers; nothing is written unless every name, dtype and shape fits.

        Raises:
            KeyError: a name is unknown.
            ExecutionError: a dtype or shape is wrong.
        """
        if not isinstance(values, Mapping):
            raise TypeError(f"state: expected a mapping of names to arrays, got {type(values).__name__}")
        encoded = [self._encode(name, value) for name, value in values.items()]
        for index, data in encoded:
            self._method.set_state(index, data)

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        items = ", ".join(f"{s['name']}: {s['dtype']} {s['shape']}" for s in self._specs)
        return f"States({items})"
