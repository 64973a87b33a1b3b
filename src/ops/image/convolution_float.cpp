#include "ops/image/convolution_float.h"

#include <algorithm>
#include <optional>
#include <string>

#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/depthwise/depthwise_nchw.h"
#include "kernels/transpose/layout.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

size_t count(int64_t size) { return static_cast<size_t>(size); }

// Which kernel a two-dimensional slice runs on.
enum class Route { kConv, kDepthwise, kTransposed };

Route route_of(const ConvolutionArguments& args) {
  if (args.transposed) return Route::kTransposed;
  return args.groups == args.input_channels && args.groups > 1 ? Route::kDepthwise : Route::kConv;
}

// What the three kernels' shapes have in common.
template <class Shape2d>
Shape2d plane_shape(const ConvolutionArguments& a) {
  Shape2d s;
  s.batch = count(a.batch);
  s.input_height = count(a.input[1]);
  s.input_width = count(a.input[2]);
  s.kernel_height = count(a.kernel[1]);
  s.kernel_width = count(a.kernel[2]);
  s.stride_height = count(a.stride[1]);
  s.stride_width = count(a.stride[2]);
  s.dilation_height = count(a.dilation[1]);
  s.dilation_width = count(a.dilation[2]);
  return s;
}

// And those of convolutions, transposed or not.
template <class Shape2d>
Shape2d grouped_shape(const ConvolutionArguments& a) {
  auto s = plane_shape<Shape2d>(a);
  s.input_channels = count(a.input_channels);
  s.output_channels = count(a.output_channels);
  s.groups = count(a.groups);
  s.pad_top = s.pad_bottom = count(a.padding[1]);
  s.pad_left = s.pad_right = count(a.padding[2]);
  return s;
}

kernels::DepthwiseShape depthwise_shape(const ConvolutionArguments& a) {
  auto s = plane_shape<kernels::DepthwiseShape>(a);
  s.output_height = count(a.output[1]);
  s.output_width = count(a.output[2]);
  s.channels = count(a.input_channels);
  s.multiplier = count(a.output_channels / a.groups);
  s.pad_top = count(a.padding[1]);
  s.pad_left = count(a.padding[2]);
  return s;
}

kernels::ConvTransposeShape transpose_shape(const ConvolutionArguments& a) {
  auto s = grouped_shape<kernels::ConvTransposeShape>(a);
  s.adjustment_height = count(a.output_padding[1]);
  s.adjustment_width = count(a.output_padding[2]);
  return s;
}

// One plane of the filter in depth as [output channels, kh, kw, input channels / groups], from eager's layouts:
// [O, I/g, kd, kh, kw], or [I, O/g, kd, kh, kw] where transposed.
void gather_filter(const ConvolutionArguments& a, const float* weight, int64_t depth, float* to) {
  const int64_t plane = a.kernel[1] * a.kernel[2];
  const int64_t taps = a.kernel[0] * plane;
  const int64_t group_in = a.input_channels / a.groups;
  const int64_t group_out = a.output_channels / a.groups;
  for (int64_t o = 0; o < a.output_channels; ++o) {
    for (int64_t t = 0; t < plane; ++t) {
      for (int64_t i = 0; i < group_in; ++i) {
        const int64_t row =
            a.transposed ? (o / group_out * group_in + i) * group_out + o % group_out : o * group_in + i;
        *to++ = weight[row * taps + depth * plane + t];
      }
    }
  }
}

