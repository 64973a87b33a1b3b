"""Arguments that PyTorch eager refuses are refused by name, with what was expected and what was given."""

from __future__ import annotations

import re
from typing import Any

import pytest

import executorch_numpy_runtime as en
from builder import OptionalTensors

from .sample_arguments import Array, T
from .test_eager_answers import run

SCALAR: Any = [["float32", [], []]]
PAIR: Any = [["float32", [], []], ["float32", [], []]]
DOUBLES = Array((2, 3), "float64", domain="fraction")
COMPLEX = Array((2, 3), "complex64")
FRACTIONS = T(2, 3, domain="fraction")
BAGS: Any = [["float32", [2, 4], []], ["int64", [0], []], ["int64", [2], []], ["int64", [2], []]]
NORM: Any = [["float32", [2, 4], []], ["float32", [2, 1], []], ["float32", [2, 1], []]]
CLASSES = Array((2,), "int64", (0, 2))
ROWS = T(1, 2, 3, 4)
FLASH: Any = [["float32", [1, 2, 3, 4], []], ["float32", [1, 2, 3], []]]

REFUSED: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("binary_cross_entropy.out", (DOUBLES, FRACTIONS, None, 1), [["float64", [], []]],
     "target: expected float64, got float32"),
    ("binary_cross_entropy.out", (FRACTIONS, DOUBLES, None, 1), [["float64", [], []]],
     "target: expected float32, got float64"),
    ("binary_cross_entropy.out", (FRACTIONS, FRACTIONS, COMPLEX, 1), SCALAR, "weight: expected a real dtype, got"),
    ("binary_cross_entropy.out", (T(2, 3, values=[float("nan")] * 6), FRACTIONS, None, 1), SCALAR,
     "self: expected numbers from 0 to 1, got nan"),
    ("binary_cross_entropy_with_logits.out", (Array((2, 3), "int64"), FRACTIONS, None, None, 1), SCALAR,
     "self: expected a floating dtype, got int64"),
    ("binary_cross_entropy_with_logits.out", (T(2, 3), FRACTIONS, None, Array((3,), "bool"), 1), SCALAR,
     "pos_weight: expected"),
    ("binary_cross_entropy_with_logits.out", (T(2, 3), T(3), None, None, 1), SCALAR,
     "self: expected a shape that broadcasts to [3], got [2, 3]"),
    ("nll_loss_forward.output", (T(2, 3), CLASSES, Array((3,), "int64"), 1, -100), PAIR,
     "weight: expected float32, got int64"),
    ("nll_loss.out", (T(2, 3), CLASSES, Array((3,), "float64"), 1, -100), SCALAR,
     "weight: expected float32, got float64"),
    ("soft_margin_loss.out", (T(3), T(2, 3), 1), SCALAR,
     "target: expected a shape that broadcasts to [3], got [2, 3]"),
    ("soft_margin_loss.out", (T(2, 3), COMPLEX, 1), [["complex64", [], []]], "target: expected a real dtype, got"),
    ("huber_loss.out", (T(2, 3), COMPLEX, 1, 1.0), SCALAR, "target: expected a real dtype, got"),
    ("linalg_lstsq.out", (T(2, 2, 2), T(1, 2), None, None),
     [["float32", [2, 2], []], ["float32", [0], []], ["int64", [2], []], ["float32", [0], []]],
     "b: expected rows and batches as self of shape [2, 2, 2] has, got [1, 2]"),
    ("_fft_r2c.out", (T(3, 6), [], 0, True), [["complex64", [3, 6], []]], "dim: expected at least one dim, got []"),
    ("convolution.out", (T(1, 2, 4), T(3, 2, 3), Array((3,), "complex64"), [1], [1], [1], False, [0], 1),
     [["float32", [1, 3, 4], []]], "bias: expected a real dtype, got complex64"),
    ("linear.out", (T(2, 3), T(4, 3), T(3, 4)), [["float32", [2, 4], []]],
     "bias: expected a shape that broadcasts with [2, 4], got [3, 4]"),
    ("linear.out", (T(2, 3), T(3), T()), [["float32", [2], []]], "weight: expected rank 2, got shape [3]"),
    ("_scaled_dot_product_attention_math.out",
     (T(1, 3, 4), T(1, 5, 4), T(1, 5, 4), T(3, 5), 0.0, True, None, None, False),
     [["float32", [1, 3, 4], []], ["float32", [1, 3, 5], []]],
     "is_causal: expected False beside an attn_mask, got True"),
    ("_embedding_bag.out", (T(5, 4), T(3), CLASSES, False, 0, False, None, False, -1),
     BAGS, "indices: expected"),
    ("_embedding_bag.out",
     (T(5, 4), Array((3,), "bool"), Array((2,), "bool", (0, 1)), False, 0, False, None, False, -1),
     BAGS, "indices: expected"),
    ("native_layer_norm.out", (T(2, 4), [4], Array((4,), "float64"), None, 1e-5), NORM,
     "weight: expected float32, got float64"),
    ("native_layer_norm.out", (Array((2, 4), "float16"), [4], Array((4,), "float64"), None, 1e-5), NORM,
     "weight: expected float16 or float32, got float64"),
    ("native_group_norm.out", (T(2, 4), T(4), Array((4,), "float16"), 2, 4, 1, 1, 1e-5), NORM,
     "bias: expected float32, got float16"),
    ("_native_batch_norm_legit_no_training.out", (T(2, 4), T(4), T(4), Array((4,), "float64"), T(4), 0.1, 1e-5), NORM,
     "running_mean: expected float32, got float64"),
    ("_native_batch_norm_legit.no_stats_out", (T(2, 4), None, Array((4,), "float64"), True, 0.1, 1e-5), NORM,
     "bias: expected float32, got float64"),
    *[(f"{name}.out", (T(1, 0, *(3, 4, 5)[:dims]), [2] * dims, *corners, *[None] * dims),
       [["float32", [1, 0, *[2] * dims], []]], "self: expected channels, got shape [1, 0, 3")
      for name, dims, corners in (("upsample_linear1d", 1, [False]), ("upsample_trilinear3d", 3, [True]),
                                  ("upsample_nearest3d", 3, []), ("upsample_bicubic2d", 2, [False]))],
    ("upsample_bilinear2d.vec_out", (T(1, 0, 3, 4), [2, 2], False, None), [["float32", [1, 0, 2, 2], []]],
     "input: expected channels, got shape [1, 0, 3, 4]"),
    ("ormqr.out", (T(4, 2), T(1), T(4, 3), True, False), [["float32", [4, 3], []]],
     "other: expected sizes that fit self of shape [4, 2], got other [4, 3] and tau [1]"),
    ("empty_strided.out", ([2, 3], [3]), [["float32", [2, 3], []]],
     "stride: expected as many as size [2, 3] has, got [3]"),
    ("empty_strided.out", ([2, 3], [3, -1]), [["float32", [2, 3], []]], "stride: expected at least 0, got [3, -1]"),
    ("empty_permuted.out", ([2, 3], [1]), [["float32", [2, 3], []]],
     "physical_layout: expected as many as size [2, 3] has, got [1]"),
    ("empty_permuted.out", ([2, 3], [1, 1]), [["float32", [2, 3], []]],
     "physical_layout: expected each dim of size [2, 3] once, got [1, 1]"),
    ("_reshape_alias_copy.out", (T(2, 3), [3, 2], [2]), [["float32", [3, 2], []]],
     "stride: expected 2 strides, got [2]"),
    ("_reshape_alias_copy.out", (T(2, 3), [3, -1], [2, 1]), [["float32", [3, 2], []]],
     "size: expected sizes of at least 0, got [3, -1]"),
    ("_trilinear.out", (T(2, 3), T(2, 3), T(2, 3), [], [], [], [1], 2), [["float32", [2], []]],
     "unroll_dim: expected 0 to 1, got 2"),
    ("_trilinear.out", (T(2, 3), T(2, 3), T(2, 3), [], [], [], [1, 1], 1), [["float32", [2], []]],
     "sumdim: expected each dim once, got [1, 1]"),
    ("_trilinear.out", (Array((2, 3), "int64"), T(2, 3), T(2, 3), [], [], [], [1], 1), [["float32", [2], []]],
     "i1: "),
    ("_reshape_alias_copy.out", (T(2, 3), [3, 2], [7, 1]), [["float32", [3, 2], []]],
     "size: expected a window within the storage of 6 elements"),
    ("as_strided_scatter.out", (T(2, 3), T(2, 2), [2, 2], [0, 1], 0), [["float32", [2, 3], []]],
     "stride: expected strides of at least 1, got [0, 1]"),
    ("convolution.out", (T(2, 4), T(3, 2, 3), None, [1], [1], [1], False, [0], 1), [["float32", [3, 4], []]],
     "input: expected rank 3, got shape [2, 4]"),
    ("convolution_backward.out",
     (T(1, 3, 4), T(1, 2, 4), T(3, 2, 3), [3], [1], [1], [1], False, [1], 1, [True, False, False]),
     [["float32", [1, 2, 4], []], ["float32", [0], []], ["float32", [0], []]],
     "output_padding: expected 0 unless transposed, got [1]"),
    ("scaled_dot_product_attention.out", (ROWS, ROWS, ROWS, T(3), 0.0, False, None, False),
     [["float32", [1, 2, 3, 4], []]],
     "attn_mask: expected at least rank 2, got shape [3]"),
    ("scaled_dot_product_attention.out", (T(3, 4), T(3, 4), T(3, 4), T(3, 3), 0.0, True, None, False),
     [["float32", [3, 4], []]], "is_causal: expected False beside an attn_mask, got True"),
    ("_scaled_dot_product_flash_attention_for_cpu.out", (ROWS, ROWS, T(2, 3, 4), 0.0, False, None, None), FLASH,
     "value: expected rank 4, got shape [2, 3, 4]"),
    ("_scaled_dot_product_flash_attention_for_cpu.out", (ROWS, ROWS, T(1, 2, 3, 5), 0.0, False, None, None), FLASH,
     "value: expected a last size of 4 as query has, got shape [1, 2, 3, 5]"),
    ("_scaled_dot_product_flash_attention_for_cpu.out", (ROWS, ROWS, ROWS, 0.0, False, T(2, 3, 3), None), FLASH,
     "attn_mask: expected rank 2 or 4, got shape [2, 3, 3]"),
    ("_embedding_bag.out", (T(5, 4), CLASSES, Array((2,), "int64", (0, 3)), False, 1, False, None, True, -1),
     BAGS, "offsets: expected at most 2 at the end, got 3"),
    ("_embedding_bag.out", (T(5, 4), Array((2, 1, 1), "int64"), CLASSES, False, 0, False, None, False, -1),
     BAGS, "indices: expected rank 1 or 2, got shape [2, 1, 1]"),
    ("index.Tensor_out", (T(2, 3), OptionalTensors([])), [["float32", [2, 3], []]],
     "indices: expected at least one, got none"),
    ("index_fill.int_Tensor_out", (T(2, 3), 0, Array((1,), "int64", (0,)), Array((), "complex64", (1,))),
     [["float32", [2, 3], []]], "value: expected a real dtype, got complex64"),
    ("_native_batch_norm_legit.no_stats_out", (T(0, 3), None, None, True, 0.1, 1e-5), NORM,
     "input: expected elements to take statistics of, got shape [0, 3]"),
    ("_ctc_loss.out", (T(5, 2, 4), Array((3,), "int64", (1, 2, 3)), [5, 5], [1, 1], 0, False),
     [["float32", [2], []], ["float32", [2, 5, 3], []]],
     "targets: expected 2 labels, as target_lengths add up to, got 3"),
    ("_pack_padded_sequence.out", (T(3, 2, 0), Array((2,), "int64", (3, 1)), False),
     [["float32", [4, 0], []], ["int64", [3], []]], "input: expected elements, got shape [3, 2, 0]"),
    ("norm.dtype_out", (DOUBLES, 2, [1], False, "float32"), [["float32", [2], []]],
     "dtype: expected one that holds float64, got float32"),
    ("norm.ScalarOpt_dtype_out", (COMPLEX, 2, "float32"), SCALAR,
     "dtype: expected a complex dtype for self of complex64, got float32"),
    ("linalg_vector_norm.out", (T(2, 3), 2, None, False, "complex64"), SCALAR,
     "dtype: expected a real dtype for self of float32, got complex64"),
    ("histogram.bins_tensor_out", (T(2, 3), T(1), None, False), [["float32", [0], []], ["float32", [1], []]],
     "bins: expected at least two edges, got 1"),
    ("histogram.bin_ct_out", (T(2, 3), 2, None, T(5), False), [["float32", [2], []], ["float32", [3], []]],
     "weight: expected 6 elements as self has, got shape [5]"),
    ("linalg_ldl_solve.out", (T(3, 3), Array((3,), "int32", (1, -2, -9)), T(3, 1), False), [["float32", [3, 1], []]],
     "pivots: expected numbers from 1 to 3, or their negatives, got -9"),
    ("linalg_pinv.atol_rtol_tensor_out", (Array((0, 2), "int64"), None, None, False), [["float32", [2, 0], []]],
     "self: expected a floating dtype, got int64"),
    ("softshrink.out", (T(2, 3), float("inf")), [["float32", [2, 3], []]],
     "lambd: expected a finite number of at least 0, got inf"),
    ("uniform.out", (T(2, 3), 0.0, float("inf"), None), [["float32", [2, 3], []]],
     "to: expected a finite number, got inf"),
    *[(f"{name}.out", (Array((2, 3), "int64"), *numbers, None), [["float32", [2, 3], []]],
       "self: expected a floating dtype, got int64")
      for name, numbers in (("cauchy", (0.0, 1.0)), ("exponential", (1.0,)))],
    ("randint.low_out", (-1, 1, [4]), [["bool", [4], []]], "out: expected a dtype that holds -1 to 0, got bool"),
    ("randint.out", (300, [4]), [["uint8", [4], []]], "out: expected a dtype that holds 0 to 299, got uint8"),
    ("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.out",
     (T(2, 3), T(2), Array((1,), "int32"), Array((1,), "int64", (0,)), 0, 7),
     [["float32", [2, 3], []], ["bool", [2, 3], []]], "scale: expected one element, got float32 [2]"),
    ("_fake_quantize_learnable_per_tensor_affine.out", (T(2, 3), T(), T(1), 0, 7, 1.0), [["float32", [2, 3], []]],
     "scale: expected a list of a number, got float32 []"),
    ("_fake_quantize_learnable_per_channel_affine.out", (T(2, 3), Array((2,), "float64"), T(2), 0, 0, 7, 1.0),
     [["float32", [2, 3], []]], "scale: expected float32 or bfloat16, got float64 [2]"),
    ("fake_quantize_per_channel_affine_cachemask.out", (T(2, 3), T(3), Array((3,), "int32"), -1, 0, 7),
     [["float32", [2, 3], []], ["bool", [2, 3], []]], "axis: expected 0 to 1, got -1"),
]  # fmt: skip


@pytest.mark.parametrize("operator, call, outs, message", REFUSED)
def test_refused(operator: str, call: tuple[Any, ...], outs: Any, message: str) -> None:
    text = rf"^forward\[0\] aten::{re.escape(operator)}: {re.escape(message)}"
    with pytest.raises(en.ExecutionError, match=text):
        run(f"aten::{operator}", call, "float32", outs)
