#!/usr/bin/env python3
"""Export full-size models twice, delegated and portable, to compare the speed of both in `benchmarks/`.

Needs what `export_fixtures.py` needs, whose building blocks and files it shares: NAME_x delegates to XNNPACK, NAME_p
has operators only. Weights are random. The files are large and not committed:

    python tools/export_twins.py --out /tmp/twins [--only unet]
"""

import functools
import sys
from typing import Any

import export_fixtures as fixtures
import torch
import torch.nn.functional as F
from export_fixtures import Attention, Case, Residual, conv_bn, fixture, network
from torch import Tensor, nn
from torch.export import Dim

fixtures.FIXTURES.clear()


class Block(nn.Module):
    """A transformer block of any activation; normalised before (ViT) or after (BERT) what is added."""

    def __init__(self, width: int, heads: int, before: bool) -> None:
        super().__init__()
        self.before = before
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        if self.before:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


twin = fixture("bench")


@twin
def bert_mini() -> Case:
    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.positions, self.kinds = (
                nn.Embedding(8000, 256),
                nn.Embedding(512, 256),
                nn.Embedding(2, 256),
            )
            self.norm = nn.LayerNorm(256)
            self.blocks = nn.ModuleList(Block(256, 4, before=False) for _ in range(4))
            self.pooler, self.head = nn.Linear(256, 256), nn.Linear(256, 2)

        def forward(self, ids: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
            x = self.norm(self.words(ids) + self.positions(torch.arange(ids.shape[1])) + self.kinds(kinds))
            for block in self.blocks:
                x = block(x)
            return self.head(torch.tanh(self.pooler(x[:, 0]))), x

    return Case(Bert(), [(torch.randint(0, 8000, (1, 128)), torch.zeros(1, 128, dtype=torch.int64))], atol=1e-4)


@twin
def vit_tiny() -> Case:
    class Vit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 192, 16, 16)
            self.token = nn.Parameter(torch.randn(1, 1, 192))
            self.positions = nn.Parameter(torch.randn(1, 197, 192))
            self.blocks = nn.Sequential(*(Block(192, 3, before=True) for _ in range(12)))
            self.norm, self.head = nn.LayerNorm(192), nn.Linear(192, 1000)

        def forward(self, x: Tensor) -> Tensor:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
            return self.head(self.norm(self.blocks(x))[:, 0])

    return Case(Vit(), [(torch.randn(1, 3, 224, 224),)], atol=1e-4)


@twin
def unet() -> Case:
    def double(inputs: int, outputs: int) -> nn.Module:
        return network(*conv_bn(inputs, outputs), nn.ReLU(), *conv_bn(outputs, outputs), nn.ReLU())

    class Unet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = (16, 32, 64, 128)
            self.down = nn.ModuleList(double(i, o) for i, o in zip((3, *widths), widths, strict=False))
            self.up = nn.ModuleList(double(i + o, o) for i, o in ((128, 64), (64, 32), (32, 16)))
            self.head = nn.Conv2d(16, 2, 1)

        def forward(self, x: Tensor) -> Tensor:
            skips = []
            for i, layer in enumerate(self.down):
                x = layer(F.max_pool2d(x, 2, 2) if i else x)  # the partitioner wants a stride
                skips.append(x)
            for layer, skip in zip(self.up, skips[-2::-1], strict=True):
                x = F.interpolate(x, skip.shape[-2:], mode="bilinear", align_corners=False)
                x = layer(torch.cat([x, skip], 1))
            return self.head(x)

    return Case(Unet(), [(torch.randn(1, 3, 128, 128),)], atol=1e-4)


