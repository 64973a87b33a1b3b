"""Factorisations, whose factors have free signs: put together again, they are the matrix."""

from __future__ import annotations

import numpy as np
import pytest

import executorch_numpy_runtime as en

from .single_call import Out, call_one, load_call

DTYPES = [np.dtype(t) for t in ("float32", "float64", "complex64", "complex128")]
SHAPES = [(4, 4), (7, 3), (3, 7), (2, 5, 5), (1, 1), (2, 3, 1), (24, 17)]


def matrices(shape, dtype, seed=0, rank=None):
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * random.standard_normal(shape)
    if rank is not None:
        x = x[..., :rank] @ x[..., :rank, :]
    return x.astype(dtype)


def close(got, expected, dtype):
    tolerance = 200 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max(initial=0)))


def is_orthonormal(q, dtype):
    close(np.swapaxes(q, -1, -2).conj() @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)),
          dtype)  # fmt: skip


def call(operator, *args, outs):
    method, inputs = load_call(operator, *args, outs=[Out(dtype, shape) for dtype, shape in outs])
    return method(inputs)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_singular_values(shape, full, dtype):
    for rank in (None, 1):
        if rank is not None and shape[-1] != shape[-2]:
            continue
        a = matrices(shape, dtype, rank=rank)
        u_e, s_e, vh_e = np.linalg.svd(a, full_matrices=full)
        u, s, vh = call("aten::_linalg_svd.U", a, full, True, None,
                        outs=[(dtype, u_e.shape), (s_e.dtype, s_e.shape), (dtype, vh_e.shape)])  # fmt: skip
        close(s, s_e, dtype)
        k = min(shape[-2:])
        close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, dtype)
        is_orthonormal(u, dtype)
        is_orthonormal(np.swapaxes(vh, -1, -2).conj(), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("n, rank", [(1, None), (5, None), (20, None), (6, 2)])
def test_eigenvalues(n, rank, uplo, dtype):
    x = matrices((3, n, n), dtype, rank=rank)
    a = (x + np.swapaxes(x, -1, -2).conj()) / 2
    values, vectors = call("aten::_linalg_eigh.eigenvalues", a, uplo, True,
                           outs=[(a.real.dtype, (3, n)), (dtype, a.shape)])  # fmt: skip
    close(values, np.linalg.eigvalsh(a), dtype)
    close((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2).conj(), a, dtype)
    is_orthonormal(vectors, dtype)


def sorted_values(values):
    return np.take_along_axis(values, np.lexsort((values.imag.round(4), values.real.round(4))), -1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 12, 40])
def test_eigenvalues_of_any_matrices(n, dtype):
    a = matrices((3, n, n), dtype)
    out = np.result_type(dtype, np.complex64)
    values, vectors = call("aten::linalg_eig.out", a, outs=[(out, (3, n)), (out, a.shape)])
    wide = a.astype(np.complex128)
    tolerance = (40 + 10 * n) * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(wide @ vectors, vectors * values[..., None, :], atol=tolerance * max(1, n))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), 1, atol=tolerance)
    np.testing.assert_allclose(sorted_values(values), sorted_values(np.linalg.eigvals(wide)), atol=100 * tolerance)
    if dtype.kind == "f":  # real ones have real vectors, the others come in pairs
        real = values.imag == 0
        assert not np.swapaxes(vectors, -1, -2)[real].imag.any()
        assert np.array_equal(np.sort(values.imag), np.sort(-values.imag))


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((4, 4)),
        np.eye(5),
        np.triu(np.ones((6, 6))),  # one eigenvalue, one vector
        np.roll(np.eye(7), 1, axis=0),  # a step leaves permutations as they are
        np.array([[0.0, 1], [-1, 0]]),
        np.diag([1e200, 1e-200, -1.0]),
        np.array([[1.0, 1e10], [0, 1]]),
    ],
    ids=str,
)
def test_eigenvalues_of_odd_matrices(a):
    out = np.dtype("complex128")
    values, vectors = call("aten::linalg_eig.out", a, outs=[(out, (len(a),)), (out, a.shape)])
    scale = max(1.0, np.abs(a).max())
    np.testing.assert_allclose((a @ vectors) / scale, (vectors * values) / scale, atol=1e-8)
    np.testing.assert_allclose(values.sum() / scale, a.trace() / scale, atol=1e-8)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_eigenvalues_need_finite_numbers(dtype):
    a = np.array([[1, np.nan], [0, 1]], dtype)
    out = np.result_type(dtype, np.complex64)
    with pytest.raises(en.ExecutionError, match="self: expected finite numbers"):
        call("aten::linalg_eig.out", a, outs=[(out, (2,)), (out, (2, 2))])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 30])
def test_solutions_of_indefinite_systems(n, hermitian, dtype):
    x = matrices((2, n, n), dtype)
    mirrored = np.swapaxes(x, -1, -2)
    a = (x + (mirrored.conj() if hermitian else mirrored)).astype(dtype)
    for i in range(0, n - 1, 2):  # zeros on the diagonal need pivots of two rows
        a[..., i, i] = 0
    outs = [(dtype, a.shape), (np.dtype("int32"), (2, n)), (np.dtype("int32"), (2,))]
    ld, pivots, info = call("aten::linalg_ldl_factor_ex.out", a, hermitian, True, outs=outs)
    assert not info.any()
    assert n < 4 or (pivots < 0).any()
    b = matrices((n, 3), dtype, seed=1)
    (solution,) = call("aten::linalg_ldl_solve.out", ld, pivots, b, hermitian, outs=[(dtype, (2, n, 3))])
    close(a @ solution / np.linalg.cond(a).max(), np.broadcast_to(b, (2, n, 3)) / np.linalg.cond(a).max(), dtype)


