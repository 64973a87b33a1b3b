// Dropout.

#include <algorithm>
#include <optional>
#include <type_traits>

#include "kernels/random/random.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/random/fill.h"

namespace enr::ops {

namespace {

// Complex numbers are two parts, kept or dropped together.
template <int kParts = 1, class T>
void drop(T* out, const T* in, const bool* mask, int64_t count, double scale) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto kept = static_cast<Wide>(scale);
  for (int64_t i = 0; i < count; ++i) {
    const Wide factor = static_cast<Wide>(mask[i]) * kept;
    for (int64_t part = i * kParts; part < (i + 1) * kParts; ++part) {
      out[part] = static_cast<T>(static_cast<Wide>(in[part]) * factor);
    }
  }
}

// train None counts as true: the operator is only traced where dropout is wanted.
void native_dropout_out(OpContext& context, const Tensor& input, double p, std::optional<bool> train, Tensor& out,
                        Tensor& mask) {
  if (!(p >= 0 && p <= 1)) fail_execution("p: expected 0 to 1, got ", p);
  require_floating_or_complex(input.dtype, "input");
  require_dtype(out, input.dtype, "out0");
  require_dtype(mask, DType::kBool, "out1");
  context.resize(out, input.sizes(), "out0");
  context.resize(mask, input.sizes(), "out1");
  const int64_t count = input.numel();
  RowMajorOut kept(context, mask);
  if (!train.value_or(true)) {
    std::fill_n(kept.as<bool>(), count, true);
    kept.commit();
    return copy_tensor(context, out, input);
  }
  auto* numbers = context.scratch_of<float>(static_cast<size_t>(count));
  kernels::random_uniform(context.random(), numbers, static_cast<size_t>(count), 0.0f, 1.0f, 24);
  auto* keeps = kept.as<bool>();
  for (int64_t i = 0; i < count; ++i) keeps[i] = static_cast<double>(numbers[i]) >= p;
  const std::byte* in = row_major(context, input);
  RowMajorOut to(context, out);
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  switch (input.dtype) {
    case DType::kFloat16:
      drop(to.as<Half>(), reinterpret_cast<const Half*>(in), kept.as<bool>(), count, scale);
      break;
    case DType::kBFloat16:
      drop(to.as<BFloat16>(), reinterpret_cast<const BFloat16*>(in), kept.as<bool>(), count, scale);
      break;
    case DType::kFloat32:
      drop(to.as<float>(), reinterpret_cast<const float*>(in), kept.as<bool>(), count, scale);
      break;
    case DType::kFloat64:
      drop(to.as<double>(), reinterpret_cast<const double*>(in), kept.as<bool>(), count, scale);
      break;
    case DType::kComplex64:
      drop<2>(to.as<float>(), reinterpret_cast<const float*>(in), kept.as<bool>(), count, scale);
      break;
    case DType::kComplex128:
      drop<2>(to.as<double>(), reinterpret_cast<const double*>(in), kept.as<bool>(), count, scale);
      break;
    default:
      fail_execution("input: expected a floating dtype, got ", dtype_name(input.dtype));
  }
  to.commit();
  kept.commit();
}

}  // namespace

void register_dropout(OperatorTable& table) {
  table.add<native_dropout_out>("aten::native_dropout.out", "input, p, train, out0, out1");
}

}  // namespace enr::ops
