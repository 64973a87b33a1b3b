"""What benchmarks/operators.py times: for each family, calls of one operator and the same in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from builder import OptionalTensors

RNG = np.random.default_rng(0)
F32 = np.float32


@dataclass
class Case:
    """Arrays among the arguments become inputs, those in `Constant` constants; results have numpy's shape and dtype."""

    family: str
    name: str
    operator: str
    arguments: tuple[Any, ...]
    in_numpy: Callable[[], Any] | None = None
    outs: list[tuple[tuple[int, ...], Any]] | None = None  # shape and dtype of each, where they are not numpy's


@dataclass
class Constant:
    array: np.ndarray


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(F32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalized(x, axes):
    d = x - x.mean(axes, keepdims=True)
    return d / np.sqrt((d * d).mean(axes, keepdims=True) + F32(1e-5))


def elementwise():
    small, small2 = floats(3), floats(3)
    x, y, positive = floats(512, 2048), floats(512, 2048), floats(512, 2048, low=0.1)
    unit, row, column = floats(512, 2048, low=-0.99, high=0.99), floats(2048), floats(512, 1)
    i, j = (RNG.integers(1, 1000, (512, 2048)) for _ in range(2))
    i32, h, mask = i.astype(np.int32), x.astype(np.float16), x > 0
    rows: list[tuple[Any, ...]] = [
        ("add, 3 elements", "aten::add.out", (small, small2, 1), lambda: small + small2),
        ("add", "aten::add.out", (x, y, 1), lambda: x + y),
        ("add row", "aten::add.out", (x, row, 1), lambda: x + row),
        ("add column", "aten::add.out", (x, column, 1), lambda: x + column),
        ("add number", "aten::add.Scalar_out", (x, 2.5, 1), lambda: x + F32(2.5)),
        ("add int64", "aten::add.out", (i, j, 1), lambda: i + j),
        ("add float16", "aten::add.out", (h, h, 1), lambda: h + h),
        ("mul", "aten::mul.out", (x, y), lambda: x * y),
        ("div", "aten::div.out", (x, y), lambda: x / y),
        ("floor_divide int32", "aten::floor_divide.out", (i32, i32), lambda: i32 // i32),
        ("remainder", "aten::remainder.Tensor_out", (x, y), lambda: np.remainder(x, y)),
        ("pow", "aten::pow.Tensor_Tensor_out", (positive, y), lambda: np.power(positive, y)),
        ("maximum", "aten::maximum.out", (x, y), lambda: np.maximum(x, y)),
        ("clamp", "aten::clamp.out", (x, -1.0, 1.0), lambda: np.clip(x, F32(-1), F32(1))),
        ("where", "aten::where.self_out", (mask, x, y), lambda: np.where(mask, x, y)),
        ("eq", "aten::eq.Tensor_out", (i, j), lambda: i == j),
        ("lt", "aten::lt.Tensor_out", (x, y), lambda: x < y),
        ("logical_and", "aten::logical_and.out", (mask, mask), lambda: np.logical_and(mask, mask)),
        ("bitwise_and", "aten::bitwise_and.Tensor_out", (i, j), lambda: i & j),
        ("to float16", "aten::_to_copy.out", (x, False, None), lambda: x.astype(np.float16)),
        ("to int64", "aten::_to_copy.out", (x, False, None), lambda: x.astype(np.int64)),
        ("sigmoid", "aten::sigmoid.out", (x,), lambda: sigmoid(x)),
        ("gelu", "aten::gelu.out", (x, "tanh"),
         lambda: F32(0.5) * x * (1 + np.tanh(F32(0.7978846) * (x + F32(0.044715) * x * x * x)))),
        ("relu", "aten::relu.out", (x,), lambda: np.maximum(x, 0)),
        ("erf", "aten::erf.out", (x,), None),
        ("rsqrt", "aten::rsqrt.out", (positive,), lambda: 1 / np.sqrt(positive)),
        ("isnan", "aten::isnan.out", (x,), lambda: np.isnan(x)),
    ]  # fmt: skip
    for name in (
        "exp",
        "log",
        "log1p",
        "expm1",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sqrt",
        "asinh",
        "sinh",
        "atan",
        "neg",
        "floor",
    ):
        function = getattr(np, {"asinh": "arcsinh", "atan": "arctan", "neg": "negative"}.get(name, name))
        of = positive if name.startswith("log") or name == "sqrt" else x
        rows.append((name, f"aten::{name}.out", (of,), lambda f=function, of=of: f(of)))
    for name in ("asin", "acos", "atanh"):
        function = getattr(np, f"arc{name[1:]}")
        rows.append((name, f"aten::{name}.out", (unit,), lambda f=function: f(unit)))
    bytes_, other = (RNG.integers(-100, 100, (512, 2048)).astype(np.int8) for _ in range(2))
    rows += [
        ("abs int8", "aten::abs.out", (bytes_,), lambda: np.abs(bytes_)),
        ("remainder int8", "aten::remainder.Tensor_out", (bytes_, other | 1), lambda: np.remainder(bytes_, other | 1)),
        ("abs float16", "aten::abs.out", (h,), lambda: np.abs(h)),
    ]
    near, nearby = x[:32].copy(), y[:32].copy()  # what stays in cache
    for name, function in (("mul", np.multiply), ("atan2", np.arctan2), ("maximum", np.maximum)):
        rows.append((f"{name}, cached", f"aten::{name}.out", (near, nearby), lambda f=function: f(near, nearby)))
    positive_near = positive[:32].copy()
    rows.append(("pow, cached", "aten::pow.Tensor_Tensor_out", (positive_near, nearby),
                 lambda: np.power(positive_near, nearby)))  # fmt: skip
    for name in ("exp", "log", "log1p", "sin", "tan", "tanh", "sinh", "asinh", "floor"):
        function = getattr(np, {"asinh": "arcsinh"}.get(name, name))
        of = positive_near if name.startswith("log") else near
        rows.append((f"{name}, cached", f"aten::{name}.out", (of,), lambda f=function, of=of: f(of)))
    wide = unit.astype(np.float64)
    for name in ("exp", "log", "tanh", "sin", "asin", "atan"):
        function = getattr(np, {"asin": "arcsin", "atan": "arctan"}.get(name, name))
        of = np.abs(wide) + 0.1 if name == "log" else wide
        rows.append((f"{name} float64", f"aten::{name}.out", (of,), lambda f=function, of=of: f(of)))
    outs = {"erf": [(x.shape, F32)]}
    return [Case("elementwise", n, op, a, f, outs.get(n)) for n, op, a, f in rows]


def reductions():
    x = floats(1024, 2048)
    cube = floats(32, 256, 14, 14)
    i = RNG.integers(0, 100, (1024, 2048))
    mask = np.zeros((1024, 2048), bool)
    short, doubles, narrow = floats(20000, 32), floats(20000, 32).astype(np.float64), floats(20000, 4)
    rows = [
        ("sum, short rows", "aten::sum.IntList_out", (short, [1], False, None), lambda: short.sum(1)),
        ("amax, short rows", "aten::amax.out", (short, [1], False), lambda: short.max(1)),
        ("argmax, short rows", "aten::argmax.out", (short, 1, False), lambda: short.argmax(1)),
        ("argmax float64, short", "aten::argmax.out", (doubles, 1, False), lambda: doubles.argmax(1)),
        ("argmin, few columns", "aten::argmin.out", (narrow, 0, False), lambda: narrow.argmin(0)),
        ("sum", "aten::sum.IntList_out", (x, None, False, None), lambda: np.sum(x)),
        ("sum rows", "aten::sum.IntList_out", (x, [1], False, None), lambda: x.sum(1)),
        ("sum columns", "aten::sum.IntList_out", (x, [0], False, None), lambda: x.sum(0)),
        ("sum int64", "aten::sum.IntList_out", (i, [1], False, None), lambda: i.sum(1)),
        ("mean of planes", "aten::mean.out", (cube, [2, 3], True, None), lambda: cube.mean((2, 3), keepdims=True)),
        ("amax rows", "aten::amax.out", (x, [1], False), lambda: x.max(1)),
        ("amin columns", "aten::amin.out", (x, [0], False), lambda: x.min(0)),
        ("argmax rows", "aten::argmax.out", (x, 1, False), lambda: x.argmax(1)),
        ("argmax", "aten::argmax.out", (x, None, False), lambda: x.argmax()),
        ("argmin columns", "aten::argmin.out", (x, 0, False), lambda: x.argmin(0)),
        ("var rows", "aten::var.correction_out", (x, [1], 1, False), lambda: x.var(1, ddof=1)),
        ("prod rows", "aten::prod.int_out", (x, 1, False, None), lambda: x.prod(1)),
        ("any", "aten::any.all_out", (mask,), lambda: mask.any()),
        ("any rows", "aten::any.dims_out", (mask, [1], False), lambda: mask.any(1)),
        ("cumsum rows", "aten::cumsum.out", (x, 1, None), lambda: x.cumsum(1)),
        ("cumsum columns", "aten::cumsum.out", (x, 0, None), lambda: x.cumsum(0)),
        ("softmax", "aten::_softmax.out", (x, 1, False), lambda: softmax(x)),
        ("log_softmax", "aten::_log_softmax.out", (x, 1, False), lambda: np.log(softmax(x))),
    ]
    return [Case("reductions", *row) for row in rows]


def norms():
    x, image = floats(512, 768), floats(8, 64, 56, 56)
    weight, bias = floats(64), floats(64)
    mean, variance = floats(64), floats(64, low=0.5)

    def batch_norm():
        scale = weight / np.sqrt(variance + F32(1e-5))
        return image * scale[:, None, None] + (bias - mean * scale)[:, None, None]

    def group_norm():
        groups = image.reshape(8, 8, -1)
        return normalized(groups, 2).reshape(image.shape) * weight[:, None, None] + bias[:, None, None]

    return [
        Case("norms", "layer_norm", "aten::native_layer_norm.out", (x, [768], None, None, 1e-5),
             lambda: normalized(x, 1), [((512, 768), F32), ((512, 1), F32), ((512, 1), F32)]),
        Case("norms", "batch_norm", "aten::_native_batch_norm_legit_no_training.out",
             (image, *(Constant(a) for a in (weight, bias, mean, variance)), 0.1, 1e-5), batch_norm,
             [(image.shape, F32), ((0,), F32), ((0,), F32)]),
        Case("norms", "group_norm", "aten::native_group_norm.out",
             (image, Constant(weight), Constant(bias), 8, 64, 56 * 56, 8, 1e-5), group_norm,
             [(image.shape, F32), ((8, 8), F32), ((8, 8), F32)]),
    ]  # fmt: skip


def products():
    a, b, vector = floats(512, 512), floats(512, 512), floats(1, 1024)
    heads, keys = floats(12, 197, 64), floats(12, 64, 197)
    weight, bias = floats(1024, 1024), floats(1024)
    tokens = floats(197, 1024)
    ints = RNG.integers(-9, 9, (128, 128))
    return [
        Case("matmul", "mm", "aten::mm.out", (a, b), lambda: a @ b),
        Case("matmul", "mm float64", "aten::mm.out", (a.astype(float), b.astype(float)),
             lambda: a.astype(float) @ b.astype(float)),
        Case("matmul", "mm int64", "aten::mm.out", (ints, ints), lambda: ints @ ints),
        Case("matmul", "bmm", "aten::bmm.out", (heads, keys), lambda: heads @ keys),
        Case("matmul", "addmm", "aten::addmm.out", (Constant(bias), tokens, Constant(weight), 1, 1),
             lambda: bias + tokens @ weight),
        Case("matmul", "linear", "aten::linear.out", (tokens, Constant(weight), Constant(bias)),
             lambda: tokens @ weight.T + bias),
        Case("matmul", "linear, one row", "aten::linear.out", (vector, Constant(weight), Constant(bias)),
             lambda: vector @ weight.T + bias),
    ]  # fmt: skip


def windows():
    image, wide = floats(1, 64, 56, 56), floats(1, 32, 112, 112)
    signal, volume = floats(1, 64, 4000), floats(1, 16, 8, 28, 28)

    def conv(name, x, weight, out, stride=1, padding=0, groups=1, transposed=False):
        dims = x.ndim - 2
        arguments = (x, Constant(floats(*weight).astype(x.dtype)), None, [stride] * dims, [padding] * dims, [1] * dims,
                     transposed, [0] * dims, groups)  # fmt: skip
        return Case("convolution", name, "aten::convolution.out", arguments, None, [(out, x.dtype)])

    pooled = (1, 64, 28, 28)
    return [
        conv("3x3", image, (64, 64, 3, 3), (1, 64, 56, 56), padding=1),
        conv("1x1", image, (128, 64, 1, 1), (1, 128, 56, 56)),
        conv("7x7, 3 channels", floats(1, 3, 224, 224), (64, 3, 7, 7), (1, 64, 112, 112), stride=2, padding=3),
        conv("depthwise 3x3", wide, (32, 1, 3, 3), (1, 32, 112, 112), padding=1, groups=32),
        conv("grouped 3x3", image, (64, 16, 3, 3), (1, 64, 56, 56), padding=1, groups=4),
        conv("transposed 2x2", image, (64, 32, 2, 2), (1, 32, 112, 112), stride=2, transposed=True),
        conv("1d, 9", signal, (64, 64, 9), (1, 64, 4000), padding=4),
        conv("3x3 float64", image.astype(np.float64), (64, 64, 3, 3), (1, 64, 56, 56), padding=1),
        conv("transposed 2x2 float64", image.astype(np.float64), (64, 32, 2, 2), (1, 32, 112, 112), stride=2,
             transposed=True),
        conv("3d 3x3x3", volume, (16, 16, 3, 3, 3), (1, 16, 8, 28, 28), padding=1),
        Case("pooling", "max 3x3", "aten::max_pool2d_with_indices.out", (image, [3, 3], [2, 2], [1, 1], [1, 1], False),
             None, [(pooled, F32), (pooled, np.int64)]),
        Case("pooling", "average 2x2", "aten::avg_pool2d.out", (image, [2, 2], [2, 2], [0, 0], False, True, None),
             lambda: image.reshape(1, 64, 28, 2, 28, 2).mean((3, 5))),
        Case("pooling", "adaptive average", "aten::_adaptive_avg_pool2d.out", (image, [7, 7]),
             lambda: image.reshape(1, 64, 7, 8, 7, 8).mean((3, 5))),
        Case("resampling", "nearest", "aten::upsample_nearest2d.vec_out", (image, None, [2.0, 2.0]),
             lambda: image.repeat(2, 2).repeat(2, 3)),
        Case("resampling", "bilinear", "aten::upsample_bilinear2d.vec_out", (image, None, False, [2.0, 2.0]),
             None, [((1, 64, 112, 112), F32)]),
    ]  # fmt: skip


def movement():
    x, image, heads = floats(1024, 2048), floats(8, 64, 56, 56), floats(8, 128, 12, 64)
    shuffled = (8, 16, 112, 112)
    rows = [
        ("clone", "aten::clone.out", (x, None), lambda: x.copy()),
        ("transpose", "aten::t_copy.out", (x,), lambda: x.T.copy()),
        ("permute heads", "aten::permute_copy.out", (heads, [0, 2, 1, 3]), lambda: heads.transpose(0, 2, 1, 3).copy()),
        ("permute to NHWC", "aten::permute_copy.out", (image, [0, 2, 3, 1]),
         lambda: image.transpose(0, 2, 3, 1).copy()),
        ("expand", "aten::expand_copy.out", (x[:1], [1024, 2048], False), lambda: np.repeat(x[:1], 1024, 0)),
        ("slice columns", "aten::slice_copy.Tensor_out", (x, 1, 3, 1800, 1), lambda: x[:, 3:1800].copy()),
        ("slice step", "aten::slice_copy.Tensor_out", (x, 1, 0, 2048, 2), lambda: x[:, ::2].copy()),
        ("select", "aten::select_copy.int_out", (image, 1, 3), lambda: image[:, 3].copy()),
        ("cat rows", "aten::cat.out", ([x, x], 0), lambda: np.concatenate([x, x])),
        ("cat columns", "aten::cat.out", ([x, x], 1), lambda: np.concatenate([x, x], 1)),
        ("stack", "aten::stack.out", ([x, x], 0), lambda: np.stack([x, x])),
        ("stack last", "aten::stack.out", ([x, x], -1), lambda: np.stack([x, x], -1)),
        ("repeat", "aten::repeat.out", (x, [1, 3]), lambda: np.tile(x, (1, 3))),
        ("roll", "aten::roll.out", (x, [5, 7], [0, 1]), lambda: np.roll(x, (5, 7), (0, 1))),
        ("flip columns", "aten::flip.out", (x, [1]), lambda: np.flip(x, 1).copy()),
        ("tril", "aten::tril.out", (x, 0), lambda: np.tril(x)),
        ("pixel_shuffle", "aten::pixel_shuffle.out", (image, 2),
         lambda: image.reshape(8, 16, 2, 2, 56, 56).transpose(0, 1, 4, 2, 5, 3).reshape(shuffled)),
        ("pad constant", "aten::constant_pad_nd.out", (image, [1, 1, 1, 1], 0.0),
         lambda: np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)])),
        ("pad reflection", "aten::reflection_pad2d.out", (image, [1, 1, 1, 1]),
         lambda: np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)], mode="reflect")),
        ("full", "aten::full.out", ([1024, 2048], 3.0), lambda: np.full((1024, 2048), 3.0, F32)),
        ("arange", "aten::arange.start_out", (0, 1_000_000, 1), lambda: np.arange(0, 1_000_000)),
    ]  # fmt: skip
    return [Case("movement", *row) for row in rows]


