"""Norms, products of matrices, attention."""

import numpy as np

from .case import F16, F32, F64, RNG, Case, Constant, floats


def normalized(x, axes):
    d = x - x.mean(axes, keepdims=True)
    return d / np.sqrt((d * d).mean(axes, keepdims=True) + F32(1e-5))


def norms() -> list[Case]:
    x, image = floats(512, 768), floats(8, 64, 56, 56)
    half, narrow = x.astype(F16), floats(20000, 4)
    weight, bias = floats(64), floats(64)
    gain, shift = floats(768), floats(768)
    mean, variance = floats(64), floats(64, low=0.5)

    def batch_norm():
        scale = weight / np.sqrt(variance + F32(1e-5))
        return image * scale[:, None, None] + (bias - mean * scale)[:, None, None]

    def group_norm(groups):
        parts = normalized(image.reshape(8, groups, -1), 2).reshape(image.shape)
        return parts * weight[:, None, None] + bias[:, None, None]

    def rms_norm():
        return x / np.sqrt((x * x).mean(1, keepdims=True) + F32(1e-5)) * gain

    statistics = [((512, 1), F32), ((512, 1), F32)]
    return [
        Case("norms", "layer_norm", "aten::native_layer_norm.out", (x, [768], None, None, 1e-5),
             lambda: normalized(x, 1), [((512, 768), F32), *statistics]),
        Case("norms", "layer_norm, affine", "aten::native_layer_norm.out",
             (x, [768], Constant(gain), Constant(shift), 1e-5), lambda: normalized(x, 1) * gain + shift,
             [((512, 768), F32), *statistics]),
        Case("norms", "layer_norm float16", "aten::native_layer_norm.out", (half, [768], None, None, 1e-5),
             lambda: normalized(half.astype(F32), 1).astype(F16),
             [((512, 768), F16), ((512, 1), F16), ((512, 1), F16)]),
        Case("norms", "layer_norm, rows of 4", "aten::native_layer_norm.out", (narrow, [4], None, None, 1e-5),
             lambda: normalized(narrow, 1), [(narrow.shape, F32), ((20000, 1), F32), ((20000, 1), F32)]),
        Case("norms", "rms_norm", "aten::rms_norm.out", (x, [768], Constant(gain), 1e-5), rms_norm),
        Case("norms", "batch_norm", "aten::_native_batch_norm_legit_no_training.out",
             (image, *(Constant(a) for a in (weight, bias, mean, variance)), 0.1, 1e-5), batch_norm,
             [(image.shape, F32), ((0,), F32), ((0,), F32)]),
        Case("norms", "instance_norm", "aten::_native_batch_norm_legit.no_stats_out",
             (floats(1, 512, 56, 56), None, None, True, 0.1, 1e-5), None,
             [((1, 512, 56, 56), F32), ((512,), F32), ((512,), F32)]),
        Case("norms", "group_norm", "aten::native_group_norm.out",
             (image, Constant(weight), Constant(bias), 8, 64, 56 * 56, 8, 1e-5), lambda: group_norm(8),
             [(image.shape, F32), ((8, 8), F32), ((8, 8), F32)]),
        Case("norms", "group_norm, small", "aten::native_group_norm.out",
             (floats(8, 64, 7, 7), Constant(weight), Constant(bias), 8, 64, 49, 32, 1e-5), None,
             [((8, 64, 7, 7), F32), ((8, 32), F32), ((8, 32), F32)]),
    ]  # fmt: skip


