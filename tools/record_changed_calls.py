#!/usr/bin/env python3
"""Record which calls with one argument changed (tests/python/ops/changed_calls.py) PyTorch eager takes.

Needs what tools/record_eager_answers.py needs; run it after that, from the project's root:

    python tools/record_changed_calls.py                       all operators
    python tools/record_changed_calls.py --only aten::add.out  some, the rest stays as it is

eager_changes.jsonl has one line for an operator: its name, the dtype of its tensors, a letter for each change and what
the letters stand for, each result as its dtype and sizes. A dot stands for a change that eager refuses, a dash for one
that is left out: dtypes that eager has no kernel for, large results, and calls that ended its process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import string
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from record_eager_answers import ANSWERS, REFUSALS, find, read

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from ops.changed_calls import changed_calls  # noqa: E402
from ops.sample_calls import CALLS, COMPARED_OUTS  # noqa: E402

CHANGES = ROOT / "tests" / "fixtures" / "eager_changes.jsonl"
REFUSED, LEFT_OUT = ".", "-"
NO_KERNEL = ("not implemented for", "Promotion for uint", "INTERNAL ASSERT", "not supported", "doesn't support")
MOST_ELEMENTS = 1 << 16  # of a result
MOST_SECONDS, MOST_BYTES = 30, 12 << 30


def dtype_of(answers: dict[str, Any]) -> str:
    """Of which the operator takes its first call."""
    wanted = ("float32", "int64", "complex64", *answers)
    return next((dtype for dtype in wanted if answers.get(dtype, [None])[0] is not None), "float32")


def answer(name: str, call: tuple[Any, ...], dtype: str) -> Any:
    """The results' dtypes and sizes, or why there are none."""
    torch.manual_seed(0)
    try:
        outs = find(name)(call, dtype)
    except REFUSALS as error:
        return LEFT_OUT if any(part in str(error) for part in NO_KERNEL) else REFUSED
    outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
    outs = outs[: COMPARED_OUTS.get(name, len(outs))]
    if any(out.numel() > MOST_ELEMENTS or out.dtype == torch.complex32 for out in outs):
        return LEFT_OUT
    return [" ".join([str(out.dtype).removeprefix("torch."), *map(str, out.shape)]) for out in outs]


def answers_to(name: str, calls: list[tuple[Any, ...]], dtype: str, path: Path) -> list[Any]:
    """Each call's answer. A child makes the calls, and another one goes on behind a call that ends it."""
    answers: list[Any] = []
    while len(answers) < len(calls):
        child = os.fork()
        if child == 0:
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
                resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
                with path.open("w") as lines:
                    for call in calls[len(answers) :]:
                        print(json.dumps(answer(name, call, dtype)), file=lines, flush=True)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        answers += [json.loads(line) for line in path.read_text().splitlines()]
        if len(answers) < len(calls):
            answers.append(LEFT_OUT)
    return answers


def as_letters(answers: list[Any]) -> tuple[str, list[list[str]]]:
    """A letter for each answer, and what the letters stand for. Results beyond the letters are left out."""
    meanings: list[list[str]] = []
    letters = ""
    for one in answers:
        if isinstance(one, list) and one not in meanings and len(meanings) < len(string.ascii_letters):
            meanings.append(one)
        letters += (
            one if isinstance(one, str) else string.ascii_letters[meanings.index(one)] if one in meanings else LEFT_OUT
        )
    return letters, meanings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="OPERATOR")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    taken = read(ANSWERS)
    lines = [json.loads(line) for line in CHANGES.read_text().splitlines()] if args.only else []
    recorded = {line[0]: line[1:] for line in lines}
    with tempfile.TemporaryDirectory() as folder:
        for name in args.only or CALLS:
            dtype = dtype_of(taken[name])
            calls = list(changed_calls(CALLS[name][0]).values())
            recorded[name] = [dtype, *as_letters(answers_to(name, calls, dtype, Path(folder) / "answers"))]
    rows = [json.dumps([name, *recorded[name]], separators=(",", ":")) for name in sorted(recorded)]
    CHANGES.write_text("\n".join(rows) + "\n")
    print(f"{len(recorded)} operators, {CHANGES.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
