#!/usr/bin/env python3
"""Train a small CNN on handwritten digits and export it as the `.pte` files that the examples and the docs use.

Needs Python 3.11 or newer with the packages torch 2.13, executorch 1.3.1 and scikit-learn (which ships the images).
They are needed only here: the exported files run with executorch-numpy-runtime and numpy. ExecuTorch serialises with
`flatc`, which its wheel keeps in `executorch/data/bin`; this script puts that folder on PATH. From the project's root:

    python tools/export_examples.py --out examples/models

Written:
    digits_xnnpack.pte   the network delegated to XNNPACK, for batches of 1 to 64 images
    digits_portable.pte  the same network as plain ATen operators
    digits_test.npz      `images` float32 (100, 1, 8, 8) in [0, 1], `labels` int64 (100,) and PyTorch's own answers,
                         `logits` float32 (100, 10)

The images are the 1797 of `sklearn.datasets.load_digits`. A fifth is held out for testing, and `digits_test.npz` holds
the first hundred of those: images that the network has not seen.
"""

import argparse
import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

MAX_BATCH = 64
TEST_IMAGES = 100
REQUIRED_ACCURACY = 0.98


class DigitsNet(nn.Module):
    """Two convolution stages with batch normalisation and pooling, then one linear layer: 8x8 pixels to 10 logits."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=2),
            nn.Conv2d(32, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=2),
        )
        self.dropout = nn.Dropout(0.3)
        self.classifier = nn.Linear(64 * 2 * 2, 10)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.dropout(self.features(images).flatten(1)))
        return logits


def load_images() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return train images, train labels, test images and test labels; images are (N, 1, 8, 8) in [0, 1]."""
    pixels, labels = load_digits(return_X_y=True)
    images = (pixels / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    split = train_test_split(images, labels.astype(np.int64), test_size=0.2, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = (torch.from_numpy(part) for part in split)
    return train_images, train_labels, test_images, test_labels


def shift(images: Tensor) -> Tensor:
    """Move a batch by up to one pixel each way, so that the network does not learn where a digit stands."""
    rows, columns = (int(torch.randint(-1, 2, ())) for _ in range(2))
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    return padded[:, :, 1 + rows : 9 + rows, 1 + columns : 9 + columns]


def train(model: nn.Module, images: Tensor, labels: Tensor, epochs: int) -> None:
    batch = 32
    steps = epochs * ((len(images) + batch - 1) // batch)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=steps)
    model.train()
    for _ in range(epochs):
        for index in torch.randperm(len(images)).split(batch):
            loss = nn.functional.cross_entropy(model(shift(images[index])), labels[index], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()


def accuracy(logits: Tensor, labels: Tensor) -> float:
    return float((logits.argmax(1) == labels).float().mean())


def put_flatc_on_path() -> None:
    """Let ExecuTorch find the `flatc` of its own wheel."""
    package = find_spec("executorch")
    for folder in (package and package.submodule_search_locations) or []:
        os.environ["PATH"] = os.pathsep.join([str(Path(folder, "data", "bin")), os.environ.get("PATH", "")])


def export(model: nn.Module, path: Path, *, delegated: bool) -> None:
    """Write `model` as a program that takes 1 to MAX_BATCH images."""
    put_flatc_on_path()
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    # An example below 16 would lower the bound to 15: torch notes that its choice of convolution needs "batch < 16".
    example = (torch.zeros(MAX_BATCH, 1, 8, 8),)
    shapes = ({0: torch.export.Dim("batch", min=1, max=MAX_BATCH)},)
    exported = torch.export.export(model, example, dynamic_shapes=shapes)
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()] if delegated else [])
    path.write_bytes(lowered.to_executorch().buffer)
    print(f"{path}: {path.stat().st_size:,} bytes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, default=Path("examples/models"), help="folder to write (default: %(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=60, help="passes over the training images (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and order (default: %(default)s)")
    args = parser.parse_args()

    warnings.filterwarnings("ignore")
    torch.manual_seed(args.seed)
    train_images, train_labels, test_images, test_labels = load_images()
    model = DigitsNet()
    train(model, train_images, train_labels, args.epochs)
    with torch.no_grad():
        logits = model(test_images)
    reached = accuracy(logits, test_labels)
    print(f"test accuracy {reached:.2%} on {len(test_labels)} images")
    if reached < REQUIRED_ACCURACY:
        print(f"below {REQUIRED_ACCURACY:.0%}: nothing written", file=sys.stderr)
        return 1

    args.out.mkdir(parents=True, exist_ok=True)
    export(model, args.out / "digits_xnnpack.pte", delegated=True)
    export(model, args.out / "digits_portable.pte", delegated=False)
    np.savez_compressed(
        args.out / "digits_test.npz",
        images=test_images[:TEST_IMAGES].numpy(),
        labels=test_labels[:TEST_IMAGES].numpy(),
        logits=logits[:TEST_IMAGES].numpy(),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
