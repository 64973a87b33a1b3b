"""Calls from several threads."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import executorch_numpy_runtime as en
from goldens import Case, cases, check_run, inputs_of


def case(name: str) -> Case:
    return next(c for c in cases() if c.name == name)


def test_one_method_shared_by_threads():
    c = case("vit_tiny_p")
    arrays = c.arrays()
    run = c.meta["methods"]["forward"][0]
    method = en.Runtime.get().load_program(c.program).load_method("forward")

    def call(_: int) -> None:
        check_run(c, run, method(inputs_of(run, arrays)), arrays)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(call, range(24)))


def test_different_methods_in_parallel():
    programs = [case(name) for name in ("cnn_p", "cnn_x", "lstm_p", "mlp_x", "vit_tiny_x")]

    def call(c: Case) -> None:
        arrays = c.arrays()
        program = en.Runtime.get().load_program(c.program)
        for method_name, runs in c.meta["methods"].items():
            method = program.clone_method(method_name)
            for run in runs:
                check_run(c, run, method(inputs_of(run, arrays)), arrays)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(call, programs * 4))


def test_other_python_threads_go_on_during_a_call():
    c = case("wide_conv_p")
    method = en.Runtime.get().load_program(c.program).load_method("forward")
    inputs = [np.ones(i["shape"], np.float32) for i in method.metadata["inputs"]]
    stop = threading.Event()
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0)

    thread = threading.Thread(target=tick)
    thread.start()
    end = time.perf_counter() + 0.5
    while time.perf_counter() < end:
        method(inputs)
    stop.set()
    thread.join()
    assert ticks > 10
