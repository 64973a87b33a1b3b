"""Calls from several threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder
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


def test_brief_calls_of_one_method_from_several_threads():
    p = ProgramBuilder()
    x, total = p.input(np.float32, (3,)), p.zero_buffer(np.float32, (3,))
    p.call("aten::add.out", total, x, 1, out=total)
    p.output(total)
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: [method([np.ones(3, np.float32)]) for _ in range(2000)], range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert (method([np.zeros(3, np.float32)])[0] == 16000).all()


def test_brief_calls_beside_long_ones_that_lock_the_same_state():
    p = ProgramBuilder()
    total = p.zero_buffer(np.float32, (3,), memory_id=2)
    x = p.input(np.float32, (3,))
    p.call("aten::add.out", total, x, 1, out=total)
    p.output(total)
    long = p.method("long")
    total = long.zero_buffer(np.float32, (3,), memory_id=2)
    x = long.input(np.float32, (200_000,))
    for _ in range(10):
        x = long.call("aten::exp.out", x, out=long.tensor(np.float32, (200_000,)))
    long.output(total, x)
    program = en.Runtime.get().load_program(p.build())
    brief, slow = program.load_method("forward"), program.load_method("long")
    done = threading.Event()

    def call_slow() -> None:
        while not done.is_set():
            slow([np.zeros(200_000, np.float32)])

    thread = threading.Thread(target=call_slow)
    thread.start()
    for _ in range(500):
        brief([np.ones(3, np.float32)])
    done.set()
    thread.join()
    assert (brief([np.zeros(3, np.float32)])[0] == 500).all()


def exponentials(size: int = 100_000) -> bytes:
    p = ProgramBuilder()
    x = p.input(np.float32, (size,))
    for _ in range(10):
        x = p.call("aten::exp.out", x, out=p.tensor(np.float32, (size,)))
    p.output(x)
    return p.build()


def run_script(tmp_path, text: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "model.pte").write_bytes(exponentials())
    (tmp_path / "script.py").write_text(
        "import resource, sys, threading, time\nimport numpy as np\nimport executorch_numpy_runtime as en\n"
        "program = en.Runtime.get().load_program(sys.argv[1])\nx = np.full(100_000, -1, np.float32)\n"
        + textwrap.dedent(text)
    )
    arguments = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "model.pte")]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60)


def test_calls_that_run_on_while_the_interpreter_ends(tmp_path):
    done = run_script(tmp_path, """
        def call(method):
            while True:
                method([x])

        for _ in range(4):
            threading.Thread(target=call, args=(program.clone_method("forward"),), daemon=True).start()
        time.sleep(0.2)
    """)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_finalizer_calls_a_method_that_is_running_while_the_interpreter_ends(tmp_path):
    """The threads that run it never end: the finalizer gets an error rather than wait for them."""
    done = run_script(tmp_path, """
        import builtins

        method = program.load_method("forward")

        class Last:
            def __del__(self):
                try:
                    method([x])
                except Exception as error:
                    print(error)

        def call():
            while True:
                method([x])

        builtins.last = Last()
        for _ in range(4):
            threading.Thread(target=call, daemon=True).start()
        time.sleep(0.2)
    """)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "shutting down" in done.stdout


def test_a_system_that_gives_no_threads(tmp_path):
    done = run_script(tmp_path, """
        method = program.load_method("forward")
        in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + (30 << 20),) * 2)
        en.set_num_threads(64)
        method([x])
    """)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_profiles_beside_calls():
    method = en.Runtime.get().load_program(exponentials()).load_method("forward")
    x = np.full(100_000, -1, np.float32)
    count = len(method.profile([x])[1])

    def profile() -> None:
        for _ in range(20):
            assert len(method.profile([x])[1]) == count

    def call() -> None:
        for _ in range(20):
            method([x])

    with ThreadPoolExecutor(4) as pool:
        for task in [pool.submit(work) for work in (profile, call, profile, call)]:
            task.result(timeout=60)


def test_methods_have_their_own_random_numbers():
    p = ProgramBuilder()
    p.output(p.call("aten::rand.out", [10_000], out=p.tensor(np.float32, (10_000,))))
    data = p.build()
    program = en.Runtime.get().load_program(data)
    methods = [program.load_method("forward"), program.clone_method("forward")]
    first = [method([])[0] for method in methods]
    assert not np.array_equal(*first)
    np.testing.assert_array_equal(first[0], en.Runtime.get().load_program(data).load_method("forward")([])[0])
    program.seed(0)
    for method, numbers in zip(methods, first, strict=True):
        np.testing.assert_array_equal(method([])[0], numbers)
    program.seed(1)
    assert not np.array_equal(methods[0]([])[0], first[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_during_a_call_can_make_calls():
    c = case("wide_conv_p")
    code = f"""
    import os, threading, time, warnings
    import numpy as np
    import executorch_numpy_runtime as en
    warnings.simplefilter("ignore")
    method = en.Runtime.get().load_program({str(c.program)!r}).load_method("forward")
    inputs = [np.ones(i["shape"], np.float32) for i in method.metadata["inputs"]]
    expected = method(inputs)[0]
    stop = False
    def call():
        while not stop:
            method(inputs)
    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(method(inputs)[0], expected) else 3)
        assert os.waitpid(child, 0)[1] == 0
    stop = True
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)


def test_a_finalizer_that_calls_a_method_while_it_gives_its_outputs_gets_an_error():
    code = """
    import gc
    import numpy as np
    import executorch_numpy_runtime as en
    from builder import ProgramBuilder
    p = ProgramBuilder()
    x = p.input(np.float32, (4,))
    p.output(p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (4,))))
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    inputs = [np.ones(4, np.float32)]
    class Calling:
        def __del__(self):
            try:
                method(inputs)
            except en.ExecutionError as error:
                assert "handing over its outputs" in str(error)
    gc.set_threshold(1)
    for _ in range(100):
        gc.disable()
        one = Calling()
        one.itself = one
        del one
        lists = [[] for _ in range(200)]  # so that the list of outputs is not a used one
        gc.enable()
        assert method(inputs)[0].tolist() == [1, 1, 1, 1]
    """
    folder = str(Path(__file__).parent)
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])},
    )


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_a_signal_ends_a_program_that_loops() -> None:
    class Rung(Exception):
        pass

    def ring(*_: object) -> None:
        raise Rung

    p = ProgramBuilder()
    x = p.input(np.float32, (100_000,))
    state = p.buffer(np.array([3], np.float32), name="number")
    y = p.tensor(np.float32, (100_000,))
    p.call("aten::copy_", state, p.constant(np.array([5], np.float32)), False, state)
    p.call("aten::neg.out", x, out=y)
    flag = p.value(False)
    p.call("executorch_prim::eq.Scalar", 1, 2, flag)
    p.jump_if_false(flag, 0)
    p.output(y)
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Rung):
            method([np.ones(100_000, np.float32)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert method.state["number"].tolist() == [3]
