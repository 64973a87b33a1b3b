// Resizing images: upsample_bilinear2d, upsample_nearest2d, the antialiased bilinear one.

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "base/thread_pool.h"
#include "kernels/resize/resize.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/image/scale_limit.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

using OptionalSizes = std::optional<Sizes>;
using OptionalFactors = std::optional<std::span<const double>>;

struct Target {
  int64_t height = 0, width = 0;
  std::optional<double> scale_height, scale_width;
};

Target target_of(const Tensor& input, OptionalSizes output_size, OptionalFactors factors) {
  require_rank(input, 4, "input");
  if (output_size.has_value() == factors.has_value()) {
    fail_execution("output_size: expected it or scale_factors, got ", output_size ? "both" : "neither");
  }
  Target t;
  if (output_size) {
    if (output_size->size() != 2) fail_execution("output_size: expected two sizes, got ", *output_size);
    t.height = (*output_size)[0];
    t.width = (*output_size)[1];
  } else {
    if (factors->size() != 2) fail_execution("scale_factors: expected two factors, got ", *factors);
    t.scale_height = (*factors)[0];
    t.scale_width = (*factors)[1];
    t.height = Scalar(static_cast<double>(input.size(2)) * (*factors)[0]).to<int64_t>();
    t.width = Scalar(static_cast<double>(input.size(3)) * (*factors)[1]).to<int64_t>();
  }
  if (t.height < 1 || t.width < 1)
    fail_execution("output_size: expected at least 1, got [", t.height, ", ", t.width, "]");
  if (input.size(1) < 1) fail_execution("input: expected channels, got shape ", input.sizes());
  if (input.size(2) < 1 || input.size(3) < 1) fail_execution("input: expected pixels, got shape ", input.sizes());
  return t;
}

Target target_of(const Tensor& input, Sizes output_size, std::optional<double> scale_height,
                 std::optional<double> scale_width) {
  Target target = target_of(input, OptionalSizes(output_size), std::nullopt);
  const auto require_scale = [](const std::optional<double>& scale, int64_t size, const char* what) {
    if (!scale || leaves_pixels(*scale, size)) return;
    fail_execution(what, ": expected a scale that leaves some of ", size, " pixels, got ", *scale);
  };
  require_scale(scale_height, input.size(2), "scales_h");
  require_scale(scale_width, input.size(3), "scales_w");
  target.scale_height = scale_height;
  target.scale_width = scale_width;
  return target;
}

kernels::ResizeShape resize_shape(const Tensor& input, const Target& t) {
  kernels::ResizeShape s;
  s.batch = static_cast<size_t>(input.size(0));
  s.channels = static_cast<size_t>(input.size(1));
  s.input_height = static_cast<size_t>(input.size(2));
  s.input_width = static_cast<size_t>(input.size(3));
  s.output_height = static_cast<size_t>(t.height);
  s.output_width = static_cast<size_t>(t.width);
  s.scale_height = t.scale_height;
  s.scale_width = t.scale_width;
  return s;
}

void bilinear(OpContext& context, const Tensor& input, const Target& target, bool align_corners, Tensor& out) {
  require_dtype(out, input.dtype, "out");
  context.resize(out, {input.size(0), input.size(1), target.height, target.width});
  if (out.numel() == 0) return;
  const kernels::ResizeShape shape = resize_shape(input, target);
  const auto run = [&]<class T>() {
    const auto* from = reinterpret_cast<const T*>(row_major(context, input));
    RowMajorOut result(context, out);
    if constexpr (std::is_same_v<T, uint8_t>) {
      kernels::resize_bilinear_bytes_nchw(shape, align_corners, from, result.as<T>());
    } else {
      kernels::resize_bilinear_nchw<T>(shape, align_corners, from, result.as<T>());
    }
    result.commit();
  };
  switch (input.dtype) {
    case DType::kFloat32:
      return run.operator()<float>();
    case DType::kFloat64:
      return run.operator()<double>();
    case DType::kFloat16:
      return run.operator()<Half>();
    case DType::kBFloat16:
      return run.operator()<BFloat16>();
    case DType::kUInt8:
      return run.operator()<uint8_t>();
    default:
      fail_execution("input: expected a floating dtype or uint8, got ", dtype_name(input.dtype));
  }
}

