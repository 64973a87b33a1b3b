"""Random numbers: ranges, moments, dropout's arithmetic."""

import numpy as np
import pytest

from .data_call import BFLOAT16, FLOATS, array, call, refuses

COUNT = 20000


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(dtype):
    (got,) = call("aten::rand.out", [COUNT], outs=[np.empty(COUNT, dtype)])
    numbers = got.astype(np.float64)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.02
    assert abs(numbers.var() - 1 / 12) < 0.01


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype):
    (got,) = call("aten::randn.out", [COUNT], outs=[np.empty(COUNT, dtype)])
    numbers = got.astype(np.float64)
    assert abs(numbers.mean()) < 0.04
    assert abs(numbers.std() - 1) < 0.04
    assert abs((numbers**3).mean()) < 0.15


def test_integers_and_permutations():
    (got,) = call("aten::randint.low_out", -3, 4, [COUNT], outs=[np.empty(COUNT, np.int64)])
    values, counts = np.unique(got, return_counts=True)
    assert values.tolist() == list(range(-3, 4))
    assert counts.min() > COUNT / 7 * 0.8
    (got,) = call("aten::randperm.out", 100, outs=[np.empty(100, np.int64)])
    assert sorted(got.tolist()) == list(range(100))
    assert got.tolist() != list(range(100))


def test_calls_differ():
    program_out = np.empty(8, np.float32)
    (first,) = call("aten::rand.out", [8], outs=[program_out])
    assert len(set(first.tolist())) > 4


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("train", [True, None])
def test_dropout(dtype, train):
    x = (array(dtype, (100, 50)) + 21).astype(dtype)
    out, mask = call("aten::native_dropout.out", x, 0.25, train, outs=[x, np.empty(x.shape, bool)])
    assert abs(mask.mean() - 0.75) < 0.03
    expected = np.where(mask, x.astype(np.float64) / 0.75, 0)
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=1e-2 if dtype in FLOATS[2:] else 1e-6)


def test_dropout_that_drops_nothing_or_everything():
    x = array(np.float32, (4, 5))
    out, mask = call("aten::native_dropout.out", x, 0.9, False, outs=[x, np.empty(x.shape, bool)])
    np.testing.assert_array_equal(out, x)
    assert mask.all()
    out, mask = call("aten::native_dropout.out", x, 1.0, True, outs=[x, np.empty(x.shape, bool)])
    assert not out.any()
    assert not mask.any()


def test_refusals():
    x = np.zeros(3, np.float32)
    refuses("aten::native_dropout.out", x, 1.5, True, outs=[x, np.empty(3, bool)], match="p: expected 0 to 1, got 1.5")
    refuses("aten::randint.low_out", 3, 3, [3], outs=[x.astype(np.int64)], match="high: expected more than 3, got 3")
    refuses("aten::rand.out", [3], outs=[x.astype(np.int32)], match="out: expected a floating dtype")
    assert BFLOAT16.itemsize == 2
