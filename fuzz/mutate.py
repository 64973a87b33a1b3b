"""Writes variants of programs that are well-formed but call operators and delegates with wrong arguments.

    python fuzz/mutate.py OUT COUNT SEED PROGRAM...

Bytes flipped at random rarely get beyond the reader; these do. Feed the folder to fuzz_run: `fuzz_run -runs=0 OUT`.
"""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from builder import Numbers, Scalar, Segments, Table, assemble  # noqa: E402
from builder.parse import parse_program  # noqa: E402

INTS = [-(2**63), -(2**31), -100, -3, -2, -1, 0, 1, 2, 3, 5, 7, 64, 1000, 2**31, 2**62, 2**63 - 1]
DOUBLES = [float("nan"), float("inf"), float("-inf"), -1.0, 0.0, -0.0, 1e-300, 1e300, 0.5, 3.0]
DTYPES = [0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 15, 27, 28, 29]


class KeptSegments(Segments):
    """The data of the original, as it was."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = bytearray(data)


def load(data: bytes) -> tuple[Table, KeptSegments]:
    size, base = len(data), len(data)
    if data[8:12] == b"eh00":
        size, base = struct.unpack_from("<QQ", data, 16)
    return parse_program(data[:size]), KeptSegments(data[base or len(data) :])


def change_value(value: Table, rng: random.Random) -> None:
    code = value.fields[0].value
    content = value.fields.get(1)
    if code == 2:
        content.fields[0] = Scalar("i64", rng.choice(INTS))
    elif code == 3:
        content.fields[0] = Scalar("bool", not content.fields.get(0, Scalar("bool", False)).value)
    elif code == 4:
        content.fields[0] = Scalar("f64", rng.choice(DOUBLES))
    elif code == 5:
        change_tensor(content, rng)
    elif code >= 7:
        change_list(content, rng)


def change_tensor(tensor: Table, rng: random.Random) -> None:
    sizes = list(tensor.fields[2].items) if 2 in tensor.fields else []
    order = list(tensor.fields[3].items) if 3 in tensor.fields else []
    kind = rng.randrange(6)
    if kind == 0:
        tensor.fields[0] = Scalar("i8", rng.choice(DTYPES))
    elif kind == 1:
        rng.shuffle(sizes)
    elif kind == 2 and sizes:
        sizes[rng.randrange(len(sizes))] = rng.choice([0, 1, 2, 3, 8])
    elif kind == 3 and sizes:
        dim = rng.randrange(len(sizes))
        del sizes[dim]
        order = list(range(len(sizes)))
    elif kind == 4:
        sizes.insert(0, rng.choice([0, 1, 1, 2]))
        order = list(range(len(sizes)))
    else:
        rng.shuffle(order)
    tensor.fields[2], tensor.fields[3] = Numbers("i32", sizes), Numbers("u8", order)
    if rng.random() < 0.2:
        tensor.fields[8] = Scalar("i8", rng.randrange(2))


def change_list(content: Table, rng: random.Random) -> None:
    if 0 not in content.fields:
        return
    items = list(content.fields[0].items)
    kind = rng.randrange(3)
    if kind == 0 and items:
        del items[rng.randrange(len(items))]
    elif kind == 1 and items:
        items.append(rng.choice(items))
    else:
        rng.shuffle(items)
    content.fields[0] = Numbers(content.fields[0].kind, items)


def change_call(call: Table, value_count: int, rng: random.Random) -> None:
    args = list(call.fields[1].items)
    if not args:
        return
    kind = rng.randrange(3)
    if kind == 0:
        args[rng.randrange(len(args))] = rng.randrange(value_count)
    elif kind == 1:
        first, second = rng.randrange(len(args)), rng.randrange(len(args))
        args[first], args[second] = args[second], args[first]
    elif rng.random() < 0.3:
        del args[rng.randrange(len(args))]
    call.fields[1] = Numbers("i32", args)


def mutate(program: Table, rng: random.Random) -> None:
    plan = rng.choice(list(program.fields[1].items))
    values = list(plan.fields[2].items)
    instructions = [i for chain in plan.fields[5].items for i in chain.fields[2].items] if 5 in plan.fields else []
    calls = [i.fields[1] for i in instructions if i.fields[0].value in (1, 2)]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if calls and rng.random() < 0.3:
            change_call(rng.choice(calls), len(values), rng)
        else:
            change_value(rng.choice(values), rng)
    # Room for whatever the tensors became.
    sizes: list[Any] = list(plan.fields[8].items) if 8 in plan.fields else []
    plan.fields[8] = Numbers("i64", [size + 4096 for size in sizes])


def main() -> None:
    folder, count, seed, *sources = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    rng = random.Random(int(seed))
    originals = [Path(source).read_bytes() for source in sources]
    for i in range(int(count)):
        program, segments = load(rng.choice(originals))
        mutate(program, rng)
        data = assemble(program, segments, 32 if segments.data else None)
        Path(folder, f"{seed}_{i}").write_bytes(data)


if __name__ == "__main__":
    main()