void upsample_bilinear2d_vec_out(OpContext& context, const Tensor& input, OptionalSizes output_size, bool align_corners,
                                 OptionalFactors scale_factors, Tensor& out) {
  bilinear(context, input, target_of(input, output_size, scale_factors), align_corners, out);
}
void upsample_bilinear2d_out(OpContext& context, const Tensor& self, Sizes output_size, bool align_corners,
                             std::optional<double> scales_h, std::optional<double> scales_w, Tensor& out) {
  bilinear(context, self, target_of(self, output_size, scales_h, scales_w), align_corners, out);
}

void nearest(OpContext& context, const Tensor& input, const Target& target, Tensor& out) {
  require_dtype(out, input.dtype, "out");
  context.resize(out, {input.size(0), input.size(1), target.height, target.width});
  if (out.numel() == 0) return;
  RowMajorOut result(context, out);
  kernels::resize_nearest_nchw(resize_shape(input, target), row_major(context, input), result.data(),
                               dtype_size(input.dtype));
  result.commit();
}

void upsample_nearest2d_vec_out(OpContext& context, const Tensor& input, OptionalSizes output_size,
                                OptionalFactors scale_factors, Tensor& out) {
  nearest(context, input, target_of(input, output_size, scale_factors), out);
}
void upsample_nearest2d_out(OpContext& context, const Tensor& self, Sizes output_size, std::optional<double> scales_h,
                            std::optional<double> scales_w, Tensor& out) {
  nearest(context, self, target_of(self, output_size, scales_h, scales_w), out);
}

void upsample_bilinear2d_aa_out(OpContext& context, const Tensor& self, Sizes output_size, bool align_corners,
                                std::optional<double> scales_h, std::optional<double> scales_w, Tensor& out) {
  const Target target = target_of(self, output_size, scales_h, scales_w);
  require_dtype(out, self.dtype, "out");
  context.resize(out, {self.size(0), self.size(1), target.height, target.width});
  if (out.numel() == 0) return;
  const kernels::ResizeShape shape = resize_shape(self, target);
  // The half types interpolate in float.
  const auto run = [&]<class T>() {
    const T* from = row_major_as<T>(context, self);
    RowMajorOut result(context, out, dtype_of<T>);
    if constexpr (std::is_same_v<T, uint8_t>) {
      kernels::resize_bilinear_antialias_bytes_nchw(shape, align_corners, from, result.template as<T>());
    } else {
      kernels::resize_bilinear_antialias_nchw<T>(shape, align_corners, from, result.template as<T>());
    }
    result.commit();
  };
  switch (self.dtype) {
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
      return run.operator()<float>();
    case DType::kFloat64:
      return run.operator()<double>();
    case DType::kUInt8:
      return run.operator()<uint8_t>();
    default:
      fail_execution("self: expected a floating dtype or uint8, got ", dtype_name(self.dtype));
  }
}

}  // namespace

void register_resample(OperatorTable& table) {
  table.add<upsample_bilinear2d_out>("aten::upsample_bilinear2d.out",
                                     "self, output_size, align_corners, scales_h, scales_w, out");
  table.add<upsample_nearest2d_out>("aten::upsample_nearest2d.out", "self, output_size, scales_h, scales_w, out");
  table.add<upsample_bilinear2d_vec_out>("aten::upsample_bilinear2d.vec_out",
                                         "input, output_size, align_corners, scale_factors, out");
  table.add<upsample_nearest2d_vec_out>("aten::upsample_nearest2d.vec_out", "input, output_size, scale_factors, out");
  table.add<upsample_bilinear2d_aa_out>("aten::_upsample_bilinear2d_aa.out",
                                        "self, output_size, align_corners, scales_h, scales_w, out");
}

}  // namespace enr::ops
