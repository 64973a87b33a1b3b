"""Quantised values of delegated graphs: as numpy computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import executorch_numpy_runtime as en
from builder import PayloadBuilder, PayloadValue, delegated_program

FROM = {"scale": 0.03, "zero_point": -7}
TO = {"scale": 0.05, "zero_point": 11}


def quanta(real: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    scaled = real.astype(np.float32) * np.float32(1 / np.float32(scale))
    return np.clip(np.rint(scaled) + zero_point, -128, 127).astype(np.int64)


def real(integers: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    return ((integers - zero_point) * np.float32(scale)).astype(np.float32)


def run(g: PayloadBuilder, *inputs: np.ndarray, dim_orders: dict[int, Sequence[int]] | None = None) -> list[np.ndarray]:
    program = en.Runtime.get().load_program(delegated_program(g, dim_orders=dim_orders))
    return list(program.load_method("forward")(list(inputs)))


def quantised_input(g: PayloadBuilder, shape: tuple[int, ...]) -> PayloadValue:
    quantised = g.value(shape, "qint8", **FROM)
    g.node("Convert", input=g.input(shape), output=quantised)
    return quantised


def image(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-3, 3, shape).astype(np.float32)
