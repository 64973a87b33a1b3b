"""Calls of operators that few models have: special functions, linear algebra, distributions, rare pools."""

from __future__ import annotations

from .sample_arguments import CALLS, Array, F, L, T, add

X, V = T(2, 3), T(3, seed=2)
POSITIVE, UNIT, FRACTIONS = (T(2, 3, domain=domain) for domain in ("positive", "unit", "fraction"))
SPECIAL = T(8, domain="special")
WIDE = T(8, values=(-30, -7.5, -1.25, 0.125, 1.75, 3, 12.5, 40))

# Functions of one number
add(
    "special_bessel_j0.out special_bessel_j1.out special_bessel_y0.out special_bessel_y1.out special_i0e.out "
    "special_i1.out special_i1e.out special_modified_bessel_i0.out special_modified_bessel_i1.out "
    "special_modified_bessel_k0.out special_modified_bessel_k1.out special_scaled_modified_bessel_k0.out "
    "special_scaled_modified_bessel_k1.out special_erfcx.out special_log_ndtr.out",
    (X,), (POSITIVE,), (SPECIAL,), (T(6, values=(1.25, 0.125, 1.75, 3, 5.5, 8)),),
)  # fmt: skip
add("special_spherical_bessel_j0.out", (POSITIVE,), (WIDE,))
add("special_airy_ai.out", (X,), (POSITIVE,))
add("special_ndtri.out", (FRACTIONS,), (T(4, values=(0, 1, 0.25, 1e-5)),))
add("polygamma.out special_polygamma.out", *[(n, POSITIVE) for n in range(5)], (1, T(3, values=(-0.5, 1.25, 12.5))),
    *[(n, F([0.5, 3, 1])) for n in (35, 100)])  # fmt: skip
add("mvlgamma.out special_multigammaln.out", (T(3, values=(3, 4.5, 8)), 2))
add("frexp.Tensor_out", (X,), (SPECIAL,))

# Functions of two numbers
add("special_zeta.out", (T(5, values=(2, 3, 1.5, 1, 0.5)), T(5, values=(1, 2.5, 8, 1, 1))), (T(3, values=(2, 4, 3)),
    T(3, values=(-0.5, 0, -2))))  # fmt: skip
add("special_zeta.self_scalar_out", (3, POSITIVE))
add("special_zeta.other_scalar_out", (T(3, values=(2, 3, 6)), 1.5))
add(
    "igamma.out igammac.out special_gammainc.out special_gammaincc.out",
    (POSITIVE, T(2, 3, seed=1, domain="positive")),
    (T(5, values=(0.5, 2, 6, 0, 3)), T(5, values=(2, 0, 9, 1, 0.25))),
)
add(
    "ldexp.out",
    (X, T(2, 3, seed=1)),
    (X, V),
    (Array((2, 3), "float64"), F([0.5, 1.5, -3])),
    (F([2**-14, 1, 0.5]), L([140, -140, 20])),
)
X_SCALAR = {"chebyshev": 0.25, "hermite": 1.5, "laguerre": 1.5, "legendre": 0.25, "shifted": 0.75}
for name in (
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
):
    degrees = T(6, values=(0, 1, 2, 3, 5, 4))
    add(f"special_{name}.out", (T(6, values=(0.25, 1, 0.5, -0.5, 0.75, 0)), degrees), (UNIT, T(3, values=(4, 2, 0))))
    add(f"special_{name}.x_scalar_out", (X_SCALAR[name.split("_")[0]], degrees), (1e30, degrees))
    add(f"special_{name}.n_scalar_out", (X, 3), (T(3, values=(3, -2, 1)), 8 if "laguerre" in name else 100))

