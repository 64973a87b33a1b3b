"""Reading and writing by index, sorting, searching."""

import numpy as np

from builder import OptionalTensors

from .case import F16, F32, RNG, Case, Constant, floats


def indexing():
    x, table = floats(1024, 2048), floats(30000, 512)
    tall, values = floats(2048, 1024), floats(1024, 2048)
    tokens = RNG.integers(0, 30000, (8, 256))
    rows_index, columns = RNG.integers(0, 1024, 4096), RNG.integers(0, 2048, 2048)
    picks = RNG.integers(0, 2048, (1024, 256))
    mask = RNG.random((1024, 2048)) < 0.5
    half = table.astype(F16)
    narrow, down = floats(30000, 8), RNG.integers(0, 1024, (256, 2048))
    part = values[:, :256].copy()
    values4 = floats(4096, 2048)
    many_rows, many_columns = RNG.integers(0, 1024, 200_000), RNG.integers(0, 2048, 200_000)
    picked = floats(200_000)
    permutation = RNG.permutation(1024)[:512]

    def put(array, index, new):
        result = array.copy()
        result[index] = new
        return result

    def put_along(array):
        result = array.copy()
        np.put_along_axis(result, picks, part, 1)
        return result

    def add_rows():
        result = x.copy()
        np.add.at(result, rows_index, values4)
        return result

    def max_at():
        result = tall.copy()
        np.maximum.at(result, (picks, np.arange(256)), part)
        return result

    def add_at():
        result = tall.copy()
        np.add.at(result, (picks, np.arange(256)), part)
        return result

    rows = [
        ("embedding", "aten::embedding.out", (Constant(table), tokens, -1, False, False), lambda: table[tokens]),
        ("embedding float16", "aten::embedding.out", (Constant(half), tokens, -1, False, False), lambda: half[tokens]),
        ("embedding, narrow", "aten::embedding.out", (Constant(narrow), tokens, -1, False, False),
         lambda: narrow[tokens]),
        ("index rows", "aten::index.Tensor_out", (x, OptionalTensors([rows_index])), lambda: x[rows_index]),
        ("index columns", "aten::index.Tensor_out", (x, OptionalTensors([None, columns])), lambda: x[:, columns]),
        ("index both", "aten::index.Tensor_out", (x, OptionalTensors([rows_index[:2048], columns])),
         lambda: x[rows_index[:2048], columns]),
        ("index mask", "aten::index.Tensor_out", (x, OptionalTensors([mask])), lambda: x[mask]),
        ("index_put rows", "aten::index_put.out", (x, OptionalTensors([permutation]), values[:512], False),
         lambda: put(x, permutation, values[:512])),
        ("index_put both", "aten::index_put.out", (x, OptionalTensors([many_rows, many_columns]), picked, False),
         lambda: put(x, (many_rows, many_columns), picked)),
        ("index_put mask", "aten::index_put.out", (x, OptionalTensors([mask]), np.ones(1, F32), False),
         lambda: put(x, mask, F32(1))),
        ("index_put, adding", "aten::index_put.out", (x, OptionalTensors([rows_index]), values4, True),
         lambda: add_rows()),
        ("index_add", "aten::index_add.out", (x, 0, rows_index, values4, 1), lambda: add_rows()),
        ("index_copy", "aten::index_copy.out", (x, 0, permutation, values[:512]),
         lambda: put(x, permutation, values[:512])),
        ("index_fill", "aten::index_fill.int_Scalar_out", (x, 0, permutation, 1.5),
         lambda: put(x, permutation, F32(1.5))),
        ("index_select rows", "aten::index_select.out", (x, 0, rows_index), lambda: x.take(rows_index, 0)),
        ("take", "aten::take.out", (x, picks), lambda: x.take(picks)),
        ("gather rows", "aten::gather.out", (x, 0, down, False), lambda: np.take_along_axis(x, down, 0)),
        ("scatter number", "aten::scatter.value_out", (x, 1, picks, 1.5), lambda: put_along(x)),
        ("scatter_reduce", "aten::scatter_reduce.two_out", (tall, 0, picks, part, "amax", True), lambda: max_at()),
        ("masked_scatter", "aten::masked_scatter.out", (x, mask, values),
         lambda: put(x, mask, values.ravel()[: np.count_nonzero(mask)])),
        ("index_select", "aten::index_select.out", (x, 1, columns), lambda: x.take(columns, 1)),
        ("gather", "aten::gather.out", (x, 1, picks, False), lambda: np.take_along_axis(x, picks, 1)),
        ("scatter", "aten::scatter.src_out", (x, 1, picks, part), lambda: put_along(x)),
        ("scatter_add", "aten::scatter_add.out", (tall, 0, picks, part), add_at),
        ("masked_select", "aten::masked_select.out", (x, mask), lambda: x[mask]),
        ("nonzero", "aten::nonzero.out", (mask,), lambda: np.argwhere(mask)),
    ]  # fmt: skip
    return [Case("indexing", *row) for row in rows]


