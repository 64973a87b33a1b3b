"""Writes payloads of the XNNPACK delegate. See the package's docstring for an example."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .program import ProgramBuilder
from .tables import Blob, Numbers, Scalar, Table, Tables, Text, align, finish

INTERNAL = 0xFFFFFFFF

DATA_TYPES = {
    "invalid": 0, "fp32": 1, "fp16": 2, "qint8": 3, "quint8": 4, "qint32": 5, "qcint8": 6, "qcint32": 7, "qcint4": 8,
    "qdint8": 9, "qbint4": 10, "qpint8": 11, "int32": 12, "pfp32": 13, "bf16": 14,
}  # fmt: skip

# dtype of the method's tensor behind an external value
_METHOD_DTYPES = {
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "qint8": "int8",
    "quint8": "uint8",
    "int32": "int64",
}

# Each field is "name:kind", in the order of the schema; ids are values.
_BINARY = "input1:id input2:id output:id flags:u32"
_UNARY = "input:id output:id flags:u32"
_CAT = "axis:u32 input1:id input2:id input3:id input4:id output:id flags:u32 input5:id"
_CONV = (
    "padding_top:u32 padding_right:u32 padding_bottom:u32 padding_left:u32 kernel_height:u32 kernel_width:u32 "
    "stride_height:u32 stride_width:u32 dilation_height:u32 dilation_width:u32 group_input_channels:u32 "
    "group_output_channels:u32 groups:u32 adjustment_height:u32 adjustment_width:u32 "
    "input:id filter:id bias:id output:id flags:u32"
)
_POOL = (
    "padding_top:u32 padding_right:u32 padding_bottom:u32 padding_left:u32 pooling_height:u32 pooling_width:u32 "
    "stride_height:u32 stride_width:u32 dilation_height:u32 dilation_width:u32 input:id output:id flags:u32"
)

NODES = {
    "Add": (1, _BINARY),
    "FullyConnected": (2, "input:id filter:id bias:id output:id flags:u32"),
    "Softmax": (3, _UNARY),
    "Sigmoid": (4, _UNARY),
    "StaticTranspose": (5, "num_dims:u32 perm:list input:id output:id flags:u32"),
    "Clamp": (6, _UNARY),
    "Conv2d": (7, _CONV),
    "Div": (8, _BINARY),
    "StaticResizeBilinear2D": (9, "new_height:u32 new_width:u32 input:id output:id flags:u32"),
    "StaticConstantPad": (10, "pre_paddings:list post_paddings:list padding_value:f32 input:id output:id flags:u32"),
    "AvgPooling2d": (11, _POOL),
    "Minimum": (12, _BINARY),
    "DepthwiseConv2d": (13, _CONV),
    "MaxPooling2d": (14, _POOL),
    "Multiply": (15, _BINARY),
    "Subtract": (16, _BINARY),
    "Floor": (17, _UNARY),
    "Convert": (18, _UNARY),
    "GlobalAvgPooling2d": (19, _UNARY),
    "StaticReshape": (20, "num_dims:u32 new_shape:list input:id output:id flags:u32"),
    "ArgMaxPooling2d": (
        21,
        "padding_top:u32 padding_right:u32 padding_bottom:u32 padding_left:u32 pooling_height:u32 pooling_width:u32 "
        "input:id output_value:id output_index:id flags:u32",
    ),
    "SquareRoot": (22, _UNARY),
    "Ceiling": (23, _UNARY),
    "Hardswish": (24, _UNARY),
    "LeakyReLU": (25, "negative_slope:f32 input:id output:id flags:u32"),
    "Maximum": (26, _BINARY),
    "Negate": (27, _UNARY),
    "Square": (28, _UNARY),
    "ELU": (29, "alpha:f32 input:id output:id flags:u32"),
    "Abs": (30, _UNARY),
    "PReLU": (31, _BINARY),
    "Concatenate2": (32, _CAT),
    "Concatenate3": (33, _CAT),
    "Concatenate4": (34, _CAT),
    "StaticSlice": (35, "num_dims:u32 offsets:list sizes:list input:id output:id flags:u32"),
    "ScaledDotProductAttention": (36, "query:id key:id value:id scale:id mask:id output:id flags:u32"),
    "BatchMatrixMultiply": (37, _BINARY),
    "Concatenate5": (38, _CAT),
    "ConvTranspose2d": (39, _CONV),
    "ReciprocalSquareRoot": (40, _UNARY),
    "Log": (41, _UNARY),
    "Gelu": (42, _UNARY),
    "Tanh": (43, _UNARY),
    "Exp": (44, _UNARY),
    "Sin": (45, _UNARY),
    "Copy": (46, _UNARY),
    "Cos": (47, _UNARY),
}


@dataclass(eq=False)
class PayloadValue:
    """A value of the graph. Every attribute may be changed until the payload is built.

    Quantised ones take `scale` and `zero_point` (per tensor), `scales` and `channel_dim` (per channel), those and
    `group_size` (per block), or `num_nonbatch_dims` (at run time).
    """

    id: int
    dims: Sequence[int]
    datatype: str | int = "fp32"
    data: bytes | None = None
    external_id: int | None = INTERNAL  # None: given by build(), inputs first
    flags: int = 0
    scale: float | None = None
    zero_point: int = 0
    scales: Any = None
    channel_dim: int = 0
    group_size: int = 0
    num_nonbatch_dims: int = 0
    scales_as_buffer: bool = False  # scales as a constant of their own, as ExecuTorch 0.7 and later do
    dq_datatype: int = 0
    num_dims: int | None = None
    buffer_idx: int | None = None


@dataclass(eq=False)
class _Constants:
    """Where constants go: a table for inline ones, bytes behind the flatbuffer, or the program's named data."""

    form: str
    named: dict[str, bytes]
    tables: list[Table] = field(default_factory=lambda: [Table({})])
    data: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> int:
        index = len(self.tables)
        if self.form == "inline":
            self.tables.append(Table({0: Blob(data, 16)}))
        elif self.form == "named":
            key = f"constant_{len(self.named)}"
            self.named[key] = data
            self.tables.append(Table({0: Scalar("u64", 2**64 - 1), 1: Scalar("u64", len(data)), 2: Text(key)}))
        else:
            self.data += bytes(align(len(self.data), 16) - len(self.data))
            self.tables.append(Table({0: Scalar("u64", len(self.data)), 1: Scalar("u64", len(data))}))
            self.data += data
        return index


