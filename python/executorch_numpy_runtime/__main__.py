"""Look at, run and time programs from the command line.

python -m executorch_numpy_runtime inspect model.pte
python -m executorch_numpy_runtime run model.pte --inputs image.npy --output result.npz
python -m executorch_numpy_runtime bench model.pte --threads 1
python -m executorch_numpy_runtime profile model.pte
python -m executorch_numpy_runtime verify model.bpte
python -m executorch_numpy_runtime info
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import ExecuTorchError, Method, Program, Runtime, runtime_info, set_num_threads
from ._dtypes import bits_dtype, numpy_dtype


def describe(value: dict[str, Any]) -> str:
    """One line about an input or output of the metadata."""
    if value["kind"] != "tensor":
        return f"{value['kind']} {value['value']!r}" if "value" in value else str(value["kind"])
    bound = " at most" if value["dynamic"] else ""
    order = "" if value["dim_order"] == sorted(value["dim_order"]) else f", dim order {value['dim_order']}"
    return f"{value['dtype']} {value['shape']}{bound}{order}"


def made_up(value: dict[str, Any], rng: np.random.Generator) -> Any:
    """An input: the traced value, normally distributed floats, zeros of other dtypes."""
    if value["kind"] != "tensor":
        return value.get("value")
    dtype = numpy_dtype(value["scalar_type"])
    if dtype.kind == "f" and bits_dtype(value["scalar_type"]) is None:
        return rng.standard_normal(value["shape"]).astype(dtype)
    return np.zeros(value["shape"], dtype)


def read_inputs(files: Sequence[Path]) -> list[Any]:
    """The arrays of .npy files, and those of .npz files in the order they were saved in."""
    arrays: list[Any] = []
    for file in files:
        try:
            loaded = np.load(file)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{file}: expected a .npy or .npz file of numbers: {error}") from None
        arrays += [loaded[name] for name in loaded.files] if hasattr(loaded, "files") else [loaded]
    return arrays


def open_program(args: argparse.Namespace) -> Program:
    if getattr(args, "threads", None) is not None:
        set_num_threads(args.threads)
    return Runtime.get().load_program(args.file, data=args.data)


def open_method(args: argparse.Namespace) -> tuple[Method, list[Any]]:
    """The method, and inputs for it: those of the files, or made up."""
    program = open_program(args)
    name = args.method or ("forward" if "forward" in program.method_names else program.method_names[0])
    method = program.load_method(name)
    rng = np.random.default_rng(0)
    return method, read_inputs(args.inputs) if args.inputs else [made_up(v, rng) for v in method.metadata["inputs"]]


def info(args: argparse.Namespace) -> None:
    for key, value in runtime_info().items():
        print(f"{key}: {f'{len(value)}' if key == 'operators' else value}")


def inspect(args: argparse.Namespace) -> None:
    program = open_program(args)
    for name in program.method_names:
        meta = program.metadata(name)
        print(f"{name}: {', '.join(meta['backends']) or 'not delegated'}")
        for kind in ("inputs", "outputs"):
            for i, value in enumerate(meta[kind]):
                print(f"  {kind[:-1]} {i}: {describe(value)}")
        try:
            method = program.load_method(name)
        except ExecuTorchError as error:
            print(f"  does not load: {error}")
            continue
        for state in method.states():
            print(f"  state {state['name']}: {state['dtype']} {state['shape']}")
        print("  bytes: " + ", ".join(f"{use} {count}" for use, count in method.memory.items()))
    for name, cases in program.bundled_cases.items():
        print(f"{name}: {len(cases)} bundled cases")


def run(args: argparse.Namespace) -> None:
    method, inputs = open_method(args)
    outputs = method(inputs)
    for i, output in enumerate(outputs):
        if isinstance(output, np.ndarray):
            print(f"output {i}: {output.dtype} {list(output.shape)}")
        print(output)
    if args.output is not None:
        named: dict[str, Any] = {f"output_{i}": np.asarray(output) for i, output in enumerate(outputs)}
        np.savez(args.output, **named)


def bench(args: argparse.Namespace) -> None:
    start = time.perf_counter()
    method, inputs = open_method(args)
    loaded = time.perf_counter()
    method(inputs)
    times = [time.perf_counter() - loaded]
    print(f"load {(loaded - start) * 1e3:.3f} ms, first call {times[0] * 1e3:.3f} ms")
    end = time.perf_counter() + args.seconds
    while len(times) < 2 or time.perf_counter() < end:
        start = time.perf_counter()
        method(inputs)
        times.append(time.perf_counter() - start)
    calls = sorted(times[1:])
    print(
        f"median {statistics.median(calls) * 1e3:.4f} ms, least {calls[0] * 1e3:.4f} ms, "
        f"90% below {calls[int(len(calls) * 0.9)] * 1e3:.4f} ms; {len(calls)} calls"
    )


def profile(args: argparse.Namespace) -> None:
    method, inputs = open_method(args)
    for _ in range(3):
        _, events = method.profile(inputs)
    total = sum(e["duration_ns"] for e in events if e["kind"] != "step") or 1
    for event in sorted(events, key=lambda e: -e["duration_ns"])[: args.top]:
        share = 100 * event["duration_ns"] / total
        where = f"[{event['instruction']}]" if event["instruction"] >= 0 else ""
        print(
            f"{event['duration_ns'] / 1e3:10.1f} us {share:5.1f}%  {event['kind']} {event['name']}{where}"
            f"  {event['detail']}"
        )


def verify(args: argparse.Namespace) -> None:
    count = open_program(args).verify_bundled(rtol=args.rtol, atol=args.atol)
    if count == 0:
        raise ValueError(f"{args.file}: not a bundled program, or one without cases")
    print(f"{count} cases as expected")


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m executorch_numpy_runtime",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = result.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for function, help_text in {
        info: "what this build has",
        inspect: "methods, inputs, outputs, states and memory of a program",
        run: "call a method once and print what it gives",
        bench: "time a method",
        profile: "where the time of a call goes",
        verify: "run the cases of a bundled program (.bpte) and compare",
    }.items():
        command = commands.add_parser(function.__name__, help=help_text, description=help_text)
        command.set_defaults(function=function)
        if function is info:
            continue
        command.add_argument("file", type=Path, help=".pte or .bpte")
        command.add_argument("--data", type=Path, nargs="+", help=".ptd files with its constants")
        if function is verify:
            command.add_argument("--rtol", type=float, default=1e-5)
            command.add_argument("--atol", type=float, default=1e-8)
        if function not in (run, bench, profile):
            continue
        command.add_argument("--method", help="default: forward, or the first")
        command.add_argument(
            "--inputs", type=Path, nargs="+", default=[], help=".npy or .npz files with all inputs; default: made up"
        )
        command.add_argument("--threads", type=int, help="default: what the process may use")
        if function is run:
            command.add_argument("--output", type=Path, help="write the outputs to this .npz")
        if function is bench:
            command.add_argument("--seconds", type=float, default=2.0, help="how long to repeat the call")
        if function is profile:
            command.add_argument("--top", type=int, default=30, help="how many rows to print")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    try:
        args.function(args)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has enough, as in `inspect model.pte | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ExecuTorchError, OSError, ValueError, MemoryError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
