"""Reductions, scans, softmax."""

from typing import Any

import numpy as np

from .case import F16, F32, F64, RNG, Case, floats


def as_cases(rows: list[tuple[Any, ...]]) -> list[Case]:
    return [Case("reductions", *row) for row in rows]


def softmax(x, dim=-1):
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def reductions() -> list[Case]:
    x, cube, middle = floats(1024, 2048), floats(32, 256, 14, 14), floats(64, 256, 128)
    i, i32 = RNG.integers(0, 100, (1024, 2048)), RNG.integers(0, 100, (1024, 2048)).astype(np.int32)
    wide, h = x.astype(F64), x.astype(F16)
    bytes_, i16 = i.reshape(4, -1).astype(np.int8), i.reshape(4, -1).astype(np.int16)
    mask = np.zeros((1024, 2048), bool)
    few, two = floats(4, 65536), bytes_.reshape(2, -1)
    pair, truths = floats(2, 131072), i.reshape(2, -1) > 50
    short, doubles, narrow = floats(20000, 32), floats(20000, 32).astype(F64), floats(20000, 4)
    rows = [
        ("sum, short rows", "aten::sum.IntList_out", (short, [1], False, None), lambda: short.sum(1)),
        ("sum, shortest rows", "aten::sum.IntList_out", (narrow, [1], False, None), lambda: narrow.sum(1)),
        ("amax, short rows", "aten::amax.out", (short, [1], False), lambda: short.max(1)),
        ("argmax, short rows", "aten::argmax.out", (short, 1, False), lambda: short.argmax(1)),
        ("argmax float64, short", "aten::argmax.out", (doubles, 1, False), lambda: doubles.argmax(1)),
        ("argmin, few columns", "aten::argmin.out", (narrow, 0, False), lambda: narrow.argmin(0)),
        ("sum", "aten::sum.IntList_out", (x, None, False, None), lambda: np.sum(x)),
        ("sum rows", "aten::sum.IntList_out", (x, [1], False, None), lambda: x.sum(1)),
        ("sum columns", "aten::sum.IntList_out", (x, [0], False, None), lambda: x.sum(0)),
        ("sum middle", "aten::sum.IntList_out", (middle, [1], False, None), lambda: middle.sum(1)),
        ("sum outer and inner", "aten::sum.IntList_out", (middle, [0, 2], False, None), lambda: middle.sum((0, 2))),
        ("sum float64 rows", "aten::sum.IntList_out", (wide, [1], False, None), lambda: wide.sum(1)),
        ("sum float64 columns", "aten::sum.IntList_out", (wide, [0], False, None), lambda: wide.sum(0)),
        ("sum float16 rows", "aten::sum.IntList_out", (h, [1], False, None), lambda: h.sum(1)),
        ("sum int64", "aten::sum.IntList_out", (i, [1], False, None), lambda: i.sum(1)),
        ("sum int64 columns", "aten::sum.IntList_out", (i, [0], False, None), lambda: i.sum(0)),
        ("sum int32", "aten::sum.IntList_out", (i32, [1], False, None), lambda: i32.sum(1)),
        ("sum bool", "aten::sum.IntList_out", (mask, [1], False, None), lambda: mask.sum(1)),
        ("mean rows", "aten::mean.out", (x, [1], False, None), lambda: x.mean(1)),
        ("mean columns", "aten::mean.out", (x, [0], False, None), lambda: x.mean(0)),
        ("mean of planes", "aten::mean.out", (cube, [2, 3], True, None), lambda: cube.mean((2, 3), keepdims=True)),
        ("mean of channels", "aten::mean.out", (cube, [0, 2, 3], True, None),
         lambda: cube.mean((0, 2, 3), keepdims=True)),
        ("amax rows", "aten::amax.out", (x, [1], False), lambda: x.max(1)),
        ("amax, few long rows", "aten::amax.out", (few, [0], False), lambda: few.max(0)),
        ("amax int8, 2 rows", "aten::amax.out", (two, [0], False), lambda: two.max(0)),
        ("amax bool, 2 rows", "aten::amax.out", (truths, [0], False), lambda: truths.max(0)),
        ("mean, 2 rows", "aten::mean.out", (pair, [0], False, None), lambda: pair.mean(0)),
        ("prod, 2 rows", "aten::prod.int_out", (pair, 0, False, None), lambda: pair.prod(0)),
        ("norm, 2 rows", "aten::linalg_vector_norm.out", (pair, 2.0, [0], False, None),
         lambda: np.sqrt((pair * pair).sum(0))),
        ("amax middle", "aten::amax.out", (middle, [1], False), lambda: middle.max(1)),
        ("amax int64 rows", "aten::amax.out", (i, [1], False), lambda: i.max(1)),
        ("amin columns", "aten::amin.out", (x, [0], False), lambda: x.min(0)),
        ("max of all", "aten::max.unary_out", (x,), lambda: x.max()),
        ("max with index", "aten::max.dim_max", (x, 1, False), lambda: (x.max(1), x.argmax(1)),
         [((1024,), F32), ((1024,), np.int64)]),
        ("argmax rows", "aten::argmax.out", (x, 1, False), lambda: x.argmax(1)),
        ("argmax middle", "aten::argmax.out", (middle, 1, False), lambda: middle.argmax(1)),
        ("argmax int64", "aten::argmax.out", (i, 1, False), lambda: i.argmax(1)),
        ("argmax int8", "aten::argmax.out", (bytes_, 1, False), lambda: bytes_.argmax(1)),
        ("argmax int16", "aten::argmax.out", (i16, 1, False), lambda: i16.argmax(1)),
        ("argmax float64", "aten::argmax.out", (wide, 1, False), lambda: wide.argmax(1)),
        ("argmax", "aten::argmax.out", (x, None, False), lambda: x.argmax()),
        ("argmin columns", "aten::argmin.out", (x, 0, False), lambda: x.argmin(0)),
        ("var rows", "aten::var.correction_out", (x, [1], 1, False), lambda: x.var(1, ddof=1)),
        ("var columns", "aten::var.correction_out", (x, [0], 1, False), lambda: x.var(0, ddof=1)),
        ("var middle", "aten::var.correction_out", (middle, [1], 1, False), lambda: middle.var(1, ddof=1)),
        ("std float64", "aten::std.correction_out", (wide, [1], 1, False), lambda: wide.std(1, ddof=1)),
        ("prod rows", "aten::prod.int_out", (x, 1, False, None), lambda: x.prod(1)),
        ("prod columns", "aten::prod.int_out", (x, 0, False, None), lambda: x.prod(0)),
        ("any", "aten::any.all_out", (mask,), lambda: mask.any()),
        ("any rows", "aten::any.dims_out", (mask, [1], False), lambda: mask.any(1)),
        ("any columns", "aten::any.dims_out", (mask, [0], False), lambda: mask.any(0)),
        ("any of floats", "aten::any.dims_out", (x, [1], False), lambda: x.any(1)),
        ("norm rows", "aten::linalg_vector_norm.out", (x, 2.0, [1], False, None), lambda: np.linalg.norm(x, axis=1)),
        ("logsumexp rows", "aten::logsumexp.out", (x, [1], False),
         lambda: np.log(np.exp(x - (m := x.max(1, keepdims=True))).sum(1)) + m[:, 0]),
        ("count_nonzero", "aten::count_nonzero.dim_IntList_out", (x, [1]), lambda: np.count_nonzero(x, 1)),
    ]  # fmt: skip
    return as_cases(rows)


