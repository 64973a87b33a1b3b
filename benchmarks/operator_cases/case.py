"""What a row of the benchmark is, and what its arrays are made with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
F32, F64, F16 = np.float32, np.float64, np.float16


@dataclass
class Case:
    """Arrays among the arguments become inputs, those in `Constant` constants; results have numpy's shape and dtype."""

    family: str
    name: str
    operator: str
    arguments: tuple[Any, ...]
    in_numpy: Callable[[], Any] | None = None
    outs: list[tuple[Any, ...]] | None = None  # shape, dtype and dim order of each, where they are not numpy's
    gives_list: bool = False


@dataclass
class Constant:
    array: np.ndarray


@dataclass
class Laid:
    """An input whose dims lie in memory in that order."""

    array: np.ndarray
    order: tuple[int, ...]

    def laid(self) -> np.ndarray:
        inverse = np.argsort(self.order)
        return np.ascontiguousarray(self.array.transpose(self.order)).transpose(inverse)


@dataclass
class Bits:
    """An input of a dtype that numpy lacks, as its bits."""

    array: np.ndarray
    dtype: str


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(F32)


def bfloats(*shape: int) -> Bits:
    return Bits((floats(*shape).view(np.uint32) >> 16).astype(np.uint16), "bfloat16")