def indexing():
    x, table, score = floats(1024, 2048), floats(30000, 512), floats(4, 8, 256, 256)
    tall, values = floats(2048, 1024), floats(1024, 2048)
    tokens = RNG.integers(0, 30000, (8, 256))
    rows_index, columns = RNG.integers(0, 1024, 4096), RNG.integers(0, 2048, 2048)
    picks = RNG.integers(0, 2048, (1024, 256))
    mask, causal = RNG.random((1024, 2048)) < 0.5, RNG.random((1, 1, 256, 256)) < 0.5
    part = values[:, :256].copy()
    permutation = RNG.permutation(1024)[:512]

    def put(array, index, new):
        result = array.copy()
        result[index] = new
        return result

    def put_along(array):
        result = array.copy()
        np.put_along_axis(result, picks, part, 1)
        return result

    def add_at():
        result = tall.copy()
        np.add.at(result, (picks, np.arange(256)), part)
        return result

    rows = [
        ("embedding", "aten::embedding.out", (Constant(table), tokens, -1, False, False), lambda: table[tokens]),
        ("index rows", "aten::index.Tensor_out", (x, OptionalTensors([rows_index])), lambda: x[rows_index]),
        ("index columns", "aten::index.Tensor_out", (x, OptionalTensors([None, columns])), lambda: x[:, columns]),
        ("index both", "aten::index.Tensor_out", (x, OptionalTensors([rows_index[:2048], columns])),
         lambda: x[rows_index[:2048], columns]),
        ("index mask", "aten::index.Tensor_out", (x, OptionalTensors([mask])), lambda: x[mask]),
        ("index_put rows", "aten::index_put.out", (x, OptionalTensors([permutation]), values[:512], False),
         lambda: put(x, permutation, values[:512])),
        ("index_select", "aten::index_select.out", (x, 1, columns), lambda: x.take(columns, 1)),
        ("gather", "aten::gather.out", (x, 1, picks, False), lambda: np.take_along_axis(x, picks, 1)),
        ("scatter", "aten::scatter.src_out", (x, 1, picks, part), lambda: put_along(x)),
        ("scatter_add", "aten::scatter_add.out", (tall, 0, picks, part), add_at),
        ("masked_fill", "aten::masked_fill.Scalar_out", (score, causal, float("-inf")),
         lambda: np.where(causal, F32("-inf"), score)),
        ("masked_select", "aten::masked_select.out", (x, mask), lambda: x[mask]),
        ("nonzero", "aten::nonzero.out", (mask,), lambda: np.argwhere(mask)),
    ]  # fmt: skip
    return [Case("indexing", *row) for row in rows]


