"""Scaled dot-product attention as a node of the XNNPACK delegate, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import executorch_numpy_runtime as en
from builder.xnnpack import PayloadBuilder, delegated_program


def graph_of(
    batch: tuple[int, ...],
    queries: int,
    keys: int,
    size: int,
    out_size: int,
    datatype: str,
    key_batch: tuple[int, ...] | None = None,
) -> PayloadBuilder:
    graph = PayloadBuilder()
    key_batch = batch if key_batch is None else key_batch
    graph.node(
        "ScaledDotProductAttention",
        query=graph.input((*batch, queries, size), datatype),
        key=graph.input((*key_batch, keys, size), datatype),
        value=graph.input((*key_batch, keys, out_size), datatype),
        scale=graph.input((size,), datatype),
        mask=graph.input((queries, keys), datatype),
        output=graph.output((*batch, queries, out_size), datatype),
    )
    return graph


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: np.ndarray, mask: np.ndarray) -> np.ndarray:
    q, k, v, scale, mask = (a.astype(np.float64) for a in (q, k, v, scale, mask))
    logits = (q * scale) @ np.swapaxes(k, -1, -2) + mask
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("datatype", ["fp32", "fp16"])
@pytest.mark.parametrize("batch", [(2,), (1, 3)])
def test_attention(batch: tuple[int, ...], datatype: str) -> None:
    rng = np.random.default_rng(3)
    queries, keys, size, out_size = 5, 7, 8, 6
    program = delegated_program(graph_of(batch, queries, keys, size, out_size, datatype))
    dtype = np.float32 if datatype == "fp32" else np.float16
    shapes = [(*batch, queries, size), (*batch, keys, size), (*batch, keys, out_size), (size,), (queries, keys)]
    inputs = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    inputs[4][:, 5:] = -np.inf  # what a causal mask hides
    (got,) = en.Runtime.get().load_program(program).load_method("forward")(inputs)
    tolerance = 1e-5 if datatype == "fp32" else 2e-3
    np.testing.assert_allclose(got, expected(*inputs), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("batch", [(3,), (1, 3), (2, 3)])
def test_one_head_of_keys_and_values_serves_all(batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    queries, keys, size, out_size = 5, 7, 8, 6
    program = delegated_program(graph_of(batch, queries, keys, size, out_size, "fp32", batch[:-1]))
    shapes = [
        (*batch, queries, size),
        (*batch[:-1], keys, size),
        (*batch[:-1], keys, out_size),
        (size,),
        (queries, keys),
    ]
    q, k, v, scale, mask = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    (got,) = en.Runtime.get().load_program(program).load_method("forward")([q, k, v, scale, mask])
    heads = expected(q, np.expand_dims(k, -3), np.expand_dims(v, -3), scale, mask)
    np.testing.assert_allclose(got, heads, rtol=1e-5, atol=1e-5)


def test_sizes_that_do_not_fit_are_refused() -> None:
    graph = graph_of((2,), 5, 7, 8, 6, "fp32")
    graph.values[1].dims = (2, 7, 9)
    with pytest.raises(en.ExecuTorchError, match="multiply"):
        en.Runtime.get().load_program(delegated_program(graph)).load_method("forward")
    graph.values[1].dims = (7, 8)
    with pytest.raises(en.ProgramLoadError, match="value_id"):  # keys without heads, values with them
        en.Runtime.get().load_program(delegated_program(graph)).load_method("forward")