# Linear algebra
A = T(3, 3, values=(4, 1, -2, 2, -3, 1, 1, 5, 6))
BATCH = T(2, 2, 2, values=(1, 2, 3, 5, -2, 1, 4, 1))
SINGULAR = T(2, 2, values=(1, 2, 2, 4))
POSITIVE_DEFINITE = T(3, 3, values=(9, 1, 2, 1, 8, 1, 2, 1, 7))
LOWER, B = T(3, 3, values=(2, 0, 0, 1, 4, 0, -2, 1, 3)), T(3, 2, values=(1, 2, -1, 4, 3, 0))
TALL, BROAD = T(4, 2, values=(1, 2, 3, 4, -1, 1, 2, 0)), T(2, 3, values=(3, 4, 1, 2, -1, 0))
INDEFINITE = T(4, 4, values=(0, 1, 2, 3, 1, 0, 4, -1, 2, 4, 1, 0, 3, -1, 0, 0))
PIVOTS = Array((3,), "int32", (2, 3, 3))
add("linalg_lu_factor_ex.out", (A, True, False), (BATCH, True, True), (TALL, True, False), (BROAD, True, False))
add("linalg_lu.out", (A, True), (BATCH, True), (TALL, True), (BROAD, True))
add("lu_unpack.out", (A, PIVOTS, True, True), (A, PIVOTS, True, False), (A, PIVOTS, False, True))
add("linalg_lu_solve.out", *[(A, PIVOTS, B, True, adjoint) for adjoint in (False, True)],
    *[(A, PIVOTS, T(2, 2, 3), False, adjoint) for adjoint in (False, True)])  # fmt: skip
add("linalg_inv_ex.inverse", (A, False), (BATCH, True))
add("_linalg_det.result _linalg_slogdet.sign", (A,), (BATCH,))
add("_linalg_solve_ex.result", (A, B, True, False), (A, V, True, False), (BATCH, T(2, 2), True, False),
    (BATCH, T(2, 3), True, True), (BATCH, T(3, 2), False, False))  # fmt: skip
add("linalg_cholesky_ex.L", *[(POSITIVE_DEFINITE, upper, False) for upper in (False, True)])
add("cholesky.out", *[(POSITIVE_DEFINITE, upper) for upper in (False, True)])
add("cholesky_solve.out", *[(B, LOWER, upper) for upper in (False, True)], (T(2, 3, 1), LOWER, False))
add("_cholesky_solve_helper.out", *[(B, LOWER, upper) for upper in (False, True)])
add("cholesky_inverse.out", *[(LOWER, upper) for upper in (False, True)])
add("triangular_solve.X", *[(B, A, *flags) for flags in ((True, False, False), (False, True, False),
    (True, True, True), (False, False, False))], (T(2, 3, 1), A, True, False, False))  # fmt: skip
add("linalg_solve_triangular.out", (A, B, True, True, False), (A, B, False, True, True),
    (A, T(2, 3), True, False, False), (A, T(2, 2, 3), False, False, False))  # fmt: skip
add("linalg_qr.out", *[(matrix, mode) for matrix in (A, TALL, BROAD, BATCH) for mode in ("reduced", "complete", "r")])
add("geqrf.a", (A,), (TALL,), (BROAD,))
add("linalg_householder_product.out orgqr.out", (TALL, T(2, values=(1.5, 0.5))), (A, T(2, values=(1.5, 0.5))))
add("ormqr.out", *[(TALL, T(2, values=(1.5, 0.5)), T(4, 3), True, transpose) for transpose in (False, True)],
    *[(TALL, T(2, values=(1.5, 0.5)), T(3, 4), False, transpose) for transpose in (False, True)])  # fmt: skip
# Eigenvectors and singular vectors have free signs: test_linear_algebra.py puts the matrices together again.
add("_linalg_eigh.eigenvalues", (POSITIVE_DEFINITE, "L", False), (A, "U", False), (BATCH, "L", False))
add("_linalg_svd.U", *[(matrix, False, False, None) for matrix in (A, TALL, BROAD, BATCH, SINGULAR)])
add("linalg_eig.out", (T(2, 2, values=(2, 0, 0, 2)),), (T(1, 1, values=(-3,)),), (T(2, 0, 0),))
add("linalg_ldl_factor_ex.out", *[(matrix, hermitian, False) for matrix in (POSITIVE_DEFINITE, A, BATCH, INDEFINITE)
    for hermitian in (False, True)], (T(2, 2, values=(0, 0, 0, 0)), False, False))  # fmt: skip
add("linalg_ldl_solve.out", *[(A, pivots, B, hermitian) for pivots in (Array((3,), "int32", (1, 3, 3)),
    Array((3,), "int32", (-3, -3, 3)), Array((3,), "int32", (1, -2, -2))) for hermitian in (False, True)],
    (A, Array((3,), "int32", (1, 2, 3)), T(2, 3, 1), False), (A, L([1, 3, 3]), B, False))  # fmt: skip
