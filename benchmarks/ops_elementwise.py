"""Elementwise operators, reductions, softmax and norms, one call each, against numpy and another package.

    PYTHON benchmarks/ops_elementwise.py [--peer PYTHON] [--only NAME ...] [--threads N] [--rounds N]

PYTHON holds this package, numpy and flatbuffers. `--peer` is an interpreter whose environment holds another package of
the same name and API. Every row is a program of one operator; times are medians of interleaved rounds and hold one
whole call, checks and copies of inputs and outputs included. A ratio above 1 means that this package is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SMALL, MEDIUM, LARGE = (3,), (64, 256), (1024, 4096)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)


# Name -> (operator, arguments with X and Y for inputs, out shape of an input shape, numpy's way).
CASES = {
    "add": ("aten::add.out", ["X", "Y", 1], lambda s: s, np.add),
    "mul": ("aten::mul.out", ["X", "Y"], lambda s: s, np.multiply),
    "div": ("aten::div.out", ["X", "Y"], lambda s: s, np.divide),
    "add number": ("aten::add.Scalar_out", ["X", 2.5, 1], lambda s: s, lambda x: x + np.float32(2.5)),
    "maximum": ("aten::maximum.out", ["X", "Y"], lambda s: s, np.maximum),
    "relu": ("aten::relu.out", ["X"], lambda s: s, lambda x: np.maximum(x, 0)),
    "clamp": ("aten::clamp.out", ["X", -1.0, 1.0], lambda s: s, lambda x: np.clip(x, -1, 1)),
    "exp": ("aten::exp.out", ["X"], lambda s: s, np.exp),
    "tanh": ("aten::tanh.out", ["X"], lambda s: s, np.tanh),
    "sigmoid": ("aten::sigmoid.out", ["X"], lambda s: s, lambda x: 1 / (1 + np.exp(-x))),
    "sqrt": ("aten::sqrt.out", ["X"], lambda s: s, np.sqrt),
    "sum": ("aten::sum.IntList_out", ["X", None, False, None], lambda s: (), np.sum),
    "sum rows": ("aten::sum.IntList_out", ["X", [-1], False, None], lambda s: s[:-1], lambda x: x.sum(-1)),
    "sum cols": ("aten::sum.IntList_out", ["X", [0], False, None], lambda s: s[1:], lambda x: x.sum(0)),
    "mean rows": ("aten::mean.out", ["X", [-1], False, None], lambda s: s[:-1], lambda x: x.mean(-1)),
    "amax rows": ("aten::amax.out", ["X", [-1], False], lambda s: s[:-1], lambda x: x.max(-1)),
    "argmax rows": ("aten::argmax.out", ["X", -1, False], lambda s: s[:-1], lambda x: x.argmax(-1)),
    "cumsum": ("aten::cumsum.out", ["X", -1, None], lambda s: s, lambda x: x.cumsum(-1)),
    "softmax": ("aten::_softmax.out", ["X", -1, False], lambda s: s, softmax),
    "layer norm": ("aten::native_layer_norm.out", ["X", "LAST", None, None, 1e-5], None, layer_norm),
}


def write_program(path, name, shape):
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from builder import ProgramBuilder

    operator, arguments, out_shape, _ = CASES[name]
    p = ProgramBuilder()
    slots = [p.input(np.float32, shape) if a in ("X", "Y") else [shape[-1]] if a == "LAST" else a for a in arguments]
    if out_shape is None:
        statistics_shape = (*shape[:-1], 1)
        outs = [p.tensor(np.float32, s) for s in (shape, statistics_shape, statistics_shape)]
        p.call(operator, *slots, out=outs)
        p.output(outs[0])
    else:
        out = p.tensor(np.int64 if name.startswith("argmax") else np.float32, out_shape(shape))
        p.output(p.call(operator, *slots, out=out))
    path.write_bytes(p.build())


def inputs_of(name, shape):
    random = np.random.default_rng(0)
    count = sum(a in ("X", "Y") for a in CASES[name][1])
    return [random.uniform(0.1, 3, shape).astype(np.float32) for _ in range(count)]


def timed(function, seconds=0.15):
    """Median time of a call, in seconds."""
    function()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def time_of(package, name, shape, path):
    """Of a program's call, or of numpy's way where there is no program."""
    inputs = inputs_of(name, shape)
    if path is None:
        reference = CASES[name][3]
        return timed(lambda: reference(*inputs))
    method = package.Runtime.get().load_program(path).load_method("forward")
    return timed(lambda: method(inputs))


def worker():
    """Answers one line of JSON with the time of a call, or with an error."""
    import executorch_numpy_runtime as en

    for line in sys.stdin:
        request = json.loads(line)
        shape = tuple(request["shape"])
        try:
            answer = time_of(en, request["name"], shape, request["path"])
        except Exception as error:  # a package that lacks an operator is a hole in the table, not the end
            answer = str(error)[:60]
        print(json.dumps(answer), flush=True)


class Worker:
    def __init__(self, python, threads, *, is_peer=False):
        environment = dict(os.environ, ENR_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
        if is_peer:
            environment.pop("PYTHONPATH", None)  # it may lead to this package
        command = [python, __file__, "--worker"]
        if threads == 1:
            command = ["taskset", "-c", "0", *command]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, name, shape, path):
        self.process.stdin.write(json.dumps({"name": name, "shape": shape, "path": path}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def describe_cpu():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def median_of(answers):
    numbers = [a for a in answers if isinstance(a, float)]
    return statistics.median(numbers) if numbers else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="interpreter with the other package")
    parser.add_argument("--only", nargs="*", choices=list(CASES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker()
    ours = Worker(sys.executable, options.threads)
    peer = Worker(options.peer, options.threads, is_peer=True) if options.peer else None
    isa = os.environ.get("ENR_ISA", "best")
    print(f"{describe_cpu()}, ENR_ISA={isa}, {options.threads} thread(s); microseconds a call")
    print(f"{'operator':14} {'shape':>12} {'ours':>10} {'numpy':>10} {'ratio':>6} {'peer':>10} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only or CASES:
            for shape in (SMALL, MEDIUM, LARGE):
                path = Path(folder) / f"{name}_{len(shape)}_{shape[0]}.pte"
                write_program(path, name, shape)
                rounds = [
                    (ours.ask(name, shape, str(path)), ours.ask(name, shape, None),
                     peer.ask(name, shape, str(path)) if peer else None)
                    for _ in range(options.rounds)
                ]  # fmt: skip
                mine, numpy_time, peer_time = (median_of(column) for column in zip(*rounds, strict=True))
                cells = [f"{name:14} {'x'.join(map(str, shape)):>12}"]
                cells.append(f"{mine * 1e6:10.2f}" if mine else f"{rounds[0][0]!s:>10}")
                for other in (numpy_time, peer_time):
                    known = other is not None and mine is not None
                    cells.append(f"{other * 1e6:10.2f} {other / mine:6.2f}" if known else f"{'-':>10} {'-':>6}")
                print(" ".join(cells), flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
