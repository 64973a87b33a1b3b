"""Calls with one argument changed are taken where PyTorch eager takes them, and refused where it refuses them."""

from __future__ import annotations

import json
import os
import string
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder
from executorch_numpy_runtime import _core

from .changed_calls import changed_calls
from .eager_answers import FIXTURES, Answer, answers
from .sample_arguments import DTYPES, qualified
from .sample_calls import CALLS
from .test_eager_answers import add_call, compare, run, slots_of

# What is taken does not depend on the instruction set: some 20,000 calls under the best one do.
BEST = _core.isas()[-1]
pytestmark = pytest.mark.skipif(os.environ.get("ENR_ISA", BEST) != BEST, reason="runs under the best instruction set")


def positions(text: str) -> dict[str, set[str]]:
    """Operators of each line's last words, with the positions of arguments that the line begins with."""
    lines = [line.split() for line in text.strip().splitlines()]
    return {operator: set(line[0]) for line in lines for operator in qualified(" ".join(line[1:]))}


# Arguments (by position) that eager does not check, where it then reads other memory or gives other shapes than for
# any other sizes, or of which it drops the imaginary part.
UNCHECKED = positions("""
    0 log_sigmoid_forward.output pixel_unshuffle.out unbind_copy.int_out index_add.out native_dropout.out
    0 bernoulli.Tensor_out cholesky.out _pack_padded_sequence.out block_diag.out _sample_dirichlet.out fft_rfftfreq.out
    0 normal.Tensor_Tensor_out
    1 _fft_r2c.out _fft_c2c.out
    2 convolution.out _convolution.out rms_norm.out max_unpool2d.out max_unpool3d.out
    2 _embedding_bag.out _embedding_bag_forward_only.out
    7 max_pool2d_with_indices_backward.grad_input
    01 convolution_backward.out _pdist_forward.out _fft_c2r.out lu_unpack.out _cholesky_solve_helper.out
    01 _ctc_loss.out _ctc_loss.Tensor_out
    12 scaled_dot_product_attention.out
    012 _scaled_dot_product_flash_attention_for_cpu.out _native_batch_norm_legit.no_stats_out _fused_rms_norm.out
    012 _reshape_alias_copy.out _trilinear.out _weight_norm_interface.out
    013 fractional_max_pool2d.output fractional_max_pool3d.output
    0123 conv_tbc.out
    01234 native_batch_norm.out _native_batch_norm_legit.out _native_batch_norm_legit_no_training.out
    01234 _batch_norm_with_update.out _batch_norm_no_update.out
""")
# Codes of which eager takes others than there are.
CODES = positions("""
    2 soft_margin_loss.out huber_loss.out
    3 binary_cross_entropy.out nll_loss.out nll_loss_forward.output nll_loss2d.out nll_loss2d_forward.output
    4 binary_cross_entropy_with_logits.out
    23 grid_sampler_2d.out grid_sampler_3d.out
""")
# What tools/record_eager_answers.py has something else stand for.
STOOD_IN_FOR = positions("""
    2 normal.out
    02 mm.dtype_out bmm.dtype_out
    013 addmm.dtype_out baddbmm.dtype_out
""")
STRICTER = UNCHECKED | CODES | STOOD_IN_FOR

# Arguments of which eager refuses some for reasons of its own: bools, no elements, no dims, dims counted from the end.
BROADER = positions("""
    0 _fft_r2c.out _fft_c2c.out view_copy.dtype_out view_as_complex_copy.out mvlgamma.out special_multigammaln.out
    0 isin.Tensor_Scalar_out randint_like.out randint_like.low_dtype_out randint_like.Tensor_out random.to_out
    0 random.from_out
    1 logsumexp.out special_logsumexp.out isin.Scalar_Tensor_out
    01 _fft_c2r.out isin.Tensor_Tensor_out
    012 _trilinear.out
""")


@cache
def recorded() -> dict[str, tuple[str, str, list[list[str]]]]:
    """By operator: the dtype of its tensors, a letter for each change (a dot where eager refuses, a dash where nothing
    is known), and the results that the letters stand for."""
    lines = (FIXTURES / "eager_changes.jsonl").read_text().splitlines()
    return {name: (dtype, letters, meanings) for name, dtype, letters, meanings in map(json.loads, lines)}


def results(meaning: list[str]) -> list[Answer]:
    return [[words[0], [int(size) for size in words[1:]], []] for words in map(str.split, meaning)]


def refusal_of_taken(operator: str, call: tuple[Any, ...], dtype: str, outs: list[Answer]) -> str | None:
    try:
        for got, answer in zip(run(operator, call, dtype, outs), outs, strict=True):
            compare(got, answer, arbitrary=True)
    except (en.ExecuTorchError, AssertionError) as error:
        return " ".join(str(error).split())
    return None


def room(rank: int, dtype: str) -> tuple[list[int], str]:
    return [{0: 1, 1: 4096, 2: 100, 3: 40, 4: 16}.get(rank, 6)] * rank, dtype


def possible_outs(outs: list[Answer], change: str) -> Iterator[list[tuple[list[int], str]]]:
    """Results with room for whatever the call may give: of other ranks, and of the dtype it was changed to."""
    dtypes = [None, change] if change in DTYPES else [None]
    for dtype in dtypes:
        for more in (0, 1, -1):
            yield [room(max(0, len(shape) + more), dtype or own) for own, shape, _ in outs]


def is_taken(operator: str, call: tuple[Any, ...], dtype: str, outs: list[tuple[list[int], str]]) -> bool:
    program = ProgramBuilder()
    inputs: list[Any] = []
    slots = slots_of(program, call, dtype, inputs, reversed_dims=False, any_truth=False)
    results = (program.tensor(name, bounds, dynamic=True) for bounds, name in outs)
    add_call(program, operator, slots, dtype, results)
    try:
        en.Runtime.get().load_program(program.build()).load_method("forward")(inputs)
    except en.ExecuTorchError:
        return False
    return True


def test_every_operator_is_recorded() -> None:
    counts = {name: len(letters) for name, (_, letters, _) in recorded().items()}
    assert counts == {name: len(changed_calls(calls[0])) for name, calls in CALLS.items()}, (
        "tools/record_changed_calls.py has to be run"
    )


@pytest.mark.parametrize("operator", CALLS)
def test_changed_calls(operator: str) -> None:
    dtype, letters, meanings = recorded()[operator]
    unchanged = next(outs[0] for outs in answers()[operator].values() if outs[0] is not None)
    failures = []
    stricter, broader = STRICTER.get(operator, set()), BROADER.get(operator, set())
    for letter, (change, call) in zip(letters, changed_calls(CALLS[operator][0]).items(), strict=True):
        position = change.split(":")[0].removeprefix("argument ")
        if letter in string.ascii_letters and position not in stricter:
            outs = results(meanings[string.ascii_letters.index(letter)])
            refusal = refusal_of_taken(operator, call, dtype, outs)
            if refusal is not None:
                failures.append(f"{change}: {refusal}")
        elif letter == "." and position not in broader:
            for outs in possible_outs(unchanged, change.split()[-1]):
                if is_taken(operator, call, dtype, outs):
                    failures.append(f"{change}: taken, which eager refuses")
                    break
    assert not failures, "\n".join(failures)
