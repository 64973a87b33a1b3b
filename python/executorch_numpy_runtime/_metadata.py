"""What a method takes and gives: a dictionary, and the same under the names of ``executorch.runtime``."""

from __future__ import annotations

from typing import Any


class TensorInfo:
    """One tensor of a method's metadata."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec

    def sizes(self) -> tuple[int, ...]:
        """Sizes; upper bounds where they are dynamic."""
        return tuple(self._spec["shape"])

    def dtype(self) -> int:
        """The ScalarType code."""
        return int(self._spec["scalar_type"])

    def is_memory_planned(self) -> bool:
        return bool(self._spec["is_memory_planned"])

    def nbytes(self) -> int:
        return int(self._spec["nbytes"])

    def __repr__(self) -> str:
        return (
            f"TensorInfo(sizes={list(self.sizes())}, dtype={self._spec['dtype']}, "
            f"is_memory_planned={self.is_memory_planned()}, nbytes={self.nbytes()})"
        )


class MethodMeta(dict[str, Any]):
    """The dictionary that ``Method.metadata`` describes, with the methods that ``executorch.runtime`` gives it."""

    def name(self) -> str:
        return str(self["name"])

    def num_inputs(self) -> int:
        return int(self["num_inputs"])

    def num_outputs(self) -> int:
        return int(self["num_outputs"])

    def input_tensor_meta(self, index: int) -> TensorInfo:
        """Input ``index``.

        Raises:
            IndexError: there is no such input.
            TypeError: it is not a tensor.
        """
        return self._tensor("inputs", index)

    def output_tensor_meta(self, index: int) -> TensorInfo:
        """Output ``index``; raises as ``input_tensor_meta``."""
        return self._tensor("outputs", index)

    def _tensor(self, kind: str, index: int) -> TensorInfo:
        specs = self[kind]
        if not 0 <= index < len(specs):
            raise IndexError(f"{self.name()}: {kind[:-1]} {index}: the method has {len(specs)}")
        if specs[index]["kind"] != "tensor":
            raise TypeError(f"{self.name()}: {kind[:-1]} {index} is of kind {specs[index]['kind']}, expected a tensor")
        return TensorInfo(specs[index])
