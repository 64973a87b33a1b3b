"""Calls of the operators that exporters write.

Arguments are in schema order, without the out arguments; sample_arguments.py says how they are written.
"""

from __future__ import annotations

from builder import OptionalTensors

from .sample_arguments import Array, L, M, T, add

X, Y, V = T(2, 3), T(2, 3, seed=1), T(3, seed=2)
UNIT, POSITIVE = T(2, 3, domain="unit"), T(2, 3, domain="positive")
VECTOR, MATRIX, CUBE, IMAGE = T(5), T(3, 4), T(2, 3, 4), T(1, 2, 4, 5)
MASK = M([[True, False, True], [False, False, True]])

# Functions of one element
add(
    "abs.out alias_copy.out atan.out asinh.out ceil.out conj_physical.out _conj_physical.out cos.out cosh.out "
    "deg2rad.out detach_copy.out erf.out erfc.out exp.out exp2.out expm1.out fix.out floor.out frac.out "
    "i0.out isfinite.out isinf.out isnan.out isneginf.out isposinf.out lift_fresh_copy.out log_sigmoid.out "
    "log_sigmoid_forward.output logical_not.out mish.out hardswish.out hardsigmoid.out neg.out positive.out "
    "rad2deg.out "
    "reciprocal.out relu.out relu6.out round.out selu.out sgn.out sigmoid.out sign.out signbit.out silu.out sin.out "
    "sinc.out sinh.out square.out tan.out tanh.out trunc.out bitwise_not.out zero_ et_copy::_h2d_copy.out "
    "et_copy::_d2h_copy.out",
    (X,),
)
add("acos.out asin.out atanh.out erfinv.out", (UNIT,))
add("acosh.out digamma.out lgamma.out log.out log10.out log1p.out log2.out rsqrt.out sqrt.out", (POSITIVE,))
add("gelu.out", (X, "none"), (X, "tanh"))
add("elu.out", (X, 1.5, 1.0, 1.0))
add("celu.out", (X, 1.5))
add("leaky_relu.out", (X, 0.25))
add("hardtanh.out", (X, -1, 2))
add("hardshrink.out softshrink.out", (X, 0.5))
add("softplus.out", (X, 1, 20), (X, 2.0, 3.0))
add("threshold.out", (X, 0.5, 2))
add("logit.out", (UNIT, 0.1))
add("glu.out", (T(2, 4), 1), (T(4, 2), -2))
add("nan_to_num.out", (T(4, values=[1, 0, 2, 3]), 0.0, None, None))
add("round.decimals_out", (X, 0), (X, -1))

