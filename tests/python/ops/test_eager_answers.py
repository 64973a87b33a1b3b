"""Every operator, over every dtype that PyTorch eager takes, gives what eager gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import OptionalTensors, ProgramBuilder, TensorValue, scalar_type

from .eager_answers import Answer, accepted, answers, empties, mixtures, to_array
from .sample_arguments import DTYPES, Array, D, empty_calls, mixed_call, numpy_dtype, qualified
from .sample_calls import CALLS, COMPARED_OUTS, IN_PLACE, RANDOM

# Operators of ExecuTorch itself, which eager has no equal of: tested in files of their own.
ELSEWHERE = ("aten::sym_", "aten::_local", "etnp", "executorch_prim", "quantized_decomposed", "llama", "torchao")
ELSEWHERE += ("preprocess",)

# Operators whose arguments speak of memory.
OF_MEMORY_ORDER = qualified("as_strided_copy.out as_strided_scatter.out")

# Where eager checks nothing, or gives other shapes, dtypes and numbers than elsewhere, if there are no elements.
ODD_WITHOUT_ELEMENTS = qualified(
    "_batch_norm_no_update.out _native_batch_norm_legit.out _native_batch_norm_legit_no_training.out "
    "native_batch_norm.out _fused_rms_norm.out _reshape_alias_copy.out _scaled_dot_product_attention_math.out "
    "_scaled_dot_product_flash_attention_for_cpu.out scaled_dot_product_attention.out log_sigmoid_forward.output "
    "native_dropout.out pixel_unshuffle.out unbind_copy.int_out cholesky.out _cholesky_solve_helper.out "
    "linalg_lstsq.out"
)

LARGE = 16384  # bytes

# What rounding otherwise may cost, in units in the last place; which rounds more often.
TOLERANCE = {"float16": 2, "bfloat16": 2, "float32": 16, "float64": 16, "complex64": 16, "complex128": 64}
# What eager computes in float64 with approximations good for float32.
COARSE = qualified(
    "polygamma.out special_polygamma.out special_airy_ai.out special_bessel_j0.out special_bessel_j1.out "
    "special_bessel_y0.out special_bessel_y1.out"
)


def slots_of(
    program: ProgramBuilder,
    call: Sequence[Any],
    dtype: str,
    inputs: list[np.ndarray],
    reversed_dims: bool,
    any_truth: bool,
) -> list[Any]:
    def slot(arg: Any) -> Any:
        if isinstance(arg, Array):
            inputs.append(arg.array(dtype))
            order = dim_order(arg.shape, reversed_dims)
            if any_truth and inputs[-1].dtype == np.bool_:
                inputs[-1] = with_any_truth(inputs[-1])
                # Of a size that lets inputs be read where the caller has them.
                bounds = [size + (LARGE if i == 0 else 0) for i, size in enumerate(arg.shape)]
                return program.input(np.bool_, bounds, dim_order=order, dynamic=bool(bounds))
            return program.input(inputs[-1].dtype, arg.shape, dim_order=order)
        if isinstance(arg, OptionalTensors):
            return OptionalTensors([slot(item) for item in arg.items])
        if isinstance(arg, list):
            return [slot(item) for item in arg]
        if arg is D:
            return scalar_type(dtype)
        return scalar_type(arg) if isinstance(arg, str) and arg in DTYPES else arg

    return [slot(arg) for arg in call]


def with_any_truth(array: np.ndarray) -> np.ndarray:
    """The same truth values, true as other bytes than 1."""
    return np.asarray(array * np.resize(np.uint8([2, 128, 255]), array.shape)).view(np.bool_)


def dim_order(shape: Sequence[int], reversed_dims: bool) -> tuple[int, ...]:
    return tuple(reversed(range(len(shape)))) if reversed_dims else tuple(range(len(shape)))


def add_call(
    program: ProgramBuilder, operator: str, slots: Sequence[Any], dtype: str, results: Iterable[TensorValue]
) -> None:
    """The call with `results` as its out arguments, and as the program's outputs; some write their first argument."""
    if operator in IN_PLACE:
        program.call(operator, *slots, slots[0])
        program.output(slots[0])
        return
    compared = list(results)
    outs = [*compared, program.tensor(dtype, (0,))] if operator in COMPARED_OUTS else compared
    if any(part in operator for part in ("split", "unbind")):
        program.call(operator, *slots, program.value(outs))
    else:
        program.call(operator, *slots, out=outs if len(outs) > 1 else outs[0])
    program.output(*compared)


def run(
    operator: str,
    call: Sequence[Any],
    dtype: str,
    outs: Sequence[Answer],
    reversed_dims: bool = False,
    any_truth: bool = False,
) -> list[np.ndarray]:
    program = ProgramBuilder()
    inputs: list[np.ndarray] = []
    slots = slots_of(program, call, dtype, inputs, reversed_dims, any_truth)
    results = (program.tensor(name, shape, dim_order=dim_order(shape, reversed_dims)) for name, shape, _ in outs)
    add_call(program, operator, slots, dtype, results)
    method = en.Runtime.get().load_program(program.build()).load_method("forward")
    got: list[np.ndarray] = method(inputs)
    return got


