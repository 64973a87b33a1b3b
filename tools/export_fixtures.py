#!/usr/bin/env python3
"""Export the small programs of `tests/fixtures/`, with the answers of PyTorch eager to compare with.

Needs Python 3.11 or newer with the packages torch 2.13 and executorch 1.3.1. The tests need neither: the files are
committed, and this script is run again only when a case is added or changed. ExecuTorch serialises with `flatc`, which
its wheel keeps in `executorch/data/bin`; this script puts that folder on PATH. From the project's root:

    python tools/export_fixtures.py --out tests/fixtures               all of them
    python tools/export_fixtures.py --out tests/fixtures --only lstm   those of one case
    python tools/export_fixtures.py --list

A fixture is three files; NAME ends in `_x` if XNNPACK is delegated to where possible, else in `_p` (portable).
    NAME.pte    the program
    NAME.npz    arrays `{pre}in_{i}` and `{pre}out_{i}` of every run; bfloat16 as its bits in uint16
    NAME.json   what the program holds (`ops`, `delegates`, `instr`, `method_names`), the tolerances `rtol` and `atol`,
                and `methods`: for each method, its runs in the order to make them. A run has the prefix `pre` of its
                arrays and, for each value of `in` and `out`, either {dtype, shape, dim_order} or {py, value} of a value
                that is not a tensor. Arrays are stored in logical order whatever their `dim_order`.

A case is a function under `@fixture`, which returns a `Case`: modules, the runs' inputs, and how to export. Every run
after the first meets the state that the earlier ones left, as it does in eager.
"""

import argparse
import copy
import fnmatch
import json
import logging
import os
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

Inputs = tuple[Any, ...]
TORCH_NAMES = {getattr(torch, name): name for name in ("float32", "float64", "float16", "bfloat16", "bool", "uint8")}
TORCH_NAMES |= {getattr(torch, f"int{bits}"): f"int{bits}" for bits in (8, 16, 32, 64)}


@dataclass
class Case:
    """What to export and which runs to record. Methods run in the order given, all runs of one before the next."""

    methods: nn.Module | dict[str, nn.Module]
    runs: list[Inputs] | dict[str, list[Inputs]]
    dynamic: Any = None  # torch.export's dynamic_shapes, of the only method
    constants: dict[str, Any] = field(default_factory=dict)  # constant methods and what they return
    initialised_buffers: Sequence[str] = ()  # mutable buffers whose initial values are stored in the file
    partitions_edge: bool = False  # delegate after lowering to edge operators, which control flow with a linear needs
    shares_state: bool = False  # mutable buffers of one name are one buffer in all methods
    external_data: bool = False  # constants go to a .ptd file
    quantised: bool = False
    mutated_inputs: Sequence[int] = ()  # inputs that the method writes to: extra leading outputs of the program
    stateful: bool = False
    rtol: float = 1e-4
    atol: float = 1e-5
    note: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.methods, nn.Module):
            self.methods = {"forward": self.methods}
        if isinstance(self.runs, list):
            self.runs = {next(iter(self.methods)): self.runs}


@dataclass
class Fixture:
    name: str
    group: str
    variants: str
    build: Callable[[], Case]


FIXTURES: list[Fixture] = []


def fixture(group: str, variants: str = "xp") -> Callable[[Callable[[], Case]], Callable[[], Case]]:
    """Register a case under its function's name; `variants` holds `x` (delegated), `p` (portable) or both."""

    def register(build: Callable[[], Case]) -> Callable[[], Case]:
        FIXTURES.append(Fixture(build.__name__, group, variants, build))
        return build

    return register


def define_llama_operators() -> None:
    """The schemas of ExecuTorch's own attention operators, with what they do in eager.

    Its wheel has them in a library that is built for one version of torch only.
    """
    library = torch.library.Library("llama", "FRAGMENT")
    attention = (
        "Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0.0, "
        "bool is_causal=False, float? scale=None"
    )
    library.define(f"custom_sdpa({attention}) -> Tensor")
    library.define(f"custom_sdpa.out({attention}, *, Tensor(a!) out) -> Tensor(a!)")
    update = "Tensor value, Tensor(a!) cache, SymInt start_pos"
    library.define(f"update_cache({update}) -> Tensor")
    library.define(f"update_cache.out({update}, *, Tensor(b!) out) -> Tensor(b!)")

    def update_cache(value: Tensor, cache: Tensor, start_pos: int) -> Tensor:
        cache[:, start_pos : start_pos + value.size(1)] = value
        return torch.empty(1, dtype=value.dtype)

    def custom_sdpa(
        query: Tensor, key: Tensor, value: Tensor, start_pos: int, attn_mask: Tensor | None = None,
        drpout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        count = start_pos + query.size(1)
        q, k, v = (x.transpose(1, 2) for x in (query, key[:, :count], value[:, :count]))
        mask = torch.ones(q.size(2), count, dtype=torch.bool).tril(start_pos)
        return F.scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=True).transpose(1, 2).contiguous()

    library.impl("update_cache", update_cache, "CPU")
    library.impl("update_cache", lambda value, cache, start_pos: value.new_empty(1), "Meta")
    library.impl("custom_sdpa", custom_sdpa, "CPU")
    library.impl("custom_sdpa", lambda query, *rest, **options: torch.empty_like(query), "Meta")
    KEPT_ALIVE.append(library)


