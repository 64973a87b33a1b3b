"""Prints the time of a program's method "forward" without inputs, in microseconds, as JSON.

python benchmarks/time_program.py PROGRAM.pte
"""

import json
import statistics
import sys
import time


def time_us(body):
    body()
    times = []
    stop = time.perf_counter() + 0.1
    while len(times) < 5 or time.perf_counter() < stop:
        start = time.perf_counter_ns()
        body()
        times.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(times)


def time_program(path):
    """Microseconds, or why there are none: the other package may lack an operator or refuse a case."""
    import executorch_numpy_runtime as en

    try:
        method = en.Runtime.get().load_program(str(path)).load_method("forward")
        return time_us(lambda: method([]))
    except Exception as error:
        return type(error).__name__


if __name__ == "__main__":
    print(json.dumps(time_program(sys.argv[1])))
