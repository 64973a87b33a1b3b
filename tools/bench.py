#!/usr/bin/env python3
"""Time a model as a user would run it, with one of several runtimes.

    python tools/bench.py model.pte                                  # this package
    python tools/bench.py model.pte  --backend et_pybindings         # the official executorch wheel
    python tools/bench.py model.pt2  --backend torch                 # a torch.export archive, run by PyTorch eager
    python tools/bench.py model.onnx --backend onnxruntime

A backend needs its package installed in the interpreter that runs this; the model must be in the backend's own format.
Inputs are seeded random numbers (zeros for integers) of the model's shapes, or the arrays of --inputs FILE.npz in the
order of their names. Prints load time, first call, and the median, minimum and 90th percentile of the calls.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[Sequence[np.ndarray]], Any]
Specs = list[tuple[tuple[int, ...], np.dtype]]


def load_numpy_rt(path: Path, method: str, threads: int) -> tuple[Call, Specs]:
    """executorch-numpy-runtime: version 2, or 1.x in an environment that has that."""
    import executorch_numpy_runtime as en

    if threads and hasattr(en, "set_num_threads"):
        en.set_num_threads(threads)
    loaded = en.Runtime.get().load_program(str(path)).load_method(method)
    return loaded, [tensor_spec(i["shape"], i["scalar_type"]) for i in loaded.metadata["inputs"]]


def load_et_pybindings(path: Path, method: str, threads: int) -> tuple[Call, Specs]:
    """The official bindings of the executorch wheel; needs torch."""
    import torch
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime

    if threads:
        portable_lib._unsafe_reset_threadpool(threads)
    loaded = Runtime.get().load_program(path).load_method(method)
    meta = loaded.metadata
    infos = [meta.input_tensor_meta(i) for i in range(meta.num_inputs())]
    specs = [tensor_spec(info.sizes(), info.dtype()) for info in infos]
    return (lambda inputs: loaded.execute([torch.from_numpy(a) for a in inputs])), specs


def load_torch(path: Path, method: str, threads: int) -> tuple[Call, Specs]:
    """PyTorch eager, from a torch.export archive (.pt2)."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    exported = torch.export.load(path)
    module = exported.module()
    specs = [(tuple(t.shape), t.numpy().dtype) for t in exported.example_inputs[0]]

    def call(inputs: Sequence[np.ndarray]) -> Any:
        with torch.inference_mode():
            return module(*[torch.from_numpy(a) for a in inputs])

    return call, specs


def load_onnxruntime(path: Path, method: str, threads: int) -> tuple[Call, Specs]:
    """ONNX Runtime's CPU provider."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    specs = [
        (tuple(d if isinstance(d, int) else 1 for d in i.shape), np.dtype(types[i.type])) for i in session.get_inputs()
    ]
    return (lambda inputs: session.run(None, dict(zip(names, inputs, strict=True)))), specs


BACKENDS = {
    "numpy_rt": load_numpy_rt,
    "et_pybindings": load_et_pybindings,
    "torch": load_torch,
    "onnxruntime": load_onnxruntime,
}
DTYPES = {0: "u1", 1: "i1", 2: "i2", 3: "i4", 4: "i8", 5: "f2", 6: "f4", 7: "f8", 11: "?", 15: "u2"}


def tensor_spec(sizes: Sequence[int], code: int) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and numpy dtype from the .pte format's dtype code."""
    return tuple(sizes), np.dtype(DTYPES[code])


def make_inputs(specs: Specs, file: Path | None) -> list[np.ndarray]:
    """Arrays from the file, or made up."""
    if file is not None:
        with np.load(file) as archive:
            return [archive[name] for name in sorted(archive.files)]
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s).astype(d) if d.kind == "f" else np.zeros(s, d) for s, d in specs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--backend", choices=sorted(BACKENDS), default="numpy_rt")
    parser.add_argument("--method", default="forward")
    parser.add_argument("--inputs", type=Path, help=".npz with the inputs")
    parser.add_argument("--threads", type=int, default=0, help="0: the backend's own default")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to repeat the call")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()

    start = time.perf_counter()
    call, specs = BACKENDS[args.backend](args.model, args.method, args.threads)
    load_s = time.perf_counter() - start
    inputs = make_inputs(specs, args.inputs)
    start = time.perf_counter()
    call(inputs)
    first_s = time.perf_counter() - start
    times = []
    end = time.perf_counter() + args.seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call(inputs)
        times.append(time.perf_counter() - start)
    times.sort()
    result = {
        "model": args.model.name,
        "backend": args.backend,
        "calls": len(times),
        "load_ms": load_s * 1e3,
        "first_call_ms": first_s * 1e3,
        "median_ms": statistics.median(times) * 1e3,
        "min_ms": times[0] * 1e3,
        "p90_ms": times[int(len(times) * 0.9)] * 1e3,
    }
    if args.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{k:14} {v:.4g}" if isinstance(v, float) else f"{k:14} {v}" for k, v in result.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