# Functions of two
ARITHMETIC = [(X, Y, 1), (X, V, 2), (T(), Y, 1)]
add("add.out sub.out subtract.out rsub.Tensor_out", *ARITHMETIC)
add("add.Scalar_out sub.Scalar_out rsub.Scalar_out", (X, 2, 1), (X, 3, 2))
add(
    "mul.out multiply.out atan2.out maximum.out minimum.out max.out min.out fmax.out fmin.out logical_and.out "
    "logical_or.out logical_xor.out eq.Tensor_out ne.Tensor_out lt.Tensor_out le.Tensor_out gt.Tensor_out "
    "ge.Tensor_out gcd.out lcm.out bitwise_and.Tensor_out bitwise_or.Tensor_out bitwise_xor.Tensor_out copysign.out "
    "hypot.out nextafter.out logaddexp.out",
    (X, Y),
    (X, V),
    (X, T()),
)
add("mul.Scalar_out bitwise_and.Scalar_out bitwise_or.Scalar_out bitwise_xor.Scalar_out copysign.Scalar_out", (X, 3))
add("eq.Scalar_out ne.Scalar_out lt.Scalar_out le.Scalar_out gt.Scalar_out ge.Scalar_out", (X, 1), (X, 0.5))
add("div.out divide.out true_divide.out floor_divide.out fmod.Tensor_out remainder.Tensor_out", (X, POSITIVE))
add("div.out_mode divide.out_mode", (X, POSITIVE, "floor"), (X, POSITIVE, "trunc"), (X, POSITIVE, None))
add("div.Scalar_out floor_divide.Scalar_out fmod.Scalar_out remainder.Scalar_out", (X, 2))
add("div.Scalar_mode_out", (X, 2, "floor"), (X, 2, "trunc"), (X, 2, None))
add("remainder.Scalar_Tensor_out", (5, POSITIVE))
add("pow.Tensor_Tensor_out float_power.Tensor_Tensor_out", (POSITIVE, T(3, values=[0, 1, 2])))
add("pow.Tensor_Scalar_out float_power.Tensor_Scalar_out", (X, 2), (X, 3))
add("pow.Scalar_out float_power.Scalar_out", (2, T(3, values=[0, 1, 3])))
SHIFTS = T(3, values=[0, 1, 2])
add(
    "bitwise_left_shift.Tensor_out bitwise_right_shift.Tensor_out __lshift__.Tensor_out __rshift__.Tensor_out",
    (X, SHIFTS),
)
add("bitwise_left_shift.Tensor_Scalar_out bitwise_right_shift.Tensor_Scalar_out", (X, 2))
add("__lshift__.Scalar_out __rshift__.Scalar_out", (X, 1))
add("bitwise_left_shift.Scalar_Tensor_out bitwise_right_shift.Scalar_Tensor_out", (8, SHIFTS))
add("bitwise_and.Scalar_Tensor_out bitwise_or.Scalar_Tensor_out bitwise_xor.Scalar_Tensor_out", (6, X))
add("heaviside.out", (X, Y))
add("xlogy.OutTensor", (X, POSITIVE))
add("xlogy.OutScalar_Self", (2, POSITIVE))
add("xlogy.OutScalar_Other", (X, 2))
add("isclose.out", (X, Y, 1e-5, 1e-8, False))
add("allclose.out allclose.Tensor", (X, X, 1e-5, 1e-8, False, False), (X, Y, 1e-5, 1e-8, False, False))
add("dist.out", (X, Y, 2))

# Functions of three
add("addcmul.out", (X, Y, POSITIVE, 2))
add("addcdiv.out", (X, Y, POSITIVE, 1))
add("lerp.Scalar_out", (X, Y, 0.25))
add("lerp.Tensor_out", (X, Y, UNIT))
add("clamp.out clip.out", (X, -1, 2), (X, None, 1), (X, 1, None))
add("clamp.Tensor_out clip.Tensor_out", (X, T(values=[0]), POSITIVE), (X, None, Y))
add("clamp_min.out clamp_max.out", (X, 1))
add("clamp_min.Tensor_out clamp_max.Tensor_out", (X, V))
add("where.self_out", (MASK, X, Y), (MASK, V, X))

# Reductions
add("sum.out", (X, None))
add("sum.IntList_out mean.out nansum.out", (X, [1], False, None), (X, [0], True, None), (CUBE, [0, -1], False, None))
add("mean.dtype_out", (X, None))
add("prod.out", (X, None))
add("prod.int_out", (X, 1, False, None))
add("amax.out amin.out", (X, [1], False), (CUBE, [0, 2], True))
add("aminmax.out", (X, 1, False), (X, None, False))
add("max.dim_max min.dim_min median.dim_values nanmedian.dim_values mode.values", (X, 1, False), (X, 0, True))
add("max.unary_out min.unary_out median.out nanmedian.out", (T(7),))
add("argmax.out argmin.out", (X, 1, False), (X, None, False))
add("any.all_out all.all_out", (X,))
add("any.out all.out", (X, 1, False))
add("any.dims_out all.dims_out", (CUBE, [0, 1], False), (CUBE, None, True))
add("var.correction_out std.correction_out", (X, [1], 1, False), (X, None, 0, True))
add("var_mean.correction_out std_mean.correction_out", (X, [1], 1, False))
add("var.out std.out", (X, [1], True, False))
add("norm.Scalar_out", (X, 2))
add("norm.out", (X, 2, [1], False), (X, 1, [0], True))
add("norm.dtype_out", (X, 2, [1], False, "float32"))
add("norm.ScalarOpt_dtype_out", (X, 2, "float32"))
add("linalg_vector_norm.out", (X, 2, [1], False, None), (X, 3, None, False, None))
add("logsumexp.out", (X, [1], False))
add("count_nonzero.out", (X, 1))
add("count_nonzero.dim_IntList_out", (CUBE, [0, 2]))
add("cumsum.out cumprod.out", (X, 1, None), (X, 0, None))
add("cummax.out cummin.out", (X, 1))
add("logcumsumexp.out", (X, 1))
add("_softmax.out _log_softmax.out", (X, 1, False), (CUBE, 1, False))
add("softmax.int_out log_softmax.int_out", (X, 1, None))

