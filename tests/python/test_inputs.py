"""What a call takes, and how it says what it does not take."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder
from executorch_numpy_runtime import ExecutionError


def clone(dtype: object, sizes: tuple[int, ...], **options: object) -> ProgramBuilder:
    p = ProgramBuilder()
    x = p.input(dtype, sizes, **options)
    p.output(p.call("aten::clone.out", x, None, out=p.tensor(dtype, sizes, **options)))
    return p


def test_every_memory_layout_gives_the_right_answer(load):
    method = load(clone(np.float32, (2, 3, 4)))
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    layouts = [
        base,
        np.asfortranarray(base),
        np.arange(96, dtype=np.float32).reshape(4, 6, 4)[::2, ::2, :],
        base[::-1, :, ::-1],
        np.broadcast_to(np.float32(7), (2, 3, 4)),
        np.ascontiguousarray(base.transpose(2, 0, 1)).transpose(1, 2, 0),
    ]
    for array in layouts:
        np.testing.assert_array_equal(method([array])[0], array)


def test_channels_last_programs_take_both_layouts(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (1, 3, 4, 5), dim_order=(0, 2, 3, 1))
    p.output(p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (1, 3, 4, 5))))
    method = load(p)
    base = np.arange(60, dtype=np.float32).reshape(1, 3, 4, 5)
    for array in (base, np.ascontiguousarray(base.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)):
        np.testing.assert_array_equal(method([array])[0], base)


def test_what_converts(load):
    method = load(clone(np.float32, (3,)))
    expected = np.array([1, 2, 3], np.float32)
    swapped = expected.astype(">f4")
    read_only = expected.copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + expected.tobytes(), np.uint8)[1:].view(np.float32)
    for value in (
        [1.0, 2.0, 3.0],
        (1, 2, 3),
        swapped,
        read_only,
        unaligned,
        memoryview(expected),
        np.ma.array(expected, mask=False),
        np.array([1, 2.0, 3], object),
    ):
        np.testing.assert_array_equal(method([value])[0], expected)


def test_dlpack_and_array_interface_are_taken(load):
    method = load(clone(np.float32, (3,)))
    array = np.array([1, 2, 3], np.float32)

    class Dlpack:
        def __dlpack__(self, **options):
            return array.__dlpack__(**options)

        def __dlpack_device__(self):
            return array.__dlpack_device__()

    class HasArray:
        def __array__(self, dtype=None, copy=None):
            return array

    for value in (Dlpack(), HasArray()):
        np.testing.assert_array_equal(method([value])[0], array)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(3), "got an array of float64 [3]; expected an array of float32; convert it with .astype('float32')"),
        (np.zeros(3, np.int32), "input 0: got an array of int32 [3]"),
        (
            np.zeros(4, np.float32),
            "wrong size in dim 0: expected an array of float32 [3], got an array of float32 [4]",
        ),
        (np.zeros((3, 1), np.float32), "input 0: wrong rank: expected an array of float32 [3]"),
        (np.zeros((1,) * 20, np.float32), "input 0: wrong rank"),
        ("text", "input 0: got str"),
        (object(), "input 0: got object; expected an array of float32"),
        (iter([1, 2, 3]), "input 0: got list_iterator"),
        ([1, 2, 1e39], "input 0: 1e+39 at [2] would change; expected an array of float32"),
        (None, "input 0: got NoneType"),
        (np.ma.array(np.zeros(3, np.float32), mask=[1, 0, 0]), "masked"),
        ([1.0, "x", 2.0], "input 0"),
        (["1", "2", "3"], "input 0: the values do not convert: its elements are no numbers"),
        ([[1.0], [1.0, 2.0]], "input 0"),
        (np.array([None, 1, 2], object), "input 0"),
    ],
)
def test_what_does_not_convert_is_refused_by_name(load, value, message):
    method = load(clone(np.float32, (3,)))
    with pytest.raises(ExecutionError, match=re.escape(message)):
        method([value])


def test_integers_convert_only_where_every_value_fits(load):
    method = load(clone(np.int8, (2,)))
    np.testing.assert_array_equal(method([[1, -128]])[0], np.array([1, -128], np.int8))
    for value in ([1, 128], [1.5, 2.0]):
        with pytest.raises(ExecutionError, match="input 0"):
            method([value])


@pytest.mark.parametrize(("dtype", "value"), [
    (np.int64, 2**63), (np.int64, 2**64 - 1), (np.uint64, -1), (np.uint64, 2**64), (np.int64, 2.0**63),
    (np.float16, 1e10), (np.float16, 65520), (np.float32, 1e300), (np.float32, 10**400), (15, 1e39),
    (np.float32, 1j), (np.float64, 1 + 0j),
], ids=str)  # fmt: skip
def test_numbers_outside_of_the_dtype_are_refused(load, dtype, value):
    with pytest.raises(ExecutionError, match=r"input 0: .*(would change|do not convert)"):
        load(clone(dtype, (1,)))([[value]])


@pytest.mark.parametrize(("dtype", "value"), [
    (np.uint64, 2**64 - 1), (np.int64, -(2**63)), (np.float16, 65504), (np.float32, 10**30), (np.float32, -np.inf),
], ids=str)  # fmt: skip
def test_numbers_at_the_ends_of_the_dtype_are_taken(load, dtype, value):
    (got,) = load(clone(dtype, (1,)))([[value]])
    assert got.dtype == dtype and got[0] == np.asarray(value).astype(dtype)


def test_the_list_of_inputs_may_change_during_the_call(load):
    p = ProgramBuilder()
    x, y = p.input(np.float32, (50_000,)), p.input(np.float32, (1,))
    p.output(p.call("aten::neg.out", x, out=p.tensor(np.float32, (50_000,))), y)
    method = load(p)

    class Emptying:
        def __array__(self, dtype=None, copy=None):
            inputs[0] = None
            self.others = [np.zeros(50_000, np.float32) for _ in range(3)]
            return np.ones(1, np.float32)

    inputs = [np.full(50_000, 7, np.float32), Emptying()]
    np.testing.assert_array_equal(method(inputs)[0], np.full(50_000, -7, np.float32))


def test_the_number_of_inputs_is_checked(load):
    method = load(clone(np.float32, (3,)))
    with pytest.raises(ExecutionError, match=r"expected 1 input, got 2$"):
        method([np.zeros(3, np.float32)] * 2)
    with pytest.raises(ExecutionError, match=r"got 0; the first that is missing is an array of float32 \[3\]$"):
        method([])
    for inputs in (3, None, {"x": np.zeros(3, np.float32)}, "x", b"x"):
        with pytest.raises(TypeError, match=f"expected a sequence of arrays, got {type(inputs).__name__}"):
            method(inputs)


def test_inputs_without_end_are_refused(load):
    method = load(clone(np.float32, (3,)))
    array = np.zeros(3, np.float32)
    with pytest.raises(ExecutionError, match=r"expected 1 input, got 2 or more$"):
        method(itertools.repeat(array))
    with pytest.raises(ExecutionError, match=r"expected 1 input, got 1000000$"):
        method(np.zeros((1_000_000, 2), np.float32))

    class Endless:
        def __getitem__(self, index):
            return array

        def __len__(self):
            return 2**40

    with pytest.raises(ExecutionError, match=rf"expected 1 input, got {2**40}$"):
        method(Endless())


@pytest.mark.parametrize("size", [7, 100_000])
def test_any_byte_but_zero_is_true(load, size):
    p = ProgramBuilder()
    mask, other = p.input(np.bool_, (size,)), p.input(np.bool_, (size,))
    for operator, argument in (("aten::eq.Scalar_out", True), ("aten::eq.Tensor_out", other)):
        p.output(p.call(operator, mask, argument, out=p.tensor(np.bool_, (size,))))
    p.output(p.call("aten::clone.out", mask, None, out=p.tensor(np.bool_, (size,))))
    flags = (np.arange(size) % 3).astype(np.uint8) * 85  # 0, 85 and 170
    for given in (flags.view(np.bool_), np.stack([flags, flags], 1).view(np.bool_)[:, 0]):
        is_one, is_other, copy = load(p)([given, flags != 0])
        np.testing.assert_array_equal(is_one, flags != 0)
        assert is_other.all()
        np.testing.assert_array_equal(copy.view(np.uint8), flags != 0)


def test_what_iterates_is_a_sequence_and_its_own_errors_stay(load):
    method = load(clone(np.float32, (3,)))
    array = np.ones(3, np.float32)
    for inputs in ((a for a in [array]), map(np.asarray, [array]), {0: array}.values(), array[np.newaxis]):
        np.testing.assert_array_equal(method(inputs)[0], array)
    with pytest.raises(ZeroDivisionError):
        method(1 / 0 for _ in range(2))


def test_an_array_may_move_while_another_input_is_converted(load):
    p = ProgramBuilder()
    x, y = p.input(np.float32, (50_000,)), p.input(np.float32, (1,))
    p.output(p.call("aten::neg.out", x, out=p.tensor(np.float32, (50_000,))), y)
    method = load(p)
    array = np.full(50_000, 7, np.float32)

    class Moving:
        def __array__(self, dtype=None, copy=None):
            array.resize(size, refcheck=False)
            array.fill(3)
            return np.ones(1, np.float32)

    size = 50_001
    with pytest.raises(ExecutionError, match="input 0: wrong size in dim 0"):
        method([array, Moving()])
    size = 50_000
    np.testing.assert_array_equal(method([array, Moving()])[0], np.full(50_000, -3, np.float32))


def test_one_array_is_no_sequence_of_inputs(load):
    method = load(clone(np.float32, (1, 3)))
    array = np.ones((1, 3), np.float32)
    with pytest.raises(TypeError, match="inputs: expected a sequence of arrays, got one array of rank 2"):
        method(array)
    np.testing.assert_array_equal(method(array[np.newaxis])[0], array)


def test_earlier_inputs_are_never_used_again(load):
    method = load(clone(np.float32, (3,)))
    method([np.ones(3, np.float32)])
    with pytest.raises(ExecutionError):
        method([])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("sizes", [(), (0,), (2, 0, 3), (1,), (3, 5)])
def test_dtypes_ranks_and_empty_sizes_pass_through(load, dtype, sizes):
    method = load(clone(np.dtype(dtype), sizes))
    array = (np.arange(int(np.prod(sizes))).reshape(sizes) % 2).astype(dtype)
    (got,) = method([array])
    assert got.dtype == array.dtype and got.shape == array.shape
    np.testing.assert_array_equal(got, array)


def test_scalars_are_rank_zero_arrays(load):
    method = load(clone(np.float32, ()))
    for value in (2.5, np.float32(2.5), np.array(2.5, np.float32)):
        (got,) = method([value])
        assert got.shape == () and got.dtype == np.float32 and got == 2.5


def test_numbers_are_vectors_of_one_where_the_program_takes_a_vector(load):
    p = ProgramBuilder()
    x, y = p.input(np.int64, (1,)), p.input(np.float32, (1,))
    p.output(x, y)
    method = load(p)
    for inputs in ([3, 2.5], [np.int64(3), np.float32(2.5)], [np.array(3), np.array(2.5, np.float32)]):
        assert [(a.shape, a.item()) for a in method(inputs)] == [((1,), 3), ((1,), 2.5)]
    assert load(clone(np.float32, (4,), dynamic=True))([2.5])[0].tolist() == [2.5]
    assert load(clone(np.float32, (1,)))(np.array([2.5], np.float32))[0].tolist() == [2.5]
    for sizes in ((2,), (1, 1)):
        with pytest.raises(ExecutionError, match=r"expected an array of float32 .*, got an array of float32 \["):
            load(clone(np.float32, sizes))([2.5])


def test_dynamic_sizes_within_their_bounds(load):
    method = load(clone(np.float32, (8, 4), dynamic=True))
    rng = np.random.default_rng(0)
    for sizes in [(8, 4), (0, 4), (1, 1), (7, 3), (8, 0), (2, 4), (8, 4)]:
        array = rng.random(sizes, np.float32)
        np.testing.assert_array_equal(method([array])[0], array)
    # (2, 16) and (4, 8) have as many elements as the bound, which is not enough.
    for sizes in [(9, 4), (8, 5), (2, 16), (4, 8), (32,)]:
        with pytest.raises(ExecutionError, match=r"float32 \[8, 4\] at most"):
            method([np.zeros(sizes, np.float32)])


def test_other_inputs_must_have_the_traced_value(load):
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    for value in (3, 2.5, True, None):
        p.scalar_input(value)
    p.output(p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (2,))))
    method = load(p)
    x = np.ones(2, np.float32)
    method([x, 3, 2.5, True, None])
    method([x, np.int64(3), np.float64(2.5), True, None])
    for at, wrong, message in [
        (1, 4, "input 1: the program was exported for an int 3 only, got the int 4"),
        (2, 2.6, "input 2: the program was exported for a float 2.5 only"),
        (3, False, "input 3: the program was exported for a bool True only, got False"),
        (4, 1, "input 4: the program was exported for None only, got the int 1"),
        (1, 2**70, "input 1: the program was exported for an int 3 only, got the float 1.18059e+21"),
        (2, -(10**400), "input 2: the program was exported for a float 2.5 only, got the float -inf"),
        (1, "\ud800", "input 1: the program was exported for an int 3 only, got the string"),
        (1, "3", "input 1: the program was exported for an int 3 only, got the string '3'"),
        (1, x, "input 1: the program was exported for an int 3 only, got ndarray"),
        (4, object(), "input 4: the program was exported for None only, got object"),
    ]:
        inputs = [x, 3, 2.5, True, None]
        inputs[at] = wrong
        with pytest.raises(ExecutionError, match=re.escape(message)):
            method(inputs)


def test_metadata_says_what_is_expected(load):
    p = ProgramBuilder()
    x = p.input(np.int16, (2, 3), dynamic=True)
    p.scalar_input(7)
    p.output(x, 1.5)
    meta = load(p).metadata
    assert (meta["num_inputs"], meta["num_outputs"]) == (2, 2)
    assert meta["inputs"][0] == {
        "kind": "tensor",
        "scalar_type": 2,
        "shape": [2, 3],
        "is_memory_planned": True,
        "dtype": "int16",
        "dim_order": [0, 1],
        "dynamic": True,
        "nbytes": 12,
    }
    other = {"scalar_type": -1, "shape": [], "is_memory_planned": False}
    assert meta["inputs"][1] == {"kind": "int", "value": 7, **other}
    assert meta["outputs"][1] == {"kind": "float", "value": 1.5, **other}


def test_bfloat16_comes_as_ml_dtypes_and_goes_as_either(load):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    method = load(clone(15, (2,)))
    bits = np.array([0x3F80, 0xC000], np.uint16)
    for value in (bits, bits.view(ml_dtypes.bfloat16), [1.0, -2.0]):
        (got,) = method([value])
        assert got.dtype == ml_dtypes.bfloat16
        np.testing.assert_array_equal(got.view(np.uint16), bits)


def test_bfloat16_that_was_saved_and_loaded_is_taken(load, tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    method = load(clone(15, (3,)))
    array = np.array([1, 2.5, -3], ml_dtypes.bfloat16)
    np.save(tmp_path / "saved.npy", array)
    loaded = np.load(tmp_path / "saved.npy")
    assert loaded.dtype == np.dtype("V2")
    np.testing.assert_array_equal(method([loaded])[0], array)
    for other in (np.zeros(3, "V4"), np.zeros(3, [("bits", np.uint16)])):
        with pytest.raises(ExecutionError, match="expected an array of bfloat16"):
            method([other])


def test_bfloat16_is_raw_bits_without_ml_dtypes(load, monkeypatch):
    import sys

    from executorch_numpy_runtime import _dtypes

    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    _dtypes.numpy_dtype.cache_clear()
    try:
        bits = np.array([0x3F80, 0xC000], np.uint16)
        (got,) = load(clone(15, (2,)))([bits])
        assert got.dtype == np.uint16
        np.testing.assert_array_equal(got, bits)
        (got,) = load(clone(15, (5,)))([[1, -2.0, 1.00390625, 1.01171875, np.nan]])
        np.testing.assert_array_equal(got, np.array([0x3F80, 0xC000, 0x3F80, 0x3F82, 0x7FC0], np.uint16))
        assert en.runtime_info()["bfloat16"] == "uint16-passthrough"
    finally:
        _dtypes.numpy_dtype.cache_clear()
