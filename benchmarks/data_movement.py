"""Times operators that move data against numpy and, with --peer, another interpreter's executorch_numpy_runtime.

    PYTHONPATH=tests/python python benchmarks/data_movement.py [--peer PYTHON] [filter]

Operands are mutable buffers and all but one element of a result is dropped inside the program, so that the call's own
copies of inputs and outputs do not count. Times are medians in microseconds.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from time_program import time_program, time_us

from builder import OptionalTensors, ProgramBuilder

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def ints(high, *shape):
    return RNG.integers(0, high, shape)


def mask(*shape):
    return RNG.random(shape) < 0.5


def cases():
    """name -> (operator, arguments, the same in numpy)"""

    x, image, tall = floats(1024, 2048), floats(8, 64, 112, 112), floats(2048, 1024)
    heads, table, score = floats(8, 128, 12, 64), floats(30000, 512), floats(4, 8, 512, 512)
    rows, columns, picks = ints(1024, 4096), ints(2048, 2048), ints(2048, 1024, 256)
    tokens, causal, wide_mask = ints(30000, 8, 512), mask(1, 1, 512, 512), mask(1024, 2048)
    values, line, halves = floats(1024, 2048), floats(1_000_000), floats(1024, 2048).astype(np.float16)
    edges, bools = np.sort(floats(1000)), mask(2_000_000)
    return {
        "clone": ("aten::clone.out", (x, None), lambda: x.copy()),
        "to float16": ("aten::_to_copy.out", (x, False, None), lambda: x.astype(np.float16)),
        "from float16": ("aten::_to_copy.out", (halves, False, None), lambda: halves.astype(np.float32)),
        "transpose 2d": ("aten::t_copy.out", (x,), lambda: x.T.copy()),
        "permute heads": ("aten::permute_copy.out", (heads, [0, 2, 1, 3]), lambda: heads.transpose(0, 2, 1, 3).copy()),
        "nchw to nhwc": ("aten::permute_copy.out", (image, [0, 2, 3, 1]), lambda: image.transpose(0, 2, 3, 1).copy()),
        "expand": ("aten::expand_copy.out", (x[:1], [1024, 2048], False), lambda: np.repeat(x[:1], 1024, 0)),
        "slice columns": ("aten::slice_copy.Tensor_out", (x, 1, 3, 1800, 1), lambda: x[:, 3:1800].copy()),
        "slice step": ("aten::slice_copy.Tensor_out", (x, 1, 0, 2048, 2), lambda: x[:, ::2].copy()),
        "cat rows": ("aten::cat.out", ([x, x], 0), lambda: np.concatenate([x, x])),
        "cat columns": ("aten::cat.out", ([x, x], 1), lambda: np.concatenate([x, x], 1)),
        "stack last": ("aten::stack.out", ([x, x], -1), lambda: np.stack([x, x], -1)),
        "repeat": ("aten::repeat.out", (x, [1, 3]), lambda: np.tile(x, (1, 3))),
        "roll": ("aten::roll.out", (x, [5, 7], [0, 1]), lambda: np.roll(x, (5, 7), (0, 1))),
        "flip columns": ("aten::flip.out", (x, [1]), lambda: np.flip(x, 1).copy()),
        "tril": ("aten::tril.out", (x, 0), lambda: np.tril(x)),
        "pixel shuffle": (
            "aten::pixel_shuffle.out", (image, 2),
            lambda: image.reshape(8, 16, 2, 2, 112, 112).transpose(0, 1, 4, 2, 5, 3).reshape(8, 16, 224, 224),
        ),
        "pad constant": ("aten::constant_pad_nd.out", (image, [1, 1, 1, 1], 0.0),
                         lambda: np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)])),
        "pad reflection": ("aten::reflection_pad2d.out", (image, [1, 1, 1, 1]),
                           lambda: np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)], mode="reflect")),
        "full": ("aten::full.out", ([1024, 2048], 3.0), lambda: np.full((1024, 2048), 3.0, np.float32)),
        "arange": ("aten::arange.start_out", (0, 1_000_000, 1), lambda: np.arange(0, 1_000_000)),
        "embedding": ("aten::embedding.out", (table, tokens, -1, False, False), lambda: table[tokens]),
        "index rows": ("aten::index.Tensor_out", (x, OptionalTensors([rows])), lambda: x[rows]),
        "index columns": ("aten::index.Tensor_out", (x, OptionalTensors([None, columns])), lambda: x[:, columns]),
        "index both": ("aten::index.Tensor_out", (x, OptionalTensors([rows[:2048], columns])),
                       lambda: x[rows[:2048], columns]),
        "index mask": ("aten::index.Tensor_out", (x, OptionalTensors([wide_mask])), lambda: x[wide_mask]),
        "index_put rows": ("aten::index_put.out", (x, OptionalTensors([rows[:512]]), values[:512], False),
                           lambda: x.copy().__setitem__(rows[:512], values[:512])),
        "index_select": ("aten::index_select.out", (x, 1, columns), lambda: x.take(columns, 1)),
        "gather": ("aten::gather.out", (x, 1, picks, False), lambda: np.take_along_axis(x, picks, 1)),
        "scatter": ("aten::scatter.src_out", (x, 1, picks, values[:, :256].copy()),
                    lambda: np.put_along_axis(x.copy(), picks, values[:, :256], 1)),
        "scatter_add": ("aten::scatter_add.out", (tall, 0, picks % 2048, values[:, :256].copy()),
                        lambda: np.add.at(tall.copy(), (picks % 2048, np.arange(256)), values[:, :256])),
        "masked_fill causal": ("aten::masked_fill.Scalar_out", (score, causal, float("-inf")),
                               lambda: np.where(causal, np.float32("-inf"), score)),
        "masked_select": ("aten::masked_select.out", (x, wide_mask), lambda: x[wide_mask]),
        "nonzero": ("aten::nonzero.out", (bools,), lambda: np.argwhere(bools)),
        "sort lines": ("aten::sort.values_stable", (x, True, 1, False),
                       lambda: np.take_along_axis(x, np.argsort(x, 1, kind="stable"), 1)),
        "sort 1e6": ("aten::sort.values_stable", (line, True, 0, False),
                     lambda: line[np.argsort(line, kind="stable")]),
        "topk 5": ("aten::topk.values", (x, 5, 1, True, True), lambda: np.argpartition(x, -5, 1)[:, -5:]),
        "bucketize": ("aten::bucketize.Tensor_out", (x, edges, False, False), lambda: np.searchsorted(edges, x)),
    }  # fmt: skip


RESULTS = {"to float16": np.float16, "arange": np.int64}


def planned_outputs(operator, name, numpy_result, args):
    if operator == "aten::topk.values":
        return [((1024, 5), np.float32), ((1024, 5), np.int64)]
    if operator == "aten::sort.values_stable":
        return [(args[0].shape, np.float32), (args[0].shape, np.int64)]
    if "put" in operator or "scatter" in operator:
        return [(args[0].shape, np.float32)]
    return [(numpy_result.shape, RESULTS.get(name, numpy_result.dtype))]


def write_program(path, name, operator, args, numpy_result):
    """A method that makes the call and returns one element of the result."""
    program = ProgramBuilder()

    def slot(arg):
        if isinstance(arg, np.ndarray):
            return program.buffer(arg)
        if isinstance(arg, OptionalTensors):
            return OptionalTensors([None if item is None else slot(item) for item in arg.items])
        return [slot(item) for item in arg] if isinstance(arg, list) and isinstance(arg[0], np.ndarray) else arg

    outs = [program.tensor(dtype, shape) for shape, dtype in planned_outputs(operator, name, numpy_result, args)]
    program.call(operator, *[slot(arg) for arg in args], out=outs if len(outs) > 1 else outs[0])
    sizes = list(outs[0].sizes)
    element = program.tensor(outs[0].dtype, [1] * len(sizes))
    program.call("aten::as_strided_copy.out", outs[0], [1] * len(sizes), [1] * len(sizes), 0, out=element)
    program.output(element)
    path.write_bytes(program.build())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--peer", help="interpreter that has another executorch_numpy_runtime")
    options = parser.parse_args()
    print(f"{'':22}{'us':>10}{'numpy':>10}{'ratio':>8}{'peer':>16}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (operator, args, in_numpy) in cases().items():
            if options.filter not in name:
                continue
            path = Path(folder) / "case.pte"
            write_program(path, name, operator, args, in_numpy())
            ours, numpy_time = time_program(path), time_us(in_numpy)
            line = f"{name:22}{ours:10.0f}{numpy_time:10.0f}{numpy_time / ours:8.2f}"
            if options.peer:
                command = [options.peer, str(Path(__file__).with_name("time_program.py")), str(path)]
                text = subprocess.run(command, check=True, capture_output=True, text=True, env={}).stdout
                peer = json.loads(text.splitlines()[-1])
                line += f"{peer:16.0f}{peer / ours:8.1f}" if isinstance(peer, float) else f"{peer:>16}"
            print(line)


if __name__ == "__main__":
    sys.exit(main())
