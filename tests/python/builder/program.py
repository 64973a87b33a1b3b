"""Writes .pte programs. See the package's docstring for an example."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .container import Segments, assemble
from .dtypes import item_size, scalar_type
from .tables import Blob, Numbers, Scalar, Table, Tables, Text, align

INPUT_STRUCTURE = '[1, {"type": null, "context": null, "children_spec": []}]'


@dataclass(eq=False)
class Value:
    """A slot of a method. `code` and `table` are what the file will say; tests of bad files may change them."""

    index: int
    code: int = 0
    table: Table | None = None

    def to_table(self) -> Table:
        return Table({0: Scalar("u8", self.code), 1: self.table if self.table is not None else Table()})


@dataclass(eq=False)
class TensorValue(Value):
    """A tensor. Every attribute may be changed until the program is built."""

    dtype: int = 6
    sizes: Sequence[int] = ()
    dim_order: Sequence[int] = ()
    dynamism: int = 0
    memory_id: int | None = None  # None: not planned
    offset: int = 0
    data_buffer_idx: int = 0
    name: str | bytes | None = None
    location: int = 0
    storage_offset: int = 0
    layout: int = 0
    device: int = 0
    extra_fields: dict[int, Any] = field(default_factory=dict)

    def size_bytes(self) -> int:
        return math.prod(self.sizes) * item_size(self.dtype)

    def to_table(self) -> Table:
        allocation = extra = None
        if self.memory_id is not None:
            allocation = Table(
                {
                    0: Scalar("u32", self.memory_id),
                    1: Scalar("u32", self.offset & 0xFFFFFFFF),
                    2: Scalar("u32", self.offset >> 32),
                }
            )
        if self.name is not None or self.location or self.device:
            extra = Table(
                {
                    1: Text(self.name) if self.name is not None else None,
                    2: Scalar("i8", self.location),
                    3: Scalar("i8", self.device),
                }
            )
        tensor = {
            0: Scalar("i8", self.dtype),
            1: Scalar("i32", self.storage_offset),
            2: Numbers("i32", self.sizes),
            3: Numbers("u8", self.dim_order),
            5: Scalar("u32", self.data_buffer_idx),
            6: allocation,
            7: Scalar("i8", self.layout),
            8: Scalar("i8", self.dynamism),
            9: extra,
        }
        return Table({0: Scalar("u8", 5), 1: Table(tensor | self.extra_fields)})


@dataclass(eq=False)
class OptionalTensors:
    """Marks a list argument as a list of optional tensors."""

    items: Sequence[Value | None]


@dataclass(eq=False)
class Jump:
    """A conditional jump; `destination` may be set once it is known."""

    condition: Value
    destination: int = 0


class MethodBuilder:
    """One method. Tensors get memory in arena 1 as they are made, each its own."""

    def __init__(self, program: ProgramBuilder, name: str) -> None:
        self.program = program
        self.name = name
        self.values: list[Value] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.operators: list[str] = []
        self.delegates: list[Table] = []
        self.instructions: list[Table | Jump] = []
        self.arenas: dict[int, int] = {1: 0}  # memory id -> size
        self.extra_fields: dict[int, Any] = {}  # of the execution plan, to override any field

    # Values ----------------------------------------------------------------------------------------------------------

    def tensor(
        self,
        dtype: Any,
        sizes: Iterable[int],
        *,
        dynamic: bool = False,
        dim_order: Sequence[int] | None = None,
        planned: bool = True,
        memory_id: int = 1,
        share: TensorValue | None = None,
    ) -> TensorValue:
        """A tensor that an instruction writes; sizes are bounds where `dynamic`. `share` places it on another."""
        sizes = tuple(sizes)
        order = tuple(range(len(sizes)) if dim_order is None else dim_order)
        value = TensorValue(len(self.values), dtype=scalar_type(dtype), sizes=sizes, dim_order=order)
        value.dynamism = int(dynamic)
        self.values.append(value)
        if share is not None:
            value.memory_id, value.offset = share.memory_id, share.offset
        elif planned:
            self._place(value, memory_id)
        return value

    def _place(self, value: TensorValue, memory_id: int) -> None:
        value.memory_id = memory_id
        value.offset = align(self.arenas.get(memory_id, 0), 16)
        self.arenas[memory_id] = value.offset + value.size_bytes()

    def input(self, dtype: Any, sizes: Iterable[int], **options: Any) -> TensorValue:
        """A tensor that the caller gives; options as for tensor()."""
        value = self.tensor(dtype, sizes, **options)
        self.inputs.append(value.index)
        return value

    def scalar_input(self, value: Any) -> Value:
        """An input that is not a tensor: the value it had when the program was exported."""
        result = self.value(value)
        self.inputs.append(result.index)
        return result

    def constant(self, array: Any, *, dtype: Any = None, sizes: Any = None, dim_order: Any = None) -> TensorValue:
        """A tensor with fixed elements: an array, or bytes in memory order with `dtype` and `sizes`."""
        value = self._with_data(array, dtype, sizes, dim_order)
        value.data_buffer_idx = self.program.add_constant(_memory_bytes(array, value.dim_order))
        return value

    def buffer(self, array: Any, *, name: str | None = None, memory_id: int = 1, **options: Any) -> TensorValue:
        """A mutable buffer that starts with the array's elements."""
        value = self._with_data(array, **options)
        self._place(value, memory_id)
        value.data_buffer_idx = self.program.add_initial_state(_memory_bytes(array, value.dim_order))
        value.name = name
        return value

    def zero_buffer(
        self, dtype: Any, sizes: Iterable[int], *, name: str | None = None, memory_id: int = 1
    ) -> TensorValue:
        """A mutable buffer that the file gives no initial state."""
        value = self.tensor(dtype, sizes, memory_id=memory_id)
        value.name = name
        return value

    def external(
        self, dtype: Any, sizes: Iterable[int], name: str, *, mutable: bool = False, **options: Any
    ) -> TensorValue:
        """A constant (or a mutable buffer's initial state) that a data file holds under this name."""
        value = self.tensor(dtype, sizes, planned=mutable, **options)
        value.name, value.location = name, 1
        return value

    def _with_data(self, array: Any, dtype: Any = None, sizes: Any = None, dim_order: Any = None) -> TensorValue:
        if not isinstance(array, bytes):
            array = np.asarray(array)
            dtype = array.dtype if dtype is None else dtype
            sizes = array.shape if sizes is None else sizes
        return self.tensor(dtype, sizes, dim_order=dim_order, planned=False)

    def value(self, value: Any) -> Value:
        """The slot of any argument: a Value as it is, Python literals as new slots.

        A list of ints (or of slots that hold ints) becomes an int list, of floats a float list, of bools a bool list,
        of tensors a tensor list; OptionalTensors([...]) a list of optional tensors; a numpy dtype becomes its code.
        """
        if isinstance(value, Value):
            return value
        code, table = self._literal(value)
        return self.raw_value(code, table)

    def raw_value(self, code: int, table: Table | None) -> Value:
        result = Value(len(self.values), code, table)
        self.values.append(result)
        return result

    def _literal(self, value: Any) -> tuple[int, Table | None]:
        if value is None:
            return 1, None
        if isinstance(value, (bool, np.bool_)):
            return 3, Table({0: Scalar("bool", bool(value))})
        if isinstance(value, (int, np.integer)):
            return 2, Table({0: Scalar("i64", int(value))})
        if isinstance(value, (float, np.floating)):
            return 4, Table({0: Scalar("f64", float(value))})
        if isinstance(value, str):
            return 6, Table({0: Text(value)})
        if isinstance(value, OptionalTensors):
            return 11, Table({0: Numbers("i32", [-1 if item is None else item.index for item in value.items])})
        if isinstance(value, (list, tuple)):
            return self._list(list(value))
        return 2, Table({0: Scalar("i64", scalar_type(value))})

    def _list(self, items: list[Any]) -> tuple[int, Table]:
        if items and all(isinstance(item, (bool, np.bool_)) for item in items):
            return 9, Table({0: Numbers("bool", items)})
        if any(isinstance(item, (float, np.floating)) for item in items):
            return 8, Table({0: Numbers("f64", [float(item) for item in items])})
        if any(isinstance(item, TensorValue) for item in items):
            return 10, Table({0: Numbers("i32", [item.index for item in items])})
        return 7, Table({0: Numbers("i64", [self.value(item).index for item in items])})

    # Instructions ----------------------------------------------------------------------------------------------------

    def call(self, operator: str, *args: Any, out: Any = None) -> Any:
        """Calls an operator. `out` (a slot or several) is appended as the out arguments and once more as the result.

        Operators without out arguments (executorch_prim::) get out=None and name all slots themselves. Returns `out`.
        """
        slots = [self.value(arg) for arg in args]
        if isinstance(out, (list, tuple)):
            slots += [*out, self.value(list(out))]
        elif out is not None:
            slots += [out, out]
        self.raw_call(operator, [slot.index for slot in slots])
        return out

    def raw_call(self, operator: str, args: Sequence[int]) -> None:
        if operator not in self.operators:
            self.operators.append(operator)
        self._instruction(1, {0: Scalar("i32", self.operators.index(operator)), 1: Numbers("i32", args)})

    def delegate_call(
        self,
        backend: str,
        payload: bytes,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        *,
        compile_specs: Mapping[str, bytes] | None = None,
    ) -> None:
        location = self.program.add_payload(payload)
        specs = [Table({0: Text(key), 1: Blob(value)}) for key, value in (compile_specs or {}).items()]
        self.delegates.append(Table({0: Text(backend), 1: location, 2: Tables(specs)}))
        args = [slot.index for slot in [*inputs, *outputs]]
        self._instruction(2, {0: Scalar("i32", len(self.delegates) - 1), 1: Numbers("i32", args)})

    def move(self, source: Value, target: Value) -> None:
        self._instruction(3, {0: Scalar("i32", source.index), 1: Scalar("i32", target.index)})

    def jump_if_false(self, condition: Value, destination: int = 0) -> Jump:
        jump = Jump(condition, destination)
        self.instructions.append(jump)
        return jump

    def free(self, value: Value) -> None:
        self._instruction(5, {0: Scalar("i32", value.index)})

    def output(self, *values: Any) -> None:
        """Appends to the method's outputs; literals give outputs that are not tensors."""
        self.outputs += [self.value(value).index for value in values]

    @property
    def position(self) -> int:
        """The index that the next instruction will have: where a jump may lead."""
        return len(self.instructions)

    def _instruction(self, code: int, fields: Mapping[int, Any]) -> None:
        self.instructions.append(Table({0: Scalar("u8", code), 1: Table(fields)}))

    def to_table(self) -> Table:
        instructions = []
        for item in self.instructions:
            if isinstance(item, Jump):
                fields = {0: Scalar("i32", item.condition.index), 1: Scalar("i32", item.destination)}
                instructions.append(Table({0: Scalar("u8", 4), 1: Table(fields)}))
            else:
                instructions.append(item)
        sizes = [0] + [self.arenas.get(memory_id, 0) for memory_id in range(1, max(self.arenas) + 1)]
        plan = {
            0: Text(self.name),
            1: Table({0: Text(INPUT_STRUCTURE), 1: Text(INPUT_STRUCTURE)}),
            2: Tables([value.to_table() for value in self.values]),
            3: Numbers("i32", self.inputs),
            4: Numbers("i32", self.outputs),
            5: Tables([Table({2: Tables(instructions)})]),
            6: Tables([_operator_table(name) for name in self.operators]),
            7: Tables(self.delegates),
            8: Numbers("i64", sizes),
        }
        return Table(plan | self.extra_fields)