def scans() -> list[Case]:
    x, middle, i = floats(1024, 2048), floats(64, 256, 128), RNG.integers(0, 100, (1024, 2048))
    wide, mask = x.astype(F64), x > 0
    both = [(x.shape, F32), (x.shape, np.int64)]
    narrow, short = i[:400].reshape(-1, 4), i[:400].reshape(-1, 8).astype(np.uint8)
    return as_cases([
        ("cumsum, few columns", "aten::cumsum.out", (narrow, 0, None), lambda: narrow.cumsum(0)),
        ("cumprod, few columns", "aten::cumprod.out", (narrow, 0, None), lambda: narrow.cumprod(0)),
        ("cummax, few columns", "aten::cummax.out", (narrow, 0), lambda: np.maximum.accumulate(narrow, 0),
         [(narrow.shape, np.int64), (narrow.shape, np.int64)]),
        ("cummax uint8, short", "aten::cummax.out", (short, 1), lambda: np.maximum.accumulate(short, 1),
         [(short.shape, np.uint8), (short.shape, np.int64)]),
        ("cumsum rows", "aten::cumsum.out", (x, 1, None), lambda: x.cumsum(1)),
        ("cumsum columns", "aten::cumsum.out", (x, 0, None), lambda: x.cumsum(0)),
        ("cumsum middle", "aten::cumsum.out", (middle, 1, None), lambda: middle.cumsum(1)),
        ("cumsum int64", "aten::cumsum.out", (i, 1, None), lambda: i.cumsum(1)),
        ("cumsum bool", "aten::cumsum.out", (mask, 1, None), lambda: mask.cumsum(1)),
        ("cumsum float64", "aten::cumsum.out", (wide, 1, None), lambda: wide.cumsum(1)),
        ("cumprod rows", "aten::cumprod.out", (x, 1, None), lambda: x.cumprod(1)),
        ("cummax rows", "aten::cummax.out", (x, 1), lambda: np.maximum.accumulate(x, 1), both),
        ("cummax columns", "aten::cummax.out", (x, 0), lambda: np.maximum.accumulate(x, 0), both),
        ("logcumsumexp", "aten::_logcumsumexp.out", (x, 1), lambda: np.logaddexp.accumulate(x, 1)),
    ])  # fmt: skip


def softmaxes() -> list[Case]:
    x, scores, classes, h = floats(1024, 2048), floats(12, 197, 197), floats(1, 21, 256, 256), floats(512, 1000)
    half = h.astype(F16)
    return as_cases([
        ("softmax", "aten::_softmax.out", (x, 1, False), lambda: softmax(x)),
        ("softmax, short rows", "aten::_softmax.out", (scores, 2, False), lambda: softmax(scores)),
        ("softmax of channels", "aten::_softmax.out", (classes, 1, False), lambda: softmax(classes, 1)),
        ("softmax float16", "aten::_softmax.out", (half, 1, False), lambda: softmax(h).astype(F16)),
        ("log_softmax", "aten::_log_softmax.out", (x, 1, False), lambda: np.log(softmax(x))),
        ("log_softmax of channels", "aten::_log_softmax.out", (classes, 1, False), lambda: np.log(softmax(classes, 1))),
    ])  # fmt: skip
