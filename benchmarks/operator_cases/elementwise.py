"""Functions of every element."""

from functools import partial
from typing import Any

import numpy as np

from .case import F16, F32, F64, RNG, Bits, Case, Laid, bfloats, floats

SHAPE = (512, 2048)


def as_cases(rows: list[tuple[Any, ...]]) -> list[Case]:
    return [Case("elementwise", *row) for row in rows]


def integers(dtype: Any, low: int = 1, high: int = 100) -> np.ndarray:
    return RNG.integers(low, high, SHAPE).astype(dtype)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def arithmetic() -> list[Case]:
    small, small2 = floats(3), floats(3)
    x, y, positive = floats(*SHAPE), floats(*SHAPE), floats(*SHAPE, low=0.1)
    row, column, zero_dim = floats(2048), floats(512, 1), floats()
    image, channel, plane = floats(8, 64, 56, 56), floats(64, 1, 1), floats(8, 1, 56, 56)
    wide, wide2, h = x.astype(F64), y.astype(F64), x.astype(F16)
    i, j, i32, i16, i8, u8 = (integers(t) for t in (np.int64, np.int64, np.int32, np.int16, np.int8, np.uint8))
    turned = Laid(y, (1, 0))
    across = turned.laid()
    rows: list[tuple[Any, ...]] = [
        ("add, 3 elements", "aten::add.out", (small, small2, 1), lambda: small + small2),
        ("add", "aten::add.out", (x, y, 1), lambda: x + y),
        ("add row", "aten::add.out", (x, row, 1), lambda: x + row),
        ("add column", "aten::add.out", (x, column, 1), lambda: x + column),
        ("add to row", "aten::add.out", (row, x, 1), lambda: row + x),
        ("add row and column", "aten::add.out", (row, column, 1), lambda: row + column),
        ("add rank 0", "aten::add.out", (x, zero_dim, 1), lambda: x + zero_dim),
        ("add number", "aten::add.Scalar_out", (x, 2.5, 1), lambda: x + F32(2.5)),
        ("add channel", "aten::add.out", (image, channel, 1), lambda: image + channel),
        ("add plane", "aten::add.out", (image, plane, 1), lambda: image + plane),
        ("add NHWC", "aten::add.out", (Laid(image, (0, 2, 3, 1)), Laid(image, (0, 2, 3, 1)), 1), None,
         [(image.shape, F32, (0, 2, 3, 1))]),
        ("add NHWC to NCHW", "aten::add.out", (image, Laid(image, (0, 2, 3, 1)), 1), None, [(image.shape, F32)]),
        ("add transposed", "aten::add.out", (x, turned, 1), lambda: x + across),
        ("add float64", "aten::add.out", (wide, wide2, 1), lambda: wide + wide2),
        ("add int64", "aten::add.out", (i, j, 1), lambda: i + j),
        ("add int32", "aten::add.out", (i32, i32, 1), lambda: i32 + i32),
        ("add int16", "aten::add.out", (i16, i16, 1), lambda: i16 + i16),
        ("add int8", "aten::add.out", (i8, i8, 1), lambda: i8 + i8),
        ("add float16", "aten::add.out", (h, h, 1), lambda: h + h),
        ("add bfloat16", "aten::add.out", (b := bfloats(*SHAPE), b, 1), None, [(SHAPE, "bfloat16")]),
        ("add int64 to float", "aten::add.out", (x, i, 1), lambda: x + i.astype(F32)),
        ("sub", "aten::sub.out", (x, y, 1), lambda: x - y),
        ("sub twice", "aten::sub.out", (x, y, 2), lambda: x - F32(2) * y),
        ("mul", "aten::mul.out", (x, y), lambda: x * y),
        ("mul number", "aten::mul.Scalar_out", (x, 2.5), lambda: x * F32(2.5)),
        ("mul column", "aten::mul.out", (x, column), lambda: x * column),
        ("mul int64", "aten::mul.out", (i, j), lambda: i * j),
        ("mul uint8", "aten::mul.out", (u8, u8), lambda: u8 * u8),
        ("mul float16", "aten::mul.out", (h, h), lambda: h * h),
        ("div", "aten::div.out", (x, y), lambda: x / y),
        ("div float64", "aten::div.out", (wide, wide2), lambda: wide / wide2),
        ("div int64", "aten::div.out", (i, j), lambda: (i / j).astype(F32), [(SHAPE, F32)]),
        ("floor_divide", "aten::floor_divide.out", (x, y), lambda: x // y),
        ("floor_divide int32", "aten::floor_divide.out", (i32, i32), lambda: i32 // i32),
        ("floor_divide int64", "aten::floor_divide.out", (i, j), lambda: i // j),
        ("floor_divide int64 by 7", "aten::floor_divide.Scalar_out", (i, 7), lambda: i // 7),
        ("floor_divide uint8", "aten::floor_divide.out", (u8, u8), lambda: u8 // u8),
        ("floor_divide uint8 by 7", "aten::floor_divide.Scalar_out", (u8, 7), lambda: u8 // np.uint8(7)),
        ("remainder float64", "aten::remainder.Tensor_out", (wide, wide2), lambda: np.remainder(wide, wide2)),
        ("remainder", "aten::remainder.Tensor_out", (x, y), lambda: np.remainder(x, y)),
        ("remainder int64", "aten::remainder.Tensor_out", (i, j), lambda: np.remainder(i, j)),
        ("remainder int64 by 7", "aten::remainder.Scalar_out", (i, 7), lambda: np.remainder(i, 7)),
        ("remainder int32", "aten::remainder.Tensor_out", (i32, i32), lambda: np.remainder(i32, i32)),
        ("remainder int8", "aten::remainder.Tensor_out", (i8, i8), lambda: np.remainder(i8, i8)),
        ("fmod", "aten::fmod.Tensor_out", (x, y), lambda: np.fmod(x, y)),
        ("fmod int64", "aten::fmod.Tensor_out", (i, j), lambda: np.fmod(i, j)),
        ("pow", "aten::pow.Tensor_Tensor_out", (positive, y), lambda: np.power(positive, y)),
        ("pow 2", "aten::pow.Tensor_Scalar_out", (x, 2.0), lambda: np.power(x, F32(2))),
        ("pow 3", "aten::pow.Tensor_Scalar_out", (x, 3.0), lambda: np.power(x, F32(3))),
        ("pow 0.5", "aten::pow.Tensor_Scalar_out", (positive, 0.5), lambda: np.power(positive, F32(0.5))),
        ("pow 1.7", "aten::pow.Tensor_Scalar_out", (positive, 1.7), lambda: np.power(positive, F32(1.7))),
        ("pow int64", "aten::pow.Tensor_Scalar_out", (i, 3), lambda: i**3),
        ("pow float64", "aten::pow.Tensor_Tensor_out", (np.abs(wide), wide2), lambda: np.power(np.abs(wide), wide2)),
        ("atan2", "aten::atan2.out", (x, y), lambda: np.arctan2(x, y)),
        ("hypot", "aten::hypot.out", (x, y), lambda: np.hypot(x, y)),
        ("maximum", "aten::maximum.out", (x, y), lambda: np.maximum(x, y)),
        ("maximum int64", "aten::maximum.out", (i, j), lambda: np.maximum(i, j)),
        ("minimum float64", "aten::minimum.out", (wide, wide2), lambda: np.minimum(wide, wide2)),
        ("clamp", "aten::clamp.out", (x, -1.0, 1.0), lambda: np.clip(x, F32(-1), F32(1))),
        ("clamp int64", "aten::clamp.out", (i, 5, 50), lambda: np.clip(i, 5, 50)),
        ("addcmul", "aten::addcmul.out", (x, y, positive, 1), lambda: x + y * positive),
        ("lerp", "aten::lerp.Scalar_out", (x, y, 0.3), lambda: x + F32(0.3) * (y - x)),
        ("bitwise_and", "aten::bitwise_and.Tensor_out", (i, j), lambda: i & j),
        ("bitwise_not", "aten::bitwise_not.out", (i,), lambda: ~i),
        ("bitwise_left_shift", "aten::bitwise_left_shift.Tensor_Scalar_out", (i, 2), lambda: i << 2),
    ]  # fmt: skip
    near, nearby = x[:32].copy(), y[:32].copy()  # what stays in cache
    for name, function in (("add", np.add), ("mul", np.multiply), ("div", np.divide), ("atan2", np.arctan2),
                           ("maximum", np.maximum)):  # fmt: skip
        arguments = (near, nearby, 1) if name == "add" else (near, nearby)
        rows.append((f"{name}, cached", f"aten::{name}.out", arguments, partial(function, near, nearby)))
    some = np.abs(near) + F32(0.1)
    rows.append(("pow, cached", "aten::pow.Tensor_Tensor_out", (some, nearby), lambda: np.power(some, nearby)))
    few = i[:32].copy()
    rows += [
        ("add int64, cached", "aten::add.out", (few, few, 1), lambda: few + few),
        ("add row, cached", "aten::add.out", (near, row, 1), lambda: near + row),
        ("mul column, cached", "aten::mul.out", (near, column[:32].copy()), lambda: near * column[:32]),
    ]
    return as_cases(rows)


def comparisons() -> list[Case]:
    x, y, row = floats(*SHAPE), floats(*SHAPE), floats(2048)
    i, j, i8 = integers(np.int64), integers(np.int64), integers(np.int8)
    mask, other, h = x > 0, y > 0, x.astype(F16)
    score, causal = floats(4, 8, 256, 256), RNG.random((1, 1, 256, 256)) < 0.5
    few = x[:32].copy()
    return as_cases([
        ("eq", "aten::eq.Tensor_out", (i, j), lambda: i == j),
        ("eq number", "aten::eq.Scalar_out", (i, 7), lambda: i == 7),
        ("eq int8", "aten::eq.Tensor_out", (i8, i8), lambda: i8 == i8),
        ("ne", "aten::ne.Tensor_out", (x, y), lambda: x != y),
        ("lt", "aten::lt.Tensor_out", (x, y), lambda: x < y),
        ("lt, cached", "aten::lt.Tensor_out", (few, few), lambda: few < few),
        ("gt number", "aten::gt.Scalar_out", (x, 0.5), lambda: x > F32(0.5)),
        ("ge row", "aten::ge.Tensor_out", (x, row), lambda: x >= row),
        ("le float16", "aten::le.Tensor_out", (h, h), lambda: h <= h),
        ("logical_and", "aten::logical_and.out", (mask, other), lambda: np.logical_and(mask, other)),
        ("logical_not", "aten::logical_not.out", (mask,), lambda: np.logical_not(mask)),
        ("logical_or of floats", "aten::logical_or.out", (x, y), lambda: np.logical_or(x, y)),
        ("isnan", "aten::isnan.out", (x,), lambda: np.isnan(x)),
        ("isinf", "aten::isinf.out", (x,), lambda: np.isinf(x)),
        ("where", "aten::where.self_out", (mask, x, y), lambda: np.where(mask, x, y)),
        ("where row", "aten::where.self_out", (mask, x, row), lambda: np.where(mask, x, row)),
        ("where number", "aten::where.self_out", (mask, x, floats()), lambda: np.where(mask, x, F32(2))),
        ("where int64", "aten::where.self_out", (mask, i, j), lambda: np.where(mask, i, j)),
        ("where float16", "aten::where.self_out", (mask, h, h), lambda: np.where(mask, h, h)),
        ("where, wide mask", "aten::where.self_out", (causal, score, score), lambda: np.where(causal, score, score)),
        ("masked_fill", "aten::masked_fill.Scalar_out", (score, causal, float("-inf")),
         lambda: np.where(causal, F32("-inf"), score)),
        ("masked_fill, same shape", "aten::masked_fill.Scalar_out", (x, mask, 0.0), lambda: np.where(mask, F32(0), x)),
    ])  # fmt: skip


def conversions() -> list[Case]:
    x = floats(*SHAPE, low=0, high=100)
    names = {"float32": x, "float64": x.astype(F64), "float16": x.astype(F16), "int64": integers(np.int64),
             "int32": integers(np.int32), "uint8": integers(np.uint8), "bool": x > 50}  # fmt: skip
    pairs = (
        "float32 float16", "float16 float32", "float32 float64", "float64 float32", "float32 int64", "float32 int32",
        "float32 uint8", "float32 bool", "int64 float32", "int64 int32", "int32 int64", "int64 bool", "int32 float32",
        "uint8 float32", "uint8 int64", "bool float32", "bool int64", "float64 int64", "float16 float64",
    )  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    for pair in pairs:
        source, target = pair.split()
        array = names[source]
        rows.append((f"{source} to {target}", "aten::_to_copy.out", (array, False, None),
                     partial(array.astype, target)))  # fmt: skip
    bits = (x.view(np.uint32) >> 16).astype(np.uint16)
    rows += [
        ("float32 to bfloat16", "aten::_to_copy.out", (x, False, None), None, [(SHAPE, "bfloat16")]),
        ("bfloat16 to float32", "aten::_to_copy.out", (Bits(bits, "bfloat16"), False, None), None, [(SHAPE, F32)]),
    ]
    return as_cases(rows)


def gelu_tanh(x):
    return F32(0.5) * x * (1 + np.tanh(F32(0.7978846) * (x + F32(0.044715) * x * x * x)))


def functions() -> list[Case]:
    x, positive, unit = floats(*SHAPE), floats(*SHAPE, low=0.1), floats(*SHAPE, low=-0.99, high=0.99)
    h, i8, i64 = x.astype(F16), integers(np.int8, -100), integers(np.int64, -80, 80)
    b, bits_out = bfloats(*SHAPE), [(SHAPE, "bfloat16")]
    image = floats(8, 64, 56, 56)
    last = image.transpose(0, 2, 3, 1).copy()
    rows: list[tuple[Any, ...]] = [
        ("sigmoid", "aten::sigmoid.out", (x,), lambda: sigmoid(x)),
        ("sigmoid float16", "aten::sigmoid.out", (h,), lambda: sigmoid(h)),
        ("sigmoid bfloat16", "aten::sigmoid.out", (b,), None, bits_out),
        ("silu", "aten::silu.out", (x,), lambda: x * sigmoid(x)),
        ("gelu", "aten::gelu.out", (x, "none"), None, [(SHAPE, F32)]),
        ("gelu tanh", "aten::gelu.out", (x, "tanh"), lambda: gelu_tanh(x)),
        ("gelu float16", "aten::gelu.out", (h, "tanh"), lambda: gelu_tanh(h.astype(F32)).astype(F16)),
        ("hardswish", "aten::hardswish.out", (x,), lambda: x * np.clip(x + 3, 0, 6) / 6),
        ("hardsigmoid", "aten::hardsigmoid.out", (x,), lambda: np.clip(x + 3, 0, 6) / 6),
        ("elu", "aten::elu.out", (x, 1.0, 1.0, 1.0), lambda: np.where(x > 0, x, np.expm1(x))),
        ("leaky_relu", "aten::leaky_relu.out", (x, 0.1), lambda: np.where(x > 0, x, F32(0.1) * x)),
        ("softplus", "aten::softplus.out", (x, 1, 20), lambda: np.log1p(np.exp(x))),
        ("relu", "aten::relu.out", (x,), lambda: np.maximum(x, 0)),
        ("relu float16", "aten::relu.out", (h,), lambda: np.maximum(h, F16(0))),
        ("hardtanh", "aten::hardtanh.out", (x, 0.0, 6.0), lambda: np.clip(x, F32(0), F32(6))),
        ("erf", "aten::erf.out", (x,), None, [(SHAPE, F32)]),
        ("rsqrt", "aten::rsqrt.out", (positive,), lambda: 1 / np.sqrt(positive)),
        ("abs int8", "aten::abs.out", (i8,), lambda: np.abs(i8)),
        ("abs int64", "aten::abs.out", (i64,), lambda: np.abs(i64)),
        ("neg int64", "aten::neg.out", (i64,), lambda: -i64),
        ("abs float16", "aten::abs.out", (h,), lambda: np.abs(h)),
        ("exp float16", "aten::exp.out", (h,), lambda: np.exp(h)),
        ("exp int64", "aten::exp.out", (i64,), lambda: np.exp(i64).astype(F32)),
        ("exp NHWC", "aten::exp.out", (Laid(image, (0, 2, 3, 1)),),
         lambda: np.exp(last).transpose(0, 3, 1, 2).copy(), [(image.shape, F32, (0, 2, 3, 1))]),
    ]  # fmt: skip
    in_numpy = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "atanh": "arctanh",
                "acosh": "arccosh", "neg": "negative", "round": "rint"}  # fmt: skip

    def row(name: str, of: np.ndarray, label: str = "") -> None:
        rows.append((name + label, f"aten::{name}.out", (of,), partial(getattr(np, in_numpy.get(name, name)), of)))

    for name in ("exp", "exp2", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asinh", "atan", "neg", "abs",
                 "sign", "floor", "ceil", "trunc", "round", "reciprocal", "square"):  # fmt: skip
        row(name, x)
    for name in ("log", "log2", "log10", "log1p", "sqrt"):
        row(name, positive)
    for name in ("asin", "acos", "atanh"):
        row(name, unit)
    near = x[:32].copy()  # what stays in cache
    for name in ("exp", "log", "log1p", "sin", "tan", "tanh", "sinh", "asinh", "floor", "sqrt", "abs", "neg"):
        row(name, np.abs(near) + F32(0.1) if name in ("log", "log1p", "sqrt") else near, ", cached")
    wide = unit.astype(F64)
    for name in ("exp", "log", "tanh", "sin", "asin", "atan", "sqrt", "abs", "floor", "expm1", "log1p"):
        row(name, np.abs(wide) + 0.1 if name in ("log", "sqrt") else wide, " float64")
    return as_cases(rows)