def compare(got: np.ndarray, answer: Answer, arbitrary: bool, coarse: bool = False) -> None:
    assert got.dtype == numpy_dtype(answer[0])
    assert list(got.shape) == answer[1]
    if arbitrary:
        return
    expected = to_array(answer)
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
        return
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    epsilon = float(ml_dtypes.finfo(np.dtype("float32") if coarse and got.itemsize > 4 else got.real.dtype).eps)
    epsilon *= TOLERANCE[answer[0]]
    np.testing.assert_allclose(got.astype(wide), expected.astype(wide), rtol=epsilon, atol=epsilon, equal_nan=True)


def test_every_operator_has_a_call() -> None:
    names = {name for name in en.runtime_info()["operators"] if not name.startswith(ELSEWHERE)}
    assert names == set(CALLS), "tests/python/ops/sample_calls.py has to have a call of every operator"
    assert set(CALLS) == set(answers()), "tools/record_eager_answers.py has to be run for new calls"


@pytest.mark.parametrize("operator", CALLS)
def test_answers_are_those_of_eager(operator: str) -> None:
    failures = []
    for dtype in DTYPES:
        for number, (call, outs) in enumerate(accepted(operator, dtype)):
            try:
                for got, answer in zip(run(operator, call, dtype, outs), outs, strict=True):
                    compare(got, answer, operator in RANDOM, operator in COARSE)
            except (en.ExecuTorchError, AssertionError) as error:
                text = " ".join(line.strip() for line in str(error).strip().splitlines())
                failures.append(f"{dtype}, call {number}: {text}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("operator", sorted(set(CALLS) - set(OF_MEMORY_ORDER)))
def test_answers_do_not_depend_on_how_tensors_lie_in_memory(operator: str) -> None:
    failures = []
    for dtype in ("uint8", "int64", "float16", "float32", "float64", "complex64"):
        for number, (call, outs) in enumerate(accepted(operator, dtype)):
            try:
                for got, answer in zip(run(operator, call, dtype, outs, reversed_dims=True), outs, strict=True):
                    compare(got, answer, operator in RANDOM, operator in COARSE)
            except (en.ExecuTorchError, AssertionError) as error:
                failures.append(f"{dtype}, call {number}: {' '.join(str(error).split())}")
    assert not failures, "\n".join(failures)


def takes_bools(call: Sequence[Any], dtype: str) -> bool:
    return any(
        takes_bools(arg, dtype) if isinstance(arg, list)
        else takes_bools(list(arg.items), dtype) if isinstance(arg, OptionalTensors)
        else isinstance(arg, Array) and (arg.dtype or dtype) == "bool"
        for arg in call
    )  # fmt: skip


@pytest.mark.parametrize("operator", CALLS)
def test_any_byte_but_zero_is_true(operator: str) -> None:
    failures = []
    for dtype in ("bool", "float32"):  # of everything, and of masks
        for number, (call, outs) in enumerate(accepted(operator, dtype)):
            if not takes_bools(call, dtype):
                continue
            try:
                for got, answer in zip(run(operator, call, dtype, outs, any_truth=True), outs, strict=True):
                    compare(got, answer, operator in RANDOM, operator in COARSE)
                    if got.dtype == np.bool_:
                        assert got.view(np.uint8).max(initial=0) <= 1
            except (en.ExecuTorchError, AssertionError) as error:
                failures.append(f"{dtype}, call {number}: {' '.join(str(error).split())}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("operator", sorted(mixtures()))
def test_mixtures_of_dtypes_are_taken_as_in_eager(operator: str) -> None:
    failures = []
    shapes = [shape for _, shape, _ in next(outs[0] for outs in answers()[operator].values() if outs[0] is not None)]
    for first, others, dtypes in mixtures()[operator]:
        call = mixed_call(CALLS[operator][0], first, others)
        assert call is not None
        outs: list[Answer] = [[dtype, shape, []] for dtype, shape in zip(dtypes, shapes, strict=False)]
        try:
            for got, answer in zip(run(operator, call, others, outs), outs, strict=True):
                compare(got, answer, arbitrary=True)
        except (en.ExecuTorchError, AssertionError) as error:
            failures.append(f"{first} and {others}: {' '.join(str(error).split())}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("operator", sorted(set(empties()) - set(ODD_WITHOUT_ELEMENTS)))
def test_tensors_without_elements(operator: str) -> None:
    failures = []
    calls = [empty for call in CALLS[operator] for empty in empty_calls(call)]
    for number, (call, outs) in enumerate(zip(calls, empties()[operator], strict=True)):
        if outs is None:
            continue
        try:
            for got, answer in zip(run(operator, call, "float32", outs), outs, strict=True):
                compare(got, answer, operator in RANDOM, operator in COARSE)
        except (en.ExecuTorchError, AssertionError) as error:
            failures.append(f"call {number}: {' '.join(str(error).split())}")
    assert not failures, "\n".join(failures)
