"""Files as users meet them: every form loads, everything else is refused by saying what it is."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import (
    PayloadBuilder,
    ProgramBuilder,
    Scalar,
    data_file,
    delegated_program,
    pack_int4,
)

RNG = np.random.default_rng(5)


def refusal(data: bytes | str | Path) -> str:
    """The message with which a file is refused."""
    with pytest.raises(en.ProgramLoadError) as error:
        en.Runtime.get().load_program(data).load_method("forward")
    return str(error.value)


def adder(**options: bool) -> ProgramBuilder:
    p = ProgramBuilder(**options)
    x = p.input(np.float32, (2, 3))
    y = p.call("aten::add.out", x, p.constant(np.full((2, 3), 10, np.float32)), 1, out=p.tensor(np.float32, (2, 3)))
    p.output(y)
    return p


@pytest.mark.parametrize("header", [24, 32, 40])
def test_headers_of_every_length(header: int) -> None:
    x = RNG.random((2, 3), np.float32)
    (y,) = en.Runtime.get().load_program(adder().build(header=header)).load_method("forward")([x])
    np.testing.assert_array_equal(y, x + 10)


def test_a_program_without_header() -> None:
    x = RNG.random((2, 3), np.float32)
    program = en.Runtime.get().load_program(adder(inline_constants=True).build(header=None))
    np.testing.assert_array_equal(program.load_method("forward")([x])[0], x + 10)


@pytest.mark.parametrize("constant_alignment", [1, 2, 64])
def test_constants_of_any_alignment(constant_alignment: int) -> None:
    p = ProgramBuilder()
    p.constant(np.zeros(3, np.int8))  # shifts what follows
    x = p.input(np.float64, (5,))
    w = RNG.random(5)
    p.output(p.call("aten::mul.out", x, p.constant(w), out=p.tensor(np.float64, (5,))))
    program = en.Runtime.get().load_program(p.build(constant_alignment=constant_alignment))
    np.testing.assert_array_equal(program.load_method("forward")([np.full(5, 2.0)])[0], w * 2)


@pytest.mark.parametrize("inline_delegates", [False, True])
@pytest.mark.parametrize("constants", ["payload", "named", "inline"])
def test_delegate_constants_in_every_place(constants: str, inline_delegates: bool) -> None:
    g = PayloadBuilder()
    weight, bias = RNG.random((4, 3), np.float32), RNG.random(4, np.float32)
    g.node(
        "FullyConnected",
        input=g.input((2, 3)),
        filter=g.constant(weight),
        bias=g.constant(bias),
        output=g.output((2, 4)),
    )
    data = delegated_program(g, constants=constants, inline_delegates=inline_delegates)
    x = RNG.random((2, 3), np.float32)
    (y,) = en.Runtime.get().load_program(data).load_method("forward")([x])
    np.testing.assert_allclose(y, x @ weight.T + bias, rtol=1e-6)


@pytest.mark.parametrize("scales_as_buffer", [False, True])
@pytest.mark.parametrize("group_size", [0, 32])
def test_scales_in_the_graph_and_outside(group_size: int, scales_as_buffer: bool) -> None:
    """4-bit weights whose activations quantise exactly, so that the result is exact."""
    values = RNG.integers(-8, 8, (4, 64))
    scales = np.array([0.5, 1, 2, 0.25], np.float32)
    g = PayloadBuilder()
    x, quantised = g.input((2, 64)), g.value((2, 64), "qdint8", num_nonbatch_dims=1)
    options = {"scales": np.repeat(scales, 2), "group_size": 32} if group_size else {"scales": scales}
    datatype = "qbint4" if group_size else "qcint4"
    weight = g.constant(pack_int4(values), datatype, dims=(4, 64), scales_as_buffer=scales_as_buffer, **options)
    g.node("Convert", input=x, output=quantised)
    g.node("FullyConnected", input=quantised, filter=weight, output=g.output((2, 4)))
    method = en.Runtime.get().load_program(delegated_program(g, constants="named")).load_method("forward")
    rows = RNG.integers(-127, 128, (2, 64)).astype(np.float32)
    rows[:, 0], rows[:, 1] = -128, 127  # one quantum is exactly 1
    np.testing.assert_allclose(method([rows])[0], rows @ (values * scales[:, None]).T, rtol=1e-6)


def test_sources_that_are_no_programs(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "missing.pte")
    assert "is a directory" in refusal(tmp_path)
    (tmp_path / "empty.pte").write_bytes(b"")
    assert "is empty" in refusal(tmp_path / "empty.pte")
    assert "the file is empty" in refusal(b"")
    (tmp_path / "page.pte").write_text("<!DOCTYPE html><html></html>")
    assert "an HTML page" in refusal(tmp_path / "page.pte")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"PK\x03\x04" + bytes(100), "a zip archive"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a git-lfs pointer"),
        (data_file({"w": np.ones(3, np.float32)}), "a tensor data file (.ptd)"),
        (b"\x80\x02" + bytes(100), "a Python pickle"),
        (bytes(100), "all zeros"),
    ],
    ids=["zip", "git_lfs", "ptd", "pickle", "zeros"],
)
def test_other_files_are_recognised(data: bytes, kind: str) -> None:
    assert kind in refusal(data)


def test_truncated_files_say_what_is_missing() -> None:
    data = adder().build()
    for size in (8, 100, len(data) // 2, len(data) - 1):
        assert "truncated" in refusal(data[:size])
    assert f"has {len(data) - 1}" in refusal(data[:-1])


def test_a_program_of_a_future_version_names_both_versions() -> None:
    p = adder()
    p.version = 3
    message = refusal(p.build())
    assert "schema version 3" in message
    assert "up to 0" in message


def test_messages_name_the_field_the_value_and_the_limit() -> None:
    p = adder()
    output = p.values[p.outputs[0]]
    output.offset = 1 << 40
    assert "forward.values[2].val.allocation_info.memory_offset: bytes 1099511627776 + 24" in refusal(p.build())


def test_names_that_are_not_utf_8_are_refused() -> None:
    p = adder()
    p.values[1].name = b"\xff"
    assert "fully_qualified_name: '\\xff' is not valid UTF-8" in refusal(p.build())


def test_an_arena_of_absurd_size_is_refused() -> None:
    p = adder()
    p.arenas[1] = 1 << 60
    assert "non_const_buffer_sizes[1]: is 1152921504606846976" in refusal(p.build())


def test_lists_that_are_named_very_often_are_refused_at_once() -> None:
    p = ProgramBuilder()
    x = p.input(np.float32, (1,))
    long, dim = p.value([x] * 60_000), p.value(0)
    y = p.tensor(np.float32, (60_000,))
    for _ in range(20_000):  # 1.2 billion tensors
        p.raw_call("aten::cat.out", [long.index, dim.index, y.index, y.index])
    p.output(y)
    program = en.Runtime.get().load_program(p.build())
    started = time.process_time()
    with pytest.raises(en.ProgramLoadError, match="forward: the instructions take more than 20000000 tensors"):
        program.load_method("forward")
    assert time.process_time() - started < 0.5


def test_a_damaged_payload_names_the_delegate_the_node_and_the_reason() -> None:
    g = PayloadBuilder()
    g.node("Sigmoid", input=g.input((2, 3)), output=g.output((3, 2, 1)))
    assert "forward.delegates[0] XnnpackBackend: xnodes[0].Sigmoid.output_id: dims are [3, 2, 1]" in refusal(
        delegated_program(g)
    )


def test_delegates_may_be_given_more_inputs_than_they_read() -> None:
    """Exporters up to 0.6 pass what a pass folded into constants: external ids then have gaps."""
    g = PayloadBuilder()
    x, y = g.input((2, 3)), g.output((2, 3))
    g.node("Negate", input=x, output=y)
    x.external_id, y.external_id = 1, 3
    g.extra_fields[3] = Scalar("u32", 4)
    p = ProgramBuilder()
    slots = [p.input(np.float32, shape) for shape in ((5,), (2, 3), (1,))]
    out = p.tensor(np.float32, (2, 3))
    p.delegate_call("XnnpackBackend", g.build(), slots, [out])
    p.output(out)
    arrays = [RNG.random(shape, np.float32) for shape in ((5,), (2, 3), (1,))]
    np.testing.assert_array_equal(
        en.Runtime.get().load_program(p.build()).load_method("forward")(arrays)[0], -arrays[1]
    )


def test_missing_names_of_delegates_are_listed() -> None:
    g = PayloadBuilder()
    weight = g.constant(np.ones((4, 3), np.float32))
    g.node("FullyConnected", input=g.input((2, 3)), filter=weight, output=g.output((2, 4)))
    p = ProgramBuilder()
    x, y = p.input(np.float32, (2, 3)), p.tensor(np.float32, (2, 4))
    p.delegate_call("XnnpackBackend", g.build(constants="named"), [x], [y])
    p.output(y)
    assert "'constant_0'" in refusal(p.build())
    program = en.Runtime.get().load_program(p.build(), data=data_file(dict(g.named)))
    np.testing.assert_array_equal(program.load_method("forward")([np.ones((2, 3), np.float32)])[0], np.full((2, 4), 3))


def test_unknown_fields_of_the_future_are_ignored() -> None:
    p = adder()
    p.extra_program_fields[20] = Scalar("u32", 5)
    p.extra_fields[20] = Scalar("u32", 5)
    x = RNG.random((2, 3), np.float32)
    np.testing.assert_array_equal(en.Runtime.get().load_program(p.build()).load_method("forward")([x])[0], x + 10)


def test_bytes_behind_the_end_do_not_matter() -> None:
    x = RNG.random((2, 3), np.float32)
    program = en.Runtime.get().load_program(adder().build() + b"trailing")
    np.testing.assert_array_equal(program.load_method("forward")([x])[0], x + 10)


def test_nodes_that_give_other_shapes_than_declared_are_refused() -> None:
    g = PayloadBuilder()
    pad = {"pre_paddings": [0, 1 << 30], "post_paddings": [0, 0], "padding_value": 0.0}
    g.node("StaticConstantPad", input=g.input((2, 3)), output=g.output((2, 4)), **pad)
    assert "node 0 (pad): a result of shape [2, 1073741827] is not possible" in refusal(delegated_program(g))


def test_method_names_have_no_control_characters() -> None:
    for name in ("\0", "a\nb"):
        assert "has control characters" in refusal(ProgramBuilder(name).build())
    with pytest.raises(en.ProgramLoadError, match=r"method 'forward\\x00' not found"):
        en.Runtime.get().load_program(adder().build()).load_method("forward\0")


def test_names_of_operators_and_backends_have_no_control_characters() -> None:
    p = adder()
    p.raw_call("a\x1b[31m", [0])
    assert r"operators[1].name: 'a\x1b[31m' has control characters" in refusal(p.build())
    p = adder()
    p.delegate_call("a\nb", b"", [], [])
    assert r"delegates[0].id: 'a\x0ab' has control characters" in refusal(p.build())


def test_a_program_that_needs_more_memory_than_there_is_says_how_much() -> None:
    resource = pytest.importorskip("resource")
    p = ProgramBuilder()
    p.output(p.call("aten::full.out", [2**30, 15], 1.0, out=p.tensor(np.float32, (2**30, 15), planned=False)))
    program = en.Runtime.get().load_program(p.build())
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**34, limits[1]))
    try:
        with pytest.raises(
            en.ProgramLoadError, match=f"not enough memory for the {15 * 2**32} bytes the program needs"
        ):
            program.load_method("forward")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def test_paths_that_are_not_utf_8(tmp_path: Path) -> None:
    path = Path(str(tmp_path) + "/\udcff.pte")
    path.write_bytes(adder().build())
    assert en.Runtime.get().load_program(path).method_names == ["forward"]
    assert en.Runtime.get().load_program(str(path)).method_names == ["forward"]
    assert "no such file" in refusal("/tmp/\ud800.pte")
