"""Runs of operators compute the same as one graph (raised) and one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import executorch_numpy_runtime as en
import goldens
from builder import ProgramBuilder
from builder.program import TensorValue

CASES = goldens.cases()


def load(
    program: bytes | Any, *, raised: bool, monkeypatch: pytest.MonkeyPatch, name: str = "forward", **options: Any
) -> en.Method:
    monkeypatch.setenv("ENR_RAISE", "1" if raised else "0")
    return en.Runtime.get().load_program(program, **options).load_method(name)


def regions(method: en.Method, inputs: list[Any]) -> list[dict[str, Any]]:
    return [event for event in method.profile(inputs)[1] if event["kind"] == "region"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fixture(case: goldens.Case, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = case.arrays()
    for name, runs in case.meta["methods"].items():
        options = {"name": name, "data": case.data, "monkeypatch": monkeypatch}
        raised = load(case.program, raised=True, **options)
        plain = load(case.program, raised=False, **options)
        for run in runs:
            inputs = goldens.inputs_of(run, arrays)
            for a, b in zip(raised(inputs), plain(inputs), strict=True):
                if isinstance(a, np.ndarray) and a.dtype.kind in "fV":
                    assert_close(a, b)
                else:
                    np.testing.assert_array_equal(a, b)


def assert_close(a: np.ndarray, b: np.ndarray) -> None:
    """Halves are rounded once for a region, and after every operator otherwise."""
    assert a.dtype == b.dtype
    tolerance = 1e-5 if a.dtype.itemsize > 2 else 2e-2
    a, b = a.astype(np.float64), b.astype(np.float64)
    scale = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0)))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=2 * tolerance * scale)


# Random graphs of operators


@dataclass
class Graph:
    """A program under construction; every value with its shape and how long its memory is needed."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    random: np.random.Generator
    dynamic: bool = False  # whether sizes are bounds
    dtype: Any = np.float32
    program: ProgramBuilder = field(default_factory=ProgramBuilder)
    values: list[TensorValue] = field(default_factory=list)
    last_use: dict[int, int] = field(default_factory=dict)  # value -> instruction
    birth: dict[int, int] = field(default_factory=dict)
    base: dict[int, TensorValue] = field(default_factory=dict)  # of dropped views
    count: int = 0

    def input(self, shape: tuple[int, ...], order: tuple[int, ...] | None = None) -> TensorValue:
        value = self.program.input(self.dtype, shape, dim_order=order, dynamic=self.dynamic)
        self.values.append(value)
        return value

    def constant(self, *shape: int, low: float = -0.5, high: float = 0.5) -> TensorValue:
        return self.program.constant(self.random.uniform(low, high, shape).astype(self.dtype))

    def tensor(self, shape: tuple[int, ...], dtype: Any = np.float32) -> TensorValue:
        dtype = self.dtype if dtype is np.float32 else dtype
        return self.program.tensor(dtype, shape, planned=False, dynamic=self.dynamic)

    def call(
        self,
        name: str,
        *args: Any,
        shape: tuple[int, ...],
        extra: Sequence[tuple[int, ...]] = (),
        dtype: Any = np.float32,
    ) -> TensorValue:
        out = self.tensor(shape, dtype)
        outs = [out, *(self.tensor(sizes) for sizes in extra)]
        if "max_pool" in name:
            outs[1].dtype = 4
        self.program.call(name, *args, out=outs if extra else out)
        for arg in [*args, *(args[0] if args and isinstance(args[0], list) else [])]:
            if isinstance(arg, TensorValue):
                self.use(arg)
        for value in outs:
            self.birth[value.index] = self.last_use[value.index] = self.count
        self.count += 1
        if dtype is np.float32:
            self.values.append(out)
        return out

    def use(self, value: TensorValue) -> None:
        value = self.base.get(value.index, value)
        if value.index in self.birth:
            self.last_use[value.index] = self.count

    def dropped_view(self, value: TensorValue, shape: tuple[int, ...]) -> None:
        """A view without an instruction, as exporters leave it."""
        if self.dynamic or (value.index not in self.birth and value.index not in self.base):
            return
        view = self.tensor(shape)
        self.base[view.index] = self.base.get(value.index, value)
        self.values.append(view)

    def finish(self) -> bytes:
        some = [v for v in self.values if self.draw(st.integers(0, 3)) == 0][:3]
        kept = list(dict.fromkeys(v.index for v in [*some, self.values[-1]]))
        for index in kept:
            owner = self.base.get(index, self.program.values[index])
            if owner.index in self.last_use:
                self.last_use[owner.index] = self.count
        self.place()
        self.program.output(*(self.program.values[index] for index in kept))
        return self.program.build()

    def place(self) -> None:
        """Memory by lifetime, first fit, as memory planning does it."""
        start = self.program.arenas[1]
        placed: list[TensorValue] = []
        for index in sorted(self.birth, key=lambda i: self.birth[i]):
            value = self.program.values[index]
            assert isinstance(value, TensorValue)
            offset = start
            for other in sorted(placed, key=lambda v: v.offset):
                if self.last_use[other.index] < self.birth[index]:
                    continue
                if other.offset >= offset + value.size_bytes():
                    break
                offset = max(offset, -(-(other.offset + other.size_bytes()) // 16) * 16)
            value.memory_id, value.offset = 1, offset
            placed.append(value)
            self.program.arenas[1] = max(self.program.arenas[1], offset + value.size_bytes())
        for index, owner in self.base.items():
            view = self.program.values[index]
            assert isinstance(view, TensorValue)
            view.memory_id, view.offset = owner.memory_id, owner.offset


def shape_of(value: TensorValue) -> tuple[int, ...]:
    return tuple(value.sizes)


def convolution(g: Graph, x: TensorValue) -> None:
    shape = shape_of(x)
    channels, spatial = shape[1], shape[2:]
    dims = len(spatial)
    kind = g.draw(st.sampled_from(["plain", "depthwise", "grouped", "transposed"]))
    kernel = g.draw(st.sampled_from([1, 2, 3]))
    stride = g.draw(st.sampled_from([1, 2]))
    pad = g.draw(st.integers(0, kernel // 2))
    groups = {"depthwise": channels, "grouped": 2 if channels % 2 == 0 else 1}.get(kind, 1)
    outputs = channels if kind in ("depthwise", "grouped") else g.draw(st.sampled_from([3, 4, 8]))
    transposed = kind == "transposed"
    if transposed:
        sizes = tuple((s - 1) * stride - 2 * pad + kernel for s in spatial)
        weight = g.constant(channels, outputs, *[kernel] * dims)
    else:
        sizes = tuple((s + 2 * pad - kernel) // stride + 1 for s in spatial)
        weight = g.constant(outputs, channels // groups, *[kernel] * dims)
    if min(sizes) < 1 or min(s + 2 * pad for s in spatial) < kernel or max(sizes) > 40:
        return
    bias = g.constant(outputs) if g.draw(st.booleans()) else None
    args = ([stride] * dims, [pad] * dims, [1] * dims, transposed, [0] * dims, groups)
    y = g.call("aten::convolution.out", x, weight, bias, *args, shape=(shape[0], outputs, *sizes))
    if g.draw(st.booleans()):
        parameters = (
            g.constant(outputs),
            g.constant(outputs),
            g.constant(outputs),
            g.constant(outputs, low=0.5, high=2),
        )
        name = "aten::_native_batch_norm_legit_no_training.out"
        y = g.call(name, y, *parameters, 0.1, 1e-5, shape=shape_of(y), extra=[(0,), (0,)])
    if g.draw(st.booleans()):
        g.call("aten::relu.out", y, shape=shape_of(y))


def unary(g: Graph, x: TensorValue) -> None:
    name = g.draw(
        st.sampled_from(["relu", "sigmoid", "tanh", "neg", "abs", "gelu", "hardtanh", "sign", "silu", "round"])
    )
    args = {"gelu": ["none"], "hardtanh": [-0.5, 0.75]}.get(name, [])
    y = g.call(f"aten::{name}.out", x, *args, shape=shape_of(x))
    if name == "sigmoid" and g.draw(st.booleans()):
        g.call("aten::mul.out", x, y, shape=shape_of(x))


def binary(g: Graph, x: TensorValue) -> None:
    name = g.draw(st.sampled_from(["add", "sub", "mul", "maximum"]))
    shape = shape_of(x)
    same = [v for v in g.values if shape_of(v) == shape]
    other = g.draw(st.sampled_from(["same", "row", "channels", "scalar", "column"]))
    if other == "same":
        y = g.draw(st.sampled_from(same))
    elif other == "row":
        y = g.constant(shape[-1])
    elif other == "scalar":
        y = g.constant()
    elif other == "column":
        y = g.constant(*shape[:-1], 1)
    else:
        y = g.constant(shape[1], *[1] * (len(shape) - 2)) if len(shape) > 2 else g.constant(*shape)
    operands = [x, y] if g.draw(st.booleans()) else [y, x]
    alpha = [g.draw(st.sampled_from([1, 0.5]))] if name in ("add", "sub") else []
    g.call(f"aten::{name}.out", *operands, *alpha, shape=shape)


def scalar(g: Graph, x: TensorValue) -> None:
    name = g.draw(st.sampled_from(["add", "sub", "mul", "div"]))
    alpha = [2] if name in ("add", "sub") else []
    g.call(f"aten::{name}.Scalar_out", x, 0.75, *alpha, shape=shape_of(x))


def permute(g: Graph, x: TensorValue) -> None:
    order = g.draw(st.permutations(range(len(x.sizes))))
    g.call("aten::permute_copy.out", x, list(order), shape=tuple(x.sizes[d] for d in order))


def reshape(g: Graph, x: TensorValue) -> None:
    shape = list(shape_of(x))
    way = g.draw(st.sampled_from(["merge", "split", "unsqueeze", "squeeze", "flat"]))
    d = g.draw(st.integers(0, len(shape) - 1))
    if way == "merge" and len(shape) > 1:
        d = min(d, len(shape) - 2)
        shape[d : d + 2] = [shape[d] * shape[d + 1]]
    elif way == "split" and shape[d] % 2 == 0:
        shape[d : d + 1] = [2, shape[d] // 2]
    elif way == "unsqueeze":
        shape.insert(d, 1)
    elif way == "squeeze" and 1 in shape and len(shape) > 1:
        shape.remove(1)
    elif way == "flat":
        shape = [shape[0], int(np.prod(shape[1:]))]
    if len(shape) > 5:
        return
    if g.draw(st.booleans()):
        g.dropped_view(x, tuple(shape))
    else:
        g.call("aten::view_copy.out", x, shape, shape=tuple(shape))


def cut(g: Graph, x: TensorValue) -> None:
    shape = list(shape_of(x))
    d = g.draw(st.integers(0, len(shape) - 1))
    if g.draw(st.booleans()) or len(shape) == 1:
        start = g.draw(st.integers(0, shape[d] - 1))
        end = g.draw(st.integers(start + 1, shape[d]))
        g.call(
            "aten::slice_copy.Tensor_out",
            x,
            d - len(shape),
            start,
            end,
            1,
            shape=(*shape[:d], end - start, *shape[d + 1 :]),
        )
    else:
        index = g.draw(st.integers(-shape[d], shape[d] - 1))
        g.call("aten::select_copy.int_out", x, d, index, shape=(*shape[:d], *shape[d + 1 :]))


def concat(g: Graph, x: TensorValue) -> None:
    shape = shape_of(x)
    d = g.draw(st.integers(0, len(shape) - 1))
    fitting = [
        v
        for v in g.values
        if len(v.sizes) == len(shape)
        and all(a == b or i == d for i, (a, b) in enumerate(zip(v.sizes, shape, strict=True)))
    ]
    parts = [x, *g.draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=2))]
    total = sum(p.sizes[d] for p in parts)
    if total <= 64:
        g.call("aten::cat.out", parts, d, shape=(*shape[:d], total, *shape[d + 1 :]))


def matmul(g: Graph, x: TensorValue) -> None:
    shape = shape_of(x)
    outputs = g.draw(st.sampled_from([1, 3, 8]))
    if len(shape) == 2:
        weight = g.constant(outputs, shape[1])
        right = g.call("aten::permute_copy.out", weight, [1, 0], shape=(shape[1], outputs))
        if g.draw(st.booleans()):
            g.call("aten::addmm.out", g.constant(outputs), x, right, 1, 1, shape=(shape[0], outputs))
        else:
            g.call("aten::mm.out", x, right, shape=(shape[0], outputs))
    elif len(shape) == 3 and g.draw(st.booleans()):
        right = g.call("aten::permute_copy.out", x, [0, 2, 1], shape=(shape[0], shape[2], shape[1]))
        g.call("aten::bmm.out", x, right, shape=(shape[0], shape[1], shape[1]))
    else:
        bias = g.constant(outputs) if g.draw(st.booleans()) else None
        g.call("aten::linear.out", x, g.constant(outputs, shape[-1]), bias, shape=(*shape[:-1], outputs))


def norm(g: Graph, x: TensorValue) -> None:
    shape = shape_of(x)
    way = g.draw(st.sampled_from(["softmax", "log_softmax", "layer", "group"]))
    if way == "layer":
        n = g.draw(st.integers(1, min(2, len(shape))))
        tail, statistics = shape[-n:], (*shape[:-n], *[1] * n)
        g.call(
            "aten::native_layer_norm.out",
            x,
            list(tail),
            g.constant(*tail),
            g.constant(*tail),
            1e-3,
            shape=shape,
            extra=[statistics] * 2,
        )
    elif way == "group" and len(shape) > 2:
        groups = g.draw(st.sampled_from([k for k in (1, 2, shape[1]) if shape[1] % k == 0]))
        parameters = (g.constant(shape[1]), g.constant(shape[1]))
        sizes = (shape[0], shape[1], int(np.prod(shape[2:])), groups)
        g.call("aten::native_group_norm.out", x, *parameters, *sizes, 1e-3, shape=shape, extra=[(shape[0], groups)] * 2)
    else:
        name = "_log_softmax" if way == "log_softmax" else "_softmax"
        g.call(f"aten::{name}.out", x, g.draw(st.integers(-len(shape), len(shape) - 1)), False, shape=shape)


def reduction(g: Graph, x: TensorValue) -> None:
    shape = shape_of(x)
    name = g.draw(st.sampled_from(["mean.out", "sum.IntList_out", "amin.out", "amax.out"]))
    dims = g.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=2, unique=True))
    keeps = len(dims) == len(shape) or g.draw(st.booleans())
    sizes = tuple(1 if d in dims else size for d, size in enumerate(shape) if keeps or d not in dims)
    negative = [d - len(shape) if g.draw(st.booleans()) else d for d in dims]
    y = g.call(f"aten::{name}", x, negative, keeps, *([] if name[0] == "a" else [None]), shape=sizes)
    if keeps:
        g.call("aten::sub.out", x, y, 1, shape=shape)


def masked_softmax(g: Graph, x: TensorValue) -> None:
    """As exporters write the softmax of attention; sometimes a part is needed elsewhere too."""
    shape = shape_of(x)
    rows = (*shape[:-1], 1)
    if g.draw(st.booleans()):
        # Some rows are masked fully, some in part.
        mask = np.where(g.random.random(shape) < 0.5, -np.inf, 0).astype(np.float32)
        mask[..., g.random.random(shape[:-1]) < 0.5, :] = -np.inf
        x = g.call("aten::add.out", x, g.program.constant(mask), 1, shape=shape)
    soft = g.call("aten::_softmax.out", x, -1, False, shape=shape)
    kept = g.draw(st.sampled_from([None, None, 0, 1, 2, 3]))
    parts: list[TensorValue] = []
    for name, args, sizes in [
        ("eq.Scalar_out", [x, -np.inf], shape),
        ("logical_not.out", [], shape),
        ("any.out", [-1, True], rows),
        ("logical_not.out", [], rows),
    ]:
        operands = args if name.startswith("eq") else [parts[-1], *args]
        parts.append(g.call(f"aten::{name}", *operands, shape=sizes, dtype=bool))
    zeros = g.call("aten::full_like.out", x, 0, None, shape=shape)
    y = g.call("aten::where.self_out", parts[-1], zeros, soft, shape=shape)
    if kept is not None:
        ones = [g.constant(*shape), g.constant(*shape)]
        g.call("aten::where.self_out", parts[kept], *ones, shape=shape)
    g.call("aten::neg.out", y, shape=shape)


def spatial(g: Graph, x: TensorValue) -> None:
    n, c, h, w = shape_of(x)
    way = g.draw(st.sampled_from(["max", "average", "mean", "nearest", "bilinear", "pad"]))
    if way == "max" and min(h, w) >= 2:
        up = g.draw(st.booleans())
        sizes = tuple(-(-(s + 2 - 3) // 2) + 1 if up else (s + 2 - 3) // 2 + 1 for s in (h, w))
        sizes = tuple(s - 1 if (s - 1) * 2 >= size + 1 else s for s, size in zip(sizes, (h, w), strict=True))
        args = ([3, 3], [2, 2], [1, 1], [1, 1], up)
        g.call("aten::max_pool2d_with_indices.out", x, *args, shape=(n, c, *sizes), extra=[(n, c, *sizes)])
    elif way == "average" and min(h, w) >= 2:
        args = ([2, 2], [], [0, 0], False, False, None)
        g.call("aten::avg_pool2d.out", x, *args, shape=(n, c, h // 2, w // 2))
    elif way == "mean":
        keeps = g.draw(st.booleans())
        g.call("aten::mean.out", x, [-1, -2], keeps, None, shape=(n, c, 1, 1) if keeps else (n, c))
    elif way in ("nearest", "bilinear") and max(h, w) <= 20:
        align = [False] if way == "bilinear" else []
        g.call(f"aten::upsample_{way}2d.vec_out", x, None, *align, [2.0, 2.0], shape=(n, c, h * 2, w * 2))
    elif way == "pad":
        g.call("aten::constant_pad_nd.out", x, [1, 0, 2, 1], 0.5, shape=(n, c, h + 3, w + 1))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_random_graphs(data: st.DataObject) -> None:
    draw = data.draw
    dynamic = draw(st.sampled_from([False, False, True]))
    g = Graph(draw, np.random.default_rng(draw(st.integers(0, 1000))), dynamic)
    first = draw(
        st.sampled_from([(1, 4, 6, 6), (2, 3, 5, 7), (1, 8, 9), (2, 6, 4), (5, 8), (1, 1, 4, 4), (3, 16, 4, 4)])
    )
    order = draw(st.sampled_from([None, (0, *range(2, len(first)), 1)])) if len(first) == 4 else None
    g.input(first, order)
    for _ in range(draw(st.integers(1, 12))):
        x = draw(st.sampled_from(g.values[-4:]))
        rank = len(x.sizes)
        kinds = [unary, binary, scalar] + ([permute, reshape, cut, concat, norm, reduction] if rank else [])
        kinds += [matmul, masked_softmax] if rank > 1 else []
        kinds += [convolution] * 3 if rank in (3, 4) else []
        kinds += [spatial] * 2 if rank == 4 else []
        draw(st.sampled_from(kinds))(g, x)
    if not g.count:
        return
    program = g.finish()
    array = g.random.normal(size=first).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        raised = load(program, raised=True, monkeypatch=patch)
        plain = load(program, raised=False, monkeypatch=patch)
    arrays = [array, array]
    if dynamic:  # numbers that are written in the program may not fit other sizes: the error is the same then
        arrays += [array[:1], array[:, : (first[1] + 1) // 2], array]
    for inputs in arrays:
        try:
            expected = plain([np.ascontiguousarray(inputs)])
        except en.ExecutionError as error:
            with pytest.raises(en.ExecutionError, match=re.escape(str(error))):
                raised([np.ascontiguousarray(inputs)])
            continue
        for a, b in zip(raised([np.ascontiguousarray(inputs)]), expected, strict=True):
            assert_close(a, b)


def chain(*names: str, share: bool = False) -> tuple[ProgramBuilder, list[TensorValue]]:
    program = ProgramBuilder()
    values = [program.input(np.float32, (2, 3))]
    for name in names:
        out = program.tensor(np.float32, (2, 3), share=values[0] if share else None)
        values.append(program.call(name, values[-1], out=out))
    program.output(values[-1])
    return program, values


def test_special_values_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = chain("aten::neg.out", "aten::relu.out", "aten::abs.out", "aten::relu.out")
    array = np.array([[np.nan, np.inf, -np.inf], [0.0, -0.0, -1.5]], np.float32)
    (raised,) = load(program.build(), raised=True, monkeypatch=monkeypatch)([array])
    (plain,) = load(program.build(), raised=False, monkeypatch=monkeypatch)([array])
    np.testing.assert_array_equal(raised, plain)


@pytest.mark.parametrize("share", [False, True])
def test_profile_shows_regions_and_their_steps(share: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = chain("aten::exp.out", "aten::neg.out", "aten::tanh.out", share=share)
    array = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    outputs, events = method.profile([array])
    np.testing.assert_allclose(outputs[0], np.tanh(-np.exp(array)), rtol=1e-6)
    assert [event["kind"] for event in events] == ["step", "step", "region"]
    assert events[-1]["detail"] == "instructions 0 to 2"
    plain = load(program.build(), raised=False, monkeypatch=monkeypatch)
    assert [event["kind"] for event in plain.profile([array])[1]] == ["operator"] * 3


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64, np.float16, np.uint8, bool])
@pytest.mark.parametrize("returned", [False, True])
def test_constants_are_converted_once(dtype: Any, returned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ProgramBuilder()
    x = program.input(np.float32, (2, 3))
    three = program.constant(np.array(3, dtype))
    factor = program.tensor(np.float32, ())
    program.call("dim_order_ops::_to_dim_order_copy.out", three, False, [], out=factor)
    y = program.call("aten::add.out", x, factor, 1, out=program.tensor(np.float32, (2, 3)))
    program.output(y, *([factor] if returned else []))
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    outputs, events = method.profile([array])
    expected = np.float32(np.array(3, dtype))
    np.testing.assert_array_equal(outputs[0], array + expected)
    assert "operator" not in [event["kind"] for event in events]
    if returned:
        np.testing.assert_array_equal(outputs[1], expected)


CNNS = ["cnn_p", "conv1d_p", "residual_p", "unet_mini_p", "depthwise_separable_p", "squeeze_excite_p", "vit_tiny_p"]


@pytest.mark.parametrize("name", CNNS)
def test_whole_networks_are_one_region(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = (case for case in CASES if case.name == name)
    method = load(case.program, raised=True, monkeypatch=monkeypatch)
    inputs = goldens.inputs_of(case.meta["methods"]["forward"][0], case.arrays())
    assert len(regions(method, inputs)) == 1
    assert [event["name"] for event in method.profile(inputs)[1] if event["kind"] == "operator"] == []


@pytest.mark.parametrize("name", ["vit_tiny_x"])
def test_small_delegates_join_regions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = (case for case in CASES if case.name == name)
    inputs = goldens.inputs_of(case.meta["methods"]["forward"][0], case.arrays())
    counts = []
    for raised in (False, True):
        events = load(case.program, raised=raised, monkeypatch=monkeypatch).profile(inputs)[1]
        counts.append(sum(event["kind"] == "delegate" for event in events))
    assert counts[0] > 3
    assert counts[1] <= 1


def test_one_operator_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = chain("aten::exp.out")
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    assert regions(method, [np.zeros((2, 3), np.float32)]) == []


def test_errors_name_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ProgramBuilder()
    x = program.input(np.float32, (2, 3))
    y = program.call("aten::exp.out", x, out=program.tensor(np.float32, (2, 3)))
    z = program.call(
        "aten::add.out", y, program.constant(np.zeros(4, np.float32)), 1, out=program.tensor(np.float32, (2, 3))
    )
    program.output(program.call("aten::exp.out", z, out=program.tensor(np.float32, (2, 3))))
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    with pytest.raises(en.ExecutionError, match=r"forward\[1\] aten::add.out: "):
        method([np.zeros((2, 3), np.float32)])


def test_states_are_written_by_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ProgramBuilder()
    x = program.input(np.float32, (3,))
    state = program.buffer(np.ones(3, np.float32), name="sum")
    y = program.call("aten::add.out", state, x, 1, out=program.tensor(np.float32, (3,)))
    z = program.call("aten::mul.out", y, y, out=program.tensor(np.float32, (3,)))
    program.call("aten::copy_", state, z, False, state)
    program.output(program.call("aten::neg.out", state, out=program.tensor(np.float32, (3,))))
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    for _ in range(2):
        before = method.state["sum"].copy()
        (out,) = method([np.full(3, 0.5, np.float32)])
        np.testing.assert_allclose(method.state["sum"], (before + 0.5) ** 2)
        np.testing.assert_allclose(out, -((before + 0.5) ** 2))


def test_masked_softmax_is_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ProgramBuilder()
    x = program.input(np.float32, (2, 3))

    def call(name: str, *args: Any, shape: tuple[int, ...] = (2, 3), dtype: Any = np.float32) -> Any:
        return program.call(f"aten::{name}", *args, out=program.tensor(dtype, shape))

    soft = call("_softmax.out", x, -1, False)
    masked = call("logical_not.out", call("eq.Scalar_out", x, -np.inf, dtype=bool), dtype=bool)
    empty = call(
        "logical_not.out", call("any.out", masked, -1, True, shape=(2, 1), dtype=bool), shape=(2, 1), dtype=bool
    )
    program.output(call("where.self_out", empty, call("full_like.out", x, 0, None), soft))
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    outputs, events = method.profile([np.array([[0, -np.inf, 0], [-np.inf] * 3], np.float32)])
    np.testing.assert_array_equal(outputs[0], [[0.5, 0, 0.5], [0, 0, 0]])
    assert [event["kind"] for event in events] == ["step", "region"]
    (not_a_number,) = method([np.array([[0, np.nan, 0], [np.inf] * 3], np.float32)])
    assert np.isnan(not_a_number).all()


def test_second_results_are_computed_where_read(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ProgramBuilder()
    x = program.input(np.float32, (1, 2, 4, 4))
    y = program.call("aten::relu.out", x, out=program.tensor(np.float32, (1, 2, 4, 4)))
    pooled, indices = program.tensor(np.float32, (1, 2, 2, 2)), program.tensor(np.int64, (1, 2, 2, 2))
    program.call("aten::max_pool2d_with_indices.out", y, [2, 2], [], [0, 0], [1, 1], False, out=[pooled, indices])
    program.output(program.call("aten::relu.out", pooled, out=program.tensor(np.float32, (1, 2, 2, 2))), indices)
    array = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    for raised in (True, False):
        method = load(program.build(), raised=raised, monkeypatch=monkeypatch)
        out, found = method([array])
        np.testing.assert_array_equal(found[0, 0], [[5, 7], [13, 15]])
        np.testing.assert_array_equal(out[0, 1], [[21, 23], [29, 31]])


DYNAMIC = ["dyn_batch_mlp_p", "dyn_batch_cnn_p", "dyn_hw_cnn_p", "dyn_length_attention_p"]


@pytest.mark.parametrize("name", DYNAMIC)
def test_networks_of_any_size_are_regions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = (case for case in CASES if case.name == name)
    method = load(case.program, raised=True, monkeypatch=monkeypatch)
    for run in case.meta["methods"]["forward"]:
        events = method.profile(goldens.inputs_of(run, case.arrays()))[1]
        numbers = ("aten::sym_size.int", "executorch_prim::")
        assert [e["name"] for e in events if e["kind"] == "operator" and not e["name"].startswith(numbers)] == []
        assert sum(event["kind"] == "region" for event in events) == 1


def sized_program() -> bytes:
    """exp and a matrix product of rows [n, 4], seen as [2 n, 2]; then integers and views that operators use."""
    program = ProgramBuilder()
    x = program.input(np.float32, (40, 4), dynamic=True)
    weight = program.constant(np.arange(16, dtype=np.float32).reshape(4, 4) / 16)
    n, twice, filled = program.value(0), program.value(0), program.value(0)
    y = program.call("aten::tanh.out", x, out=program.tensor(np.float32, (40, 4), dynamic=True))
    program.call("aten::sym_size.int", y, 0, n)
    program.call("executorch_prim::mul.Scalar", n, 2, twice)
    z = program.call("aten::mm.out", y, weight, out=program.tensor(np.float32, (40, 4), dynamic=True))
    view = program.tensor(np.float32, (80, 2), dynamic=True, share=z)
    program.call("executorch_prim::et_view.default", z, [twice, 2], view)
    last = program.call("aten::neg.out", view, out=program.tensor(np.float32, (80, 2), dynamic=True))
    program.call("executorch_prim::add.Scalar", twice, 1, filled)
    ones = program.call("aten::full.out", [filled], 1.0, out=program.tensor(np.float32, (81,), dynamic=True))
    program.output(last, view, ones, n)
    return program.build()


def test_regions_of_many_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = np.arange(16, dtype=np.float32).reshape(4, 4) / 16
    method = load(sized_program(), raised=True, monkeypatch=monkeypatch)
    for n in [40, *range(1, 41), 3, 40, 1]:
        x = np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32)
        outputs, events = method.profile([x])
        expected = (np.tanh(x) @ weight).reshape(2 * n, 2)
        np.testing.assert_allclose(outputs[0], -expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(outputs[1], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(outputs[2], np.ones(2 * n + 1, np.float32))
        assert outputs[3] == n
        assert [event["name"] for event in events if event["kind"] == "operator"] == ["aten::full.out"]
    (empty, *_) = method([np.zeros((0, 4), np.float32)])
    assert empty.shape == (0, 2)
    with pytest.raises(en.ExecuTorchError, match="input 0"):
        method([np.zeros((41, 4), np.float32)])


def test_sizes_that_do_not_fit_are_the_operators_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ProgramBuilder()
    a, b = (program.input(np.float32, (4, 3), dynamic=True) for _ in range(2))
    c = program.call("aten::exp.out", a, out=program.tensor(np.float32, (4, 3), dynamic=True))
    program.output(program.call("aten::add.out", c, b, 1, out=program.tensor(np.float32, (4, 3), dynamic=True)))
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    rows = [np.ones((n, 3), np.float32) for n in (1, 2, 3, 4)]
    for _ in range(2):
        with pytest.raises(en.ExecutionError, match=re.escape("forward[1] aten::add.out")):
            method([rows[1], rows[2]])
        np.testing.assert_allclose(method([rows[3], rows[0]])[0], np.exp(rows[3]) + 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, "bfloat16"])
def test_halves(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    random = np.random.default_rng(0)
    image, filters = (random.normal(size=shape).astype(dtype) for shape in ((1, 3, 8, 8), (4, 3, 3, 3)))
    program = ProgramBuilder()
    x = program.input(dtype, image.shape)
    window = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    convolved = program.tensor(dtype, (1, 4, 8, 8))
    program.call("aten::convolution.out", x, program.constant(filters), None, *window, out=convolved)
    active = program.call("aten::sigmoid.out", convolved, out=program.tensor(dtype, (1, 4, 8, 8)))
    wide = program.tensor(np.float32, (1, 4, 8, 8))
    program.call("dim_order_ops::_to_dim_order_copy.out", active, False, [0, 1, 2, 3], out=wide)
    program.output(active, wide)
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    outputs, events = method.profile([image])
    assert [event["kind"] for event in events if event["kind"] != "step"] == ["region"]
    for a, b in zip(outputs, load(program.build(), raised=False, monkeypatch=monkeypatch)([image]), strict=True):
        assert a.dtype == b.dtype  # the wide one is not rounded in between
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=2e-2, atol=2e-2)


def test_quantised_weights_and_activations(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    x, integers = random.normal(size=(5, 8)).astype(np.float32), random.integers(-127, 128, (3, 8)).astype(np.int8)
    scales = np.array([0.01, 0.02, 0.005])
    program = ProgramBuilder()
    a = program.input(np.float32, (5, 8))
    q = program.tensor(np.int8, (5, 8))
    program.call("quantized_decomposed::quantize_per_tensor.out", a, 0.03, -3, -128, 127, np.int8, out=q)
    b = program.tensor(np.float32, (5, 8))
    program.call("quantized_decomposed::dequantize_per_tensor.out", q, 0.03, -3, -128, 127, np.int8, None, out=b)
    w = program.tensor(np.float32, (3, 8))
    parameters = (program.constant(scales), program.constant(np.zeros(3, np.int64)), 0, -127, 127, np.int8, None)
    program.call("quantized_decomposed::dequantize_per_channel.out", program.constant(integers), *parameters, out=w)
    c = program.call("aten::linear.out", b, w, None, out=program.tensor(np.float32, (5, 3)))
    out = program.tensor(np.int8, (5, 3))
    program.call("quantized_decomposed::quantize_per_tensor.out", c, 0.1, 4, -128, 127, np.int8, out=out)
    program.output(out, q, c)
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    outputs, events = method.profile([x])
    assert [event["kind"] for event in events if event["kind"] != "step"] == ["region"]
    quantised = np.clip(np.round(x / np.float32(0.03)) - 3, -128, 127)
    product = (quantised + 3).astype(np.float32) * np.float32(0.03) @ (integers * scales[:, None]).astype(np.float32).T
    np.testing.assert_array_equal(outputs[1], quantised)
    np.testing.assert_allclose(outputs[2], product, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(outputs[0], np.clip(np.round(product / 0.1) + 4, -128, 127), atol=1)


def test_weights_repeated_for_a_batch_are_multiplied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = np.random.default_rng(0).normal(size=(1, 4, 5)).astype(np.float32)
    program = ProgramBuilder()
    x = program.input(np.float32, (6, 3, 4), dynamic=True)
    n = program.value(0)
    program.call("aten::sym_size.int", x, 0, n)
    repeated = program.tensor(np.float32, (6, 4, 5), dynamic=True)
    program.call("aten::expand_copy.out", program.constant(weight), [n, 4, 5], False, out=repeated)
    product = program.tensor(np.float32, (6, 3, 5), dynamic=True)
    program.output(program.call("aten::bmm.out", x, repeated, out=product))
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    for count in (6, 1, 2):
        array = np.random.default_rng(count).normal(size=(count, 3, 4)).astype(np.float32)
        (output,), events = method.profile([array])
        np.testing.assert_allclose(output, array @ weight, rtol=1e-5, atol=1e-5)
        assert "Mul" not in [event["name"] for event in events]
        assert sum(event["kind"] == "region" for event in events) == 1


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("multiplies", [False, True])
def test_a_conversion_to_halves_rounds(half, multiplies):
    random = np.random.default_rng(3)
    x = random.uniform(-1, 1, (8, 16)).astype(np.float32)
    expected = x.astype(half).astype(np.float32)
    p = ProgramBuilder()
    rounded = p.call("aten::_to_copy.out", p.input(np.float32, x.shape), False, None, out=p.tensor(half, x.shape))
    out = p.call("aten::_to_copy.out", rounded, False, None, out=p.tensor(np.float32, x.shape))
    if multiplies:
        weight = random.uniform(-1, 1, (16, 5)).astype(np.float32)
        out = p.call("aten::mm.out", out, p.constant(weight), out=p.tensor(np.float32, (8, 5)))
        expected = expected @ weight
    p.output(out)
    (got,) = en.Runtime.get().load_program(p.build()).load_method("forward")([x])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_batch_norm_without_statistics_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ProgramBuilder()
    x = program.input(np.float32, (1, 2, 3, 3))
    y = program.call("aten::relu.out", x, out=program.tensor(np.float32, (1, 2, 3, 3)))
    outs = [program.tensor(np.float32, sizes) for sizes in ((1, 2, 3, 3), (0,), (0,))]
    name = "aten::_native_batch_norm_legit_no_training.out"
    program.call(name, y, None, None, None, None, 0.1, 1e-5, out=outs)
    program.output(outs[0])
    method = load(program.build(), raised=True, monkeypatch=monkeypatch)
    with pytest.raises(en.ExecutionError, match=re.escape("forward[1] " + name)):
        method([np.ones((1, 2, 3, 3), np.float32)])


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_a_conversion_from_halves_takes_them_rounded(half):
    random = np.random.default_rng(3)
    x, y = (random.uniform(1, 2, (8, 16)).astype(half) for _ in range(2))
    p = ProgramBuilder()
    total = p.call("aten::mul.out", p.input(half, x.shape), p.input(half, x.shape), out=p.tensor(half, x.shape))
    wide = p.call("aten::_to_copy.out", total, False, None, out=p.tensor(np.float32, x.shape))
    p.output(p.call("aten::relu.out", wide, out=p.tensor(np.float32, x.shape)))
    (got,) = en.Runtime.get().load_program(p.build()).load_method("forward")([x, y])
    np.testing.assert_array_equal(got, (x * y).astype(np.float32))


@pytest.mark.parametrize("writes_state", [False, True])
def test_memory_is_followed_through_branches(writes_state: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What shares memory at other times, on either way, is not taken for a view."""
    p = ProgramBuilder()
    flag, x = p.input(np.bool_, ()), p.input(np.float32, (4, 8))
    state = p.zero_buffer(np.float32, (4, 8), name="state")

    def call(name: str, *args: Any, shape: tuple[int, ...] = (4, 8)) -> TensorValue:
        return p.call(f"aten::{name}.out", *args, out=p.tensor(np.float32, shape))

    def view(value: TensorValue, shape: tuple[int, ...]) -> TensorValue:
        seen = p.tensor(np.float32, shape)
        seen.memory_id, seen.offset = value.memory_id, value.offset
        return seen

    outs = [p.tensor(np.float32, (4, 8)), p.tensor(np.float32, (4, 1)), p.tensor(np.float32, (4, 1))]
    p.call("aten::native_layer_norm.out", call("neg", x), [8], None, None, 1e-5, out=outs)
    flat = view(outs[0], (32,))
    result = p.tensor(np.float32, (32,))
    jump = p.jump_if_false(flag)
    if writes_state:
        p.call("aten::copy_", state, x, False, state)
    p.move(call("neg", call("exp", flat, shape=(32,)), shape=(32,)), result)
    skip = p.jump_if_false(p.value(False))
    jump.destination = p.position
    p.move(call("sigmoid", call("tanh", flat, shape=(32,)), shape=(32,)), result)
    skip.destination = p.position
    last = call("abs", result, shape=(32,))
    outs[1].offset = last.offset  # the statistics are gone when this is written
    outs[2].offset = last.offset + 64
    p.output(call("relu", call("add", view(last, (4, 8)), state, 1)))
    program = p.build()
    raised = load(program, raised=True, monkeypatch=monkeypatch)
    plain = load(program, raised=False, monkeypatch=monkeypatch)
    for way in (True, False, True):
        inputs = [np.array(way), np.random.default_rng(int(way)).normal(size=(4, 8)).astype(np.float32)]
        outputs, events = raised.profile(inputs)
        np.testing.assert_allclose(outputs[0], plain(inputs)[0], rtol=1e-5, atol=1e-6)
        assert "layer norm" in [event["name"] for event in events]


@pytest.mark.parametrize("name", ["mean", "sum", "amin", "amax"])
def test_reductions_to_a_scalar(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    p = ProgramBuilder()
    x = p.input(np.float32, (3, 5))
    overload = "IntList_out" if name == "sum" else "out"
    rest = [None] if name in ("mean", "sum") else []
    y = p.call("aten::tanh.out", x, out=p.tensor(np.float32, (3, 5)))
    y = p.call(f"aten::{name}.{overload}", y, [0, -1], False, *rest, out=p.tensor(np.float32, ()))
    p.output(p.call("aten::sub.out", x, y, 1, out=p.tensor(np.float32, (3, 5))), y)
    program = p.build()
    inputs = [np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)]
    raised = load(program, raised=True, monkeypatch=monkeypatch)
    assert len(regions(raised, inputs)) == 1
    plain = load(program, raised=False, monkeypatch=monkeypatch)
    for got, expected in zip(raised(inputs), plain(inputs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("counts_first", [False, True])
def test_a_view_carries_values_to_a_loops_next_turn(counts_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written late in the body is read early in the next turn, under another name and shape."""
    p = ProgramBuilder()
    x = p.input(np.float32, (4, 8))
    i, more = p.value(0), p.value(False)
    p.call("executorch_prim::add.Scalar", p.value(0), 0, i)
    start = p.call("aten::abs.out", x, out=p.tensor(np.float32, (4, 8)))
    carried, flat = p.tensor(np.float32, (4, 8)), p.tensor(np.float32, (32,))
    for value in (carried, flat):
        value.memory_id, value.offset = start.memory_id, start.offset
    head = p.position
    p.call("executorch_prim::lt.Scalar", i, 3, more)
    done = p.jump_if_false(more)
    if counts_first:
        p.call("executorch_prim::add.Scalar", i, 1, i)
    half = p.call("aten::mul.Scalar_out", flat, 0.5, out=p.tensor(np.float32, (32,)))
    shaped = p.call("aten::view_copy.out", half, [4, 8], out=p.tensor(np.float32, (4, 8)))
    p.call("aten::add.out", shaped, x, 1, out=carried)
    if not counts_first:  # a number that is read before it is written belongs to the loop, too
        p.call("executorch_prim::add.Scalar", i, 1, i)
    p.jump_if_false(p.value(False), head)
    done.destination = p.position
    p.output(half)
    program = p.build()
    random = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)
    expected = np.abs(random)
    for _ in range(3):
        result = expected * np.float32(0.5)
        expected = result + random
    for raised in (False, True):
        method = load(program, raised=raised, monkeypatch=monkeypatch)
        for _ in range(2):
            np.testing.assert_allclose(method([random])[0], result.reshape(32), rtol=1e-6)


def test_a_loop_selects_by_its_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    p = ProgramBuilder()
    x, start = p.input(np.float32, (40, 8)), p.input(np.float32, (8,))
    i, more, total = p.value(0), p.value(False), p.tensor(np.float32, (8,))
    p.call("executorch_prim::add.Scalar", p.value(0), 0, i)
    p.move(start, total)
    head = p.position
    p.call("executorch_prim::lt.Scalar", i, 40, more)
    done = p.jump_if_false(more)
    row = p.call("aten::select_copy.int_out", x, 0, i, out=p.tensor(np.float32, (8,)))
    size = p.call("aten::tanh.out", row, out=p.tensor(np.float32, (8,)))
    p.move(p.call("aten::add.out", size, total, 1, out=p.tensor(np.float32, (8,))), total)
    p.call("executorch_prim::add.Scalar", i, 1, i)
    p.jump_if_false(p.value(False), head)
    done.destination = p.position
    p.output(total)
    rows = np.random.default_rng(2).standard_normal((40, 8)).astype(np.float32)
    method = load(p.build(), raised=True, monkeypatch=monkeypatch)
    for first in (0, 1):
        (got,) = method([rows, np.full(8, first, np.float32)])
        np.testing.assert_allclose(got, first + np.tanh(rows).sum(0), rtol=1e-5, atol=1e-5)
