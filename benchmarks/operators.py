"""One operator at a time, against numpy and another package, family by family.

    PYTHONPATH=tests/python [taskset -c 0] PYTHON benchmarks/operators.py [--peer PYTHON] [--only TEXT ...] [--rounds N]
        [--part I/N]

PYTHON holds this package, numpy and flatbuffers. `--peer` is an interpreter whose environment holds another package of
the same name and API. Every row is a program of one operator; times are medians of interleaved rounds, in microseconds,
and hold one whole call, with its checks and fresh outputs. This package and numpy run in one process on the very same
arrays: where these lie in memory changes times more than what is compared does. A ratio above 1 means that this package
is faster. All use the processors this process may use. With more than one, set OPENBLAS_THREAD_TIMEOUT=4: the threads
of numpy's products otherwise hold on to their processors long after they are done.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

SLOW = 1 / 1.2  # rows below are marked


def timed(function, seconds=0.06):
    """Median time of a call, in microseconds."""
    function()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter_ns()
        function()
        times.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(times)


def program_of(case, result):
    """The case as a program, and its inputs."""
    from operator_cases import Bits, Constant, Laid

    from builder import OptionalTensors, ProgramBuilder

    p, inputs = ProgramBuilder(), []

    def slot(argument):
        if isinstance(argument, np.ndarray):
            inputs.append(argument)
            return p.input(argument.dtype, argument.shape)
        if isinstance(argument, Laid):
            inputs.append(argument.laid())
            return p.input(argument.array.dtype, argument.array.shape, dim_order=argument.order)
        if isinstance(argument, Bits):
            inputs.append(argument.array)
            return p.input(argument.dtype, argument.array.shape)
        if isinstance(argument, Constant):
            return p.constant(argument.array)
        if isinstance(argument, OptionalTensors):
            return OptionalTensors([None if item is None else slot(item) for item in argument.items])
        if isinstance(argument, list) and isinstance(argument[0], np.ndarray):
            return [slot(item) for item in argument]
        return argument

    arguments = [slot(argument) for argument in case.arguments]
    given = case.outs or [(np.shape(result), np.asarray(result).dtype)]
    outs = [p.tensor(dtype, shape, dim_order=order[0] if order else None) for shape, dtype, *order in given]
    out = p.value(outs) if case.gives_list else outs if len(outs) > 1 else outs[0]
    p.call(case.operator, *arguments, out=out)
    p.output(*outs)
    return p.build(), inputs


def serve():
    """Answers one line of JSON with a time, or with why there is none."""
    import executorch_numpy_runtime as en

    method, inputs, loaded = None, [], None
    for path in map(str.strip, sys.stdin):
        try:
            if path != loaded:
                method = en.Runtime.get().load_program(f"{path}.pte").load_method("forward")
                stored = np.load(f"{path}.npz")
                arrays = {name: stored[name] for name in stored.files}
                inputs = [arrays[str(i)] for i in arrays["order"]]
                loaded = path
            answer = timed(partial(method, inputs))
        except Exception as error:  # a package that lacks an operator is a hole in the table, not the end
            answer = type(error).__name__
        print(json.dumps(answer), flush=True)


class Worker:
    """A process of an interpreter. One that does not answer in time is replaced."""

    LIMIT_S = 10

    def __init__(self, python):
        self.python = python
        self.environment = dict(os.environ)
        self.environment.pop("PYTHONPATH", None)  # it may lead to this package
        self.failed = {}
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.python, str(Path(__file__).resolve()), "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self.environment,
            cwd="/",
        )  # fmt: skip

    def ask(self, path):
        if path in self.failed:
            return self.failed[path]
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        answered, _, _ = select.select([self.process.stdout], [], [], self.LIMIT_S)
        line = self.process.stdout.readline() if answered else ""
        if line:
            return json.loads(line)
        self.failed[path] = "crashed" if answered else f"> {self.LIMIT_S} s"
        self.process.kill()
        self.start()
        return self.failed[path]


def cell(rounds, other):
    numbers = [r[other] for r in rounds if isinstance(r[other], float)]
    if len(numbers) != len(rounds):
        return f"{rounds[0][other] or '-'!s:>18}", True
    ratio = statistics.median(r[other] / r[0] for r in rounds)
    return f"{statistics.median(numbers):10.1f} {ratio:6.2f}{' ' if ratio > SLOW else '!'}", ratio > SLOW


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="interpreter with the other package")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of family or case names")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", default="1/1", help="2/5: of the rows, the second and every fifth from there")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    from operator_cases import cases

    import executorch_numpy_runtime as en

    first, step = map(int, options.part.split("/"))
    named = (c for c in cases() if any(text in f"{c.family} {c.name}" for text in options.only))
    chosen = itertools.islice(named, first - 1, None, step)
    peer = Worker(options.peer) if options.peer else None
    cpus = len(os.sched_getaffinity(0))
    print(f"{platform.machine()} {en.runtime_info()['cpu']}, {cpus} processor(s), numpy {np.__version__}")
    print(f"{'':13}{'':25} {'ours us':>10} {'numpy us':>10} {'ratio':>6}  {'peer us':>10} {'ratio':>6}")
    count = slow = 0
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        for count, case in enumerate(chosen, 1):
            program, inputs = program_of(case, case.in_numpy() if case.in_numpy else None)
            path = Path(folder) / str(count)
            path.with_suffix(".pte").write_bytes(program)
            # An array that is given twice stays one.
            order = [next(k for k, other in enumerate(inputs) if other is array) for array in inputs]
            np.savez(path.with_suffix(".npz"), order=np.array(order, int), **{str(i): inputs[i] for i in set(order)})
            method = en.Runtime.get().load_program(program).load_method("forward")
            rounds = []
            for _ in range(options.rounds):
                in_numpy = timed(case.in_numpy) if case.in_numpy else None
                rounds.append((timed(partial(method, inputs)), in_numpy, peer.ask(path) if peer else None))
            cells = [cell(rounds, other) for other in (1, 2)]
            slow += not all(fine for _, fine in cells)
            shown = statistics.median(r[0] for r in rounds)
            print(f"{case.family:13}{case.name:25} {shown:10.1f} {cells[0][0]} {cells[1][0]}", flush=True)
    print(f"{slow} of {count} slower than 1.2 times numpy or the peer")
    return None


if __name__ == "__main__":
    sys.exit(main())