KEPT_ALIVE: list[Any] = []


# Building blocks


class Lambda(nn.Module):
    """A module of one function, for cases without parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


class Residual(nn.Module):
    def __init__(self, *body: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*body)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.body(x))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class TransformerBlock(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def network(*layers: nn.Module) -> nn.Module:
    """Chain layers one level down: ExecuTorch cannot fuse batch normalisations whose names start with a digit."""
    return nn.Sequential(OrderedDict(layers=nn.Sequential(*layers)))


def conv_bn(inputs: int, outputs: int, kernel: int = 3, **options: Any) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False, **options), nn.BatchNorm2d(outputs)]


def randomise_norms(model: nn.Module) -> None:
    """Give normalisations statistics and weights that matter: fresh ones are the identity."""
    for module in model.modules():
        for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            if "Norm" in type(module).__name__ and tensor.is_floating_point():
                low, high = (0.5, 1.5) if name in ("weight", "running_var") else (-0.3, 0.3)
                nn.init.uniform_(tensor, low, high)


# Feed-forward and vision networks


@fixture("nlp")
def mlp() -> Case:
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, 5), nn.Softmax(-1))
    return Case(model, [(torch.randn(4, 12),)])


@fixture("nlp")
def mlp_activations() -> Case:
    layers: list[nn.Module] = []
    for activation in (nn.Sigmoid(), nn.GELU(), nn.SiLU(), nn.ELU(), nn.LeakyReLU(0.2), nn.Hardtanh(), nn.Softplus()):
        layers += [nn.Linear(10, 10), activation]
    return Case(nn.Sequential(*layers), [(torch.randn(3, 10),)])


@fixture("vision")
def cnn() -> Case:
    model = network(
        *conv_bn(3, 12), nn.ReLU(), nn.MaxPool2d(2, stride=2), *conv_bn(12, 20), nn.ReLU6(), nn.AvgPool2d(2),
        nn.Conv2d(20, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip
    return Case(model, [(torch.randn(2, 3, 20, 18),)])


@fixture("vision")
def cnn_channels_last() -> Case:
    model = network(*conv_bn(3, 8), nn.ReLU(), nn.MaxPool2d(2, stride=2), nn.Conv2d(8, 6, 1))
    return Case(model, [(torch.randn(2, 3, 9, 11).to(memory_format=torch.channels_last),)])


@fixture("vision")
def depthwise_separable() -> Case:
    def block(inputs: int, outputs: int, stride: int) -> list[nn.Module]:
        depthwise = conv_bn(inputs, inputs, stride=stride, groups=inputs)
        return [*depthwise, nn.ReLU6(), *conv_bn(inputs, outputs, 1), nn.Hardswish()]

    body = [*conv_bn(3, 8, stride=2), nn.Hardswish(), *block(8, 16, 1), *block(16, 24, 2), *block(24, 24, 1)]
    return Case(network(*body), [(torch.randn(1, 3, 24, 24),)])


@fixture("vision")
def residual() -> Case:
    def block() -> Residual:
        return Residual(*conv_bn(16, 16), nn.ReLU(), *conv_bn(16, 16))

    model = network(*conv_bn(3, 16, stride=2), nn.ReLU(), block(), block(), nn.AdaptiveAvgPool2d(1))
    return Case(model, [(torch.randn(2, 3, 16, 16),)])


@fixture("vision")
def squeeze_excite() -> Case:
    class SqueezeExcite(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reduce, self.expand = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)

        def forward(self, x: Tensor) -> Tensor:
            scale = self.expand(F.relu(self.reduce(x.mean((2, 3), keepdim=True))))
            return x * F.hardsigmoid(scale)

    return Case(network(*conv_bn(3, 8), nn.ReLU(), SqueezeExcite()), [(torch.randn(1, 3, 7, 9),)])


@fixture("vision")
def grouped_dilated_conv() -> Case:
    model = nn.Sequential(
        nn.Conv2d(4, 8, 3, groups=2, padding=1), nn.ReLU(), nn.Conv2d(8, 8, (3, 5), dilation=(2, 1), padding=(2, 2)),
        nn.ReLU(), nn.Conv2d(8, 16, 3, groups=8, stride=(2, 1)),
    )  # fmt: skip
    return Case(model, [(torch.randn(1, 4, 13, 12),)])


@fixture("vision")
def wide_conv() -> Case:
    model = network(
        *conv_bn(33, 70),
        nn.ReLU(),
        nn.Conv2d(70, 70, 5, stride=2, padding=2, groups=70),
        nn.ReLU6(),
        nn.Conv2d(70, 131, 1),
    )
    return Case(
        model, [(torch.randn(1, 33, 23, 19),)], note="sizes beyond one tile of a kernel and not multiples of one"
    )


@fixture("nlp")
def wide_mlp() -> Case:
    model = nn.Sequential(nn.Linear(301, 263), nn.ReLU(), nn.Linear(263, 67))
    return Case(model, [(torch.randn(37, 301),)], note="sizes beyond one tile of a kernel and not multiples of one")


@fixture("vision")
def vit_tiny() -> Case:
    class Vit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 32, 4, stride=4)
            self.token, self.positions = nn.Parameter(torch.randn(1, 1, 32)), nn.Parameter(torch.randn(1, 17, 32))
            self.blocks = nn.Sequential(TransformerBlock(32, 4), TransformerBlock(32, 4))
            self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 10)

        def forward(self, x: Tensor) -> Tensor:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
            return self.head(self.norm(self.blocks(x))[:, 0])

    return Case(Vit(), [(torch.randn(1, 3, 16, 16),)])


@fixture("vision")
def unet_mini() -> Case:
    class Unet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Sequential(*conv_bn(1, 8), nn.ReLU())
            self.middle = nn.Sequential(nn.MaxPool2d(2, stride=2), *conv_bn(8, 16), nn.ReLU())
            self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
            self.out = nn.Sequential(*conv_bn(16, 8), nn.ReLU(), nn.Conv2d(8, 2, 1), nn.Sigmoid())

        def forward(self, x: Tensor) -> Tensor:
            skip = self.down(x)
            return self.out(torch.cat([self.up(self.middle(skip)), skip], 1))

    return Case(Unet(), [(torch.randn(1, 1, 16, 20),)])


@fixture("vision")
def conv_transpose() -> Case:
    model = nn.Sequential(
        nn.ConvTranspose2d(3, 8, 3, stride=2, padding=1, output_padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 4, (2, 3))
    )
    return Case(model, [(torch.randn(1, 3, 5, 6),)])


@fixture("vision")
def upsample() -> Case:
    def scaled(x: Tensor) -> tuple[Tensor, ...]:
        half_pixel = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        corners = F.interpolate(x, size=(9, 7), mode="bilinear", align_corners=True)
        return half_pixel, corners, F.interpolate(x, scale_factor=3.0, mode="nearest")

    return Case(Lambda(scaled), [(torch.randn(1, 3, 4, 5),)])


@fixture("vision", "p")
def conv3d() -> Case:
    model = nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv3d(4, 3, (1, 2, 2), stride=(1, 2, 2)))
    return Case(model, [(torch.randn(1, 2, 4, 6, 6),)])


# Sequences


@fixture("audio")
def conv1d() -> Case:
    model = network(
        nn.Conv1d(4, 16, 5, stride=2, padding=2), nn.BatchNorm1d(16), nn.ReLU(),
        nn.Conv1d(16, 16, 3, groups=16, padding=1), nn.Conv1d(16, 6, 1), nn.Hardtanh(),
    )  # fmt: skip
    return Case(model, [(torch.randn(1, 4, 32),)])


@fixture("nlp")
def lstm() -> Case:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True)
            self.head = nn.Linear(12, 4)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            y, (hidden, cell) = self.lstm(x)
            return self.head(y), hidden, cell

    return Case(Tagger(), [(torch.randn(2, 5, 8),)])


@fixture("nlp", "p")
def gru_bidirectional() -> Case:
    return Case(nn.GRU(6, 8, bidirectional=True), [(torch.randn(4, 2, 6), torch.randn(2, 2, 8))])


@fixture("nlp")
def embedding_classifier() -> Case:
    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.block, self.head = (
                nn.Embedding(50, 16),
                TransformerBlock(16, 2, causal=True),
                nn.Linear(16, 3),
            )

        def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
            logits = self.head(self.block(self.words(ids)).mean(1))
            return logits, logits.argmax(-1)

    return Case(Classifier(), [(torch.randint(0, 50, (2, 7)),), (torch.randint(0, 50, (2, 7)),)])


# Normalisations


@fixture("op")
def norms() -> Case:
    class Norms(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.group, self.batch, self.layer = nn.GroupNorm(2, 6), nn.BatchNorm2d(6), nn.LayerNorm([4, 5])
            self.instance, self.rms = nn.InstanceNorm2d(6, affine=True), nn.RMSNorm(5)

        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            return self.group(x), self.batch(x), self.layer(x), self.instance(x), self.rms(x)

    return Case(Norms(), [(torch.randn(2, 6, 4, 5),)])


# Dynamic shapes


@fixture("dynamic")
def dyn_batch_mlp() -> Case:
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    return Case(model, [(torch.randn(n, 6),) for n in (4, 1, 33, 4)], dynamic=({0: Dim("batch", min=1, max=33)},))


@fixture("dynamic")
def dyn_batch_cnn() -> Case:
    model = network(*conv_bn(3, 8), nn.ReLU(), nn.MaxPool2d(2, stride=2), nn.Flatten(), nn.Linear(8 * 25, 4))
    return Case(model, [(torch.randn(n, 3, 10, 10),) for n in (3, 1, 8)], dynamic=({0: Dim("batch", min=1, max=8)},))


@fixture("dynamic")
def dyn_hw_cnn() -> Case:
    model = network(*conv_bn(3, 8), nn.ReLU(), *conv_bn(8, 8, stride=2), nn.ReLU(), nn.Conv2d(8, 4, 1))
    sides = {2: Dim("height", min=8, max=32), 3: Dim("width", min=8, max=32)}
    return Case(model, [(torch.randn(1, 3, h, w),) for h, w in ((16, 12), (32, 32), (9, 31), (8, 8))], dynamic=(sides,))


@fixture("dynamic")
def dyn_length_attention() -> Case:
    inputs: list[Inputs] = [(torch.randn(1, length, 16),) for length in (6, 2, 24, 11)]
    return Case(TransformerBlock(16, 2), inputs, dynamic=({1: Dim("length", min=2, max=24)},))


@fixture("dynamic", "p")
def dyn_nonzero() -> Case:
    inputs: list[Inputs] = [(torch.tensor(row),) for row in ([0.0, 2, 0, -1], [0.0, 0, 0, 0], [1.0, 2, 3, 4])]
    return Case(Lambda(lambda x: (torch.nonzero(x), x * 2)), inputs, note="an output's shape depends on values")


# Programs: methods, constants, values in and out


class AutoEncoder(nn.Module):
    """Encodes and decodes with the same weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(24, 40) / 5)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(F.linear(x, self.weight))


