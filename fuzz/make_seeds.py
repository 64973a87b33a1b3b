"""Writes fuzz/seeds: small files of every kind, from the test builder. Run it from the root of the repository."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from builder import (  # noqa: E402
    NODES,
    OptionalTensors,
    PayloadBuilder,
    ProgramBuilder,
    bundled_program,
    data_file,
    delegated_program,
    pack_int4,
)


def write(target: str, name: str, data: bytes) -> None:
    folder = ROOT / "fuzz" / "seeds" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def every_value(inline: bool = False) -> ProgramBuilder:
    """A program with each kind of value, data and instruction."""
    p = ProgramBuilder(inline_constants=inline, inline_delegates=inline)
    x = p.input(np.float32, (2, 3), dynamic=True)
    w = p.constant(np.ones((2, 3), np.float32))
    y = p.call("aten::add.out", x, w, 1, out=p.tensor(np.float32, (2, 3)))
    s = p.call("aten::sum.IntList_out", y, [1], True, None, out=p.tensor(np.float32, (2, 1)))
    p.call("aten::cat.out", [x, w], 0, out=p.tensor(np.float32, (4, 3)))
    p.call("aten::index.Tensor_out", x, OptionalTensors([None, w]), out=s)
    p.call("aten::upsample_nearest2d.vec_out", x, None, [2.0, 3.0], "text", [True, False], out=y)
    p.external(np.float32, (2, 2), "external")
    p.external(np.float32, (2, 2), "external_state", mutable=True)
    if not inline:
        p.buffer(np.arange(6, dtype=np.float32).reshape(2, 3), name="state")
    jump = p.jump_if_false(p.value(True))
    p.move(x, y)
    p.free(x)
    jump.destination = p.position
    p.output(y, 1, 2.5, None)
    second = p.method("second")
    second.output(second.scalar_input(3))
    return p


def float_graph() -> PayloadBuilder:
    g = PayloadBuilder()
    x = g.input((1, 4, 4, 2))
    filter_, bias = g.constant(np.ones((3, 2, 2, 2), np.float32)), g.constant(np.ones(3, np.float32))
    window = {"kernel_height": 2, "kernel_width": 2, "stride_height": 1, "stride_width": 1}
    dilation = {"dilation_height": 1, "dilation_width": 1}
    channels = {"group_input_channels": 2, "group_output_channels": 3, "groups": 1}
    y = g.value((1, 3, 3, 3))
    g.node("Conv2d", input=x, filter=filter_, bias=bias, output=y, output_min=0.0, **window, **dilation, **channels)
    z = g.value((1, 3, 3, 3))
    g.node("StaticTranspose", num_dims=4, perm=[0, 2, 1, 3], input=y, output=z)
    pooled = g.value((1, 2, 2, 3))
    pool = {"pooling_height": 2, "pooling_width": 2, "stride_height": 1, "stride_width": 1}
    g.node("MaxPooling2d", input=z, output=pooled, **pool, **dilation)
    padded = g.value((1, 3, 3, 3))
    g.node("StaticConstantPad", pre_paddings=[0, 1, 1, 0], post_paddings=[0] * 4, input=pooled, output=padded)
    part = g.value((1, 1, 3, 3))
    g.node("StaticSlice", num_dims=4, offsets=[0, 1, 0, 0], sizes=[1, 1, 3, 3], input=padded, output=part)
    flat = g.value((9,))
    g.node("StaticReshape", num_dims=1, new_shape=[0], input=part, output=flat)
    g.node("Concatenate3", axis=0, input1=flat, input2=flat, input3=flat, output=g.output((27,)))
    return g


def quantised_graph(form: str) -> PayloadBuilder:
    g = PayloadBuilder()
    x = g.input((2, 64))
    if form == "static":
        q, out = g.value((2, 64), "qint8", scale=0.5, zero_point=3), g.value((2, 4), "qint8", scale=0.25, zero_point=-1)
        weights = g.constant(np.ones((4, 64), np.int8), "qcint8", scales=np.ones(4))
        bias = g.constant(np.ones(4, np.int32), "qcint32", scales=np.full(4, 0.5))
    else:
        q, out = g.value((2, 64), "qdint8", num_nonbatch_dims=1), g.value((2, 4))
        options = {"scales": np.ones(8), "group_size": 32} if form == "block" else {"scales": np.ones(4)}
        packed = pack_int4(np.ones((4, 64), np.int8))
        kind = "qbint4" if form == "block" else "qcint4"
        weights = g.constant(packed, kind, dims=(4, 64), scales_as_buffer=True, **options)
        bias = g.constant(np.ones(4, np.float32))
    g.node("Convert", input=x, output=q)
    g.node("FullyConnected", input=q, filter=weights, bias=bias, output=out)
    g.node("Convert" if form == "static" else "Copy", input=out, output=g.output((2, 4)))
    return g


def node_graph(kind: str) -> PayloadBuilder:
    """One node of a kind with one input and one output."""
    g = PayloadBuilder()
    g.node(kind, input=g.input((2, 3)), output=g.output((2, 3)))
    return g


def main() -> None:
    graphs = {"float": float_graph()} | {form: quantised_graph(form) for form in ("static", "block", "channel")}
    for name, graph in graphs.items():
        for constants in ("payload", "inline"):
            write("fuzz_payload", f"{name}_{constants}", graph.build(constants=constants))
        write("fuzz_payload", f"{name}_named", graph.build(constants="named"))
        write("fuzz_program", f"{name}.pte", delegated_program(graph, constants="named"))
    for kind, (code, layout) in NODES.items():
        if layout.startswith("input:id output:id"):
            write("fuzz_payload", f"node_{code}", node_graph(kind).build())
    write("fuzz_program", "values.pte", every_value().build())
    write("fuzz_program", "values_24.pte", every_value().build(header=24))
    write("fuzz_program", "values_inline.pte", every_value(inline=True).build(header=None))
    write(
        "fuzz_program",
        "inline_delegate.pte",
        delegated_program(float_graph(), constants="inline", inline_delegates=True),
    )
    data = data_file({"external": np.ones((2, 2), np.float32), "scalar": np.float64(1), "blob": b"1234"})
    write("fuzz_data_file", "data.ptd", data)
    write("fuzz_data_file", "old.ptd", data_file({"external": np.ones(2, np.float32)}, layout_of_0_6=True))
    case = ([np.ones((2, 3), np.float32), 1, True, None, 2.5], [np.ones((2, 3), np.float32)])
    bundle = bundled_program(every_value(inline=True).build(header=None), {"forward": [case, case]})
    write("fuzz_bundled_program", "bundle.bpte", bundle)


if __name__ == "__main__":
    main()
