"""Calls of the operators that exporters usually decompose, and of those that are others by another name."""

from __future__ import annotations

from . import sample_core_calls  # noqa: F401, whose calls others repeat
from .sample_arguments import CALLS, Array, F, L, M, T, add

X, Y, V = T(2, 3), T(2, 3, seed=1), T(3, seed=2)
POSITIVE = T(2, 3, domain="positive")
FRACTIONS = T(2, 3, domain="fraction")
SPECIAL = T(8, domain="special")

for name, original in {
    "absolute.out": "abs.out",
    "negative.out": "neg.out",
    "_neg_view_copy.out": "neg.out",
    "_conj_copy.out": "conj_physical.out",
    "_logcumsumexp.out": "logcumsumexp.out",
    "_stack.out": "stack.out",
    "concat.out": "cat.out",
    "concatenate.out": "cat.out",
    "_aminmax.dim_out": "aminmax.out",
    **{f"arc{f}.out": f"a{f}.out" for f in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "arctan2.out": "atan2.out",
    **{
        f"{long}.{overload}_out": f"{short}.{overload}_out"
        for overload in ("Tensor", "Scalar")
        for long, short in (
            ("greater", "gt"),
            ("greater_equal", "ge"),
            ("less", "lt"),
            ("less_equal", "le"),
            ("not_equal", "ne"),
        )
    },
    **{
        f"special_{f}.out": f"{f}.out"
        for f in ("digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "logit", "sinc", "round")
    },
    "special_expit.out": "sigmoid.out",
    "special_gammaln.out": "lgamma.out",
    "special_psi.out": "digamma.out",
    "special_logsumexp.out": "logsumexp.out",
    "special_xlogy.out": "xlogy.OutTensor",
    "special_xlogy.other_scalar_out": "xlogy.OutScalar_Other",
    "special_xlogy.self_scalar_out": "xlogy.OutScalar_Self",
    "zero.out": "positive.out",
}.items():
    add(name, *CALLS[f"aten::{original}"])
CALLS["aten::special_round.out"] = [(*call, 0) for call in CALLS["aten::round.out"]]
CALLS["aten::_aminmax.dim_out"] = [(X, 1, False), (X, 0, True)]
add("_aminmax.out", (X,))

# Elementwise
add("_add_relu.out", (X, Y, 1), (X, V, 2))
add("angle.out special_entr.out special_ndtr.out", (X,), (SPECIAL,))
add("complex.out", (X, Y))
add("polar.out", (POSITIVE, Y))
add("logaddexp2.out", (X, Y), (X, V), (T(8, 1, domain="special"), SPECIAL))
add("special_xlog1py.out", (X, POSITIVE))
add("isin.Scalar_Tensor_out", (1, X, False, False))
add("nanmean.out", (X, [1], False, None), (T(2, 8, domain="special"), [0], False, None))
add("_safe_softmax.out", (X, 1, None), (T(2, 1, domain="special"), 1, None), (X, 0, None))

# Products
add("dot.out vdot.out", (T(5), T(5, seed=1)))
add("mv.out", (X, V))
add("addmv.out", (T(2), X, V, 2, 3))
add("addr.out", (X, T(2), V, 1, 2), (T(2, 1), T(2), V, 2, 3))
add("ger.out outer.out", (T(2), V))
add("addbmm.out", (T(2, 4), T(3, 2, 5), T(3, 5, 4), 1, 2))
add("inner.out", (X, Y), (T(2, 2, 3), V))
add("matmul.out linalg_matmul.out", (X, T(3, 4)), (V, V), (T(2, 2, 3), V), (T(2, 1, 2, 3), T(2, 3, 2)), (V, T(2, 3, 2)))
add("linalg_vecdot.out", (X, Y, 1), (T(2, 5, 3), T(5, 1), 1))
add("_int_mm.out", (T(20, 16), T(16, 8)))
add("mm.dtype_out", (X, T(3, 4), "float32"))
add("bmm.dtype_out", (T(2, 3, 4), T(2, 4, 2), "float32"))
add("addmm.dtype_out", (T(2, 4), X, T(3, 4), "float32", 1, 1))
add("baddbmm.dtype_out", (T(2, 3, 2), T(2, 3, 4), T(2, 4, 2), "float32", 1, 1))
add("_addmm_activation.out", (T(4), X, T(3, 4), 1, 1, False))
add("conv_tbc.out", (T(5, 2, 3), T(2, 3, 4), T(4), 1), (T(5, 2, 3), T(2, 3, 4), L([1, -2, 3, 4]), 1))
add("_convolution.out", (T(1, 2, 5), T(3, 2, 3), T(3), [1], [1], [1], False, [0], 1, False, False, False, False))

# Attention
Q, K, K3, MASK = T(1, 2, 3, 4), T(1, 2, 5, 4, seed=1), T(1, 2, 3, 4, seed=1), T(3, 5, seed=2)
add(
    "scaled_dot_product_attention.out",
    (Q, K, K, None, 0.0, False, None, False),
    (Q, K, K, MASK, 0.0, False, 0.5, False),
    (Q, Q, K3, None, 0.0, True, 0.3, False),
    (Q, K, K, M([[True, False, True, True, False], [False] * 5, [True] * 5]), 0.0, False, None, False),
    (T(1, 4, 3, 4), K, K, None, 0.0, False, None, True),
    (T(2, 1, 3, 4), T(2, 5, 4), T(1, 2, 5, 4), None, 0.0, False, None, False),
    (T(3, 4), T(5, 4, seed=1), T(5, 2, seed=1), T(1, 5), 0.0, False, None, False),
    (Q, K, K, MASK, 0.0, True, None, False),
)
add(
    "_scaled_dot_product_attention_math.out",
    (Q, K, K, None, 0.0, False, None, None, False),
    (Q, K, K, MASK, 0.0, False, None, None, False),
    *[
        (Q, K, K, mask, 0.0, False, None, None, False)
        for mask in (M([[True, False, True, True, False]]), L([[1, 0, 2, 0, -1]]), Array((3, 5), "float64"))
    ],
    *[(Q, K, T(*batch, 2, 5, 4, seed=1), None, 0.0, False, None, None, False) for batch in ((2,), (2, 1))],
    *[(Q, Array((1, 2, 5, 4), dtype), K, None, -1.0, False, None, None, False) for dtype in ("int32", "bool")],
)
add(
    "_scaled_dot_product_flash_attention_for_cpu.out",
    (Q, K, K, 0.0, False, None, None),
    (Q, K, K, 0.0, False, MASK, None),
)

# Norms, pools and resizing
STATISTICS = T(3, domain="positive")
add("_batch_norm_with_update.out _batch_norm_no_update.out", (T(2, 3, 4), V, V, V, STATISTICS, 0.1, 1e-5))
add("avg_pool1d.out", (T(1, 2, 6), [3], [2], [1], False, True))
VOLUME = T(1, 2, 3, 4, 4)
add(
    "avg_pool3d.out",
    (VOLUME, [2, 2, 2], [1, 2, 2], [0, 1, 1], False, True, None),
    (VOLUME, [2, 2, 3], [2, 2, 1], [1, 0, 1], True, False, None),
    (VOLUME, [2, 2, 3], [2, 2, 1], [1, 0, 1], True, True, 5),
)
add("adaptive_avg_pool1d.out", (T(2, 7), [3]))
add("_adaptive_avg_pool3d.out adaptive_avg_pool3d.out adaptive_max_pool3d.out", (T(1, 2, 3, 4, 5), [2, 2, 3]))
add(
    "max_pool3d_with_indices.out",
    (VOLUME, [2, 2, 2], [1, 2, 2], [0, 1, 1], [1, 1, 1], False),
    (VOLUME, [2, 2, 2], [2, 2, 1], [1, 0, 1], [1, 2, 2], True),
)
for name in ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"):
    dims = 2 if name.endswith("2d") else int(name[-2])
    grid, sizes = T(1, 2, *(3, 4, 5)[:dims]), [5, 3, 7][:dims]
    CALLS[f"aten::{name}.out"] = [(grid, sizes, corners, *[None] * dims) for corners in (False, True)]
CALLS["aten::upsample_bilinear2d.out"] += [(T(1, 2, 3, 4), [6, 8], False, h, 2.0) for h in (2.1, float("nan"))]
add("_upsample_bicubic2d_aa.out", *[(T(1, 2, 6, 7), [3, 9], corners, None, None) for corners in (False, True)])
for kind in ("upsample_nearest", "_upsample_nearest_exact"):
    for dims in (1, 2, 3):
        add(f"{kind}{dims}d.out", (T(1, 2, *(3, 4, 5)[:dims]), [5, 3, 7][:dims], *[None] * dims))

# Losses
REDUCTIONS = (1, 0, 2)  # mean, none, sum
add("mse_loss.out soft_margin_loss.out", *[(X, Y, reduction) for reduction in REDUCTIONS])
add("smooth_l1_loss.out huber_loss.out", (X, Y, 1, 0.5), (X, Y, 0, 1.0), (X, Y, 2, 0.7))
add(
    "binary_cross_entropy.out",
    (FRACTIONS, FRACTIONS, None, 1),
    *[(FRACTIONS, T(2, 3, seed=1, domain="fraction"), V, reduction) for reduction in REDUCTIONS],
    # Broadcast without the dims of size 1; as many losses as there are probabilities.
    *[
        (T(*sizes, domain="fraction"), T(*others, seed=1, domain="fraction"), None, reduction)
        for sizes, others in (((2, 3), (3,)), ((3,), (2, 3)), ((2, 3, 1), (2, 3)), ((2, 3), (2, 2, 3)))
        for reduction in REDUCTIONS
    ],
)
add(
    "binary_cross_entropy_with_logits.out",
    (X, FRACTIONS, V, None, 1),
    (X, FRACTIONS, None, None, 0),
    *[(X, FRACTIONS, V, STATISTICS, reduction) for reduction in REDUCTIONS],
    *[(T(*sizes), FRACTIONS, V, None, reduction) for sizes in ((3,), (2, 1)) for reduction in REDUCTIONS],
    *[
        (F([[-1, 0.5, 2], [1, -2, 3]]), Array((2, 3), "complex64"), weight, None, reduction)
        for weight in (None, F([1, 2, 3]))
        for reduction in REDUCTIONS
    ],
)
add(
    "nll_loss.out nll_loss_forward.output",
    *[(T(4, 3), L([2, 0, -100, 1]), STATISTICS, reduction, -100) for reduction in REDUCTIONS],
)
add(
    "nll_loss2d.out nll_loss2d_forward.output",
    *[(T(1, 3, 2, 2), L([[[0, 2], [1, 1]]]), None, reduction, 1) for reduction in REDUCTIONS],
)

# Indices and embeddings
add("nonzero_static.out", (X, 7, -1), (X, 2, -1))
ROWS = L([1, 2, 4, 2, 0])
BAGS = [
    (T(5, 4), ROWS, L([0, 3, 3, *[5] * last]), False, mode, False, None, last, padding)
    for mode in (0, 1, 2) for padding in (-1, 2) for last in (False, True)
]  # fmt: skip
WEIGHTED = (T(5, 4), ROWS, L([0, 3]), False, 0, False, T(5, seed=1), False, -1)
LESS_THAN_ALL = [(T(5, 4), ROWS, L([0, 2, 3]), False, mode, False, None, True, padding)
                 for mode in (0, 1, 2) for padding in (-1, 2)]  # fmt: skip
add(
    "_embedding_bag.out _embedding_bag_forward_only.out",
    *BAGS,
    WEIGHTED,
    *LESS_THAN_ALL,
    (T(5, 4), M([True, False, True]), L([0, 2]), False, 0, False, None, False, -1),
    (T(5, 4), ROWS, M([False, True, True]), False, 2, False, None, False, -1),
    (T(5, 4), L([[1], [2], [4]]), L([0, 2]), False, 1, False, None, False, -1),
    (T(5, 0), ROWS, L([0, 3]), False, 0, False, None, False, -1),
)

# Creation and chance
add("range.out", (1, 5, 2))
for window in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
    add(f"{window}_window.out", (6,))
    add(f"{window}_window.periodic_out", (6, False))
add("hamming_window.periodic_alpha_out", (6, True, 0.5))
add("hamming_window.periodic_alpha_beta_out", (6, True, 0.5, 0.4))
add("kaiser_window.beta_out", (6, False, 8.0))
add("randint.generator_out", (9, [2, 3], None))
add("randint.low_generator_out", (1, 9, [2, 3], None))
add("randint_like.out", (X, 9, None))
add("randint_like.low_dtype_out", (X, 1, 9, None))
add("randperm.generator_out", (5, None))
add("bernoulli.Tensor_out", (X, FRACTIONS, None))
add("exponential.out", (X, 1.0, None))
add("poisson.out", (POSITIVE, None))
add("multinomial.out", (POSITIVE, 2, True, None))
add("normal.Tensor_Tensor_out", (X, POSITIVE, None))
add("normal.Tensor_float_out", (X, 1.0, None))
add("normal.float_Tensor_out", (0.0, POSITIVE, None))

# Sliding blocks of images
add("im2col.out", (T(1, 2, 4, 5), [2, 2], [1, 2], [1, 0], [1, 2]))
add("col2im.out", (T(1, 8, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]))
add("max_unpool2d.out", (T(1, 2, 1, 2), L([[[[0, 5]], [[3, 1]]]]), [2, 3]))
add("renorm.out", (T(2, 3), 2, 0, 1), (T(2, 3), 1, 1, 2.5))