// The packed filter planes of a call, one for each step in depth, and the bias where it is not packed with them.
class Filters {
 public:
  Filters(OpContext& context, const ConvolutionArguments& args, Route route, const Tensor& weight, const Tensor* bias)
      : context_(context), args_(args), route_(route), weight_(weight), bias_(bias) {
    switch (route) {
      case Route::kConv:
        conv_.emplace(grouped_shape<kernels::ConvShape>(args));
        plane_bytes_ = conv_->packed_bytes();
        break;
      case Route::kDepthwise:
        plane_bytes_ = kernels::depthwise_packed_bytes(depthwise_shape(args));
        break;
      case Route::kTransposed:
        transpose_.emplace(transpose_shape(args));
        plane_bytes_ = transpose_->packed_bytes();
        break;
    }
    plane_bytes_ = (plane_bytes_ + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    const bool constant = weight.is_constant && (bias == nullptr || bias->is_constant);
    if (constant) {
      shared_ = context.weights().get(weight.data, key(), [&] { return pack(); });
    } else {
      own_ = pack();
    }
  }

  // Runs one plane: output = filter(input) (+ output where it accumulates).
  void run(int64_t depth, const float* input, float* output, bool accumulate) {
    const std::byte* packed = (shared_ != nullptr ? *shared_ : own_).data() + count(depth) * plane_bytes_;
    kernels::GemmEpilogue epilogue;
    if (accumulate) {
      epilogue.residual = output;
      epilogue.residual_stride = count(args_.output_channels);
    }
    switch (route_) {
      case Route::kConv:
        conv_->run(input, packed, output, epilogue, workspace(conv_->workspace_bytes()));
        break;
      case Route::kDepthwise:
        kernels::depthwise(depthwise_shape(args_), packed, input, output, epilogue);
        break;
      case Route::kTransposed:
        transpose_->run(input, packed, output, epilogue, workspace(transpose_->workspace_bytes()));
        break;
    }
  }

 private:
  std::string key() const {
    const std::string format = conv_ ? concat(static_cast<int>(conv_->weights_format())) : std::string();
    return concat("convolution ", static_cast<int>(route_), " ", format, " ", args_.groups, " ", weight_.sizes(), " ",
                  weight_.dim_order(), " ", static_cast<const void*>(bias_ == nullptr ? nullptr : bias_->data), " ",
                  dtype_name(weight_.dtype));
  }

  AlignedBuffer pack() const {
    AlignedBuffer packed(plane_bytes_ * count(args_.kernel[0]));
    const auto* weight = row_major_as<float>(context_, weight_);
    const float* bias = bias_ == nullptr ? nullptr : row_major_as<float>(context_, *bias_);
    const size_t plane = count(weight_.numel() / std::max<int64_t>(1, args_.kernel[0]));
    auto* filter = context_.scratch_of<float>(plane);
    for (int64_t d = 0; d < args_.kernel[0]; ++d) {
      gather_filter(args_, weight, d, filter);
      std::byte* to = packed.data() + count(d) * plane_bytes_;
      const float* plane_bias = d == 0 ? bias : nullptr;
      switch (route_) {
        case Route::kConv:
          conv_->pack(filter, plane_bias, to);
          break;
        case Route::kDepthwise:
          kernels::depthwise_pack(depthwise_shape(args_), filter, 1, count(args_.kernel[1] * args_.kernel[2]),
                                  plane_bias, to);
          break;
        case Route::kTransposed:
          transpose_->pack(filter, plane_bias, to);
          break;
      }
    }
    return packed;
  }

  std::byte* workspace(size_t size_bytes) {
    if (workspace_ == nullptr) workspace_ = context_.scratch(size_bytes);
    return workspace_;
  }

  OpContext& context_;
  const ConvolutionArguments& args_;
  Route route_;
  const Tensor& weight_;
  const Tensor* bias_;
  std::optional<kernels::ConvPlan> conv_;
  std::optional<kernels::ConvTransposePlan> transpose_;
  size_t plane_bytes_ = 0;
  std::shared_ptr<const AlignedBuffer> shared_;
  AlignedBuffer own_;
  std::byte* workspace_ = nullptr;
};

// Whether the memory of an image batch is [N, H, W, C] already. Four dims may also be those of one volume.
bool is_channels_last(const ConvolutionArguments& a, const Tensor& t) {
  if (a.spatial != 2 || t.rank != 4 || t.dtype != DType::kFloat32) return false;
  int64_t expected = 1;
  for (const size_t d : {size_t{1}, size_t{3}, size_t{2}, size_t{0}}) {
    if (t.size(d) != 1 && t.stride(d) != expected) return false;
    expected *= t.size(d);
  }
  return true;
}

// The input as [D][N, H, W, C]: for each step in depth a whole NHWC batch.
const float* depth_planes(OpContext& context, const ConvolutionArguments& a, const Tensor& input) {
  if (is_channels_last(a, input) && !input.is_contiguous()) return input.as<float>();
  const float* data = row_major_as<float>(context, input);
  const size_t pixels = count(a.input[1] * a.input[2]);
  const size_t channels = count(a.input_channels);
  if (a.input[0] == 1 && (pixels == 1 || channels == 1)) return data;
  auto* planes = context.scratch_of<float>(count(input.numel()));
  if (a.input[0] == 1) {
    kernels::nchw_to_nhwc(planes, data, count(a.batch), channels, pixels, sizeof(float));
    return planes;
  }
  const std::array<int64_t, 5> in_sizes{a.batch, a.input_channels, a.input[0], a.input[1], a.input[2]};
  const std::array<int64_t, 5> order{2, 0, 3, 4, 1};
  kernels::permute(planes, data, in_sizes, order, sizeof(float));
  return planes;
}

void write_planes(OpContext& context, const ConvolutionArguments& a, const float* planes, Tensor& out) {
  RowMajorOut result(context, out, DType::kFloat32);
  const size_t pixels = count(a.output[1] * a.output[2]);
  if (a.output[0] == 1) {
    kernels::nhwc_to_nchw(result.data(), planes, count(a.batch), count(a.output_channels), pixels, sizeof(float));
  } else {
    const std::array<int64_t, 5> in_sizes{a.output[0], a.batch, a.output[1], a.output[2], a.output_channels};
    const std::array<int64_t, 5> order{1, 4, 0, 2, 3};
    kernels::permute(result.data(), planes, in_sizes, order, sizeof(float));
  }
  result.commit();
}

// Calls body(output depth, kernel depth, input depth) for every pair of planes that meet.
template <class Body>
void for_each_depth_tap(const ConvolutionArguments& a, const Body& body) {
  const int64_t walked = a.transposed ? a.input[0] : a.output[0];
  const int64_t bound = a.transposed ? a.output[0] : a.input[0];
  for (int64_t w = 0; w < walked; ++w) {
    for (int64_t k = 0; k < a.kernel[0]; ++k) {
      const int64_t met = w * a.stride[0] - a.padding[0] + k * a.dilation[0];
      if (met < 0 || met >= bound) continue;
      if (a.transposed) {
        body(met, k, w);
      } else {
        body(w, k, met);
      }
    }
  }
}

// Whether one plane goes in and, filtered, out: nothing happens in depth.
bool is_flat(const ConvolutionArguments& a) {
  return a.input[0] == 1 && a.kernel[0] == 1 && a.output[0] == 1 && a.padding[0] == 0;
}

// Planes as they are, where that beats the way through NHWC; false elsewhere.
bool convolve_planes(OpContext& context, const ConvolutionArguments& a, const Tensor& input, const Tensor& weight,
                     const Tensor* bias, Tensor& out) {
  if (route_of(a) != Route::kDepthwise || !is_flat(a)) return false;
  const kernels::DepthwiseShape shape = depthwise_shape(a);
  if (!input.is_contiguous() || !out.is_contiguous() || !kernels::prefers_depthwise_nchw(shape)) return false;
  RowMajorOut result(context, out, DType::kFloat32);
  const bool aliased = overlaps(out, input) || overlaps(out, weight) || (bias != nullptr && overlaps(out, *bias));
  auto* to = aliased ? context.scratch_of<float>(count(out.numel())) : result.as<float>();
  kernels::depthwise_nchw(shape, row_major_as<float>(context, weight),
                          bias == nullptr ? nullptr : row_major_as<float>(context, *bias),
                          row_major_as<float>(context, input), to);
  if (aliased) std::copy_n(to, out.numel(), result.as<float>());
  result.commit();
  return true;
}

}  // namespace

