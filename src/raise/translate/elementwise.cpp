// Functions of one and two tensors, element by element.

#include <limits>

#include "base/error.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

using graph::Op;
using graph::Shape;
using graph::UnaryAttributes;
using graph::ValueId;
using kernels::Binary;
using kernels::LoopParams;
using kernels::Unary;

void apply(RegionBuilder& region, const Call& call, size_t out, Unary op, const LoopParams& params = {}) {
  const Raised self = region.read(call.value(0));
  region.define(call.value(out), {region.emit(Op::kUnary, {self.id}, UnaryAttributes{op, params}), self.order});
}

template <Unary op>
void plain(RegionBuilder& region, const Call& call) {
  apply(region, call, 1, op);
}

void clamp(RegionBuilder& region, const Call& call) {
  LoopParams params{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  if (!call.is_none(1)) params.a = call.number(1);
  if (!call.is_none(2)) params.b = call.number(2);
  if (!(params.a <= params.b)) fail_execution("limits in the wrong order, or NaN");
  apply(region, call, 3, Unary::kClamp, params);
}

void leaky_relu(RegionBuilder& region, const Call& call) {
  apply(region, call, 2, Unary::kLeakyRelu, {call.number(1)});
}

void elu(RegionBuilder& region, const Call& call) {
  if (call.number(3) != 1) fail_execution("an input scale");
  apply(region, call, 4, Unary::kElu, {call.number(1), call.number(2)});
}

void gelu(RegionBuilder& region, const Call& call) {
  const std::string_view approximate = call.text(1);
  if (approximate != "none" && approximate != "tanh") fail_execution("approximate");
  apply(region, call, 2, approximate == "tanh" ? Unary::kGeluTanh : Unary::kGelu);
}

void power(RegionBuilder& region, const Call& call) {
  const double exponent = call.number(1);
  if (exponent != 2 && exponent != 0.5 && exponent != -0.5 && exponent != -1) fail_execution("exponent ", exponent);
  apply(region, call, 2,
        exponent == 2     ? Unary::kSquare
        : exponent == 0.5 ? Unary::kSqrt
        : exponent == -1  ? Unary::kReciprocal
                          : Unary::kRsqrt);
}

// The order both operands are brought to: that of an operand as large as the result, of images the one that
// convolutions want.
Order common_order(const RegionBuilder& region, const Raised& a, const Raised& b) {
  const size_t rank = std::max(a.order.rank(), b.order.rank());
  const int64_t largest = std::max(region.numel(a), region.numel(b));
  Order order = row_major(rank);
  for (const Raised* operand : {&a, &b}) {
    if (operand->order.rank() != rank || region.numel(*operand) != largest || region.is_constant(*operand)) continue;
    if (!region.has_order(*operand, row_major(rank))) order = operand->order;
    if (region.has_order(*operand, channels_last(rank)) && !region.has_order(*operand, row_major(rank))) break;
  }
  return order;
}

Raised combine(RegionBuilder& region, Binary op, const Raised& a, const Raised& b) {
  const Order order = common_order(region, a, b);
  const ValueId left = region.arrange(a, order), right = region.arrange(b, order);
  return {region.emit(Op::kBinary, {left, right}, graph::BinaryAttributes{op}), order};
}

Raised scaled(RegionBuilder& region, const Raised& value, double factor, double offset) {
  return {region.emit(Op::kUnary, {value.id}, UnaryAttributes{Unary::kScale, {factor, offset}}), value.order};
}

// The smaller or larger of a value and zeros of its sizes.
void limit(RegionBuilder& region, const Call& call, bool from_above) {
  const Raised self = region.read(call.value(0)), zeros = region.read_condition(call.value(1));
  if (zeros.meaning != Meaning::kZeros || !(region.sizes(zeros) == region.sizes(self))) fail_execution("a condition");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const LoopParams params = from_above ? LoopParams{-kInfinity, 0} : LoopParams{0, kInfinity};
  region.define(call.value(2),
                {region.emit(Op::kUnary, {self.id}, UnaryAttributes{Unary::kClamp, params}), self.order});
}

template <Binary op>
void binary(RegionBuilder& region, const Call& call) {
  if ((op == Binary::kMinimum || op == Binary::kMaximum) && region.is_condition(call.value(1)))
    return limit(region, call, op == Binary::kMinimum);
  if (op == Binary::kMul) {
    const Raised a = region.read_as_stored(call.value(0)), b = region.read_as_stored(call.value(1));
    for (const auto& levels : {region.scaled_levels(a, b), region.scaled_levels(b, a)}) {
      if (levels) return region.define(call.value(2), *levels);
    }
  }
  region.define(call.value(2), combine(region, op, region.read(call.value(0)), region.read(call.value(1))));
}

// Sums and differences have a factor for the second operand.
template <Binary op>
void sum(RegionBuilder& region, const Call& call) {
  if (op == Binary::kSub) {
    const auto left = region.difference(region.read_as_stored(call.value(0)), region.read_as_stored(call.value(1)));
    if (left) return region.define(call.value(3), *left);
  }
  Raised other = region.read(call.value(1));
  if (call.number(2) != 1) other = scaled(region, other, call.number(2), 0);
  region.define(call.value(3), combine(region, op, region.read(call.value(0)), other));
}

template <int sign>
void sum_with_number(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  region.define(call.value(3), scaled(region, self, 1, sign * call.number(1) * call.number(2)));
}

void scale(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  region.define(call.value(2), scaled(region, self, call.number(1), 0));
}

void divide_by_number(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  Shape one;
  for (size_t d = 0; d < self.order.rank(); ++d) one.push_back(1);
  const auto number = static_cast<float>(call.number(1));
  const ValueId divisor = region.constant(one, std::span(&number, 1));
  region.define(call.value(2),
                {region.emit(Op::kBinary, {self.id, divisor}, graph::BinaryAttributes{Binary::kDiv}), self.order});
}

constexpr NamedTranslation kRows[] = {
    {"aten::relu.out", plain<Unary::kRelu>},
    {"aten::sigmoid.out", plain<Unary::kSigmoid>},
    {"aten::tanh.out", plain<Unary::kTanh>},
    {"aten::silu.out", plain<Unary::kSilu>},
    {"aten::mish.out", plain<Unary::kMish>},
    {"aten::hardswish.out", plain<Unary::kHardSwish>},
    {"aten::hardsigmoid.out", plain<Unary::kHardSigmoid>},
    {"aten::round.out", plain<Unary::kRound>},
    {"aten::abs.out", plain<Unary::kAbs>},
    {"aten::neg.out", plain<Unary::kNeg>},
    {"aten::exp.out", plain<Unary::kExp>},
    {"aten::log.out", plain<Unary::kLog>},
    {"aten::sqrt.out", plain<Unary::kSqrt>},
    {"aten::rsqrt.out", plain<Unary::kRsqrt>},
    {"aten::reciprocal.out", plain<Unary::kReciprocal>},
    {"aten::erf.out", plain<Unary::kErf>},
    {"aten::sin.out", plain<Unary::kSin>},
    {"aten::cos.out", plain<Unary::kCos>},
    {"aten::hardtanh.out", clamp},
    {"aten::clamp.out", clamp},
    {"aten::leaky_relu.out", leaky_relu},
    {"aten::elu.out", elu},
    {"aten::gelu.out", gelu},
    {"aten::pow.Tensor_Scalar_out", power},
    {"aten::add.out", sum<Binary::kAdd>},
    {"aten::sub.out", sum<Binary::kSub>},
    {"aten::mul.out", binary<Binary::kMul>},
    {"aten::div.out", binary<Binary::kDiv>},
    {"aten::minimum.out", binary<Binary::kMinimum>},
    {"aten::maximum.out", binary<Binary::kMaximum>},
    {"aten::add.Scalar_out", sum_with_number<1>},
    {"aten::sub.Scalar_out", sum_with_number<-1>},
    {"aten::mul.Scalar_out", scale},
    {"aten::div.Scalar_out", divide_by_number},
};

}  // namespace

Translation find_elementwise(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