for driver in (None, "gels", "gelsy", "gelsd", "gelss"):
    CALLS.setdefault("aten::linalg_lstsq.out", []).extend(
        (*operands, None, driver) for operands in ((A, B), (TALL, T(4, 3)), (BROAD, T(2, 1)), (BATCH, T(2, 2, seed=1)),
        (BATCH, T(1, 2, 2)), (T(1, 4, 2, values=TALL.values), T(2, 4, 1)))
    )  # fmt: skip
CALLS["aten::linalg_lstsq.out"] += [(SINGULAR, T(2, 2), 1e-3, "gelsd"), (SINGULAR, T(2, 2), None, "gelsy"),
    (T(0, 2), T(0, 1), None, None), (T(2, 0), T(2, 1), None, "gelsd"),
    # Of one dim less, b has vectors only where its shape is that of a column for each matrix.
    *[(a, b, None, driver) for driver in ("gels", "gelsd") for a, b in (
        (T(1, 4, 2, values=TALL.values), T(4, 3)), (BATCH, T(2, 3)), (BATCH, T(2, 2)),
        (T(1, 2, 2, 2, values=BATCH.values), T(1, 2, 2)))],
    (T(2, 0), T(2, 1), None, "gels"), (A, T(3, 0), None, "gelsy"), (BATCH, T(1, 2, 0), None, None),
    *[(SINGULAR, T(2, 2), rcond, "gelsd") for rcond in (-1.0, 1e30)], (A, B, -1.0, "gelss")]  # fmt: skip
add("linalg_pinv.atol_rtol_tensor_out", *[(matrix, None, None, False) for matrix in (A, TALL, BROAD, BATCH, SINGULAR)],
    (A, F(0.5), None, False), (A, None, F(0.6), False), (A, F([0.0, 4.0]), F([0.5, 0.0]), False),
    (POSITIVE_DEFINITE, None, F(0.9), True), (INDEFINITE, None, None, True), (T(3, 0), None, None, False))  # fmt: skip
# Of larger matrices eager gives numbers far off in float32 and in halves.
add("linalg_matrix_exp.out", (T(2, 1, 1),))
add("_trilinear.out", (T(2, 3), T(2, 3, seed=1), T(2, 3, seed=2), [], [], [], [1], 1),
    (T(2, 3), T(4, 3), T(2, 5), [1, 3], [0, 3], [1, 2], [2], 1))  # fmt: skip
add("_weight_norm_interface.out", (X, T(2, 1, domain="positive"), 0), (X, T(1, 3, domain="positive"), 1))

# Images and indices
VOLUME = T(1, 2, 3, 4, 3)
GRID = T(1, 2, 2, 3, 3, values=tuple((i * 7 % 13 - 6) / 4 for i in range(36)))
add(
    "grid_sampler_3d.out",
    *[(VOLUME, GRID, mode, padding, align) for mode in (0, 1) for padding in (0, 1, 2) for align in (False, True)],
)
add("fractional_max_pool2d.output", (T(1, 2, 5, 6), [2, 2], [3, 3], T(1, 2, 2, values=(0.1, 0.7, 0.4, 0.9))))
add(
    "fractional_max_pool3d.output",
    (T(1, 2, 4, 5, 6), [2, 2, 3], [2, 3, 2], T(1, 2, 3, values=(0.1, 0.7, 0.4, 0.9, 0.3, 0.6))),
)
add("max_unpool3d.out", (T(1, 2, 1, 1, 2), L([[[[[0, 7]]], [[[3, 1]]]]]), [2, 2, 2], [2, 2, 1], [0, 0, 0]))
add(
    "index_reduce.out",
    *[(T(3, 4), 0, L([2, 0, 2]), T(3, 4, seed=1), reduce, include)
      for reduce in ("prod", "mean", "amax", "amin") for include in (True, False)],
    (T(2, 5), 1, L([1, 1, 4]), T(2, 3, seed=1), "amax", True),
)  # fmt: skip
add("histogram.bin_ct_out", (X, 4, [-2.0, 2.0], None, False), (X, 3, None, POSITIVE, False), (X, 3, None, None, True),
    *[(T(*shape, values=[-1.5] * size), 3, None, None, True) for shape, size in (((), 1), ((2, 2), 4))],
    (T(3, 2, 1), 3, None, POSITIVE, False))  # fmt: skip
