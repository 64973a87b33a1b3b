// Rounding to quantised levels and back, as models trained for quantisation have it.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "ops/families.h"
#include "ops/quantized/scalar_of.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

struct Levels {
  int64_t min, max;

  void check() const {
    if (min > max) fail_execution("quant_min: expected at most ", max, ", got ", min);
  }
  void check(double zero_point) const {
    if (!(zero_point >= static_cast<double>(min) && zero_point <= static_cast<double>(max))) {
      fail_execution("zero_point: expected from ", min, " to ", max, ", got ", zero_point);
    }
  }
};

// Scale and zero point of each channel; of a whole tensor, one.
struct Parameters {
  std::vector<float> scales, zero_points;
  bool is_per_channel = false;          // eager then gives float64 results more than float32's precision
  bool rounds_with_zero_point = false;  // zero points may be fractions, which are added before rounding
};

// One run of numbers with one scale. `inside` (may be null) tells which are within the levels.
template <class T>
void fake_quantize_run(const T* in, T* out, bool* inside, size_t n, float scale, float zero_point,
                       const Parameters& parameters, const Levels& levels) {
  const float inverse = 1.0F / scale;
  const auto least = static_cast<double>(levels.min), most = static_cast<double>(levels.max);
  for (size_t i = 0; i < n; ++i) {
    const T product = in[i] * static_cast<T>(inverse);
    const double level = parameters.rounds_with_zero_point
                             ? static_cast<double>(std::nearbyint(static_cast<float>(product) + zero_point))
                             : static_cast<double>(std::nearbyint(product)) + static_cast<double>(zero_point);
    const double kept = std::fmin(std::fmax(level, least), most);
    if (inside != nullptr) inside[i] = level >= least && level <= most;
    out[i] = parameters.is_per_channel ? (static_cast<T>(kept) - static_cast<T>(zero_point)) * static_cast<T>(scale)
                                       : static_cast<T>((static_cast<float>(kept) - zero_point) * scale);
  }
}

// [outer, channels, inner], a scale for each channel.
void fake_quantize(OpContext& context, const Tensor& self, const Parameters& parameters, size_t inner,
                   const Levels& levels, Tensor& out, Tensor* mask) {
  require_floating(self.dtype, "self");
  require_same_dtype(out, self.dtype, "out0");
  if (mask != nullptr) require_dtype(*mask, DType::kBool, "out1");
  context.resize(out, self.sizes(), "out0");
  if (mask != nullptr) context.resize(*mask, self.sizes(), "out1");
  const auto run = [&]<class T>(T) {
    const T* in = row_major_as<T>(context, self);
    RowMajorOut to(context, out, dtype_of<T>);
    std::optional<RowMajorOut> flags;
    if (mask != nullptr) flags.emplace(context, *mask);
    bool* inside = mask == nullptr ? nullptr : flags->as<bool>();
    const size_t channels = parameters.scales.size();
    const size_t runs = inner == 0 ? 0 : static_cast<size_t>(self.numel()) / inner;
    for (size_t r = 0; r < runs; ++r) {
      parallel_ranges(inner, size_t{1} << 14, [&](size_t begin, size_t end) {
        const size_t at = r * inner + begin;
        fake_quantize_run(in + at, to.template as<T>() + at, inside == nullptr ? nullptr : inside + at, end - begin,
                          parameters.scales[r % channels], parameters.zero_points[r % channels], parameters, levels);
      });
    }
    to.commit();
    if (flags) flags->commit();
  };
  self.dtype == DType::kFloat64 ? run(double{}) : run(float{});
}

void fake_quantize_per_tensor_out(OpContext& context, const Tensor& self, double scale, int64_t zero_point,
                                  int64_t quant_min, int64_t quant_max, Tensor& out, Tensor& mask) {
  const Levels levels{quant_min, quant_max};
  levels.check();
  levels.check(static_cast<double>(zero_point));
  fake_quantize(context, self, {{static_cast<float>(scale)}, {static_cast<float>(zero_point)}},
                static_cast<size_t>(self.numel()), levels, out, &mask);
}

void fake_quantize_per_tensor_switched_out(OpContext& context, const Tensor& self, const Tensor& scale,
                                           const Tensor& zero_point, const Tensor& enabled, int64_t quant_min,
                                           int64_t quant_max, Tensor& out, Tensor& mask) {
  const Levels levels{quant_min, quant_max};
  levels.check();
  require_same_dtype(out, self.dtype, "out0");
  require_dtype(mask, DType::kBool, "out1");
  const auto factor = static_cast<float>(scalar_of(context, scale, "scale"));
  const auto zero = static_cast<float>(std::trunc(scalar_of(context, zero_point, "zero_point")));
  if (scalar_of(context, enabled, "fake_quant_enabled") == 0) {
    context.resize(out, self.sizes(), "out0");
    context.resize(mask, self.sizes(), "out1");
    copy_tensor(context, out, self);
    std::memset(mask.data, 1, mask.size_bytes());
    return;
  }
  fake_quantize(context, self, {{factor}, {zero}}, static_cast<size_t>(self.numel()), levels, out, &mask);
}