class Decoder(nn.Module):
    def __init__(self, encoder: AutoEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = x @ self.encoder.weight
        return y, y.sum()


@fixture("program")
def methods_share_weights() -> Case:
    encoder = AutoEncoder()
    runs: dict[str, list[Inputs]] = {"encode": [(torch.randn(3, 40),)] * 2, "decode": [(torch.randn(3, 24),)]}
    return Case({"encode": encoder, "decode": Decoder(encoder)}, runs, constants={"width": 40})


@fixture("program", "p")
def constant_methods() -> Case:
    constants = {"get_int": 7, "get_float": 0.25, "get_bool": True, "get_tensor": torch.arange(6.0).view(2, 3)}
    return Case(Lambda(lambda x: x + 1), [(torch.randn(3),)], constants=constants)


@fixture("program", "p")
def values_in() -> Case:
    def scaled(x: Tensor, times: int, factor: float, negate: bool, missing: None) -> Tensor:
        return x * times * (-factor if negate else factor)

    return Case(Lambda(scaled), [(torch.randn(3), 3, 0.5, True, None)], note="int, float, bool and None inputs")


@fixture("program", "p")
def values_out() -> Case:
    return Case(Lambda(lambda x: (x + 1, 7, 2.5, True, None)), [(torch.randn(3),)], note="values that are no tensors")


@fixture("program", "p")
def rank_zero() -> Case:
    return Case(Lambda(lambda x, n: (x * n, x > n, (x + n).view(1))), [(torch.tensor(2.5), torch.tensor(3))])


@fixture("program", "p")
def zero_size() -> Case:
    def parts(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return torch.cat([x, y]), x * 2, x.sum(0), F.linear(x, torch.ones(2, 4))

    return Case(Lambda(parts), [(torch.randn(0, 4), torch.randn(3, 4))])


@fixture("program", "p")
def repeated_outputs() -> Case:
    def twice(x: Tensor) -> tuple[Tensor, ...]:
        y = x + 1
        return y, y, y.view(-1), y

    return Case(Lambda(twice), [(torch.randn(2, 3),)], note="one tensor is several outputs")


@fixture("program")
def pass_through() -> Case:
    def swapped(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return y, x, x + y

    return Case(Lambda(swapped), [(torch.randn(3), torch.randn(3))], note="inputs are outputs")


@fixture("program", "p")
def constant_output() -> Case:
    class Constants(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.arange(6).view(2, 3))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.table, x * 2

    return Case(Constants(), [(torch.randn(2),)], note="a constant is an output")


@fixture("program", "p")
def no_inputs() -> Case:
    return Case(Lambda(lambda: torch.arange(5) * 2.0), [()])


@fixture("program", "p")
def nested_values() -> Case:
    def mixed(pair: tuple[Tensor, Tensor], named: dict[str, Tensor]) -> dict[str, Any]:
        return {"sum": pair[0] + named["a"], "rest": [pair[1] * 2, named["b"]]}

    inputs = ((torch.randn(2), torch.randn(3)), {"a": torch.randn(2), "b": torch.randn(1) + 1})
    return Case(Lambda(mixed), [inputs], note="nested inputs and outputs are flat in the program")


@fixture("program", "p")
def unused_input() -> Case:
    return Case(Lambda(lambda x, unused: x * 2), [(torch.randn(3), torch.randn(2))])


@fixture("program", "p")
def mutated_input() -> Case:
    return Case(Lambda(lambda x: x.add_(1) * 2), [(torch.randn(3),)], mutated_inputs=(0,))


@fixture("program", "x")
def two_delegates() -> Case:
    class Split(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.second(torch.erf(self.first(x)).cumsum(1))

    return Case(Split(), [(torch.randn(2, 8),)], note="operators between two delegates")


# State


class Counter(nn.Module):
    """Counts its calls and keeps a running sum."""

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("total", torch.full((3,), start))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.calls.add_(1)
        self.total.add_(x)
        return self.total * 2, self.calls + 0


@fixture("program", "p")
def state_zero() -> Case:
    return Case(Counter(), [(torch.randn(3),) for _ in range(4)], stateful=True)


@fixture("program")
def state_initialised() -> Case:
    class Smoothed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("average", torch.tensor([1.0, -2, 3, 0.5]))

        def forward(self, x: Tensor) -> Tensor:
            self.average.mul_(0.9).add_(0.1 * self.linear(x))
            return self.average + 1

    return Case(Smoothed(), [(torch.randn(4),) for _ in range(3)], initialised_buffers=("average",), stateful=True)


@fixture("nlp", "p")
def llama_cached_attention() -> Case:
    define_llama_operators()

    class CachedAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.kv = nn.Linear(32, 32), nn.Linear(32, 32)
            self.register_buffer("keys", torch.zeros(1, 8, 2, 8))
            self.register_buffer("values", torch.zeros(1, 8, 2, 8))

        def forward(self, x: Tensor, position: Tensor) -> Tensor:
            start = position[0].item()
            torch._check(start >= 0)
            torch._check(start <= 8 - x.size(1))
            q = self.q(x).view(1, -1, 4, 8)
            k, v = self.kv(x).view(1, -1, 2, 16).chunk(2, -1)
            torch.ops.llama.update_cache(k.contiguous(), self.keys, start)
            torch.ops.llama.update_cache(v.contiguous(), self.values, start)
            mixed = torch.ops.llama.custom_sdpa(q, self.keys, self.values, start, None, 0.0, True)
            return mixed.reshape(1, -1, 32)

    runs = [(torch.randn(1, 2, 32), torch.tensor([start])) for start in (0, 2, 4, 6)]
    return Case(CachedAttention(), runs, stateful=True, note="ExecuTorch's llama:: operators")


@fixture("nlp", "p")
def state_kv_cache() -> Case:
    class CachedAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(8, 24)
            self.register_buffer("keys", torch.zeros(1, 6, 8))
            self.register_buffer("values", torch.zeros(1, 6, 8))

        def forward(self, x: Tensor, position: Tensor) -> Tensor:
            q, k, v = self.qkv(x).chunk(3, -1)
            self.keys.index_copy_(1, position, k)
            self.values.index_copy_(1, position, v)
            scores = q @ self.keys.transpose(1, 2) / 8**0.5
            seen = torch.arange(6) <= position
            return F.softmax(scores.masked_fill(~seen, float("-inf")), -1) @ self.values

    return Case(CachedAttention(), [(torch.randn(1, 1, 8), torch.tensor([i])) for i in range(6)], stateful=True)


@fixture("program", "p")
def state_shared() -> Case:
    class Reader(nn.Module):
        def __init__(self, counter: Counter) -> None:
            super().__init__()
            self.register_buffer("total", counter.total)

        def forward(self, x: Tensor) -> Tensor:
            self.total.mul_(2.0)
            return self.total + x

    counter = Counter()
    runs: dict[str, list[Inputs]] = {"write": [(torch.randn(3),)] * 2, "read": [(torch.zeros(3),)] * 2}
    return Case({"write": counter, "read": Reader(counter)}, runs, shares_state=True, stateful=True)


# Control flow


@fixture("control")
def cond() -> Case:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.large, self.small = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            chosen = torch.cond(x.sum() > 0, lambda x: self.large(x).relu(), lambda x: self.small(x) * 2, (x,))
            return chosen + 1

    return Case(Branches(), [(torch.full((2, 4), value),) for value in (0.5, -0.5, 0.25)], partitions_edge=True)


@fixture("control", "p")
def cond_nested() -> Case:
    def sign(x: Tensor) -> Tensor:
        def not_positive(x: Tensor) -> Tensor:
            return torch.cond(x.sum() < 0, lambda x: x * -1, lambda x: x + 100, (x,))

        return torch.cond(x.sum() > 0, lambda x: x * 3, not_positive, (x,))

    return Case(Lambda(sign), [(torch.full((3,), value),) for value in (1.0, -1.0, 0.0)])


@fixture("control", "p")
def map_rows() -> Case:
    from torch._higher_order_ops.map import map as torch_map

    return Case(
        Lambda(lambda xs, y: torch_map(lambda x, y: (x * y).relu() + x.sum(), xs, y)),
        [(torch.randn(4, 3), torch.randn(3)) for _ in range(2)],
    )


@fixture("control", "p")
def scan_sum() -> Case:
    from torch._higher_order_ops.scan import scan

    def step(carry: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        total = carry + x
        return total, total * 0.5

    return Case(
        Lambda(lambda start, xs: scan(step, start, xs)), [(torch.randn(3), torch.randn(5, 3)) for _ in range(2)]
    )


# Dtypes and tensor operators


@fixture("dtype", "p")
def integers() -> Case:
    def arithmetic(a: Tensor, b: Tensor, c: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        quotient = torch.div(a, b, rounding_mode="floor")
        return a + b * 3, quotient, a % b, torch.where(mask, a, b), a & 12, (c.to(torch.int64) + 250), ~mask, a / b

    a, b = torch.randint(-20, 20, (2, 4)), torch.tensor([3, -2, 5, 7])
    return Case(Lambda(arithmetic), [(a, b, torch.arange(8, dtype=torch.uint8).view(2, 4), a > 0)])


@fixture("dtype", "p")
def promotion() -> Case:
    def mixed(i: Tensor, h: Tensor, f: Tensor, d: Tensor) -> tuple[Tensor, ...]:
        return i + f, f * d, h + 1, i * 0.5, h + f, i > d

    inputs = (torch.arange(4, dtype=torch.int32), torch.randn(4).half(), torch.randn(4), torch.randn(4).double())
    return Case(Lambda(mixed), [inputs])


@fixture("dtype")
def half_mlp() -> Case:
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).half()
    return Case(model, [(torch.randn(2, 16).half(),)], rtol=1e-2, atol=1e-2)


@fixture("dtype", "p")
def bfloat16_mlp() -> Case:
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).bfloat16()
    return Case(model, [(torch.randn(2, 16).bfloat16(),)], rtol=5e-2, atol=5e-2)


@fixture("op", "p")
def indexing() -> Case:
    def picked(x: Tensor, i: Tensor, j: Tensor) -> tuple[Tensor, ...]:
        placed = x.index_put((i,), torch.zeros(4))
        scattered = torch.zeros(5, 4).scatter(1, j, x)
        return x[i], x[:, 1:3], x[::2], x.gather(1, j), x.index_select(0, i), placed, scattered, x.flip(0), x.roll(1, 1)

    return Case(Lambda(picked), [(torch.randn(5, 4), torch.tensor([3, 0]), torch.tensor([[1, 0, 3, 2]] * 5))])


@fixture("op", "p")
def reductions() -> Case:
    def reduced(x: Tensor) -> tuple[Tensor, ...]:
        maxima, places = x.max(1)
        whole = (x.sum(), x.amax((0, 2)), x.mean(1, keepdim=True), x.var(2), x.argmin(0), x.cumsum(1), (x > 0).any(2))
        return (*whole, maxima, places, x.logsumexp(-1), x.prod(0), x.min(), (x > -9).all())

    return Case(Lambda(reduced), [(torch.randn(2, 3, 5),)])


@fixture("op", "p")
def sorting() -> Case:
    return Case(Lambda(lambda x: (*x.topk(2, 1), *x.sort(-1, descending=True), *x.sort(0))), [(torch.randn(3, 5),)])


@fixture("op")
def elementwise() -> Case:
    def computed(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        binary = (x - y, x * 2 + y, x / (y.abs() + 1), torch.maximum(x, y), torch.minimum(x, y), y.abs() ** 1.5, x > y)
        unary = (
            x.abs(),
            -x,
            x.exp(),
            x.abs().sqrt(),
            (x * x).rsqrt(),
            x.floor(),
            x.round(),
            x.sin(),
            x.clamp(-0.5, 0.5),
        )
        return (*binary, *unary, torch.where(x > y, x, y), x.abs().log(), x.square(), x.ceil(), x.cos())

    return Case(Lambda(computed), [(torch.randn(2, 1, 19) + 0.01, torch.randn(3, 1))], note="broadcasts both ways")


@fixture("op")
def matmul() -> Case:
    def products(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        return a @ b, torch.bmm(b.transpose(1, 2), a.transpose(1, 2)), a @ c, torch.baddbmm(a @ b, a, b), c.t() @ c

    return Case(Lambda(products), [(torch.randn(3, 5, 18), torch.randn(3, 18, 7), torch.randn(18, 17))])


@fixture("op")
def pooling() -> Case:
    def pooled(x: Tensor) -> tuple[Tensor, ...]:
        largest = F.max_pool2d(x, 3, stride=2, padding=1), F.max_pool2d(x, 2, stride=1, dilation=2)
        means = F.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False), F.avg_pool2d(x, (2, 3), 1)
        return *largest, *means, F.adaptive_avg_pool2d(x, (3, 2)), F.max_pool2d(x, 2, stride=2, ceil_mode=True)

    return Case(Lambda(pooled), [(torch.randn(2, 5, 9, 10),)])


@fixture("op")
def layout() -> Case:
    def moved(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        joined = torch.cat([x, y], 2)
        padded = F.pad(x, (1, 2, 0, 1), value=0.5)
        return (
            joined.permute(0, 2, 3, 1),
            x.reshape(2, -1),
            torch.stack([x, x]),
            padded,
            *x.split(2, 1),
            x.expand(3, 2, 4, 3, 3),
        )

    return Case(Lambda(moved), [(torch.randn(2, 4, 3, 3), torch.randn(2, 4, 2, 3))])


# Quantised and with data of their own: written by exporters of several versions


def quantize(model: nn.Module, example: Inputs, *, dynamic: bool) -> nn.Module:
    """The model with 8-bit weights per channel, and activations quantised statically or at run time."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e import allow_exported_model_train_eval
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic))
    prepared = prepare_pt2e(torch.export.export(model.eval(), example).module(), quantizer)
    for _ in range(4):
        prepared(*[torch.randn_like(x) for x in example])
    prepared(*example)
    return allow_exported_model_train_eval(convert_pt2e(prepared))


@fixture("quant", "x")
def static_int8_cnn() -> Case:
    model = network(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.MaxPool2d(2, 2),
        Residual(nn.Conv2d(8, 8, 1)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip
    x = torch.randn(1, 3, 12, 12)
    return Case(quantize(model, (x,), dynamic=False), [(x,)], quantised=True, atol=0.02)


@fixture("quant", "x")
def dynamic_int8_mlp() -> Case:
    model, x = network(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 6)), torch.randn(3, 24)
    return Case(quantize(model, (x,), dynamic=True), [(x,)], quantised=True, atol=0.03)


@fixture("quant", "x")
def blockwise_int4_mlp() -> Case:
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerGroup

    model, x = network(nn.Linear(64, 32), nn.SiLU(), nn.Linear(32, 8)).eval(), torch.randn(3, 64)
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
    return Case(model, [(x,)], quantised=True, atol=0.05)


@fixture("program", "p")
def external_data_mlp() -> Case:
    return Case(network(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), [(torch.randn(2, 8),)], external_data=True)


# Export and record


def put_flatc_on_path() -> None:
    """Let ExecuTorch find the `flatc` of its own wheel."""
    package = find_spec("executorch")
    for folder in (package and package.submodule_search_locations) or []:
        os.environ["PATH"] = os.pathsep.join([str(Path(folder, "data", "bin")), os.environ.get("PATH", "")])


def dynamic_shapes(case: Case, module: nn.Module) -> Any:
    return (case.dynamic,) if case.dynamic and isinstance(module, Lambda) else case.dynamic


def export(case: Case, *, delegated: bool) -> Any:
    """Lower the case's methods to an ExecuTorch program manager."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
    from executorch.exir.passes import MemoryPlanningPass

    exported = {
        name: torch.export.export(
            module, copy.deepcopy(case.runs[name][0]), dynamic_shapes=dynamic_shapes(case, module)
        )
        for name, module in copy.deepcopy(case.methods).items()
    }
    constants = case.constants or None
    if delegated and case.partitions_edge:
        lowered = to_edge(exported, constant_methods=constants).to_backend(XnnpackPartitioner())
    else:
        partitioners = [XnnpackPartitioner()] if delegated else []
        lowered = to_edge_transform_and_lower(exported, partitioner=partitioners, constant_methods=constants)
    config = ExecutorchBackendConfig()
    if case.external_data:
        config.external_constants = True
    if case.shares_state:
        config.memory_planning_pass = MemoryPlanningPass(share_mutable_buffers=True)
    if case.initialised_buffers:
        from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass  # since 0.7

        config.passes = [InitializedMutableBufferPass(list(case.initialised_buffers))]
    return lowered.to_executorch(config)


def describe(value: Any) -> dict[str, Any]:
    if isinstance(value, Tensor):
        return {"dtype": TORCH_NAMES[value.dtype], "shape": list(value.shape), "dim_order": list(value.dim_order())}
    return {"py": type(value).__name__, "value": value}


def to_numpy(tensor: Tensor) -> np.ndarray:
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def record(case: Case, arrays: dict[str, np.ndarray]) -> dict[str, list[dict[str, Any]]]:
    """Make all runs in eager; put the tensors into `arrays` and return the description of the runs."""
    recorded: dict[str, list[dict[str, Any]]] = {}

    def add(method: str, pre: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        for kind, values in (("in", inputs), ("out", outputs)):
            arrays.update({f"{pre}{kind}_{i}": to_numpy(v) for i, v in enumerate(values) if isinstance(v, Tensor)})
        run = {"pre": pre, "in": [describe(v) for v in inputs], "out": [describe(v) for v in outputs]}
        recorded.setdefault(method, []).append(run)

    for number, (name, module) in enumerate(copy.deepcopy(case.methods).items()):
        for turn, inputs in enumerate(case.runs[name]):
            pre = f"m:{name}:r{turn}_" if number else f"r{turn}_" if turn else ""
            given = copy.deepcopy(inputs)
            result = module(*given)
            changed = [given[i] for i in case.mutated_inputs]
            add(name, pre, pytree.tree_leaves(inputs), [*changed, *pytree.tree_leaves(result)])
    for name, constant in case.constants.items():
        add(name, f"m:{name}:r0_", [], [constant])
    return recorded


def contents(program: Any) -> dict[str, Any]:
    """List what the serialised program holds."""
    plans = program.execution_plan
    operators = {f"{op.name}.{op.overload}" if op.overload else op.name for plan in plans for op in plan.operators}
    chains = [instruction for plan in plans for chain in plan.chains for instruction in chain.instructions]
    return {
        "delegates": [delegate.id for plan in plans for delegate in plan.delegates],
        "ops": sorted(operators),
        "instr": sorted({type(instruction.instr_args).__name__ for instruction in chains}),
        "method_names": [plan.name for plan in plans],
    }


@torch.no_grad()
def write(fixture: Fixture, variant: str, out: Path) -> int:
    """Export one variant of a fixture and write its three files; return the bytes written."""
    torch.manual_seed(0)
    case = fixture.build()
    assert isinstance(case.methods, dict)
    for module in case.methods.values():
        if not case.quantised:
            randomise_norms(module.eval())
    arrays: dict[str, np.ndarray] = {}
    methods = record(case, arrays)
    manager = export(case, delegated=variant == "x")
    data_files: list[str] = []
    stem = out / f"{fixture.name}_{variant}"
    if case.external_data:
        manager.write_tensor_data_to_file(str(out))
        for path in out.glob("*constant*.ptd"):
            if not path.name.startswith(tuple(f"{other.name}_" for other in FIXTURES)):
                data_files.append(path.rename(out / f"{stem.name}.ptd").name)
    meta = {
        "name": stem.name,
        "group": fixture.group,
        "bytes": len(manager.buffer),
        "ptd": data_files,
        "variant": variant,
        "lowered": "xnnpack" if variant == "x" else "portable",
        "exporter": f"executorch {version('executorch')} torch {torch.__version__}",
        **contents(manager.executorch_program),
        "quant": case.quantised,
        "dynamic": case.dynamic is not None,
        "stateful": case.stateful,
        "shape_only": False,
        "rtol": case.rtol,
        "atol": case.atol,
        "note": case.note,
        "methods": methods,
    }
    stem.with_suffix(".pte").write_bytes(manager.buffer)
    stem.with_suffix(".json").write_text(json.dumps(meta) + "\n")
    np.savez_compressed(stem.with_suffix(".npz"), **arrays)
    return sum(stem.with_suffix(suffix).stat().st_size for suffix in (".pte", ".json", ".npz"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, default=Path("tests/fixtures"), help="folder to write (default: %(default)s)"
    )
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="NAME", help="cases to export; patterns are allowed"
    )
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    args = parser.parse_args()

    chosen = [f for f in FIXTURES if any(fnmatch.fnmatch(f.name, pattern) for pattern in args.only)]
    if args.list:
        for item in chosen:
            print(f"{item.name:24} {item.group:8} {item.variants}")
        return 0
    if not chosen:
        parser.error("no such cases")
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    put_flatc_on_path()
    args.out.mkdir(parents=True, exist_ok=True)
    total, failed = 0, 0
    for item in chosen:
        for variant in item.variants:
            try:
                size = write(item, variant, args.out)
            except Exception as error:
                failed += 1
                print(f"{item.name}_{variant}: {type(error).__name__}: {error}".splitlines()[0], file=sys.stderr)
                continue
            total += size
            print(f"{item.name}_{variant:2} {size:8,} bytes", flush=True)
    print(f"{total:,} bytes in all; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
