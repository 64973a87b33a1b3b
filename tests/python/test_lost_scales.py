"""Linear layers with quantised weights alone: integers in floats, whose scales are arguments that no node reads."""

from __future__ import annotations

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder import PayloadBuilder, PayloadValue, ProgramBuilder, Scalar


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


class Layer:
    """A layer's integers, and what is left of the rest."""

    def __init__(self, outputs: int, inputs: int, groups: int, seed: int, *, asymmetric: bool = False) -> None:
        self.integers = random(seed).integers(-8, 8, (outputs, inputs)).astype(np.float32)
        self.scales = random(seed + 1).uniform(0.01, 0.1, (outputs, groups)).astype(np.float32)
        zero_points = random(seed + 2).integers(-3, 4, self.scales.shape) if asymmetric else np.zeros(self.scales.shape)
        self.zero_points = zero_points.astype(np.int8)
        self.bias = random(seed + 3).normal(size=outputs).astype(np.float32)

    @property
    def weights(self) -> np.ndarray:
        group = self.integers.shape[1] // self.scales.shape[1]
        offset, scales = (np.repeat(array, group, 1) for array in (self.zero_points, self.scales))
        return (self.integers - offset) * scales

    def add(self, g: PayloadBuilder, given: PayloadValue, output: PayloadValue, *, bias: bool) -> None:
        fields = {"bias": g.constant(self.bias)} if bias else {}
        g.node("FullyConnected", input=given, filter=g.constant(self.integers), output=output, **fields)


def load(g: PayloadBuilder, x: np.ndarray, unread: list[np.ndarray], outputs: list[PayloadValue]) -> en.Method:
    """The unread arguments come behind the input."""
    p = ProgramBuilder()
    arguments = [p.input(np.float32, x.shape), *(p.constant(array) for array in unread)]
    for i, output in enumerate(outputs):
        output.external_id = len(arguments) + i
    g.extra_fields[3] = Scalar("u32", len(arguments) + len(outputs))
    results = [p.tensor(np.float32, tuple(output.dims)) for output in outputs]
    p.delegate_call("XnnpackBackend", g.build(), arguments, results)
    p.output(*results)
    return en.Runtime.get().load_program(p.build()).load_method("forward")


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("lost_biases", [False, True])
def test_layers_behind_each_other(lost_biases: bool, groups: int, asymmetric: bool) -> None:
    layers = [Layer(8, inputs, groups, 10 * i, asymmetric=asymmetric) for i, inputs in enumerate((12, 8, 8))]
    x = random(99).normal(size=(3, 12)).astype(np.float32)
    g = PayloadBuilder()
    given, expected, unread = g.input(x.shape), x, []
    given.external_id = 0
    for i, layer in enumerate(layers):
        output = g.output((3, 8)) if i == 2 else g.value((3, 8))
        layer.add(g, given, output, bias=not lost_biases)
        given, expected = output, expected @ layer.weights.T + layer.bias
        unread += [layer.scales] + [layer.zero_points] * asymmetric + [layer.bias] * lost_biases
    (got,) = load(g, x, unread, [given])([x])
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_layers_beside_each_other_that_differ_in_outputs() -> None:
    first, second = Layer(8, 12, 1, 0), Layer(6, 12, 2, 10)
    x = random(99).normal(size=(3, 12)).astype(np.float32)
    g = PayloadBuilder()
    given, outputs = g.input(x.shape), [g.output((3, 6)), g.output((3, 8))]
    given.external_id = 0
    second.add(g, given, outputs[0], bias=True)
    first.add(g, given, outputs[1], bias=False)
    got = load(g, x, [first.scales, second.scales, first.bias], outputs)([x])
    np.testing.assert_allclose(got[0], x @ second.weights.T + second.bias, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got[1], x @ first.weights.T + first.bias, rtol=1e-5, atol=1e-5)


def test_layers_beside_each_other_are_refused_as_nothing_tells_whose_the_scales_are() -> None:
    layers = [Layer(8, 12, 1, 10 * i) for i in range(2)]
    x = random(99).normal(size=(3, 12)).astype(np.float32)
    g = PayloadBuilder()
    given, outputs = g.input(x.shape), [g.output((3, 8)), g.output((3, 8))]
    given.external_id = 0
    for layer, output in zip(layers, outputs, strict=True):
        layer.add(g, given, output, bias=True)
    with pytest.raises(en.ProgramLoadError, match=r"has integers for weights.* 2 scales and 0 biases.* to 2 layers"):
        load(g, x, [layer.scales for layer in layers], outputs)


def test_layers_that_share_weights_with_different_scales_are_refused() -> None:
    layers = [Layer(8, 8, 1, seed) for seed in (0, 10)]
    x = random(99).normal(size=(3, 8)).astype(np.float32)
    g = PayloadBuilder()
    given, between, output = g.input(x.shape), g.value((3, 8)), g.output((3, 8))
    given.external_id = 0
    shared = g.constant(layers[0].integers)
    g.node("FullyConnected", input=given, filter=shared, output=between)
    g.node("FullyConnected", input=between, filter=shared, output=output)
    with pytest.raises(en.ProgramLoadError, match="which of 2 scales"):
        load(g, x, [layer.scales for layer in layers], [output])


@pytest.mark.parametrize("weights", ["floats", "integers"])
def test_constants_that_are_no_scales(weights: str) -> None:
    """Exporters up to 0.6 pass constants that a graph does not read, too."""
    layer = Layer(8, 12, 1, 0)
    unread = layer.scales
    if weights == "floats":
        layer.integers = layer.integers + np.float32(0.5)
    else:
        unread = unread - np.float32(0.05)  # some are negative
    x = random(99).normal(size=(3, 12)).astype(np.float32)
    g = PayloadBuilder()
    given, output = g.input(x.shape), g.output((3, 8))
    given.external_id = 0
    layer.add(g, given, output, bias=True)
    (got,) = load(g, x, [unread], [output])([x])
    np.testing.assert_allclose(got, x @ layer.integers.T + layer.bias, rtol=1e-5, atol=1e-5)
