"""What benchmarks/operators.py times: for each family, calls of one operator and the same in numpy."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Bits, Case, Constant, Laid
from .elementwise import arithmetic, comparisons, conversions, functions
from .images import convolutions, pools, resampling
from .indexing import indexing, searching
from .movement import movement
from .others import random_numbers, transforms
from .products import attention, norms, products
from .quantization import quantization
from .reductions import reductions, scans, softmaxes

__all__ = ["Bits", "Case", "Constant", "Laid", "cases"]


def cases() -> Iterator[Case]:
    """Every row, made when it is asked for: together their arrays are large."""
    for family in (
        arithmetic,
        comparisons,
        conversions,
        functions,
        reductions,
        scans,
        softmaxes,
        norms,
        products,
        attention,
        convolutions,
        pools,
        resampling,
        movement,
        indexing,
        searching,
        quantization,
        random_numbers,
        transforms,
    ):
        yield from family()
