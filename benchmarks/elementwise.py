"""Compares the rows of bench_elementwise with the same operations in numpy, on one thread.

python benchmarks/elementwise.py BUILD/bench_elementwise [FILTER]
"""

import argparse
import subprocess
import time

import numpy as np

NAMES = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "bool": np.bool_,
    "f16": np.float16,
}


def median_ns(body):
    body()
    times = []
    stop = time.perf_counter() + 0.04
    while len(times) < 5 or time.perf_counter() < stop:
        start = time.perf_counter_ns()
        calls = 0
        while True:
            body()
            calls += 1
            if time.perf_counter_ns() - start > 500_000:
                break
        times.append((time.perf_counter_ns() - start) / calls)
    return sorted(times)[len(times) // 2]


def values(dtype, n, low, high):
    raw = np.random.default_rng(1).uniform(low, high, n)
    return raw > 0 if dtype == np.bool_ else raw.astype(dtype)


def elementwise(words, n):
    """The numpy call of a row such as "add f32 scalar"; None where numpy has none."""
    if words[0] == "convert":
        source, target = words[1].split("->")
        if source not in NAMES or target not in NAMES:
            return None
        x, out = values(NAMES[source], n, 0.1, 4), np.empty(n, NAMES[target])
        return lambda: np.copyto(out, x, casting="unsafe")
    if words[1] not in NAMES:
        return None
    dtype = NAMES[words[1]]
    integer = dtype in (np.int32, np.int64, np.uint8)
    positive = words[0] in ("log", "log2", "log10", "log1p", "sqrt", "pow", "arccosh")
    small = words[0] in ("arcsin", "arccos", "arctanh")
    x = values(dtype, n, *((1, 100) if integer else (0.1, 4) if positive else (-1, 1) if small else (-4, 4)))
    y = values(dtype, n, *((1, 100) if integer else (-4, 4) if words[0] == "pow" else (0.1, 4)))
    if words[0] == "where":
        condition, out = values(np.bool_, n, -1, 1), np.empty(n, dtype)
        return lambda: np.copyto(out, np.where(condition, x, y))
    function = getattr(np, {"pow": "power"}.get(words[0], words[0]), None)
    if function is None or not isinstance(function, np.ufunc):
        return None
    if words[0] in ("sqrt", "arccosh"):
        x = np.abs(x) + 1
    if function.nin == 1:
        out = np.empty(n, np.bool_ if words[0] == "isnan" else dtype)
        return lambda: function(x, out=out)
    if "scalar" in words:
        y = y[:1]
    out = function(x, y)
    return lambda: function(x, y, out=out)


def reduction(words):
    if len(words) < 5 or words[3] != "axis":
        return None
    rows, cols = map(int, words[2].split("x"))
    dtype = np.dtype(words[1])
    x = np.zeros((rows, cols), dtype) if words[0] == "any" else values(dtype, (rows, cols), 0.9, 1.1)
    axis = None if words[4] == "all" else int(words[4])
    if words[0] == "norm":
        return lambda: np.linalg.norm(x, axis=axis)
    function = getattr(np, words[0])
    return lambda: function(x, axis=axis)


def broadcast(name):
    n = 56 * 56
    shapes = {
        "[HW,C]+[C]": ((n, 64), (64,)),
        "[C,HW]+[C,1]": ((64, n), (64, 1)),
        "[N,3]+[3]": ((n * 16, 4), (4,)),
        "[N,3]+[N,1]": ((n * 16, 4), (n * 16, 1)),
    }
    if name == "[A,B]+[B,A].T":
        x, y = values(np.float32, (448, 448), -1, 1), values(np.float32, (448, 448), -1, 1).T
    else:
        x, y = (values(np.float32, shape, -1, 1) for shape in shapes[name])
    out = x + y
    return lambda: np.add(x, y, out=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", metavar="BUILD/bench_elementwise", help="built with -DENR_BENCH=ON")
    parser.add_argument("filter", nargs="*", metavar="FILTER", help="part of the rows' names")
    args = parser.parse_args()
    command = [args.bench, *args.filter]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    print(lines[0], "and numpy", np.__version__)
    worst = []
    for line in lines[1:]:
        name, n, ours = line.rsplit(maxsplit=2)
        words, n, ours = name.split(), int(n), float(ours)
        if words[0] in ("broadcast", "transposed"):
            body = broadcast(words[1])
        else:
            with np.errstate(all="ignore"):
                body = reduction(words) or (elementwise(words, n) if len(words) in (2, 3) else None)
        if body is None:
            print(f"{name:36}{n:9}{ours:10.1f}")
            continue
        with np.errstate(all="ignore"):
            numpy_time = median_ns(body) / n * 1000
        mark = "  <--" if ours > 1.5 * numpy_time else ""
        worst.append((numpy_time / ours, name, n))
        print(f"{name:36}{n:9}{ours:10.1f}{numpy_time:10.1f}{numpy_time / ours:8.2f}x{mark}")
    print("slower than 1.5x numpy's time:", sum(ratio < 1 / 1.5 for ratio, _, _ in worst), "of", len(worst))


if __name__ == "__main__":
    main()
