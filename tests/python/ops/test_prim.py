"""executorch_prim operators and their like, against Python's numbers."""

from __future__ import annotations

import math
import operator
from typing import Any

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings

import executorch_numpy_runtime as en
from builder import ProgramBuilder

INTS = st.integers(-(2**62), 2**62)
FLOATS = st.floats(-1e6, 1e6)
EXAMPLES = settings(max_examples=50, deadline=None)


def evaluate(name: str, *args: Any) -> Any:
    """The operator's result for literal arguments."""
    program = ProgramBuilder()
    out = program.value(0)
    program.call(f"executorch_prim::{name}", *args, out)
    program.output(out)
    (result,) = en.Runtime.get().load_program(program.build()).load_method("forward")([])
    return result


def same(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    assert got == expected or (isinstance(expected, float) and math.isclose(got, expected, rel_tol=1e-15))


COMPARISONS = {"eq": operator.eq, "gt": operator.gt, "lt": operator.lt, "ge": operator.ge, "le": operator.le}
SUMS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def wrap(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("name", COMPARISONS)
@given(a=INTS | FLOATS, b=INTS | FLOATS)
@example(a=2**62 + 1, b=2**62)
@EXAMPLES
def test_comparisons(name, a, b):
    for right in (b, a):
        if isinstance(a, float) != isinstance(right, float):
            continue
        same(evaluate(f"{name}.Scalar", a, right), COMPARISONS[name](a, right))


@pytest.mark.parametrize("name", SUMS)
@given(a=INTS, b=INTS, x=FLOATS, y=FLOATS)
@EXAMPLES
def test_sums_and_products(name, a, b, x, y):
    same(evaluate(f"{name}.Scalar", a, b), wrap(SUMS[name](a, b)))
    same(evaluate(f"{name}.Scalar", x, y), SUMS[name](x, y))
    same(evaluate(f"{name}.Scalar", a % 1000, y), SUMS[name](float(a % 1000), y))


@given(a=INTS, b=INTS.filter(bool), x=FLOATS, y=FLOATS.filter(lambda v: abs(v) > 1e-3))
@EXAMPLES
def test_divisions(a, b, x, y):
    for name in ("floordiv.Scalar", "floordiv.int"):
        same(evaluate(name, a, b), a // b)
    for name in ("mod.Scalar", "mod.int"):
        same(evaluate(name, a, b), a % b)
    same(evaluate("truediv.Scalar", x, y), x / y)
    same(evaluate("truediv.Scalar", a % 1000, b % 1000 + 1), (a % 1000) / (b % 1000 + 1))
    same(evaluate("floordiv.Scalar", x, y), float(math.floor(x / y)))


@pytest.mark.parametrize("name", ["floordiv.Scalar", "floordiv.int", "mod.Scalar", "mod.int"])
def test_integer_division_by_zero_is_refused(name):
    with pytest.raises(en.ExecutionError, match=f"executorch_prim::{name}"):
        evaluate(name, 3, 0)


@given(a=INTS, b=INTS, x=FLOATS, y=FLOATS, condition=st.booleans())
@EXAMPLES
def test_symbolic_functions(a, b, x, y, condition):
    same(evaluate("sym_max.Scalar", a, b), max(a, b))
    same(evaluate("sym_min.Scalar", x, y), min(x, y))
    same(evaluate("sym_float.Scalar", a % 1000), float(a % 1000))
    same(evaluate("sym_int.Scalar", x), int(x))
    same(evaluate("sym_not.Scalar", condition), not condition)
    same(evaluate("sym_ite.Scalar", condition, a, b), a if condition else b)
    same(evaluate("neg.Scalar", a), -a)
    same(evaluate("neg.Scalar", x), -x)
    same(evaluate("ceil.Scalar", x), math.ceil(x))
    same(evaluate("round.Scalar", x), round(x))
    same(evaluate("trunc.Scalar", x), math.trunc(x))


DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "float16",
    "float32",
    "float64",
    "bfloat16",
]


@pytest.mark.parametrize("name", DTYPES)
def test_tensors_to_numbers(name):
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    array = np.array([[1]], dtype)
    program = ProgramBuilder()
    x = program.input(dtype, (1, 1))
    outs = [program.value(0) for _ in range(3)]
    program.call("aten::_local_scalar_dense", x, outs[0])
    program.call("aten::sym_size.int", x, -1, outs[1])
    program.call("aten::sym_numel", x, outs[2])
    program.output(*outs)
    got = en.Runtime.get().load_program(program.build()).load_method("forward")([array])
    assert got == [array.item(), 1, 1]
    assert isinstance(got[0], bool if name == "bool" else float if "float" in name else int)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, np.float64])
def test_a_row_at_a_time_is_appended(dtype):
    """What a map is exported to: a counter, a select and et_copy_index."""
    program = ProgramBuilder()
    x = program.input(dtype, (3, 4))
    to = program.tensor(dtype, (3, 4), dynamic=True)
    row = program.tensor(dtype, (4,))
    for i in (0, 1, 2):
        program.call("aten::select_copy.int_out", x, 0, 2 - i, out=row)
        program.call("executorch_prim::et_copy_index.tensor", to, row, i)
    program.output(to)
    array = np.arange(12).reshape(3, 4).astype(dtype)
    (got,) = en.Runtime.get().load_program(program.build()).load_method("forward")([array])
    np.testing.assert_array_equal(got, array[::-1])


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.float64])
@pytest.mark.parametrize("size", [[6], [3, -1], [1, 2, 3]])
def test_views_share_memory(dtype, size):
    program = ProgramBuilder()
    x = program.input(dtype, (2, 3))
    shape = np.zeros(6).reshape(size).shape
    view = program.tensor(dtype, shape, planned=False)
    program.call("executorch_prim::et_view.default", x, size, view)
    program.output(view)
    array = (np.arange(6).reshape(2, 3) % 2).astype(dtype)
    (got,) = en.Runtime.get().load_program(program.build()).load_method("forward")([array])
    np.testing.assert_array_equal(got, array.reshape(size))


@pytest.mark.parametrize("operator", ["executorch_prim::et_view.default", "aten::expand_copy.out"])
def test_strides_of_no_elements_are_countable(operator):
    program = ProgramBuilder()
    x = program.input(np.float32, (0, 1, 1))
    out = program.tensor(np.float32, (0, 1, 1), dynamic=True, planned=False)
    size = [0, 1 << 40, 1 << 40]
    if operator.startswith("aten"):
        program.call(operator, x, size, False, out=out)
    else:
        program.call(operator, x, size, out)
    program.output(out)
    method = en.Runtime.get().load_program(program.build()).load_method("forward")
    with pytest.raises(en.ExecutionError, match=r"expected fewer elements|too large"):
        method([np.zeros((0, 1, 1), np.float32)])
