#!/usr/bin/env python3
"""This package beside another interpreter's, on the same files: interleaved rounds, ratios of medians.

    python benchmarks/peers.py --peer PYTHON MODEL.pte [MODEL.pte ...] [--cpus 1 2] [--rounds 11]

PYTHON is the interpreter of an environment that has what to compare with: version 1.4 of this package (the ExecuTorch
library with XNNPACK) or another build of this one. Both run in processes of their own, pinned to the same processors,
in turns A B A B; a round is the median of the calls that fit in --budget seconds. Printed are the machine, the medians,
the median of the rounds' ratios (above 1: we are faster), load and first call, and peak memory. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKER = r"""
import json, os, resource, sys, time
replies = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
import numpy as np
types = {0: "u1", 1: "i1", 2: "i2", 3: "i4", 4: "i8", 5: "f2", 6: "f4", 7: "f8", 11: "?", 15: "u2"}
start = time.perf_counter()
import executorch_numpy_runtime as en
method = en.Runtime.get().load_program(sys.argv[1]).load_method(sys.argv[2])
rng = np.random.default_rng(0)
inputs = []
for i in method.metadata["inputs"]:
    dtype = np.dtype(types[i["scalar_type"]])
    inputs.append(rng.standard_normal(i["shape"]).astype(dtype) if dtype.kind == "f" else np.zeros(i["shape"], dtype))
method(inputs)
first = time.perf_counter() - start
info = en.runtime_info()
facts = {"version": en.__version__, "cpu": info.get("cpu"), "threads": info.get("num_threads")}
replies.write(json.dumps([first, facts]) + "\n"); replies.flush()
for line in sys.stdin:
    times, end = [], time.perf_counter() + float(line)
    while not times or time.perf_counter() < end:
        start = time.perf_counter(); method(inputs); times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    replies.write(json.dumps([sorted(times)[len(times) // 2], peak]) + "\n"); replies.flush()
"""


class Side:
    """One interpreter with one model loaded."""

    def __init__(self, python: str, model: Path, method: str, cpus: int) -> None:
        processors = sorted(os.sched_getaffinity(0))[:cpus]
        command = ["taskset", "-c", ",".join(map(str, processors)), python, "-c", WORKER, str(model.resolve()), method]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd="/"
        )
        reply = self._read()
        if reply is None:
            raise RuntimeError(f"{python} cannot run {model}")
        self.first_s: float = reply[0]
        self.facts: dict[str, Any] = reply[1]

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def round(self, budget: float) -> tuple[float, int]:
        """Median seconds of a call, and peak memory in KiB."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{budget}\n")
        self.process.stdin.flush()
        seconds, peak = self._read()
        return seconds, peak

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def processor_name() -> str:
    """The processor's own name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def compare(ours: Side, theirs: Side, rounds: int, budget: float) -> tuple[float, float, float, int, int]:
    """Median seconds of both, the median ratio theirs/ours, peak KiB of both."""
    pairs = [(ours.round(budget), theirs.round(budget)) for _ in range(rounds)]
    ratio = statistics.median(b[0] / a[0] for a, b in pairs)
    mine = statistics.median(a[0] for a, _ in pairs)
    other = statistics.median(b[0] for _, b in pairs)
    return mine, other, ratio, pairs[-1][0][1], pairs[-1][1][1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", required=True, help="the other interpreter")
    parser.add_argument("--ours", default=sys.executable)
    parser.add_argument("--method", default="forward")
    parser.add_argument("--cpus", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--budget", type=float, default=0.25)
    parser.add_argument("models", nargs="+", type=Path)
    args = parser.parse_args()
    print(f"{processor_name()}, {os.cpu_count()} processors, {platform.system()} {platform.machine()}")
    print(f"{'model':28} {'cpus':>4} {'ours ms':>9} {'peer ms':>9} {'ratio':>6}  first ms      peak MiB")
    for model in args.models:
        for cpus in args.cpus:
            ours, theirs = Side(args.ours, model, args.method, cpus), Side(args.peer, model, args.method, cpus)
            mine, other, ratio, peak, other_peak = compare(ours, theirs, args.rounds, args.budget)
            first = f"{ours.first_s * 1e3:.1f}/{theirs.first_s * 1e3:.1f}"
            print(
                f"{model.stem:28} {cpus:>4} {mine * 1e3:9.3f} {other * 1e3:9.3f} {ratio:6.2f}"
                f"  {first:13} {peak / 1024:.0f}/{other_peak / 1024:.0f}",
                flush=True,
            )
            ours.close()
            theirs.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