def searching():
    x, line, edges = floats(1024, 2048), floats(1_000_000), np.sort(floats(1000))
    both, some = [((1024, 2048), F32), ((1024, 2048), np.int64)], [((1024, 5), F32), ((1024, 5), np.int64)]
    return [
        Case("searching", "sort rows", "aten::sort.values_stable", (x, True, 1, False),
             lambda: np.take_along_axis(x, np.argsort(x, 1, kind="stable"), 1), both),
        Case("searching", "sort", "aten::sort.values_stable", (line, True, 0, False),
             lambda: line[np.argsort(line, kind="stable")], [((1_000_000,), F32), ((1_000_000,), np.int64)]),
        Case("searching", "topk 5", "aten::topk.values", (x, 5, 1, True, True),
             lambda: np.argpartition(x, -5, 1)[:, -5:], some),
        Case("searching", "bucketize", "aten::bucketize.Tensor_out", (x, edges, False, False),
             lambda: np.searchsorted(edges, x)),
    ]  # fmt: skip


def quantization():
    x = floats(512, 2048)
    q = RNG.integers(-128, 128, (512, 2048)).astype(np.int8)
    scales, zeros = RNG.uniform(0.01, 0.03, 512), RNG.integers(-9, 9, 512)
    table, tokens = RNG.integers(-128, 128, (32000, 2048)).astype(np.int8), RNG.integers(0, 32000, 512)
    table_scales = floats(32000, low=0.01, high=0.03)
    row, rows, weight = floats(1, 2048), floats(64, 2048), RNG.integers(-128, 128, (2048, 2048)).astype(np.int8)
    weight_scales, dense = floats(2048, low=0.01, high=0.03), floats(2048, 2048)
    return [
        Case("quantization", "quantize", "quantized_decomposed::quantize_per_tensor.out",
             (x, 0.02, 3, -128, 127, np.int8),
             lambda: (np.clip(np.rint(x * F32(50)) + 3, -128, 127)).astype(np.int8)),
        Case("quantization", "dequantize", "quantized_decomposed::dequantize_per_tensor.out",
             (q, 0.02, 3, -128, 127, np.int8, None), lambda: (q.astype(F32) - 3) * F32(0.02)),
        Case("quantization", "add", "quantized_decomposed::add.out",
             (q, 0.02, 3, -128, 127, q, 0.03, 1, -128, 127, 0.05, 0, -128, 127), None, [(q.shape, np.int8)]),
        Case("quantization", "quantize channels", "quantized_decomposed::quantize_per_channel.out",
             (x, scales, zeros, 0, -128, 127, np.int8),
             lambda: np.clip(np.rint(x / scales[:, None].astype(F32)) + zeros[:, None].astype(F32), -128, 127).astype(
                 np.int8)),
        Case("quantization", "dequantize channels", "quantized_decomposed::dequantize_per_channel.out",
             (q, scales, zeros, 0, -128, 127, np.int8, None),
             lambda: (q.astype(F32) - zeros[:, None].astype(F32)) * scales[:, None].astype(F32)),
        Case("quantization", "quantize tokens", "quantized_decomposed::quantize_per_token.out",
             (x, scales[:, None], zeros[:, None], -128, 127, np.int8),
             lambda: np.clip(np.rint(x / scales[:, None] + zeros[:, None]), -128, 127).astype(np.int8)),
        Case("quantization", "dequantize tokens", "quantized_decomposed::dequantize_per_token.out",
             (q, scales[:, None], zeros[:, None], -128, 127, np.int8, F32),
             lambda: ((q - zeros[:, None]) * scales[:, None]).astype(F32)),
        Case("quantization", "choose parameters", "quantized_decomposed::choose_qparams.Tensor_out",
             (x, -128, 127, 1e-6, np.int8), lambda: (x.min(), x.max()), [((1,), np.float64), ((1,), np.int64)]),
        Case("quantization", "choose parameters of tokens",
             "quantized_decomposed::choose_qparams_per_token_asymmetric.out",
             (x, np.int8), lambda: (x.min(1), x.max(1)), [((512, 1), np.float64), ((512, 1), np.int64)]),
        Case("quantization", "embedding of bytes", "quantized_decomposed::embedding_byte.out",
             (Constant(table), Constant(table_scales), None, -128, 127, tokens),
             lambda: table[tokens].astype(F32) * table_scales[tokens, None]),
        Case("quantization", "embedding of 4 bits", "quantized_decomposed::embedding_4bit.out",
             (Constant(table.view(np.uint8)), Constant(table_scales), None, -8, 7, tokens),
             None, [((512, 4096), F32)]),
        Case("quantization", "mixed linear, 1 row", "quantized_decomposed::mixed_linear.out",
             (row, Constant(weight), Constant(weight_scales), None, None), lambda: row @ dense),
        Case("quantization", "mixed linear, 64 rows", "quantized_decomposed::mixed_linear.out",
             (rows, Constant(weight), Constant(weight_scales), None, None), lambda: rows @ dense),
        Case("quantization", "mixed mm, 64 rows", "quantized_decomposed::mixed_mm.out",
             (rows, Constant(weight), Constant(weight_scales), None), lambda: rows @ dense),
    ]  # fmt: skip