def products() -> list[Case]:
    a, b, vector = floats(512, 512), floats(512, 512), floats(1, 1024)
    wide, wide2, half, half2 = a.astype(F64), b.astype(F64), a.astype(F16), b.astype(F16)
    heads, keys = floats(12, 197, 64), floats(12, 64, 197)
    many, many2, doubles = floats(256, 16, 16), floats(256, 16, 16), floats(12, 64, 64).astype(F64)
    weight, bias = floats(1024, 1024), floats(1024)
    small_weight = floats(16, 16)
    thin = floats(500, 3).astype(F64)
    tokens, few, tall = floats(197, 1024), floats(4, 16), floats(20000, 16)
    ints, ints32 = RNG.integers(-9, 9, (128, 128)), RNG.integers(-9, 9, (128, 128)).astype(np.int32)
    line, line2 = floats(1_000_000), floats(1_000_000)
    half_tokens, half_weight = tokens.astype(F16), weight.astype(F16)
    points, others = floats(300, 3), floats(200, 3)

    def cdist():
        squares = (points * points).sum(1)[:, None] + (others * others).sum(1) - F32(2) * (points @ others.T)
        return np.sqrt(np.maximum(squares, F32(0)))

    return [
        Case("products", "cdist", "aten::_cdist_forward.out", (points, others, 2.0, None), cdist),
        Case("products", "cdist, largest", "aten::_cdist_forward.out", (points, others, float("inf"), None),
             lambda: np.abs(points[:, None] - others).max(2)),
        Case("matmul", "mm", "aten::mm.out", (a, b), lambda: a @ b),
        Case("matmul", "mm float64", "aten::mm.out", (wide, wide2), lambda: wide @ wide2),
        Case("matmul", "mm float16", "aten::mm.out", (half, half2), None, [((512, 512), F16)]),
        Case("matmul", "mm int64", "aten::mm.out", (ints, ints), lambda: ints @ ints),
        Case("matmul", "mm int32", "aten::mm.out", (ints32, ints32), lambda: ints32 @ ints32),
        Case("matmul", "mm, small", "aten::mm.out", (few, small_weight), lambda: few @ small_weight),
        Case("matmul", "mm, one row", "aten::mm.out", (a[:1].copy(), b), lambda: a[:1] @ b),
        Case("matmul", "mm float64, narrow", "aten::mm.out", (thin, thin[:3].copy()), lambda: thin @ thin[:3]),
        Case("matmul", "mm float64, one row", "aten::mm.out", (wide[:1].copy(), wide2), lambda: wide[:1] @ wide2),
        Case("matmul", "mm, tall", "aten::mm.out", (tall, small_weight), lambda: tall @ small_weight),
        Case("matmul", "mv", "aten::mv.out", (weight, bias), lambda: weight @ bias),
        Case("matmul", "dot", "aten::dot.out", (line, line2), lambda: line @ line2),
        Case("matmul", "bmm", "aten::bmm.out", (heads, keys), lambda: heads @ keys),
        Case("matmul", "bmm, small", "aten::bmm.out", (many, many2), lambda: many @ many2),
        Case("matmul", "bmm float64", "aten::bmm.out", (doubles, doubles), lambda: doubles @ doubles),
        Case("matmul", "addmm", "aten::addmm.out", (Constant(bias), tokens, Constant(weight), 1, 1),
             lambda: bias + tokens @ weight),
        Case("matmul", "linear", "aten::linear.out", (tokens, Constant(weight), Constant(bias)),
             lambda: tokens @ weight.T + bias),
        Case("matmul", "linear, one row", "aten::linear.out", (vector, Constant(weight), Constant(bias)),
             lambda: vector @ weight.T + bias),
        Case("matmul", "linear, variable", "aten::linear.out", (tokens, weight, bias),
             lambda: tokens @ weight.T + bias),
        Case("matmul", "linear float16", "aten::linear.out", (half_tokens, Constant(half_weight), None), None,
             [((197, 1024), F16)]),
        Case("matmul", "outer", "aten::outer.out", (bias, bias), lambda: np.outer(bias, bias)),
    ]  # fmt: skip


def attention() -> list[Case]:
    def heads(queries, keys, size):
        return floats(1, 12, queries, size), floats(1, 12, keys, size), floats(1, 12, keys, size)

    def plain(q, k, v):
        scores = q @ k.transpose(0, 1, 3, 2) / F32(np.sqrt(q.shape[-1]))
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True)) @ v

    image, row, mask = heads(197, 197, 64), heads(1, 512, 64), floats(1, 1, 197, 197)
    operator, causal = "aten::scaled_dot_product_attention.out", heads(512, 512, 64)
    return [
        Case("attention", "197 tokens", operator, (*image, None, 0.0, False, None, False), lambda: plain(*image)),
        Case("attention", "197 tokens, mask", operator, (*image, mask, 0.0, False, None, False),
             lambda: plain(*image)),
        Case("attention", "512 tokens, causal", operator, (*causal, None, 0.0, True, None, False),
             lambda: plain(*causal)),
        Case("attention", "1 query, 512 keys", operator, (*row, None, 0.0, False, None, False), lambda: plain(*row)),
    ]  # fmt: skip