void convolve_float(OpContext& context, const ConvolutionArguments& a, const Tensor& input, const Tensor& weight,
                    const Tensor* bias, Tensor& out) {
  if (convolve_planes(context, a, input, weight, bias, out)) return;
  const bool flat = is_flat(a);
  // Packed biases would be added once for each plane of the filter.
  Filters filters(context, a, route_of(a), weight, flat ? bias : nullptr);
  const float* planes = depth_planes(context, a, input);
  const bool direct = is_channels_last(a, out) && !overlaps(out, input);
  float* results = direct ? out.as<float>() : context.scratch_of<float>(count(out.numel()));
  if (flat) {
    filters.run(0, planes, results, false);
  } else {
    const size_t in_plane = count(a.batch * a.input[1] * a.input[2] * a.input_channels);
    const size_t out_plane = count(a.batch * a.output[1] * a.output[2] * a.output_channels);
    const float* bias_row = bias == nullptr ? nullptr : row_major_as<float>(context, *bias);
    for (size_t i = 0; i < count(a.output[0]) * out_plane; ++i) {
      results[i] = bias_row == nullptr ? 0.0f : bias_row[i % count(a.output_channels)];
    }
    for_each_depth_tap(a, [&](int64_t o, int64_t k, int64_t i) {
      filters.run(k, planes + count(i) * in_plane, results + count(o) * out_plane, true);
    });
  }
  if (!direct) write_planes(context, a, results, out);
}

}  // namespace enr::ops