class PayloadBuilder:
    """A graph. Values first, then nodes in an order in which they can run."""

    def __init__(self) -> None:
        self.values: list[PayloadValue] = []
        self.nodes: list[Table] = []
        self._externals: list[PayloadValue] = []
        self.named: dict[str, bytes] = {}  # filled by build(constants="named")
        self.extra_fields: dict[int, Any] = {}  # to override any field of the root table

    def value(self, dims: Iterable[int], datatype: str | int = "fp32", **options: Any) -> PayloadValue:
        """An intermediate value."""
        value = PayloadValue(len(self.values), tuple(dims), datatype, **options)
        self.values.append(value)
        return value

    def input(self, dims: Iterable[int], datatype: str | int = "fp32", **options: Any) -> PayloadValue:
        return self._external(self.value(dims, datatype, **options), 1)

    def output(self, dims: Iterable[int], datatype: str | int = "fp32", **options: Any) -> PayloadValue:
        return self._external(self.value(dims, datatype, **options), 2)

    def _external(self, value: PayloadValue, flag: int) -> PayloadValue:
        value.external_id = None
        value.flags = flag
        self._externals.append(value)
        return value

    @property
    def externals(self) -> list[PayloadValue]:
        """Inputs, then outputs: the order of a delegate call's arguments."""
        return sorted(self._externals, key=lambda value: value.flags)

    def constant(self, array: Any, datatype: str | int = "fp32", *, dims: Any = None, **options: Any) -> PayloadValue:
        """A constant; `dims` are needed where the array is bytes or packed (see pack_int4)."""
        data = array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes()
        return self.value(np.shape(array) if dims is None else dims, datatype, data=data, **options)

    def node(
        self,
        kind: str,
        *,
        output_min: float | None = None,
        output_max: float | None = None,
        debug_handle: int = 65535,
        code: int | None = None,
        **fields: Any,
    ) -> None:
        """A node of a kind in NODES, its fields by name. Values that are left out are 0xFFFFFFFF, numbers 0."""
        node_code, layout = NODES[kind]
        table = {}
        for slot, item in enumerate(layout.split()):
            name, _, field_kind = item.partition(":")
            table[slot] = _node_field(field_kind, fields.pop(name, None))
        if fields:
            raise TypeError(f"{kind} has no {', '.join(fields)}; it has {layout}")
        clamp = None
        if output_min is not None or output_max is not None:
            low = float("-inf") if output_min is None else output_min
            high = float("inf") if output_max is None else output_max
            clamp = Table({0: Scalar("f32", low), 1: Scalar("f32", high)})
        union_code = node_code if code is None else code
        self.nodes.append(
            Table({0: Scalar("u8", union_code), 1: Table(table), 2: Scalar("u32", debug_handle), 3: clamp})
        )

    def build(self, *, constants: str = "payload", identifier: bytes = b"XN01") -> bytes:
        """The payload. Constants go behind the graph ("payload", ExecuTorch 0.2 and later), into the program's named
        data ("named", 0.6 and later; `named` then has them) or into the flatbuffer, without header ("inline", 0.1)."""
        store = _Constants(constants, self.named)
        self.named.clear()
        for i, value in enumerate(self.externals):
            value.external_id = i if value.external_id is None else value.external_id
        values = [_value_table(value, store) for value in self.values]
        inputs = [value.id for value in self.externals if value.flags & 1]
        outputs = [value.id for value in self.externals if value.flags & 2]
        fields = {
            0: Text("0"),
            1: Tables(self.nodes),
            2: Tables(values),
            3: Scalar("u32", len(self.externals)),
            4: Numbers("u32", inputs),
            5: Numbers("u32", outputs),
            6 if constants == "inline" else 8: Tables(store.tables),
        }
        flatbuffer = finish(Table(fields | self.extra_fields), identifier)
        if constants == "inline":
            return flatbuffer
        offset = align(30, 16)
        data_offset = align(offset + len(flatbuffer), 16)
        header = bytes(4) + b"XH00" + struct.pack("<HIIIQ", 30, offset, len(flatbuffer), data_offset, len(store.data))
        return (header.ljust(offset, b"\0") + flatbuffer).ljust(data_offset, b"\0") + bytes(store.data)


