"""Random numbers and Fourier transforms."""

import numpy as np

from .case import F32, F64, Case, floats


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
    coefficients, image = np.fft.rfft(x).astype(np.complex64), floats(4, 256, 256)
    z = (x + 1j * x).astype(np.complex64)
    turned = z.conj()
    longer, short = floats(8, 4096).astype(F64), floats(1, 512)
    sevens, doubles = floats(64, 882), z.astype(np.complex128)
    return [
        Case("complex", "mul", "aten::mul.out", (z, turned), lambda: z * turned),
        Case("complex", "abs", "aten::abs.out", (z,), lambda: np.abs(z)),
        Case("complex", "square", "aten::pow.Tensor_Scalar_out", (z, 2), lambda: z * z),
        Case("fft", "rfft float64", "aten::_fft_r2c.out", (double, [1], 0, True), lambda: np.fft.rfft(double)),
        Case("fft", "rfft, one line", "aten::_fft_r2c.out", (one, [1], 0, True),
             lambda: np.fft.rfft(one).astype(np.complex64)),
        Case("fft", "rfft", "aten::_fft_r2c.out", (x, [1], 0, True), lambda: np.fft.rfft(x).astype(np.complex64)),
        Case("fft", "rfft float64, long", "aten::_fft_r2c.out", (longer, [1], 0, True), lambda: np.fft.rfft(longer)),
        Case("fft", "rfft, one short line", "aten::_fft_r2c.out", (short, [1], 0, True),
             lambda: np.fft.rfft(short).astype(np.complex64)),
        Case("fft", "irfft", "aten::_fft_c2r.out", (coefficients, [1], 2, 4096),
             lambda: np.fft.irfft(coefficients).astype(F32)),
        Case("fft", "fft", "aten::_fft_c2c.out", (z, [1], 0, True), lambda: np.fft.fft(z).astype(np.complex64)),
        Case("fft", "fft complex128", "aten::_fft_c2c.out", (doubles, [1], 0, True), lambda: np.fft.fft(doubles)),
        Case("fft", "rfft, 2 x 9 x 49", "aten::_fft_r2c.out", (sevens, [1], 0, True),
             lambda: np.fft.rfft(sevens).astype(np.complex64)),
        Case("fft", "rfft2", "aten::_fft_r2c.out", (image, [1, 2], 0, True),
             lambda: np.fft.rfft2(image).astype(np.complex64)),
    ]  # fmt: skip
