"""Arguments that ask for too much are refused at once."""

from __future__ import annotations

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder

from .single_call import Out, call

F32 = np.dtype(np.float32)
IMAGE, VOLUME, LINE = np.ones((1, 2, 4, 5), F32), np.ones((1, 2, 3, 4, 5), F32), np.ones((1, 2, 6), F32)
HUGE = 1 << 40


@pytest.mark.parametrize("name, args, message", [
    ("aten::_adaptive_avg_pool3d.out", (VOLUME, [HUGE, 2, 2]), "out: the result has shape"),
    ("aten::avg_pool3d.out", (VOLUME, [1 << 30] * 3, [1], [1 << 62], False, True, None), "padding: expected 0 to"),
    ("aten::avg_pool3d.out", (VOLUME, [1 << 40] * 3, [1], [0], False, True, None), "kernel_size: expected at least 1"),
    ("aten::im2col.out", (IMAGE, [1 << 30, 1 << 30], [1, 1], [1 << 30, 1 << 30], [1, 1]), "kernel_size: .* too many"),
    ("aten::col2im.out", (LINE, [1 << 30, 1 << 30], [1, 1], [1, 1], [0, 0], [1, 1]), "kernel_size: .* too many"),
    ("aten::_upsample_bicubic2d_aa.out", (IMAGE, [2, 2], False, 1e-300, 1e-300), "expected a scale .*, got 1e-300"),
    ("aten::_upsample_bilinear2d_aa.out", (IMAGE, [2, 2], False, 1e-300, None), "expected a scale .*, got 1e-300"),
    ("aten::upsample_linear1d.out", (LINE, [HUGE], False, None), "out: the result has shape"),
    ("aten::hann_window.out", (HUGE,), "out: the result has shape"),
    ("aten::nonzero_static.out", (IMAGE, HUGE, -1), "out: "),
    ("aten::range.out", (0, HUGE, 1), "out: the result has shape"),
    ("aten::multinomial.out", (np.ones(3, F32), HUGE, True, None), "out: "),
])  # fmt: skip
def test_refused(name, args, message):
    dtype = np.int64 if "nonzero" in name or "multinomial" in name else F32
    ranks = {"pool3d": 5, "im2col": 3, "linear1d": 3, "window": 1, "static": 2, "range": 1, "multinomial": 1}
    rank = next((rank for part, rank in ranks.items() if part in name), 4)
    with pytest.raises(en.ExecutionError, match=message):
        call(name, *args, outs=[Out(dtype, (2,) * rank)])


@pytest.mark.parametrize(
    "batch, queries, keys, size", [(0, 3, 3, 4), (1, 0, 3, 4), (1, 3, 0, 4), (1, 3, 3, 0), (0, 0, 0, 0)]
)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_nothing(batch, queries, keys, size, causal):
    q, k = np.ones((batch, 2, queries, size), F32), np.ones((batch, 2, keys, size), F32)
    (got,) = call("aten::scaled_dot_product_attention.out", q, k, k, None, 0.0, causal, None, False,
                  outs=[Out(F32, q.shape)])  # fmt: skip
    np.testing.assert_array_equal(got, np.zeros(q.shape) if keys == 0 else np.ones(q.shape))


@pytest.mark.parametrize("heads", [0, 4])
def test_shared_heads_without_queries(heads):
    q, k = np.ones((1, heads, 3, 4), F32), np.ones((1, 2, 5, 4), F32)
    (got,) = call("aten::scaled_dot_product_attention.out", q, k, k, None, 0.0, False, None, True,
                  outs=[Out(F32, q.shape)])  # fmt: skip
    np.testing.assert_array_equal(got, q)


def test_factors_that_broadcast_to_too_much() -> None:
    line, longer = np.zeros(1 << 20, F32), np.zeros(1 << 21, F32)  # 2^61 products
    with pytest.raises(en.ExecutionError, match=r"shape \[2097152, 1048576, 1048576\] is too large"):
        call("aten::_trilinear.out", longer, line, line, [1, 2], [0, 2], [0, 1], [0, 1, 2], 1, outs=[Out(F32, ())])


def test_arguments_of_a_wrong_kind_are_named() -> None:
    p = ProgramBuilder()
    x = p.input(np.float32, (2, 3))
    p.output(p.call("aten::permute_copy.out", x, x, out=p.tensor(np.float32, (2, 3))))
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    message = r"forward\[0\] aten::permute_copy.out: dims: expected a list of ints, got a tensor"
    with pytest.raises(en.ExecutionError, match=message):
        method([np.ones((2, 3), np.float32)])