// The parameters of each channel, and the elements of a channel's run.
Parameters channel_parameters(OpContext& context, const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                              int64_t axis, size_t& inner) {
  if (self.rank == 0) fail_execution("self: expected channels, got a single number");
  if (axis < 0) fail_execution("axis: expected 0 to ", self.rank - 1, ", got ", axis);
  const size_t d = normalize_dim(axis, self.rank, "axis");
  const int64_t channels = self.size(d);
  require_sizes(scale, Sizes(&channels, 1), "scale");
  require_sizes(zero_point, Sizes(&channels, 1), "zero_point");
  inner = static_cast<size_t>(product(self.sizes(), d + 1, self.rank));
  const auto* scales = row_major_as<float>(context, scale);
  const auto* zeros = row_major_as<float>(context, zero_point);
  return {{scales, scales + channels}, {zeros, zeros + channels}, true, is_floating(zero_point.dtype)};
}

void require_scale_dtype(const Tensor& scale) {
  if (scale.dtype == DType::kFloat32 || scale.dtype == DType::kBFloat16) return;
  fail_execution("scale: expected float32 or bfloat16, got ", describe(scale));
}

void fake_quantize_per_channel_out(OpContext& context, const Tensor& self, const Tensor& scale,
                                   const Tensor& zero_point, int64_t axis, int64_t quant_min, int64_t quant_max,
                                   Tensor& out, Tensor& mask) {
  const Levels levels{quant_min, quant_max};
  levels.check();
  require_scale_dtype(scale);
  if (zero_point.dtype != DType::kInt32 && zero_point.dtype != DType::kFloat32 && zero_point.dtype != DType::kFloat16) {
    fail_execution("zero_point: expected int32, float32 or float16, got ", describe(zero_point));
  }
  size_t inner = 0;
  const Parameters parameters = channel_parameters(context, self, scale, zero_point, axis, inner);
  if (!parameters.rounds_with_zero_point) {
    for (const float zero : parameters.zero_points) levels.check(static_cast<double>(zero));
  }
  fake_quantize(context, self, parameters, inner, levels, out, &mask);
}

// Zero points that were learned are rounded to a level.
float learned_zero_point(float zero_point, const Levels& levels) {
  return std::nearbyint(
      std::fmin(std::fmax(zero_point, static_cast<float>(levels.min)), static_cast<float>(levels.max)));
}

// The parameter of the whole tensor, which eager keeps in a list.
float first_of(OpContext& context, const Tensor& list, const char* what) {
  if (list.rank == 0 || list.numel() == 0) fail_execution(what, ": expected a list of a number, got ", describe(list));
  return *row_major_as<float>(context, list);
}

void fake_quantize_learned_out(OpContext& context, const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                               int64_t quant_min, int64_t quant_max, double, Tensor& out) {
  const Levels levels{quant_min, quant_max};
  levels.check();
  const float factor = first_of(context, scale, "scale"), zero = first_of(context, zero_point, "zero_point");
  fake_quantize(context, self, {{factor}, {learned_zero_point(zero, levels)}}, static_cast<size_t>(self.numel()),
                levels, out, nullptr);
}

void fake_quantize_learned_per_channel_out(OpContext& context, const Tensor& self, const Tensor& scale,
                                           const Tensor& zero_point, int64_t axis, int64_t quant_min, int64_t quant_max,
                                           double, Tensor& out) {
  const Levels levels{quant_min, quant_max};
  levels.check();
  require_scale_dtype(scale);
  size_t inner = 0;
  Parameters parameters = channel_parameters(context, self, scale, zero_point, axis, inner);
  for (float& zero : parameters.zero_points) zero = learned_zero_point(zero, levels);
  parameters.rounds_with_zero_point = false;
  fake_quantize(context, self, parameters, inner, levels, out, nullptr);
}

}  // namespace

void register_fake_quantize(OperatorTable& table) {
  table.add<fake_quantize_per_tensor_out>("aten::fake_quantize_per_tensor_affine_cachemask.out",
                                          "self, scale, zero_point, quant_min, quant_max, out0, out1");
  table.add<fake_quantize_per_tensor_switched_out>(
      "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.out",
      "self, scale, zero_point, fake_quant_enabled, quant_min, quant_max, out0, out1");
  table.add<fake_quantize_per_channel_out>("aten::fake_quantize_per_channel_affine_cachemask.out",
                                           "self, scale, zero_point, axis, quant_min, quant_max, out0, out1");
  table.add<fake_quantize_learned_out>("aten::_fake_quantize_learnable_per_tensor_affine.out",
                                       "self, scale, zero_point, quant_min, quant_max, grad_factor, out");
  table.add<fake_quantize_learned_per_channel_out>(
      "aten::_fake_quantize_learnable_per_channel_affine.out",
      "self, scale, zero_point, axis, quant_min, quant_max, grad_factor, out");
}

}  // namespace enr::ops