class ProgramBuilder(MethodBuilder):
    """A program. It is its own first method, "forward"; method() adds others."""

    def __init__(
        self, name: str = "forward", *, inline_constants: bool = False, inline_delegates: bool = False
    ) -> None:
        super().__init__(self, name)
        self.methods: list[MethodBuilder] = [self]
        self.inline_constants = inline_constants
        self.inline_delegates = inline_delegates
        self.constants: list[bytes] = [b""]  # entry 0 stands for "none"
        self.initial_states: list[bytes] = [b""]
        self.payloads: list[tuple[bytes, Table]] = []
        self.named: dict[str, bytes] = {}
        self.version = 0
        self.extra_program_fields: dict[int, Any] = {}  # to override any field of the root table

    def method(self, name: str) -> MethodBuilder:
        method = MethodBuilder(self, name)
        self.methods.append(method)
        return method

    def named_data(self, key: str, data: bytes) -> str:
        """Data that delegates look up by name."""
        self.named[key] = data
        return key

    def add_constant(self, data: bytes) -> int:
        self.constants.append(data)
        return len(self.constants) - 1

    def add_initial_state(self, data: bytes) -> int:
        self.initial_states.append(data)
        return len(self.initial_states) - 1

    def add_payload(self, payload: bytes) -> Table:
        reference = Table({})  # filled in when the segments are laid out
        self.payloads.append((payload, reference))
        return reference

    def build(self, *, header: int | None = 32, constant_alignment: int = 16, segment_alignment: int = 128) -> bytes:
        """The file. `header` is the extended header's length (24 up to ExecuTorch 0.7, 32 later) or None."""
        segments = Segments(segment_alignment)
        fields: dict[int, Any] = {0: Scalar("u32", self.version)}
        if self.inline_constants:
            fields[2] = Tables([Table({0: Blob(data, 16)}) for data in self.constants])
        else:
            fields[5] = segments.add_packed(self.constants, constant_alignment)
        if len(self.initial_states) > 1:
            fields[6] = Tables([segments.add_packed(self.initial_states, 1)])
        inline = []
        for payload, reference in self.payloads:
            if self.inline_delegates:
                inline.append(Table({0: Blob(payload, 16)}))
            index = len(inline) - 1 if self.inline_delegates else segments.add(payload)
            reference.fields = {0: Scalar("i8", int(not self.inline_delegates)), 1: Scalar("u32", index)}
        fields[3] = Tables(inline)
        fields[7] = Tables(
            [Table({0: Text(key), 1: Scalar("u32", segments.add(data))}) for key, data in self.named.items()]
        )
        fields[4] = Tables(segments.tables())
        fields[1] = Tables([method.to_table() for method in self.methods])
        return assemble(Table(fields | self.extra_program_fields), segments, header)


def _operator_table(name: str) -> Table:
    namespace, _, rest = name.rpartition("::")
    base, _, overload = rest.partition(".")
    return Table({0: Text(f"{namespace}::{base}" if namespace else base), 1: Text(overload)})


def _memory_bytes(array: Any, dim_order: Sequence[int]) -> bytes:
    if isinstance(array, bytes):
        return array
    array = np.asarray(array)
    return np.ascontiguousarray(array.transpose(dim_order) if array.ndim == len(dim_order) else array).tobytes()