def searching():
    x, line, edges = floats(1024, 2048), floats(1_000_000), np.sort(floats(1000))
    i, ints = RNG.integers(0, 1000, (1024, 2048)), [((1024, 2048), np.int64)] * 2
    short, columns = floats(4096, 16), floats(64, 1024)

    def top_200():
        top = np.argpartition(x, -200, 1)[:, -200:]
        return np.take_along_axis(top, np.argsort(np.take_along_axis(x, top, 1)), 1)

    both, some = [((1024, 2048), F32), ((1024, 2048), np.int64)], [((1024, 5), F32), ((1024, 5), np.int64)]
    return [
        Case("searching", "sort rows", "aten::sort.values_stable", (x, True, 1, False),
             lambda: np.take_along_axis(x, np.argsort(x, 1, kind="stable"), 1), both),
        Case("searching", "sort", "aten::sort.values_stable", (line, True, 0, False),
             lambda: line[np.argsort(line, kind="stable")], [((1_000_000,), F32), ((1_000_000,), np.int64)]),
        Case("searching", "topk 5", "aten::topk.values", (x, 5, 1, True, True),
             lambda: np.argpartition(x, -5, 1)[:, -5:], some),
        Case("searching", "sort int64", "aten::sort.values_stable", (i, True, 1, False),
             lambda: np.take_along_axis(i, np.argsort(i, 1, kind="stable"), 1), ints),
        Case("searching", "sort columns", "aten::sort.values_stable", (x, True, 0, False),
             lambda: np.take_along_axis(x, np.argsort(x, 0, kind="stable"), 0), both),
        Case("searching", "sort short rows", "aten::sort.values", (short, 1, False),
             lambda: np.take_along_axis(short, np.argsort(short, 1), 1),
             [((4096, 16), F32), ((4096, 16), np.int64)]),
        Case("searching", "topk of short rows", "aten::topk.values", (short, 4, 1, True, True),
             lambda: np.argpartition(short, -4, 1)[:, -4:], [((4096, 4), F32), ((4096, 4), np.int64)]),
        Case("searching", "sort short columns", "aten::sort.values", (columns, 0, False),
             lambda: np.take_along_axis(columns, np.argsort(columns, 0), 0),
             [((64, 1024), F32), ((64, 1024), np.int64)]),
        Case("searching", "argsort", "aten::argsort.stable_out", (x, True, 1, False),
             lambda: np.argsort(x, 1, kind="stable")),
        Case("searching", "topk 50 of many", "aten::topk.values", (line, 50, 0, True, True),
             lambda: np.argpartition(line, -50)[-50:], [((50,), F32), ((50,), np.int64)]),
        Case("searching", "topk 200", "aten::topk.values", (x, 200, 1, True, True),
             top_200,
             [((1024, 200), F32), ((1024, 200), np.int64)]),
        Case("searching", "median", "aten::median.dim_values", (x, 1, False), lambda: np.median(x, 1),
             [((1024,), F32), ((1024,), np.int64)]),
        Case("searching", "searchsorted rows", "aten::searchsorted.Tensor_out",
             (np.sort(x, 1), x[:, :256].copy(), False, False, None, None), None, [((1024, 256), np.int64)]),
        Case("searching", "histc", "aten::histc.out", (line, 100, -2, 2),
             lambda: np.histogram(line, 100, (-2, 2))[0].astype(F32)),
        Case("searching", "bincount", "aten::bincount.out", (i.ravel(), None, 0), lambda: np.bincount(i.ravel())),
        Case("searching", "unique", "aten::_unique2.out", (i.ravel()[:200_000], True, True, True),
             lambda: np.unique(i.ravel()[:200_000], return_inverse=True, return_counts=True),
             [((1000,), np.int64), ((200_000,), np.int64), ((1000,), np.int64)]),
        Case("searching", "bucketize", "aten::bucketize.Tensor_out", (x, edges, False, False),
             lambda: np.searchsorted(edges, x)),
        Case("searching", "isin", "aten::isin.Tensor_Tensor_out", (i, i[0, ::20].copy(), False, False),
             lambda: np.isin(i, i[0, ::20])),
    ]  # fmt: skip