# Products
add("mm.out", (T(2, 3), T(3, 4)))
add("bmm.out", (T(2, 3, 4), T(2, 4, 2)))
add("addmm.out", (T(4), T(2, 3), T(3, 4), 1, 1), (T(2, 4), T(2, 3), T(3, 4), 2, 3))
add("baddbmm.out", (T(2, 3, 2), T(2, 3, 4), T(2, 4, 2), 1, 1), (T(3, 1), T(2, 3, 4), T(2, 4, 2), 2, 1))
add("linear.out", (T(2, 3), T(4, 3), T(4)), (T(2, 2, 3), T(4, 3), None), (T(2, 2, 3), T(3), None),
    *[(T(2, 3), T(4, 3), T(*bias)) for bias in ((2, 4), (1, 4), (2, 1), (1,), ())],
    (T(3), T(4, 3), T(1, 4)))  # fmt: skip

# Convolutions
add(
    "convolution.out",
    (T(1, 2, 4), T(3, 2, 3), T(3), [1], [1], [1], False, [0], 1),
    (T(1, 2, 4, 5), T(4, 1, 3, 2), None, [2, 1], [1, 0], [1, 2], False, [0, 0], 2),
    (T(1, 2, 3, 3), T(2, 2, 2, 2), T(2), [2, 2], [1, 0], [1, 1], True, [1, 0], 1),
    (T(1, 1, 3, 3, 3), T(2, 1, 2, 2, 2), None, [1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1),
    (T(1, 2, 4), T(3, 2, 3), L([3, -1, 2]), [1], [1], [1], False, [0], 1),
    (T(1, 2, 4), T(3, 2, 3), Array((3,), "float16"), [1], [1], [1], False, [0], 1),
    (T(1, 2, 3, 3), T(2, 2, 2, 2), M([True, False]), [2, 2], [1, 0], [1, 1], True, [1, 0], 1),
)
add("conv1d.out", (T(1, 2, 4), T(3, 2, 3), T(3), [1], [1], [1], 1))
add("conv2d.out", (T(1, 2, 4, 5), T(4, 1, 3, 2), None, [2, 1], [1, 0], [1, 2], 2))
add("conv3d.out", (T(1, 1, 3, 3, 3), T(2, 1, 2, 2, 2), T(2), [1, 1, 1], [0, 0, 0], [1, 1, 1], 1))
add(
    "convolution_backward.out",
    (T(1, 3, 4), T(1, 2, 4), T(3, 2, 3), [3], [1], [1], [1], False, [0], 1, [True, True, True]),
    (T(1, 4, 2, 3), T(1, 2, 4, 5), T(4, 1, 2, 3), [4], [2, 1], [0, 0], [1, 1], False, [0, 0], 2, [True, True, True]),
)

# Pools and resampling
add(
    "avg_pool2d.out",
    (IMAGE, [2, 2], [2, 2], [0, 0], False, True, None),
    (IMAGE, [3, 2], [1, 2], [1, 1], True, False, None),
)
add("_adaptive_avg_pool2d.out adaptive_avg_pool2d.out adaptive_max_pool2d.out", (IMAGE, [2, 3]))
add("max_pool2d_with_indices.out", (IMAGE, [2, 2], [2, 1], [1, 0], [1, 1], False))
add(
    "max_pool2d_with_indices_backward.grad_input",
    (T(1, 2, 2, 2), IMAGE, [2, 2], [2, 2], [0, 0], [1, 1], False, L([[[[0, 2], [10, 12]], [[1, 8], [16, 13]]]])),
)
add("upsample_bilinear2d.vec_out", (IMAGE, [6, 7], False, None), (IMAGE, None, True, [2.0, 1.5]))
add("upsample_nearest2d.vec_out", (IMAGE, [6, 7], None), (IMAGE, None, [2.0, 1.5]))
add("_upsample_bilinear2d_aa.out", (IMAGE, [2, 3], False, None, None))
add(
    "grid_sampler_2d.out",
    (IMAGE, T(1, 2, 3, 2, domain="unit"), 0, 0, False),
    (IMAGE, T(1, 2, 3, 2, domain="unit"), 1, 1, True),
)
add("pixel_shuffle.out", (T(1, 4, 2, 3), 2))
add("pixel_unshuffle.out", (T(1, 1, 4, 6), 2))
add("channel_shuffle.out", (T(1, 4, 2, 3), 2))
for dims in (1, 2, 3):
    padding, shape = [1, 2][: 2 * dims] + [1, 1] * (dims - 1), (2,) + (3,) * dims
    add(f"reflection_pad{dims}d.out replication_pad{dims}d.out", (T(*shape), padding))
add("constant_pad_nd.out", (X, [1, 2], 1), (X, [0, 1, -1, 0], 0))

# Norms and distances
add("native_layer_norm.out", (CUBE, [4], T(4), T(4), 1e-5), (CUBE, [3, 4], None, None, 1e-5))
add("rms_norm.out", (X, [3], T(3), 1e-5))
add("_fused_rms_norm.out", (X, [3], T(3), 1e-5))
add("native_group_norm.out", (T(2, 4, 3), T(4), T(4), 2, 4, 3, 2, 1e-5))
STATISTICS = T(3, domain="positive")
add(
    "native_batch_norm.out",
    (CUBE, V, V, V, STATISTICS, False, 0.1, 1e-5),
    (CUBE, None, None, None, None, True, 0.1, 1e-5),
)
add("_native_batch_norm_legit_no_training.out", (CUBE, V, V, V, STATISTICS, 0.1, 1e-5))
add("_native_batch_norm_legit.out", (CUBE, V, V, V, STATISTICS, False, 0.1, 1e-5))
add("_native_batch_norm_legit.no_stats_out", (CUBE, V, V, True, 0.1, 1e-5))
add("_cdist_forward.out", (T(2, 3), T(4, 3), 2.0, None), (T(2, 3), T(4, 3), 1.0, None))
add("_pdist_forward.out", (T(4, 3), 2.0), (T(4, 3), 1.0))

# Fourier transforms
add("_fft_r2c.out", (T(3, 6), [1], 0, True), (T(3, 4), [0, 1], 1, False), (T(3, 6), [1], 5, True))
add("_fft_c2r.out", (T(3, 4), [1], 2, 6), (T(3, 4), [1], -1, 6))
add("_fft_c2c.out", (T(3, 4), [0, 1], 1, True), (T(5), [0], 2, False), (T(5), [0], 100, False),
    (T(3, 4), [], 1, True))  # fmt: skip

# Movement
add("permute_copy.out", (CUBE, [2, 0, 1]))
add("transpose_copy.int_out", (CUBE, 0, -1))
add("t_copy.out", (X,))
add("view_copy.out", (X, [3, 2]), (X, [-1]))
add("_unsafe_view.out", (X, [3, 2]))
add("_reshape_alias_copy.out", (X, [3, 2], [2, 1]), (X, [3, 2], [1, 3]), (X, [2, 2], [0, 1]))
add("view_copy.dtype_out", (X, "uint8"))
add("view_as_real_copy.out", (X,))
add("view_as_complex_copy.out", (T(3, 2),))
add("expand_copy.out", (V, [2, 3], False), (T(2, 1), [4, -1, 3], False))
add("squeeze_copy.out", (T(1, 2, 1, 3),))
add("squeeze_copy.dim_out", (T(1, 2, 1, 3), 2))
add("squeeze_copy.dims_out", (T(1, 2, 1, 3), [0, 2]))
add("unsqueeze_copy.out", (X, 1))
add("unbind_copy.int_out", (X, 0))
add("split_copy.Tensor_out unsafe_split.Tensor_out", (T(5, 2), 2, 0))
add("split_with_sizes_copy.out unsafe_split_with_sizes.out", (T(5, 2), [1, 4], 0))
add("slice_copy.Tensor_out", (CUBE, 2, 1, 4, 2), (CUBE, 0, None, None, 1))
add("slice_scatter.out", (T(4, 3), T(2, 3, seed=3), 0, 0, 4, 2))
add("select_copy.int_out", (CUBE, 1, -1))
add("select_scatter.out", (X, T(2, seed=3), 1, 0))
add("narrow_copy.out", (CUBE, 1, 1, 2))
add("diagonal_copy.out", (MATRIX, 1, 0, 1))
add("diagonal_scatter.out", (MATRIX, T(3, seed=3), 0, 0, 1))
add("diag_embed.out", (X, 1, 0, -1))
add("as_strided_copy.out", (T(3, 4), [2, 2], [4, 1], 1))
add("as_strided_scatter.out", (T(3, 4), T(2, 2, seed=3), [2, 2], [4, 1], 1))
add("unfold_copy.out", (T(2, 5), 1, 3, 2))
add("cat.out", ([X, Y], 0), ([X, T(2, 1)], -1))
add("stack.out", ([X, Y], 1))
add("block_diag.out", ([X, T(1, 2)],))
add("flip.out", (CUBE, [0, 2]))
add("roll.out", (X, [1], [1]), (X, [2], []))
add("rot90.out", (X, 1, [0, 1]))
add("repeat.out", (X, [2, 1, 2]))
add("repeat_interleave.Tensor_out", (T(3, values=[1, 0, 2]), None))
add("tril.out triu.out", (MATRIX, 0), (MATRIX, -1))
add("copy.out copy_", (X, Y, False), (X, V, False))
add("clone.out", (X, None))
add("_to_copy.out", (X, False, None))
add("dim_order_ops::_clone_dim_order.out dim_order_ops::_to_dim_order_copy.out", (X, False, [0, 1]))

# Indices
add(
    "index.Tensor_out",
    (MATRIX, OptionalTensors([L([2, 0, -1])])),
    (MATRIX, OptionalTensors([None, M([True, False, True, False])])),
)
add(
    "index_put.out index_put_",
    (MATRIX, OptionalTensors([L([2, 0])]), T(2, 4, seed=3), False),
    (MATRIX, OptionalTensors([L([1, 1])]), T(4, seed=3), True),
)
add("_index_put_impl.out", (MATRIX, OptionalTensors([L([2, 0])]), T(2, 4, seed=3), False, False))
add("index_select.out", (MATRIX, 1, L([3, 0])))
add("index_add.out", (MATRIX, 0, L([1, 1]), T(2, 4, seed=3), 2))
add("index_copy.out", (MATRIX, 0, L([2, 0]), T(2, 4, seed=3)))
add("index_fill.int_Scalar_out", (MATRIX, 1, L([0, 2]), 1))
add("index_fill.int_Tensor_out", (MATRIX, 1, L([0, 2]), T(values=[1])))
add("embedding.out", (MATRIX, L([[2, 0], [1, 1]]), -1, False, False))
INDEX = L([[2, 0, 1], [0, 0, 2]])
add("gather.out", (T(3, 3), 0, INDEX, False))
add("scatter.src_out scatter_add.out", (T(3, 3), 0, INDEX, T(2, 3, seed=3)))
add("scatter.value_out", (T(3, 3), 1, INDEX, 1))
add("scatter.reduce_out", (T(3, 3), 1, INDEX, T(2, 3, seed=3), "add"), (T(3, 3), 1, INDEX, T(2, 3, seed=3), "multiply"))
add("scatter.value_reduce_out", (T(3, 3), 1, INDEX, 2, "multiply"))
add(
    "scatter_reduce.two_out",
    *[(T(3, 3), 0, INDEX, T(2, 3, seed=3), how, True) for how in ("sum", "prod", "mean", "amax", "amin")],
)
add("take.out", (MATRIX, L([[0, 11], [5, -1]])))
add("put.out", (MATRIX, L([0, 7]), T(2, seed=3), False))
add("masked_fill.Scalar_out masked_fill_.Scalar", (X, MASK, 1))
add("masked_fill.Tensor_out masked_fill_.Tensor", (X, MASK, T(values=[1])))
add("masked_select.out", (X, MASK))
add("masked_scatter.out", (X, MASK, T(4, seed=3)))
add("nonzero.out", (X,))

# Order
add("sort.values", (X, 1, True), (X, 0, False))
add("sort.values_stable", (X, True, 1, False))
add("argsort.out", (X, 1, True))
add("argsort.stable_out", (X, True, 1, False))
add("topk.values", (T(2, 5), 3, 1, True, True))
add("kthvalue.values", (T(2, 3, values=[1, 0, 3, 2, 5, 7]), 2, 1, False))
SORTED = T(4, domain="sorted")
add("searchsorted.Tensor_out", (SORTED, X, False, False, None, None), (SORTED, X, True, True, None, None))
add("searchsorted.Scalar_out", (SORTED, 2, False, False, None, None))
add("bucketize.Tensor_out", (X, SORTED, False, False), (X, SORTED, True, True))
add("bucketize.Scalar_out", (2, SORTED, False, False))
add("_unique.out", (X, True, True))
add("_unique2.out", (X, True, True, True))
add("unique_consecutive.out", (T(5, values=[1, 1, 0, 0, 1]), True, True, None))
add("unique_dim.out", (T(3, 2, values=[1, 0, 0, 1, 1, 0]), 0, True, True, True))
add("unique_dim_consecutive.out", (T(4, 2, values=[1, 0, 1, 0, 0, 1, 1, 0]), 0, True, True),
    (T(1, 3, values=[1, 1, 0]), -1, False, False))  # fmt: skip
add("isin.Tensor_Tensor_out", (X, V, False, False))
add("isin.Tensor_Scalar_out", (X, 1, False, True))
add("histc.out", (X, 4, -2, 2))
add("bincount.out", (T(5, values=[1, 0, 3, 1, 1]), None, 5))

# Creation: the out's dtype is the one in question
add("zeros.out ones.out", ([2, 3],))
add("empty.out", ([2, 3], None))
add("full.out", ([2, 3], 1))
add("arange.out", (5,))
add("arange.start_out", (1, 7, 2))
add("linspace.out", (0, 4, 5))
add("fft_fftfreq.out", (5, 0.5))
add("fft_rfftfreq.out", (6, 0.5))
add("logspace.out", (0, 2, 3, 2.0))
add("eye.out", (3,))
add("eye.m_out", (2, 3))
add("scalar_tensor.out", (1,))
add("tril_indices.out triu_indices.out", (3, 3, 0))
add("empty_permuted.out", ([2, 3], [1, 0]))
add("empty_strided.out", ([2, 3], [3, 1]))
add("dim_order_ops::_empty_dim_order.out", ([2, 3], [0, 1]))
add("zeros_like.out ones_like.out empty_like.out", (X, None))
add("full_like.out", (X, 1, None))
add("new_zeros.out new_ones.out new_empty.out", (X, [2, 2]))
add("new_full.out", (X, [2, 2], 1))
add("fill.Scalar_out fill_.Scalar", (X, 1))
add("fill.Tensor_out fill_.Tensor", (X, T(values=[1])))
add("rand.out randn.out", ([2, 3],))
add("rand.generator_out randn.generator_out", ([2, 3], None))
add("rand_like.out randn_like.out", (X, None))
add("randint.out", (9, [2, 3]))
add("randint.low_out", (1, 9, [2, 3]))
add("randperm.out", (5,))
add("bernoulli.out", (T(4, values=[0, 1, 0, 1]), None))
add("bernoulli.float_out", (X, 0.5, None))
add("normal.float_float_out", (0.0, 1.0, [2, 3], None))
add("normal.out", (X, 0.0, 1.0, None))
add("uniform.out", (X, 0.0, 1.0, None))
add("native_dropout.out", (X, 0.5, True))
