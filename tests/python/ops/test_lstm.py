"""The custom operators that version 1.x of this package came with."""

from __future__ import annotations

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import ProgramBuilder

from .single_call import BFLOAT16, Out, assert_close, call, call_one, random_array

F32, F16 = np.dtype("float32"), np.dtype("float16")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reference(x, h, c, w_ih, w_hh, b_ih, b_hh):
    x, h, c, w_ih, w_hh = (a.astype(np.float64) for a in (x, h, c, w_ih, w_hh))
    bias = sum(b.astype(np.float64) for b in (b_ih, b_hh) if b is not None)
    states = []
    for step in x:
        i, f, g, o = np.split(step @ w_ih.T + h @ w_hh.T + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states).reshape(len(x), *h.shape), h, c


def arguments(steps, batch, inputs, hidden, dtype=F32, biases=(True, True)):
    def numbers(seed, *shape):
        return random_array(seed, dtype, shape, low=-1, high=1, specials=False)

    return [
        numbers(0, steps, batch, inputs), numbers(1, batch, hidden), numbers(2, batch, hidden),
        numbers(3, 4 * hidden, inputs), numbers(4, 4 * hidden, hidden),
        *(numbers(5 + i, 4 * hidden) if given else None for i, given in enumerate(biases)),
    ]  # fmt: skip


def outs(steps, batch, hidden, dtype=F32):
    return [Out(dtype, (steps, batch, hidden)), Out(dtype, (batch, hidden)), Out(dtype, (batch, hidden))]


# Steps, batch, inputs, hidden.
SIZES = [(5, 2, 4, 3), (1, 1, 1, 1), (7, 3, 20, 33), (2, 9, 5, 64)]
SIZES += [(0, 2, 4, 3), (3, 0, 4, 3), (3, 2, 0, 5), (3, 2, 4, 0)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("biases", [(True, True), (True, False), (False, True), (False, False)], ids=str)
def test_every_size_and_bias(sizes, biases):
    steps, batch, _, hidden = sizes
    args = arguments(*sizes, biases=biases)
    got = call("etnp::lstm.out", *args, outs=outs(steps, batch, hidden))
    for value, expected in zip(got, reference(*args), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("dtype", "atol"), [(F16, 2e-3), (BFLOAT16, 2e-2)], ids=str)
def test_halves(dtype, atol):
    args = arguments(4, 2, 6, 5, dtype)
    got = call("etnp::lstm.out", *args, outs=outs(4, 2, 5, dtype))
    for value, expected in zip(got, reference(*args), strict=True):
        assert_close(value, expected, dtype, atol=atol)


def test_weights_of_the_program_are_packed_once(load):
    args = arguments(6, 2, 7, 16)
    p = ProgramBuilder()
    inputs = [p.input(a.dtype, a.shape) for a in args[:3]]
    constants = [p.constant(a) for a in args[3:]]
    results = [p.tensor(np.float32, out.shape) for out in outs(6, 2, 16)]
    p.call("etnp::lstm.out", *inputs, *constants, out=results)
    p.output(*results)
    method = load(p)
    for _ in range(2):
        for value, expected in zip(method(args[:3]), reference(*args), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
        assert method.memory["packed"] >= args[3].nbytes + args[4].nbytes
    assert method.memory["packed"] < 3 * (args[3].nbytes + args[4].nbytes)


@pytest.mark.parametrize(("index", "shape", "message"), [
    (0, (5, 2), "input: "), (0, (5, 3, 4), "h0: "), (1, (2, 4), "c0: "), (2, (2, 4), "c0: "), (3, (12, 5), "w_ih: "),
    (4, (12, 4), "w_hh: "), (4, (3, 12), "w_hh: "), (5, (11,), "b_ih: "), (6, (1, 12), "b_hh: "),
])  # fmt: skip
def test_shapes_that_do_not_fit(index, shape, message):
    args = arguments(5, 2, 4, 3)
    args[index] = np.zeros(shape, F32)
    with pytest.raises(en.ExecutionError, match=message):
        call("etnp::lstm.out", *args, outs=outs(5, 2, 3))


def test_dtypes_that_do_not_fit():
    for index in range(7):
        args = arguments(5, 2, 4, 3)
        args[index] = args[index].astype(np.float64)
        with pytest.raises(en.ExecutionError, match="expected float32"):
            call("etnp::lstm.out", *args, outs=outs(5, 2, 3))


def test_triple():
    x = np.array([1, -2.5, np.inf], np.float32)
    np.testing.assert_array_equal(call_one("etnp::triple.out", x, dtype=F32, shape=(3,)), 3 * x)