EDGES = T(4, values=(-2, -0.5, 1, 2.5))
add("histogram.bins_tensor_out", (X, EDGES, None, False), (X, EDGES, POSITIVE, True), (T(6), EDGES, POSITIVE, True))

IMAGE = T(1, 2, 5, 6)
add("_upsample_lanczos2d_aa.out", (IMAGE, [3, 4], False, None, None), (IMAGE, [7, 9], True, None, None),
    (IMAGE, [2, 3], False, 0.5, 0.5), (IMAGE, [2, 3], False, float("nan"), 0.5))  # fmt: skip
LENGTHS, OFFSETS = L([1, 0, 3]), L([0, 2, 2, 4])
add(
    "segment_reduce.out",
    *[(T(4, 2), reduce, LENGTHS, None, None, 0, False, None) for reduce in ("max", "mean", "min", "sum", "prod")],
    *[(T(4, 2), reduce, None, None, OFFSETS, 0, True, 2) for reduce in ("max", "mean", "min", "sum", "prod")],
    (T(2, 4, 3), "sum", L([[1, 3], [2, 2]]), None, None, 1, False, None),
    (SPECIAL, "max", L([5, 3]), None, None, 0, False, None),
    (SPECIAL, "min", L([5, 3]), None, None, 0, False, None),
    (SPECIAL, "mean", L([2, 3]), None, None, -1, True, 1.5),
)
add("_pack_padded_sequence.out", (T(3, 2, 2), L([3, 1]), False), (T(2, 3), L([2, 1]), True),
    (T(3, 4, 2, 1), L([4, 2, 2]), True))  # fmt: skip
LOG_PROBS = T(5, 2, 4, values=tuple(-((i * 7 + 3) % 13) / 4 - 0.25 for i in range(40)))
LABELS = L([[1, 2], [3, 3]])
# Of shorter sequences eager leaves a part of the second out as it was.
add("_ctc_loss.out", (LOG_PROBS, LABELS, [5, 5], [2, 2], 0, False), (LOG_PROBS, LABELS, [5, 5], [2, 2], 1, True),
    (LOG_PROBS, L([1, 2]), [5, 5], [1, 1], 0, False))  # fmt: skip
add("_ctc_loss.Tensor_out", (LOG_PROBS, LABELS, L([5, 5]), L([2, 2]), 0, False))

# Quantisation while training
FINE = T(2, 4, values=(-1, -0.25, 0.0625, 0.15625, 0.25, 0.5, 1, 3))
EXTREME = T(5, values=(-6e4, -0.25, 0.75, 3, 6e4))
add("fake_quantize_per_tensor_affine_cachemask.out", (FINE, 0.125, 3, 0, 7), (FINE, 0.1, -2, -8, 7),
    (EXTREME, 0.3, 0, -128, 127), (SPECIAL, 0.25, 1, 0, 5))  # fmt: skip
add("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.out",
    *[(FINE, F([0.125]), F([3.0]), L([on]), 0, 7) for on in (0, 1)])  # fmt: skip
add("fake_quantize_per_channel_affine_cachemask.out",
    (FINE, F([0.125, 0.3]), Array((2,), "int32", (3, 0)), 0, 0, 7), (FINE, F([0.125, 0.3]), F([1.5, 2.25]), 0, -4, 7),
    (FINE, F([0.125, 0.3, 1.0, 2.0]), Array((4,), "int32", (3, 0, 1, 2)), 1, 0, 15))  # fmt: skip
add("_fake_quantize_learnable_per_tensor_affine.out", (FINE, F([0.125]), F([2.75]), 0, 7, 1.0),
    (FINE, F([0.125, 0.5]), F([[2.75], [1.0]]), 0, 7, 1.0))  # fmt: skip
add("_fake_quantize_learnable_per_channel_affine.out",
    (FINE, F([0.125, 0.3]), F([2.75, 9.0]), 0, 0, 7, 1.0))  # fmt: skip

# Chance
add("randint_like.Tensor_out", (X, L(5), None))
add("cauchy.out log_normal.out", (X, 0.5, 2.0, None))
add("geometric.out", (X, 0.3, None))
add("random.out", (X, None))
add("random.to_out", (X, 5, None))
add("random.from_out", (X, 1, 5, None))
add("binomial.out", (POSITIVE, FRACTIONS, None))
add("_standard_gamma.out _sample_dirichlet.out", (POSITIVE, None))
