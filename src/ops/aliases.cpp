// Operators that are others under another name.

#include <string>
#include <utility>

#include "ops/families.h"

namespace enr::ops {

namespace {

constexpr std::pair<const char*, const char*> kAliases[] = {
    {"aten::absolute.out", "aten::abs.out"},
    {"aten::arccos.out", "aten::acos.out"},
    {"aten::arccosh.out", "aten::acosh.out"},
    {"aten::arcsin.out", "aten::asin.out"},
    {"aten::arcsinh.out", "aten::asinh.out"},
    {"aten::arctan.out", "aten::atan.out"},
    {"aten::arctan2.out", "aten::atan2.out"},
    {"aten::arctanh.out", "aten::atanh.out"},
    {"aten::negative.out", "aten::neg.out"},
    {"aten::greater.Scalar_out", "aten::gt.Scalar_out"},
    {"aten::greater.Tensor_out", "aten::gt.Tensor_out"},
    {"aten::greater_equal.Scalar_out", "aten::ge.Scalar_out"},
    {"aten::greater_equal.Tensor_out", "aten::ge.Tensor_out"},
    {"aten::less.Scalar_out", "aten::lt.Scalar_out"},
    {"aten::less.Tensor_out", "aten::lt.Tensor_out"},
    {"aten::less_equal.Scalar_out", "aten::le.Scalar_out"},
    {"aten::less_equal.Tensor_out", "aten::le.Tensor_out"},
    {"aten::not_equal.Scalar_out", "aten::ne.Scalar_out"},
    {"aten::not_equal.Tensor_out", "aten::ne.Tensor_out"},
    {"aten::concat.out", "aten::cat.out"},
    {"aten::concatenate.out", "aten::cat.out"},
    {"aten::_stack.out", "aten::stack.out"},
    {"aten::_conj_copy.out", "aten::conj_physical.out"},
    {"aten::_neg_view_copy.out", "aten::neg.out"},
    {"aten::_logcumsumexp.out", "aten::logcumsumexp.out"},
    {"aten::special_digamma.out", "aten::digamma.out"},
    {"aten::special_psi.out", "aten::digamma.out"},
    {"aten::special_erf.out", "aten::erf.out"},
    {"aten::special_erfc.out", "aten::erfc.out"},
    {"aten::special_erfinv.out", "aten::erfinv.out"},
    {"aten::special_exp2.out", "aten::exp2.out"},
    {"aten::special_expit.out", "aten::sigmoid.out"},
    {"aten::special_expm1.out", "aten::expm1.out"},
    {"aten::special_gammaln.out", "aten::lgamma.out"},
    {"aten::special_i0.out", "aten::i0.out"},
    {"aten::special_log1p.out", "aten::log1p.out"},
    {"aten::special_logit.out", "aten::logit.out"},
    {"aten::special_logsumexp.out", "aten::logsumexp.out"},
    {"aten::special_round.out", "aten::round.decimals_out"},
    {"aten::special_sinc.out", "aten::sinc.out"},
    {"aten::special_xlogy.out", "aten::xlogy.OutTensor"},
    {"aten::special_xlogy.other_scalar_out", "aten::xlogy.OutScalar_Other"},
    {"aten::special_xlogy.self_scalar_out", "aten::xlogy.OutScalar_Self"},
};

}  // namespace

// After all others.
void register_aliases(OperatorTable& table) {
  for (const auto& [alias, name] : kAliases) {
    Operator entry = *table.find(name);
    entry.name = alias;
    table.add(std::move(entry));
  }
}

}  // namespace enr::ops
