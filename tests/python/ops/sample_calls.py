"""One or a few small calls of every operator, for every dtype: what eager answers to them is in eager_answers.jsonl."""

from __future__ import annotations

from . import sample_composite_calls, sample_core_calls, sample_rare_calls  # noqa: F401, they fill CALLS
from .sample_arguments import CALLS, qualified

__all__ = ["CALLS", "COMPARED_OUTS", "IN_PLACE", "RANDOM"]

# Operators that write their first argument
IN_PLACE = set(qualified("copy_ fill_.Scalar fill_.Tensor masked_fill_.Scalar masked_fill_.Tensor index_put_ zero_"))
# Operators whose numbers are arbitrary: dtype and shape count
RANDOM = set(
    qualified(
        "rand.out randn.out rand.generator_out randn.generator_out rand_like.out randn_like.out randint.out "
        "randint.low_out randperm.out bernoulli.float_out normal.float_float_out normal.out uniform.out "
        "native_dropout.out randint.generator_out randint.low_generator_out randint_like.out "
        "randint_like.low_dtype_out randint_like.Tensor_out randperm.generator_out bernoulli.Tensor_out "
        "exponential.out poisson.out multinomial.out normal.Tensor_Tensor_out normal.Tensor_float_out "
        "normal.float_Tensor_out empty.out empty_like.out new_empty.out empty_permuted.out empty_strided.out "
        "dim_order_ops::_empty_dim_order.out cauchy.out log_normal.out geometric.out random.out random.to_out "
        "random.from_out binomial.out _standard_gamma.out _sample_dirichlet.out"
    )
)
COMPARED_OUTS = {"aten::log_sigmoid_forward.output": 1}  # only so many outs are specified