@twin
def mobilenet_v2() -> Case:
    class Inverted(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int, factor: int) -> None:
            super().__init__()
            wide = inputs * factor
            layers = [] if factor == 1 else [*conv_bn(inputs, wide, 1), nn.ReLU6()]
            layers += [*conv_bn(wide, wide, 3, stride=stride, groups=wide), nn.ReLU6(), *conv_bn(wide, outputs, 1)]
            self.body, self.adds = network(*layers), stride == 1 and inputs == outputs

        def forward(self, x: Tensor) -> Tensor:
            return x + self.body(x) if self.adds else self.body(x)

    layers, width = [*conv_bn(3, 32, 3, stride=2), nn.ReLU6()], 32
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for factor, outputs, count, stride in rows:
        for i in range(count):
            layers.append(Inverted(width, outputs, stride if i == 0 else 1, factor))
            width = outputs
    layers += [*conv_bn(320, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return Case(network(*layers), [(torch.randn(1, 3, 224, 224),)], atol=1e-4)


@twin
def resnet18() -> Case:
    class Shrink(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.body = network(*conv_bn(inputs, outputs, 3, stride=2), nn.ReLU(), *conv_bn(outputs, outputs))
            self.shortcut = network(*conv_bn(inputs, outputs, 1, stride=2))

        def forward(self, x: Tensor) -> Tensor:
            return F.relu(self.body(x) + self.shortcut(x))

    def plain(width: int) -> Residual:
        return Residual(network(*conv_bn(width, width), nn.ReLU(), *conv_bn(width, width)))

    layers = [*conv_bn(3, 64, 7, stride=2), nn.ReLU(), nn.MaxPool2d(3, 2, 1), plain(64), plain(64)]
    for width in (128, 256, 512):
        layers += [Shrink(width // 2, width), plain(width)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return Case(network(*layers), [(torch.randn(1, 3, 224, 224),)], atol=1e-4)


@twin
def yolo() -> Case:
    def conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> nn.Module:
        return network(*conv_bn(inputs, outputs, kernel, stride=stride), nn.SiLU())

    class Csp(nn.Module):
        def __init__(self, inputs: int, outputs: int, count: int, adds: bool = True) -> None:
            super().__init__()
            half = outputs // 2
            self.adds, self.first, self.last = adds, conv(inputs, outputs), conv((2 + count) * half, outputs)
            self.blocks = nn.ModuleList(nn.Sequential(conv(half, half, 3), conv(half, half, 3)) for _ in range(count))

        def forward(self, x: Tensor) -> Tensor:
            parts = list(self.first(x).chunk(2, 1))
            for block in self.blocks:
                parts.append(parts[-1] + block(parts[-1]) if self.adds else block(parts[-1]))
            return self.last(torch.cat(parts, 1))

    class Sppf(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.first, self.last = conv(width, width // 2), conv(width * 2, width)

        def forward(self, x: Tensor) -> Tensor:
            parts = [self.first(x)]
            for _ in range(3):
                parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
            return self.last(torch.cat(parts, 1))

    class Yolo(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2), Csp(32, 32, 1))
            self.down8 = nn.Sequential(conv(32, 64, 3, 2), Csp(64, 64, 2))
            self.down16 = nn.Sequential(conv(64, 128, 3, 2), Csp(128, 128, 2))
            self.down32 = nn.Sequential(conv(128, 256, 3, 2), Csp(256, 256, 1), Sppf(256))
            self.up16, self.up8 = Csp(256 + 128, 128, 1, False), Csp(128 + 64, 64, 1, False)
            self.back16, self.join16 = conv(64, 64, 3, 2), Csp(64 + 128, 128, 1, False)
            self.back32, self.join32 = conv(128, 128, 3, 2), Csp(128 + 256, 256, 1, False)
            self.heads = nn.ModuleList(nn.Sequential(conv(w, 64, 3), nn.Conv2d(64, 84, 1)) for w in (64, 128, 256))

        def forward(self, x: Tensor) -> Tensor:
            x8 = self.down8(self.stem(x))
            x16 = self.down16(x8)
            x32 = self.down32(x16)
            y16 = self.up16(torch.cat([F.interpolate(x32, scale_factor=2.0, mode="nearest"), x16], 1))
            y8 = self.up8(torch.cat([F.interpolate(y16, scale_factor=2.0, mode="nearest"), x8], 1))
            z16 = self.join16(torch.cat([self.back16(y8), y16], 1))
            z32 = self.join32(torch.cat([self.back32(z16), x32], 1))
            boxes = [head(z).flatten(2) for head, z in zip(self.heads, (y8, z16, z32), strict=True)]
            found = torch.cat(boxes, 2)
            return torch.cat([found[:, :4].softmax(1), found[:, 4:].sigmoid()], 1)

    return Case(Yolo(), [(torch.randn(1, 3, 256, 256),)], atol=1e-4)


@twin
def wav2vec() -> Case:
    class Features(nn.Module):
        """Strided 1-D convolutions over samples, the first normalised by groups of one channel."""

        def __init__(self) -> None:
            super().__init__()
            shapes = [(1, 10, 5), (128, 3, 2), (128, 3, 2), (128, 3, 2), (128, 3, 2), (128, 2, 2), (128, 2, 2)]
            self.convs = nn.ModuleList(nn.Conv1d(i, 128, k, s, bias=False) for i, k, s in shapes)
            self.norm = nn.GroupNorm(128, 128)

        def forward(self, x: Tensor) -> Tensor:
            for i, conv in enumerate(self.convs):
                x = conv(x)
                x = F.gelu(self.norm(x) if i == 0 else x)
            return x

    class Wav2vec(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features, self.norm, self.project = Features(), nn.LayerNorm(128), nn.Linear(128, 256)
            self.positions = nn.Conv1d(256, 256, 16, padding=8, groups=16)
            self.blocks = nn.Sequential(*(Block(256, 4, before=False) for _ in range(4)))
            self.head = nn.Linear(256, 32)

        def forward(self, samples: Tensor) -> Tensor:
            x = self.project(self.norm(self.features(samples).transpose(1, 2)))
            x = x + F.gelu(self.positions(x.transpose(1, 2))[:, :, :-1]).transpose(1, 2)
            return self.head(self.blocks(x)).log_softmax(-1)

    return Case(Wav2vec(), [(torch.randn(1, 1, 16000),)], atol=1e-4)


# The same networks for inputs of sizes that vary, in half precision, and quantised.


@twin
def bert_mini_dynamic() -> Case:
    def run(batch: int, length: int) -> tuple[Tensor, Tensor]:
        return torch.randint(0, 8000, (batch, length)), torch.zeros(batch, length, dtype=torch.int64)

    sizes = {0: Dim("batch", min=1, max=4), 1: Dim("length", min=2, max=256)}
    return Case(
        bert_mini().methods, [run(2, 128), run(1, 128), run(4, 33), run(1, 128)], dynamic=(sizes, sizes), atol=1e-4
    )


@twin
def mobilenet_v2_dynamic() -> Case:
    runs = [(torch.randn(n, 3, 224, 224),) for n in (2, 1, 3, 1)]
    return Case(mobilenet_v2().methods, runs, dynamic=({0: Dim("batch", min=1, max=4)},), atol=1e-4)


@twin
def vit_tiny_dynamic() -> Case:
    runs = [(torch.randn(n, 3, 224, 224),) for n in (2, 1, 4, 1)]
    return Case(vit_tiny().methods, runs, dynamic=({0: Dim("batch", min=1, max=4)},), atol=1e-4)


@twin
def wav2vec_dynamic() -> Case:
    runs = [(torch.randn(1, 1, n),) for n in (16000, 8000, 16000)]
    return Case(wav2vec().methods, runs, dynamic=({2: Dim("samples", min=4000, max=32000)},), atol=1e-4)


@twin
def yolo_dynamic() -> Case:
    runs = [(torch.randn(n, 3, 256, 256),) for n in (2, 1, 4, 1)]
    return Case(yolo().methods, runs, dynamic=({0: Dim("batch", min=1, max=4)},), atol=1e-4)


def halved(case: Case, dtype: torch.dtype) -> Case:
    def cast(value: Any) -> Any:
        return value.to(dtype) if value.is_floating_point() else value

    return Case(
        {name: module.to(dtype) for name, module in case.methods.items()},
        {name: [tuple(cast(x) for x in run) for run in runs] for name, runs in case.runs.items()},
        rtol=0.05,
        atol=0.05,
    )


@twin
def vit_tiny_half() -> Case:
    return halved(vit_tiny(), torch.float16)


@twin
def bert_mini_bfloat16() -> Case:
    return halved(bert_mini(), torch.bfloat16)


@functools.cache
def define_out_variants() -> None:
    """Of the quantising operators: ExecuTorch's wheel has them in a library for one version of torch only."""
    import torch.ao.quantization.fx._decomposed  # defines the operators themselves

    library = torch.library.Library("quantized_decomposed", "FRAGMENT")
    limits = "int quant_min, int quant_max, ScalarType dtype"
    result = "Tensor(a!) out) -> Tensor(a!)"
    for head, rest in (
        ("quantize_per_tensor.out(Tensor input, float scale, int zero_point", ""),
        ("dequantize_per_tensor.out(Tensor input, float scale, int zero_point", ", ScalarType? out_dtype=None"),
        (
            "dequantize_per_channel.out(Tensor input, Tensor scales, Tensor? zero_points, int axis",
            ", ScalarType? out_dtype=None",
        ),
    ):
        library.define(f"{head}, {limits}, *{rest}, {result}")
    fixtures.KEPT_ALIVE.append(library)


@twin
def mobilenet_v2_int8() -> Case:
    define_out_variants()
    case = mobilenet_v2()
    inputs = case.runs["forward"][0]
    model = fixtures.quantize(case.methods["forward"].eval(), inputs, dynamic=False)
    return Case(model, [inputs], quantised=True, atol=0.1)


if __name__ == "__main__":
    sys.exit(fixtures.main())