@pytest.mark.parametrize("pivots", [[0, 1], [3, 1], [-1, 2], [1, -2], [-3, -3]], ids=str)
def test_pivots_that_are_none(pivots):
    a = np.eye(2, dtype=np.float32)
    with pytest.raises(en.ExecutionError, match="pivots: "):
        call("aten::linalg_ldl_solve.out", a, np.array(pivots, np.int32), a, False, outs=[(a.dtype, (2, 2))])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pseudoinverses(shape, dtype):
    a = matrices(shape, dtype)
    for matrix in (a, a[..., :1] @ a[..., :1, :]):  # of full rank, and of rank one
        expected = np.linalg.pinv(matrix, rcond=1e-4)
        rtol = np.array(1e-4, np.float32)
        (got,) = call("aten::linalg_pinv.atol_rtol_tensor_out", matrix, None, rtol, False,
                      outs=[(dtype, expected.shape)])  # fmt: skip
        close(got / np.abs(expected).max(), expected / np.abs(expected).max(), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_least_squares(shape, dtype):
    a, b = matrices(shape, dtype), matrices((*shape[:-1], 2), dtype, seed=1)
    *batch, m, n = shape
    expected = np.linalg.pinv(a.astype(np.result_type(dtype, np.float64))) @ b
    residuals = (np.abs(b - a @ expected) ** 2).sum(-2)
    real = np.finfo(dtype).dtype
    outs = [(dtype, expected.shape), (real, residuals.shape if m > n else (0,)), (np.dtype("int64"), batch),
            (real, (*batch, min(m, n)))]  # fmt: skip
    solution, rest, rank, values = call("aten::linalg_lstsq.out", a, b, None, "gelsd", outs=outs)
    close(solution, expected, dtype)
    assert (rank == min(m, n)).all()
    close(values, np.linalg.svd(a, compute_uv=False), dtype)
    if m > n:
        close(rest, residuals, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [0.1, 1, 6])
def test_exponentials(size, dtype):
    x = matrices((2, 5, 5), dtype)
    a = ((x + np.swapaxes(x, -1, -2).conj()) * (size / 8)).astype(dtype)
    values, vectors = np.linalg.eigh(a)
    expected = (vectors * np.exp(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2).conj()
    close(call_one("aten::linalg_matrix_exp.out", a, dtype=dtype, shape=a.shape), expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_of_factors(shape, dtype):
    a = matrices(shape, dtype)
    *batch, m, n = shape
    k = min(m, n)
    p, low, up = call("aten::linalg_lu.out", a, True,
                      outs=[(dtype, (*batch, m, m)), (dtype, (*batch, m, k)), (dtype, (*batch, k, n))])  # fmt: skip
    close(p @ low @ up, a, dtype)
    q, r = call("aten::linalg_qr.out", a, "complete", outs=[(dtype, (*batch, m, m)), (dtype, a.shape)])
    close(q @ r, a, dtype)
    is_orthonormal(q, dtype)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_solutions_of_a_batch_that_broadcasts(dtype, left):
    a, b = matrices((3, 1, 6, 6), dtype), matrices((2, 6, 6), dtype, seed=1)
    x, *_ = call("aten::_linalg_solve_ex.result", a, b, left, True,
                 outs=[(dtype, (3, 2, 6, 6)), (dtype, a.shape), (np.int32, (3, 1, 6)), (np.int32, (3, 1))])  # fmt: skip
    close(a @ x if left else x @ a, np.broadcast_to(b, x.shape), dtype)


def test_singular_matrices_are_refused_where_that_is_asked_for():
    a = np.ones((2, 3, 3), np.float32)
    outs = [Out(np.float32, a.shape), Out(np.int32, (2,))]
    method, inputs = load_call("aten::linalg_inv_ex.inverse", a, True, outs=outs)
    with pytest.raises(en.ExecutionError, match="A: expected regular matrices, got a zero as pivot 2 of matrix 0"):
        method(inputs)
    method, inputs = load_call("aten::linalg_inv_ex.inverse", a, False, outs=outs)
    np.testing.assert_array_equal(method(inputs)[1], [2, 2])


@pytest.mark.parametrize("operator, args, message", [
    ("aten::linalg_matrix_exp.out", [np.ones((2, 3), np.float32)], "self: expected square matrices"),
    ("aten::cholesky.out", [-np.eye(2, dtype=np.float32), False], "self: expected positive definite matrices, got"),
    ("aten::cholesky_inverse.out", [np.ones((2, 2), np.int32), False], "self: expected float32, float64 or a complex"),
    ("aten::linalg_lu_solve.out", [np.eye(2, dtype=np.float32), np.array([3, 2], np.int32), np.eye(2, dtype=np.float32),
                                   True, False], "pivots: expected numbers from 1 to 2, got 3"),
])  # fmt: skip
def test_refused_matrices(operator, args, message):
    with pytest.raises(en.ExecutionError, match=message):
        call_one(operator, *args, dtype=args[0].dtype, shape=args[0].shape)
