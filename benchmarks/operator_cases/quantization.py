"""Quantised operators."""

import numpy as np

from .case import F32, RNG, Case, Constant, floats


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