def random_numbers():
    x, generator = floats(1024, 1024), np.random.default_rng(0)
    out = [(x.shape, F32)]
    return [
        Case("random", "uniform", "aten::rand.out", (list(x.shape),), lambda: generator.random(x.shape, F32), out),
        Case("random", "normal", "aten::randn.out", (list(x.shape),),
             lambda: generator.standard_normal(x.shape, F32), out),
        Case("random", "integers", "aten::randint.out", (1000, list(x.shape)),
             lambda: generator.integers(0, 1000, x.shape), [(x.shape, np.int64)]),
        Case("random", "permutation", "aten::randperm.out", (x.size,), lambda: generator.permutation(x.size),
             [((x.size,), np.int64)]),
        Case("random", "dropout", "aten::native_dropout.out", (x, 0.5, True),
             lambda: x * (generator.random(x.shape, F32) >= F32(0.5)) * F32(2), [*out, (x.shape, np.bool_)]),
    ]  # fmt: skip


def transforms():
    x, double, one = floats(64, 4096), floats(64, 400).astype(np.float64), floats(1, 4096)
    return [
        Case("fft", "rfft float64", "aten::_fft_r2c.out", (double, [1], 0, True), lambda: np.fft.rfft(double)),
        Case("fft", "rfft, one line", "aten::_fft_r2c.out", (one, [1], 0, True),
             lambda: np.fft.rfft(one).astype(np.complex64)),
        Case("fft", "rfft", "aten::_fft_r2c.out", (x, [1], 0, True), lambda: np.fft.rfft(x).astype(np.complex64)),
    ]  # fmt: skip


def cases() -> list[Case]:
    families = (
        elementwise,
        reductions,
        norms,
        products,
        windows,
        movement,
        indexing,
        searching,
        quantization,
        random_numbers,
        transforms,
    )
    return [case for family in families for case in family()]
