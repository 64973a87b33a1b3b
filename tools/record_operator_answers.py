#!/usr/bin/env python3
"""Record what PyTorch eager answers to single operator calls, for `tests/python/ops/test_recorded_answers.py`.

Needs torch 2.13; the tests do not. From the project's root:

    python tools/record_operator_answers.py --out tests/fixtures/operator_answers.npz

The file holds `calls`, a JSON list of {operator, args, outs}, and `bytes`, where the arrays among args and outs lie:
{dtype, shape, offset}. Every call is made for each dtype listed with it.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
FLOATS = (F32, F64, F16, BF16)
INF, NAN = float("inf"), float("nan")


class Random:
    """Arrays for one call, from a seed of its own."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.generator = torch.Generator().manual_seed(0)

    def __call__(self, *shape: int, low: float = -2, high: float = 2, dtype: torch.dtype | None = None) -> torch.Tensor:
        dtype = dtype or self.dtype
        if dtype == torch.bool:
            return torch.rand(shape, generator=self.generator) > 0.5
        if not dtype.is_floating_point:
            return torch.randint(int(low), int(high) + 1, shape, generator=self.generator).to(dtype)
        if dtype in (F32, F64):
            return torch.rand(shape, generator=self.generator, dtype=dtype) * (high - low) + low
        return (torch.rand(shape, generator=self.generator) * (high - low) + low).to(dtype)

    def ints(self, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.randint(0, high, shape, generator=self.generator).to(dtype)


# (operator of the program, operator of eager, dtypes, arguments for a dtype)
def calls() -> list[tuple[str, str, tuple[torch.dtype, ...], Any]]:
    listed: list[tuple[str, str, tuple[torch.dtype, ...], Any]] = []

    def add(out: str, eager: str, arguments: Any, dtypes: tuple[torch.dtype, ...] = FLOATS) -> None:
        listed.append((out, eager, dtypes, arguments))

    mask = torch.tensor([[0.0, -INF, 1.0, 0.5], [-INF] * 4, [0.0] * 4])
    for name, arguments in {
        "plain": lambda r: (r(2, 3, 5, 8), r(2, 3, 4, 8), r(2, 3, 4, 6), None, 0.0, False, None, False),
        "causal": lambda r: (r(2, 3, 5, 8), r(2, 3, 5, 8), r(2, 3, 5, 8), None, 0.0, True, 0.3, False),
        "mask": lambda r: (r(2, 3, 8), r(2, 4, 8), r(2, 4, 8), mask.to(r.dtype), 0.0, False, None, False),
        "bool": lambda r: (r(2, 3, 3, 8), r(2, 3, 4, 8), r(2, 3, 4, 8), mask > -1, 0.0, False, None, False),
        "shared": lambda r: (r(1, 6, 3, 8), r(1, 2, 4, 8), r(1, 2, 4, 8), None, 0.0, False, None, True),
        "broadcast": lambda r: (r(2, 1, 3, 8), r(3, 4, 8), r(1, 3, 4, 8), None, 0.0, False, None, False),
        "matrix": lambda r: (r(3, 8), r(4, 8), r(4, 2), r(1, 4), 0.0, False, None, False),
    }.items():
        del name
        add("aten::scaled_dot_product_attention.out", "scaled_dot_product_attention.default", arguments)
    add(
        "aten::_scaled_dot_product_flash_attention_for_cpu.out",
        "_scaled_dot_product_flash_attention_for_cpu.default",
        lambda r: (r(1, 2, 3, 8), r(1, 2, 4, 8), r(1, 2, 4, 8), 0.0, False, mask, None),
        (F32, F64),
    )
    add(
        "aten::_scaled_dot_product_attention_math.out",
        "_scaled_dot_product_attention_math.default",
        lambda r: (r(1, 2, 3, 8), r(1, 2, 4, 8), r(1, 2, 4, 8), mask.to(r.dtype), 0.0, False, None, None, False),
    )
    add("aten::_safe_softmax.out", "_safe_softmax.default", lambda r: (mask.to(r.dtype), 1, None))
    add("aten::_safe_softmax.out", "_safe_softmax.default", lambda r: (mask.to(r.dtype), 0, None))

    add(
        "aten::_batch_norm_with_update.out",
        "_batch_norm_with_update.default",
        lambda r: (r(2, 3, 4), r(3), r(3), r(3), r(3, low=1), 0.1, 1e-5),
        (F32, F64),
    )
    add(
        "aten::_batch_norm_no_update.out",
        "_batch_norm_no_update.default",
        lambda r: (r(2, 3, 4), r(3), r(3), r(3), r(3, low=1), 0.1, 1e-5),
        (F32, F64),
    )
    for mode in (0, 1, 2):
        for padding in (-1, 2):
            for last in (False, True):
                add("aten::_embedding_bag.out", "_embedding_bag.default",
                    lambda r, m=mode, p=padding, t=last: (
                        r(5, 4), torch.tensor([1, 2, 4, 2, 0]), torch.tensor([0, 3, 3, 5] if t else [0, 3, 3]), False,
                        m, False, None, t, p), (F32, F64))  # fmt: skip
    add(
        "aten::_embedding_bag.out",
        "_embedding_bag.default",
        lambda r: (r(5, 4), torch.tensor([1, 2, 4]), torch.tensor([0, 1]), False, 0, False, r(3), False, -1),
        (F32, F64),
    )

    add("aten::avg_pool1d.out", "avg_pool1d.default", lambda r: (r(2, 3, 9), [3], [2], [1], True, False))
    add("aten::adaptive_avg_pool1d.out", "adaptive_avg_pool1d.default", lambda r: (r(3, 9), [4]), (F32, F64))
    for ceil, inside, divisor in ((False, True, None), (True, False, None), (True, True, 5)):
        add(
            "aten::avg_pool3d.out",
            "avg_pool3d.default",
            lambda r, c=ceil, i=inside, d=divisor: (r(2, 2, 5, 6, 7), [3, 2, 3], [2, 2, 1], [1, 0, 1], c, i, d),
            (F32, F64, torch.int64),
        )
    add(
        "aten::_adaptive_avg_pool3d.out",
        "_adaptive_avg_pool3d.default",
        lambda r: (r(2, 5, 6, 7), [2, 3, 7]),
        (F32, F64),
    )
    add(
        "aten::max_pool3d_with_indices.out",
        "max_pool3d_with_indices.default",
        lambda r: (r(2, 2, 5, 6, 7), [3, 2, 3], [2, 2, 1], [1, 0, 1], [1, 2, 2], True),
    )
    add(
        "aten::adaptive_max_pool3d.out", "adaptive_max_pool3d.default", lambda r: (r(2, 5, 6, 7), [2, 3, 4]), (F32, F64)
    )

    for corners in (False, True):
        add(
            "aten::upsample_bilinear2d.out",
            "upsample_bilinear2d.default",
            lambda r, c=corners: (r(2, 3, 5, 6), [9, 4], c, None, None),
        )
        add("aten::upsample_linear1d.out", "upsample_linear1d.default", lambda r, c=corners: (r(2, 3, 5), [9], c, None))
        add(
            "aten::upsample_trilinear3d.out",
            "upsample_trilinear3d.default",
            lambda r, c=corners: (r(2, 3, 3, 5, 6), [5, 9, 4], c, None, None, None),
            (F32, F64),
        )
        add(
            "aten::upsample_bicubic2d.out",
            "upsample_bicubic2d.default",
            lambda r, c=corners: (r(2, 3, 5, 6), [9, 4], c, None, None),
            (F32, F64),
        )
        add(
            "aten::_upsample_bicubic2d_aa.out",
            "_upsample_bicubic2d_aa.default",
            lambda r, c=corners: (r(2, 3, 9, 12), [4, 15], c, None, None),
            (F32, F64),
        )
    add(
        "aten::upsample_bilinear2d.out",
        "upsample_bilinear2d.default",
        lambda r: (r(1, 2, 5, 6), [10, 12], False, 2.1, 2.0),
    )
    for kind in ("upsample_nearest", "_upsample_nearest_exact"):
        add(f"aten::{kind}1d.out", f"{kind}1d.default", lambda r: (r(2, 3, 7), [11], None))
        add(f"aten::{kind}2d.out", f"{kind}2d.default", lambda r: (r(2, 3, 5, 7), [8, 3], None, None))
        add(f"aten::{kind}3d.out", f"{kind}3d.default", lambda r: (r(2, 3, 4, 5, 7), [6, 8, 3], None, None, None))

    numbers = (*FLOATS, torch.int64)
    add("aten::dot.out", "dot.default", lambda r: (r(7), r(7)), (F32, F64, torch.int64))
    add("aten::vdot.out", "vdot.default", lambda r: (r(7), r(7)), (F32, F64, torch.int64))
    add("aten::mv.out", "mv.default", lambda r: (r(5, 7), r(7)), numbers)
    add("aten::addmv.out", "addmv.default", lambda r: (r(5), r(5, 7), r(7), 2, 3), numbers)
    add("aten::addr.out", "addr.default", lambda r: (r(5, 1), r(5), r(7), 2, 3), numbers)
    add("aten::addbmm.out", "addbmm.default", lambda r: (r(4), r(3, 2, 5), r(3, 5, 4), 2, 3), numbers)
    add("aten::outer.out", "outer.default", lambda r: (r(5), r(7)), (*numbers, torch.bool))
    add("aten::inner.out", "inner.default", lambda r: (r(2, 3, 5), r(4, 5)), numbers)
    for a, b in (((5,), (5,)), ((2, 5), (5,)), ((5,), (3, 5, 2)), ((3, 2, 5), (5, 4)), ((3, 1, 2, 5), (2, 5, 4))):
        add("aten::matmul.out", "matmul.default", lambda r, a=a, b=b: (r(*a), r(*b)), numbers)
    add("aten::linalg_vecdot.out", "linalg_vecdot.default", lambda r: (r(2, 5, 3), r(5, 1), 1), (F32, F64))
    add(
        "aten::_int_mm.out",
        "_int_mm.default",
        lambda r: (r(20, 16, low=-128, high=127), r(16, 8, low=-128, high=127)),
        (torch.int8,),
    )
    add("aten::conv_tbc.out", "conv_tbc.default", lambda r: (r(7, 2, 3), r(3, 3, 4), r(4), 1), (F32, F64))
    add(
        "aten::_convolution.out",
        "_convolution.default",
        lambda r: (
            r(1, 2, 5, 5),
            r(3, 2, 3, 3),
            r(3),
            [1, 1],
            [1, 1],
            [1, 1],
            False,
            [0, 0],
            1,
            False,
            False,
            False,
            False,
        ),
        (F32, F64),
    )

    wide = torch.tensor([-INF, -3.0, -0.0, 0.0, 0.5, 2.0, INF, NAN])
    add("aten::angle.out", "angle.default", lambda r: (wide.to(r.dtype),), (F32, F64, F16))
    add("aten::angle.out", "angle.default", lambda r: (r(5),), (torch.int32, torch.bool))
    add("aten::angle.out", "angle.default", lambda r: (torch.complex(r(6), r(6)),), (F32, F64))
    add("aten::complex.out", "complex.default", lambda r: (r(2, 3), r(3)), (F32, F64))
    add("aten::polar.out", "polar.default", lambda r: (r(2, 3, low=0), r(3)), (F32, F64))
    add(
        "aten::logaddexp2.out",
        "logaddexp2.default",
        lambda r: (wide.to(r.dtype)[:, None], wide.to(r.dtype)),
        (F32, F64),
    )
    add("aten::special_xlog1py.out", "special_xlog1py.default", lambda r: (r(5), r(5, low=-0.9)), (F32, F64))
    add("aten::special_entr.out", "special_entr.default", lambda r: (wide.to(r.dtype),))
    add("aten::special_ndtr.out", "special_ndtr.default", lambda r: (wide.to(r.dtype),), (F32, F64))
    add(
        "aten::nanmean.out",
        "nanmean.default",
        lambda r: (torch.tensor([[1.0, NAN, 3.0], [NAN] * 3]).to(r.dtype), [1], False, None),
    )
    add("aten::_aminmax.out", "_aminmax.default", lambda r: (r(3, 4),), numbers)
    add("aten::_aminmax.dim_out", "_aminmax.dim", lambda r: (r(3, 4), 1, True), numbers)
    add(
        "aten::isin.Scalar_Tensor_out",
        "isin.Scalar_Tensor",
        lambda r: (1, r(6), False, False),
        (torch.int64, torch.int8),
    )
    add("aten::_add_relu.out", "_add_relu.Tensor", lambda r: (r(2, 3), r(3), 2), (F32, F64))
    for size in (2, 7):
        add(
            "aten::nonzero_static.out",
            "nonzero_static.default",
            lambda r, s=size: (r(3, 4), s, -1),
            (torch.bool, torch.int32),
        )
    add("aten::range.out", "range.step", lambda r: (0.5, 4.0, 0.5), (F32,))

    for reduction in (0, 1, 2):
        add("aten::mse_loss.out", "mse_loss.default", lambda r, k=reduction: (r(3, 4), r(3, 4), k))
        add("aten::smooth_l1_loss.out", "smooth_l1_loss.default", lambda r, k=reduction: (r(3, 4), r(3, 4), k, 0.7))
        add("aten::huber_loss.out", "huber_loss.default", lambda r, k=reduction: (r(3, 4), r(3, 4), k, 0.7))
        add(
            "aten::soft_margin_loss.out",
            "soft_margin_loss.default",
            lambda r, k=reduction: (r(3, 4), r(3, 4), k),
            (F32, F64),
        )
        add(
            "aten::binary_cross_entropy.out",
            "binary_cross_entropy.default",
            lambda r, k=reduction: (r(3, 4, low=0, high=1), r(3, 4, low=0, high=1), r(4), k),
            (F32, F64),
        )
        add(
            "aten::binary_cross_entropy_with_logits.out",
            "binary_cross_entropy_with_logits.default",
            lambda r, k=reduction: (r(3, 4), r(3, 4, low=0, high=1), r(4), r(4, low=0), k),
            (F32, F64),
        )
        add(
            "aten::nll_loss_forward.output",
            "nll_loss_forward.default",
            lambda r, k=reduction: (r(5, 3), torch.tensor([0, 2, -100, 1, 1]), r(3, low=0), k, -100),
            (F32, F64),
        )
        add(
            "aten::nll_loss2d_forward.output",
            "nll_loss2d_forward.default",
            lambda r, k=reduction: (r(2, 3, 2, 2), r.ints(3, 2, 2, 2), None, k, -100),
            (F32, F64),
        )
    for name, arguments in {
        "hann_window": (8, False), "hamming_window": (9, True), "blackman_window": (8, False),
        "bartlett_window": (7, True), "kaiser_window": (9, False),
    }.items():  # fmt: skip
        add(f"aten::{name}.periodic_out", f"{name}.periodic", lambda r, a=arguments: a, (F32,))
    return listed


class Recorder:
    def __init__(self) -> None:
        self.bytes = bytearray()
        self.calls: list[dict[str, Any]] = []

    def keep(self, tensor: torch.Tensor) -> dict[str, Any]:
        tensor = tensor.contiguous()
        offset = len(self.bytes)
        self.bytes += (tensor.view(torch.int16) if tensor.dtype == BF16 else tensor).numpy().tobytes()
        self.bytes += bytes(-len(self.bytes) % 16)
        return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), "offset": offset}

    def record(self, out: str, eager: str, arguments: tuple[Any, ...]) -> None:
        packet, overload = eager.split(".")
        operator = getattr(getattr(torch.ops.aten, packet), overload)
        args = [self.keep(a) if isinstance(a, torch.Tensor) else a for a in arguments]
        parameters = operator._schema.arguments[: len(arguments)]
        keywords = {p.name: a for p, a in zip(parameters, arguments, strict=True) if p.kwarg_only}
        positional = [a for p, a in zip(parameters, arguments, strict=True) if not p.kwarg_only]
        results = operator(*positional, **keywords)
        if isinstance(results, torch.Tensor):
            results = (results,)
        # What the operator changes among its arguments is not recorded.
        self.calls.append({"operator": out, "args": args, "outs": [self.keep(result) for result in results]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    recorder = Recorder()
    for out, eager, dtypes, arguments in calls():
        for dtype in dtypes:
            try:
                recorder.record(out, eager, arguments(Random(dtype)))
            except (RuntimeError, NotImplementedError) as error:
                print(f"{out} {dtype}: {str(error).splitlines()[0]}")
    np.savez_compressed(
        options.out, calls=np.array(json.dumps(recorder.calls)), bytes=np.frombuffer(recorder.bytes, np.uint8)
    )
    print(f"{len(recorder.calls)} calls, {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
