"""Writes ExecuTorch files on the fly, for tests: programs, data files, bundled programs, XNNPACK payloads.

It writes with the official ``flatbuffers`` package and from the format's description alone, so that it shares nothing
with the reader it tests. One operator call::

    from builder import ProgramBuilder

    p = ProgramBuilder()
    x = p.input(np.float32, (2, 3))
    w = p.constant(np.ones((2, 3), np.float32))
    y = p.call("aten::add.out", x, w, 1, out=p.tensor(np.float32, (2, 3)))
    p.output(y)
    program = Runtime.get().load_program(p.build())

Tensors that instructions write get memory in an arena by themselves; ``dynamic=True`` makes their sizes bounds.
Arguments may be any slot or Python literal::

    p.call("aten::sum.IntList_out", x, [1], True, None, out=s)            # int list, bool, None
    p.call("aten::cat.out", [x, w], 0, out=c)                             # tensor list
    p.call("aten::index.Tensor_out", x, OptionalTensors([None, i]), out=r)
    p.call("aten::topk.values", x, 2, 1, True, True, out=[values, indices])
    p.call("executorch_prim::add.Scalar", n, 1, m)                        # all slots named by the caller

Further methods (``p.method("encode")``), mutable buffers (``buffer``, ``zero_buffer``), external data (``external``),
control flow (``move``, ``jump_if_false``, ``free``) and delegates (``delegate_call`` with a payload of
``PayloadBuilder``) are there as well. ``build(header=24)``, ``build(header=None)`` and
``ProgramBuilder(inline_constants=True, inline_delegates=True)`` write the forms of older exporters. For bad files,
every attribute of a slot may be changed before ``build()``, and ``extra_fields`` override any field of a table.

A delegated addition::

    from builder import PayloadBuilder, delegated_program

    g = PayloadBuilder()
    g.node("Add", input1=g.input((2, 3)), input2=g.input((2, 3)), output=g.output((2, 3)))
    program = Runtime.get().load_program(delegated_program(g))
"""

from .container import Segments, assemble, insert_header
from .data_file import bundled_program, data_file
from .dtypes import SCALAR_TYPES, item_size, scalar_type
from .program import Jump, MethodBuilder, OptionalTensors, ProgramBuilder, TensorValue, Value
from .tables import Blob, Numbers, Scalar, Table, Tables, Text, finish
from .xnnpack import NODES, PayloadBuilder, PayloadValue, delegated_program, pack_int4

__all__ = [
    "NODES",
    "SCALAR_TYPES",
    "Blob",
    "Jump",
    "MethodBuilder",
    "Numbers",
    "OptionalTensors",
    "PayloadBuilder",
    "PayloadValue",
    "ProgramBuilder",
    "Scalar",
    "Segments",
    "Table",
    "Tables",
    "TensorValue",
    "Text",
    "Value",
    "assemble",
    "bundled_program",
    "data_file",
    "delegated_program",
    "finish",
    "insert_header",
    "item_size",
    "pack_int4",
    "scalar_type",
]
