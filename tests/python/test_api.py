"""The public surface: names, loading, errors, settings."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder, data_file
from goldens import FIXTURES

ROOT = Path(__file__).parent.parent.parent


def tiny() -> bytes:
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    p.output(p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (2,))))
    return p.build()


def path_of_data(folder: Path) -> Path:
    """A data file with one tensor."""
    path = folder / "weights.ptd"
    path.write_bytes(data_file({"x": np.ones(2, np.float32)}))
    return path


def test_names_match_all():
    public = {name for name in vars(en) if not name.startswith("_")} - {"errors", "info"}
    assert public | {"__version__", "__et_version__"} == set(en.__all__) | (public - set(en.__all__))
    for name in en.__all__:
        assert getattr(en, name) is not None
        assert getattr(en, name).__doc__


def test_what_a_method_is_called_with():
    method = en.Runtime.get().load_program(tiny()).load_method("forward")
    x = np.ones(2, np.float32)
    for outputs in (method([x]), method(inputs=(x,)), method.execute([x])):
        assert outputs[0].tolist() == [1, 1]
    for arguments, named in (((), {}), (([x], [x]), {}), ((), {"values": [x]}), (([x],), {"inputs": [x]})):
        with pytest.raises(TypeError, match="one argument, inputs"):
            method(*arguments, **named)
    with pytest.raises(TypeError, match="not loaded"):
        en.Method.__new__(en.Method)([x])


def test_the_error_tree():
    for error in (en.ProgramLoadError, en.BackendNotAvailable, en.OperatorNotFound, en.ExecutionError):
        assert issubclass(error, en.ExecuTorchError)
        assert error.__module__ == "executorch_numpy_runtime.errors"


def test_every_form_of_source(tmp_path):
    data = tiny()
    path = tmp_path / "model.pte"
    path.write_bytes(data)
    x = np.array([1, 2], np.float32)
    with open(path, "rb") as file:
        for source in (str(path), path, data, bytearray(data), memoryview(data), file, io.BytesIO(data)):
            program = en.Runtime.get().load_program(source)
            np.testing.assert_array_equal(program.load_method("forward")([x])[0], x)
    for wrong, got in [(3, "int"), (None, "NoneType"), ([data], "list"), (io.StringIO("x"), "one in text mode")]:
        with pytest.raises(TypeError, match=f"source: expected a .*, got {got}"):
            en.Runtime.get().load_program(wrong)
        with pytest.raises(TypeError, match=r"data\[1\]: expected a .*, got"):
            en.Runtime.get().load_program(data, data=[path_of_data(tmp_path), wrong])


def test_errors_name_the_file(tmp_path):
    good, bad = tmp_path / "good.pte", tmp_path / "bad.pte"
    good.write_bytes(tiny())
    bad.write_bytes(b"x" * 100)
    for source, data, where in [
        (bad, None, f"'{bad}': not an ExecuTorch program"),
        (good, bad, f"'{bad}': not a tensor data file"),
        (good, [path_of_data(tmp_path), b"x" * 100], "data[1]: not a tensor data file"),
    ]:
        with pytest.raises(en.ProgramLoadError, match=re.escape(where)):
            en.Runtime.get().load_program(source, data=data)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.pte")
    with pytest.raises(en.ProgramLoadError, match="is not a regular file"):
        en.Runtime.get().load_program(tmp_path / "pipe.pte")


def test_a_changed_bytearray_does_not_matter():
    data = bytearray(tiny())
    method = en.Runtime.get().load_program(data).load_method("forward")
    data[:] = bytes(len(data))
    assert method([np.ones(2, np.float32)])[0][0] == 1


def test_the_program_lives_as_long_as_its_methods():
    method = en.Runtime.get().load_program(tiny()).load_method("forward")
    import gc

    gc.collect()
    assert method([np.ones(2, np.float32)])[0][0] == 1


def test_copies_are_the_same_and_nothing_is_pickled():
    program = en.Runtime.get().load_program(tiny())
    for loaded in (program, program.load_method("forward")):
        assert copy.copy(loaded) is loaded
        for operation in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=r"cannot be pickled: load .* in the process that needs it"):
                operation(loaded)
    pickle.loads(pickle.dumps(en.Runtime.get())).load_program(tiny())


def test_unknown_methods_are_answered_with_the_names():
    program = en.Runtime.get().load_program(tiny())
    assert program.method_names == ["forward"]
    for call in (program.load_method, program.metadata, program.clone_method):
        with pytest.raises(en.ProgramLoadError, match="method 'x' not found: the program has forward"):
            call("x")
        for wrong in (None, 3, b"forward", ["forward"], "\ud800"):
            with pytest.raises(en.ProgramLoadError, match="not found: the program has forward"):
                call(wrong)


def test_missing_operators_are_listed_at_load():
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    for name in ("my::op.out", "my::op.out", "your::op"):
        p.call(name, x, out=p.tensor(np.float32, (2,)))
    m = p.method("other")
    m.call("my::op.out", m.input(np.float32, (2,)), out=m.tensor(np.float32, (2,)))
    program = en.Runtime.get().load_program(p.build())
    with pytest.raises(en.OperatorNotFound) as caught:
        program.load_method("forward")
    text = str(caught.value)
    assert "my::op.out (3 calls in forward, other)" in text and "your::op (1 call in forward)" in text


def test_many_missing_operators_are_counted():
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    for i in range(5000):
        p.call(f"my::op{i:04}", x, out=p.tensor(np.float32, (2,)))
    with pytest.raises(en.OperatorNotFound) as caught:
        en.Runtime.get().load_program(p.build()).load_method("forward")
    text = str(caught.value)
    assert "my::op0019 (1 call in forward); and 4980 more." in text and "my::op0020" not in text


def test_missing_backends_are_named():
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    y = p.tensor(np.float32, (2,))
    p.delegate_call("CoreMLBackend", b"payload", [x], [y])
    p.output(y)
    with pytest.raises(en.BackendNotAvailable, match=r"CoreMLBackend \(1 partition in forward\)"):
        en.Runtime.get().load_program(p.build()).load_method("forward")


def test_operator_errors_say_where():
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    p.output(p.call("aten::unsqueeze_copy.out", x, 7, out=p.tensor(np.float32, (2, 1))))
    method = en.Runtime.get().load_program(p.build()).load_method("forward")
    with pytest.raises(
        en.ExecutionError,
        match=re.escape("forward[0] aten::unsqueeze_copy.out: dim: expected -2 to 1 for rank 2, got 7"),
    ):
        method([np.ones(2, np.float32)])


def test_too_few_operator_arguments_are_refused_at_load():
    p = ProgramBuilder()
    x = p.input(np.float32, (2,))
    p.raw_call("aten::clone.out", [x.index])
    with pytest.raises(
        en.ProgramLoadError, match=r"aten::clone.out: expected at least 3 arguments \(self, memory_format, out\), got 1"
    ):
        en.Runtime.get().load_program(p.build()).load_method("forward")


def test_runtime_info():
    info = en.runtime_info()
    assert info["executorch_version"] == en.__et_version__
    assert "aten::clone.out" in info["operators"] and len(info["operators"]) == len(set(info["operators"]))
    assert info["cpu"] in {
        "baseline",
        "x86_avx2",
        "x86_avxvnni",
        "x86_avx512",
        "x86_avx512vnni",
        "x86_amx",
        "arm64_dotprod",
    }
    assert {"portable", "optimized", "quantized"} <= set(info["kernel_libs"])
    assert "float32" in info["supported_dtypes"]
    assert info["num_threads"] == en.get_num_threads() >= 1
    with pytest.raises(en.BackendNotAvailable):
        en.openvino_inference_precision()
    assert en.xnnpack_workspace_size_bytes() >= 0


def test_workspace_of_delegates_is_known_before_a_call():
    method = en.Runtime.get().load_program(FIXTURES / "cnn_x.pte").load_method("forward")
    before = method.memory["workspace"]
    assert before > 0
    method([np.zeros(i["shape"], np.float32) for i in method.metadata["inputs"]])
    assert method.memory["workspace"] >= before


def test_names_of_the_official_module():
    runtime = en.Runtime.get()
    assert runtime is en.Runtime.get()
    assert runtime.backend_registry.registered_backend_names == en.runtime_info()["backends"]
    assert not runtime.backend_registry.is_available("NoSuchBackend")
    assert "aten::clone.out" in runtime.operator_registry.operator_names
    program = runtime.load_program(tiny(), verification=en.Verification.Minimal, enable_etdump=False)
    assert program.metadata("forward")["num_inputs"] == 1
    assert program.load_method("forward").execute([np.ones(2, np.float32)])[0][0] == 1


def test_metadata_has_the_methods_of_the_official_module():
    p = ProgramBuilder()
    x = p.input(np.float32, (2, 3))
    p.scalar_input(7)
    p.output(p.call("aten::clone.out", x, None, out=p.tensor(np.float32, (2, 3))))
    program = en.Runtime.get().load_program(p.build())
    for meta in (program.metadata("forward"), program.load_method("forward").metadata):
        assert (meta.name(), meta.num_inputs(), meta.num_outputs()) == ("forward", 2, 1)
        for info in (meta.input_tensor_meta(0), meta.output_tensor_meta(0)):
            assert (info.sizes(), info.dtype(), info.nbytes(), info.is_memory_planned()) == ((2, 3), 6, 24, True)
            assert "sizes=[2, 3], dtype=float32" in repr(info)
        for index in (2, -1):
            with pytest.raises(IndexError, match=f"forward: input {index}: the method has 2"):
                meta.input_tensor_meta(index)
        with pytest.raises(TypeError, match="forward: input 1 is of kind int, expected a tensor"):
            meta.input_tensor_meta(1)
        assert json.loads(json.dumps(meta)) == meta


def test_a_method_that_did_not_load_has_a_text():
    p = ProgramBuilder()
    p.raw_call("no::such", [p.input(np.float32, (2,)).index])
    program = en.Runtime.get().load_program(p.build())
    with pytest.raises(en.OperatorNotFound) as error:
        program.load_method("forward")
    frames = [frame.f_locals for frame, _ in traceback.walk_tb(error.value.__traceback__)]
    methods = [values["self"] for values in frames if isinstance(values.get("self"), en.Method)]
    assert [repr(method) for method in methods] == ["<Method: not loaded>"]


def test_threads_can_be_set():
    before = en.get_num_threads()
    try:
        en.set_num_threads(3)
        assert en.get_num_threads() == 3
        en.Runtime(num_threads=1)
        assert en.get_num_threads() == 1
        with pytest.raises(ValueError, match="num_threads: expected at least 0, got -1"):
            en.set_num_threads(-1)
        with pytest.raises(TypeError, match="num_threads: expected an int, got str"):
            en.set_num_threads("2")
        en.set_num_threads(2**70)
        assert en.get_num_threads() == 256
    finally:
        en.set_num_threads(0)
    assert en.get_num_threads() == before


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )


def test_an_instruction_set_can_be_forced():
    code = "import executorch_numpy_runtime as en; print(en.runtime_info()['cpu'])"
    assert run_python(code, ENR_ISA="baseline").stdout.strip() == "baseline"
    for run in (code, "import executorch_numpy_runtime"):  # before anything could use it
        wrong = run_python(run, ENR_ISA="z80")
        assert wrong.returncode == 1 and "ExecutionError: ENR_ISA=z80: this machine and build have" in wrong.stderr


def test_environment_sets_threads():
    code = "import executorch_numpy_runtime as en; print(en.get_num_threads())"
    assert run_python(code, ENR_NUM_THREADS="5").stdout.strip() == "5"
    for text in ("four", "-1", "1e3"):
        assert f"ENR_NUM_THREADS={text}: expected a number of threads" in run_python(code, ENR_NUM_THREADS=text).stderr


def test_the_default_fits_the_affinity_mask():
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no affinity on this system")
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "import executorch_numpy_runtime as en; print(en.get_num_threads())"
    )
    assert run_python(code, ENR_NUM_THREADS="").stdout.strip() == "1"


def test_nothing_is_printed_and_numpy_is_the_only_import():
    code = (
        "import sys; import executorch_numpy_runtime as en, numpy as np;"
        f"m = en.Runtime.get().load_program({str(FIXTURES / 'mlp_p.pte')!r}).load_method('forward');"
        "m([np.zeros(i['shape'], np.float32) for i in m.metadata['inputs']]);"
        "assert not {'torch', 'ml_dtypes', 'executorch'} & set(sys.modules)"
    )
    result = run_python(code)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_forked_child_can_run():
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    code = (
        "import os, sys, warnings; warnings.simplefilter('ignore');"
        "import executorch_numpy_runtime as en, numpy as np; en.set_num_threads(4);"
        f"m = en.Runtime.get().load_program({str(FIXTURES / 'wide_conv_p.pte')!r}).load_method('forward');"
        "x = [np.ones(i['shape'], np.float32) for i in m.metadata['inputs']]; e = m(x)[0];"
        "pid = os.fork();\n"
        "if pid == 0:\n"
        "    os._exit(0 if np.array_equal(m(x)[0], e) else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    assert run_python(code).returncode == 0


def test_profile_names_every_instruction():
    method = en.Runtime.get().load_program(tiny()).load_method("forward")
    outputs, events = method.profile([np.ones(2, np.float32)])
    np.testing.assert_array_equal(outputs[0], 1)
    assert [e["name"] for e in events] == ["aten::clone.out"]
    assert events[0]["instruction"] == 0 and events[0]["duration_ns"] > 0 and "float32 [2]" in events[0]["detail"]


def test_the_example_recognises_digits():
    for model in ("digits_xnnpack.pte", "digits_portable.pte"):
        result = subprocess.run(
            [sys.executable, ROOT / "examples" / "digits.py", "--model", ROOT / "examples" / "models" / model],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert result.returncode == 0, result.stderr
        assert "100 of 100 unseen images right" in result.stdout or "99 of 100" in result.stdout