def pack_int4(values: Any) -> bytes:
    """Rows of values from -8 to 7 as the delegate stores them: value + 8, the even index in the low nibble."""
    values = np.asarray(values)
    padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, values.shape[-1] % 2)]) + 8
    return (padded[..., 0::2] | padded[..., 1::2] << 4).astype(np.uint8).tobytes()


def _node_field(kind: str, value: Any) -> Any:
    if kind == "id":
        number = INTERNAL if value is None else value.id if isinstance(value, PayloadValue) else value
        return Scalar("u32", number)
    if kind == "list":
        return Numbers("u32", [int(item) & 0xFFFFFFFF for item in value or []])
    if kind == "f32":
        return Scalar("f32", 0.0 if value is None else value)
    return Scalar("u32", (0 if value is None else value) & 0xFFFFFFFF)


def _value_table(value: PayloadValue, store: _Constants) -> Table:
    index = value.buffer_idx
    if index is None:
        index = 0 if value.data is None else store.add(value.data)
    datatype = DATA_TYPES[value.datatype] if isinstance(value.datatype, str) else value.datatype
    tensor = Table(
        {
            0: Scalar("i16", datatype),
            1: Scalar("u32", len(value.dims) if value.num_dims is None else value.num_dims),
            2: Numbers("u32", value.dims),
            3: Scalar("u32", index),
            4: Scalar("u32", value.external_id),
            5: Scalar("u32", value.flags),
            6: Scalar("u32", value.id),
            7: Scalar("i16", value.dq_datatype) if value.dq_datatype else None,
        }
    )
    code, params = _quantisation(value, store)
    if params is None:
        return Table({0: Scalar("u8", 1), 1: tensor})
    return Table({0: Scalar("u8", 2), 1: Table({0: tensor, 1: Scalar("u8", code), 2: params})})


def _quantisation(value: PayloadValue, store: _Constants) -> tuple[int, Table | None]:
    if value.num_nonbatch_dims:
        return 3, Table({0: Scalar("i32", value.num_nonbatch_dims)})
    if value.scale is not None:
        return 2, Table({0: Scalar("f32", value.scale), 1: Scalar("i32", value.zero_point)})
    if value.scales is None:
        return 0, None
    scales = np.asarray(value.scales, np.float32).ravel()
    in_table = not value.scales_as_buffer
    fields = {0: Numbers("f32", scales if in_table else []), 1: Scalar("i32", value.channel_dim)}
    stored: dict[int, Any] = {}
    if value.group_size:
        fields[2] = Scalar("i32", value.group_size)
        if not in_table:
            halves = (scales.view(np.uint32) >> 16).astype(np.uint16)
            stored = {4: Scalar("u32", store.add(halves.tobytes())), 5: Scalar("u32", scales.size)}
        return 4, Table(fields | stored)
    if not in_table:
        given = np.asarray(value.scales).ravel()  # as models of halves have them
        data = given if given.dtype.itemsize == 2 else scales
        stored = {2: Scalar("u32", store.add(data.tobytes())), 3: Scalar("u32", scales.size)}
    return 1, Table(fields | stored)


def delegated_program(
    graph: PayloadBuilder,
    *,
    constants: str = "payload",
    dynamic: bool = False,
    dim_orders: dict[int, Sequence[int]] | None = None,
    header: int | None = 32,
    inline_delegates: bool = False,
) -> bytes:
    """A program whose method "forward" is one call of the graph.

    A value's dims are in memory order; `dim_orders` (by position among inputs, then outputs) gives the method's tensors
    others than row-major, e.g. (0, 2, 3, 1) for images whose values are NHWC.
    """
    program = ProgramBuilder(inline_delegates=inline_delegates)
    slots = []
    for i, value in enumerate(graph.externals):
        order = (dim_orders or {}).get(i, range(len(value.dims)))
        sizes = [0] * len(value.dims)
        for dim, size in zip(order, value.dims, strict=True):
            sizes[dim] = size
        dtype = _METHOD_DTYPES[str(value.datatype)]
        slots.append(program.tensor(dtype, sizes, dynamic=dynamic, dim_order=tuple(order)))
    input_count = sum(value.flags & 1 for value in graph.externals)
    program.inputs = [slot.index for slot in slots[:input_count]]
    payload = graph.build(constants=constants)
    program.delegate_call("XnnpackBackend", payload, slots[:input_count], slots[input_count:])
    program.output(*slots[input_count:])
    for key, data in graph.named.items():
        program.named_data(key, data)
    return program.build(header=header if not inline_delegates or graph.named else None)
