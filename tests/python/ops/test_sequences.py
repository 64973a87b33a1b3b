"""Segments, packed sequences, alignments of labels, and lengths that do not fit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import executorch_numpy_runtime as en

from .single_call import Out, load_call

F32, I64 = np.dtype("float32"), np.dtype("int64")


def call(operator, *args, outs):
    method, inputs = load_call(operator, *args, outs=[Out(dtype, shape) for dtype, shape in outs])
    return method(inputs)


@pytest.mark.parametrize(
    ("lengths", "offsets", "is_unsafe", "message"),
    [
        ([1, 2], None, False, "lengths: expected a sum of 4, got 3"),
        ([1, 4], None, True, "lengths: expected segments of 4 elements, got 4 at 1"),
        ([5, -1], None, False, "lengths: expected segments"),
        ([2**62, 2**62], None, True, "lengths: expected segments"),
        (None, [0, 2, 6], False, "offsets: expected segments"),
        (None, [3, 2, 4], False, "offsets: expected segments"),
        (None, [-1, 2, 4], False, "offsets: expected segments"),
        (None, None, False, "lengths: expected these or offsets"),
    ],
)
def test_segments_that_do_not_fit(lengths, offsets, is_unsafe, message):
    bounds = [None if numbers is None else np.array(numbers, np.int64) for numbers in (lengths, offsets)]
    with pytest.raises(en.ExecutionError, match=message):
        call("aten::segment_reduce.out", np.ones((4, 3), F32), "sum", bounds[0], None, bounds[1], 0, is_unsafe, None,
             outs=[(F32, (2, 3))])  # fmt: skip


@pytest.mark.parametrize("batch_first", [False, True])
def test_packed_sequences(batch_first):
    x = np.random.default_rng(0).standard_normal((6, 4, 3)).astype(F32)
    lengths = np.array([6, 4, 4, 1])
    rows = [x[step, :count] for step, count in enumerate([4, 3, 3, 3, 1, 1])]
    data, sizes = call("aten::_pack_padded_sequence.out", x.swapaxes(0, 1).copy() if batch_first else x, lengths,
                       batch_first, outs=[(F32, (15, 3)), (I64, (6,))])  # fmt: skip
    assert np.array_equal(data, np.concatenate(rows))
    assert sizes.tolist() == [4, 3, 3, 3, 1, 1]


@pytest.mark.parametrize("lengths", [[2, 0], [3, 4], [5, 1], [1, 2], [2]], ids=str)
def test_sequences_whose_lengths_do_not_fit(lengths):
    with pytest.raises(en.ExecutionError, match="lengths: expected"):
        call("aten::_pack_padded_sequence.out", np.ones((4, 2), F32), np.array(lengths), False,
             outs=[(F32, (sum(lengths),)), (I64, (max(lengths),))])  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blank": 4}, "blank: expected from 0 to 3, got 4"),
        ({"targets": [[1, 9], [1, 1]]}, "targets: expected from 0 to 3, got 9"),
        ({"targets": [[1, -1], [1, 1]]}, "targets: expected"),
        ({"targets": [1, 2, 3]}, "targets: expected as many labels as target_lengths add up to, got 3"),
        ({"frames": [5, 6]}, "input_lengths: expected from 0 to 5, got 6"),
        ({"labels": [2, 3]}, "target_lengths: expected from 0 to 2, got 3"),
        ({"labels": [2]}, "target_lengths: expected 2 of them, got 1"),
    ],
)
def test_labels_that_do_not_fit(change, message):
    given = {"targets": [[1, 2], [1, 1]], "frames": [5, 4], "labels": [2, 2], "blank": 0} | change
    with pytest.raises(en.ExecutionError, match=message):
        call("aten::_ctc_loss.out", np.zeros((5, 2, 4), F32), np.array(given["targets"]), given["frames"],
             given["labels"], given["blank"], False, outs=[(F32, (2,)), (F32, (2, 5, 5))])  # fmt: skip


def probability_of(labels, probabilities, blank):
    """Of all paths that read as the labels when repetitions and blanks are left out."""
    total = 0.0
    for path in itertools.product(range(probabilities.shape[1]), repeat=len(probabilities)):
        if [label for label, _ in itertools.groupby(path) if label != blank] == list(labels):
            total += float(np.prod([row[label] for row, label in zip(probabilities, path, strict=True)]))
    return total


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize(("frames", "labels"), [([5, 3], [2, 1]), ([4, 5], [2, 0]), ([1, 2], [2, 2]), ([0, 0], [0, 1])])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_of_alignments(dtype, frames, labels, blank):
    x = np.random.default_rng(0).random((5, 2, 3))
    x /= x.sum(-1, keepdims=True)
    targets = np.array([[1, 1], [1, 1]])
    longest = max(labels)
    losses, _ = call("aten::_ctc_loss.out", np.log(x).astype(dtype), targets, frames, labels, blank, False,
                     outs=[(np.dtype(dtype), (2,)), (np.dtype(dtype), (2, 5, 2 * longest + 1))])  # fmt: skip
    with np.errstate(divide="ignore"):
        expected = [-np.log(probability_of(targets[i, : labels[i]], x[: frames[i], i], blank)) for i in range(2)]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
