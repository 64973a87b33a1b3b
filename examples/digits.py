"""Recognise handwritten digits: load a .pte, run it, print what it saw and how long it took.

    python examples/digits.py [--model examples/models/digits_portable.pte] [--images 8]

The model is a small CNN trained on scikit-learn's digits (the UCI "Optical Recognition of Handwritten Digits" images);
the hundred images in digits_test.npz are of those it has not seen. tools/export_examples.py made both.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import executorch_numpy_runtime as en

MODELS = Path(__file__).parent / "models"
SHADES = " .:-=+*#%@"


def draw(image: np.ndarray) -> list[str]:
    """An 8x8 image with values in [0, 1] as eight lines of text."""
    return ["".join(SHADES[int(v * (len(SHADES) - 1))] * 2 for v in row) for row in image]


def median_us(method: en.Method, inputs: list[np.ndarray], calls: int = 200) -> float:
    """The median time of a call in microseconds."""
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        method(inputs)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=MODELS / "digits_xnnpack.pte")
    parser.add_argument("--images", type=int, default=6, help="how many images to show")
    args = parser.parse_args()

    with np.load(MODELS / "digits_test.npz") as data:
        images, labels = data["images"], data["labels"]

    method = en.Runtime.get().load_program(args.model).load_method("forward")
    answers = np.concatenate([method([batch])[0].argmax(axis=1) for batch in np.array_split(images, 2)])

    shown = slice(0, args.images)
    pictures = [draw(image[0]) for image in images[shown]]
    for lines in zip(*pictures, strict=True):
        print("   ".join(lines))
    print("   ".join(f"recognised: {answer}".ljust(16) for answer in answers[shown]))
    print(f"{(answers == labels).sum()} of {len(labels)} unseen images right")

    one = [images[:1]]
    batch = [images[:50]]
    info = en.runtime_info()
    print(f"{args.model.name} on {info['cpu']}, {info['num_threads']} threads:", end=" ")
    print(f"{median_us(method, one):.1f} us for one image,", end=" ")
    print(f"{median_us(method, batch) / 50:.2f} us an image in batches of 50")


if __name__ == "__main__":
    main()
