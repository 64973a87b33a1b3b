// One- and two-dimensional pooling: average, maximum with indices and its gradient, adaptive.

#include <algorithm>
#include <optional>

#include "kernels/pool/pool.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/memory_order.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

struct Window {
  std::array<int64_t, 2> kernel{}, stride{}, padding{}, dilation{1, 1};
  bool ceil_mode = false;
};

std::array<int64_t, 2> pair_of(Sizes list, const char* what) {
  if (list.size() == 1) return {list[0], list[0]};
  if (list.size() == 2) return {list[0], list[1]};
  fail_execution(what, ": expected one or two numbers, got ", list);
}

void check_window(const Window& w) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  for (size_t d = 0; d < 2; ++d) {
    if (w.kernel[d] < 1 || w.kernel[d] > kLimit) fail_execution("kernel_size: expected at least 1, got ", w.kernel);
    if (w.stride[d] < 1 || w.stride[d] > kLimit) fail_execution("stride: expected at least 1, got ", w.stride);
    if (w.dilation[d] < 1 || w.dilation[d] > kLimit) fail_execution("dilation: expected at least 1, got ", w.dilation);
    if (w.padding[d] < 0 || w.padding[d] > (w.kernel[d] - 1) * w.dilation[d] / 2 + 1 ||
        w.padding[d] * 2 > (w.kernel[d] - 1) * w.dilation[d] + 1) {
      fail_execution("padding: expected 0 to half of kernel size ", w.kernel, ", got ", w.padding);
    }
  }
}

int64_t pooled_size(int64_t input, const Window& w, size_t d) {
  const int64_t reach = w.dilation[d] * (w.kernel[d] - 1) + 1;
  const int64_t span = input + 2 * w.padding[d] - reach;
  if (span < 0)
    fail_execution("self: expected a padded size of at least the window's reach, ", reach, ", got ",
                   input + 2 * w.padding[d]);
  int64_t size = span / w.stride[d] + 1;
  if (w.ceil_mode) {
    size = (span + w.stride[d] - 1) / w.stride[d] + 1;
    // The last window must start inside the input or its left padding.
    if ((size - 1) * w.stride[d] >= input + w.padding[d]) --size;
  }
  return size;
}

void require_image(const Tensor& self) {
  if (self.rank != 3 && self.rank != 4) fail_execution("self: expected rank 3 or 4, got shape ", self.sizes());
}

kernels::PoolShape pool_shape(const Tensor& self, const Window& w, int64_t output_height, int64_t output_width) {
  kernels::PoolShape s;
  const size_t r = self.rank;
  s.batch = r == 4 ? static_cast<size_t>(self.size(0)) : 1;
  s.channels = static_cast<size_t>(self.size(r - 3));
  s.input_height = static_cast<size_t>(self.size(r - 2));
  s.input_width = static_cast<size_t>(self.size(r - 1));
  s.output_height = static_cast<size_t>(output_height);
  s.output_width = static_cast<size_t>(output_width);
  s.kernel_height = static_cast<size_t>(w.kernel[0]);
  s.kernel_width = static_cast<size_t>(w.kernel[1]);
  s.stride_height = static_cast<size_t>(w.stride[0]);
  s.stride_width = static_cast<size_t>(w.stride[1]);
  s.dilation_height = static_cast<size_t>(w.dilation[0]);
  s.dilation_width = static_cast<size_t>(w.dilation[1]);
  s.pad_top = s.pad_bottom = static_cast<size_t>(w.padding[0]);
  s.pad_left = s.pad_right = static_cast<size_t>(w.padding[1]);
  return s;
}

Shape image_shape(const Tensor& self, int64_t height, int64_t width) {
  Shape shape(self.sizes());
  shape[shape.rank - 2] = height;
  shape[shape.rank - 1] = width;
  return shape;
}

// The dtypes the pooling kernels have.
template <class Body>
void with_pooled_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kFloat32:
      return body.template operator()<float>();
    case DType::kFloat64:
      return body.template operator()<double>();
    case DType::kFloat16:
      return body.template operator()<Half>();
    case DType::kBFloat16:
      return body.template operator()<BFloat16>();
    case DType::kInt8:
      return body.template operator()<int8_t>();
    case DType::kUInt8:
      return body.template operator()<uint8_t>();
    case DType::kInt16:
      return body.template operator()<int16_t>();
    case DType::kInt32:
      return body.template operator()<int32_t>();
    case DType::kInt64:
      return body.template operator()<int64_t>();
    default:
      fail_execution("self: expected a dtype to pool, got ", dtype_name(dtype));
  }
}

void avg_pool2d_out(OpContext& context, const Tensor& self, Sizes kernel_size, Sizes stride, Sizes padding,
                    bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  require_planes(self, 2);
  require_dtype(out, self.dtype, "out");
  Window w;
  w.kernel = pair_of(kernel_size, "kernel_size");
  w.stride = stride.empty() ? w.kernel : pair_of(stride, "stride");
  w.padding = pair_of(padding, "padding");
  w.ceil_mode = ceil_mode;
  check_window(w);
  if (divisor_override && *divisor_override == 0)
    fail_execution("divisor_override: expected a number other than 0, got 0");
  const int64_t height = pooled_size(self.size(self.rank - 2u), w, 0);
  const int64_t width = pooled_size(self.size(self.rank - 1u), w, 1);
  context.resize(out, image_shape(self, height, width));
  if (out.numel() == 0) return;
  const auto divisor = divisor_override    ? kernels::AverageDivisor::kGiven
                       : count_include_pad ? kernels::AverageDivisor::kIncludePadding
                                           : kernels::AverageDivisor::kExcludePadding;
  const kernels::PoolShape shape = pool_shape(self, w, height, width);
  with_pooled_type(self.dtype, [&]<class T>() {
    RowMajorOut result(context, out);
    kernels::average_pool_nchw<T>(shape, divisor, divisor_override.value_or(1),
                                  reinterpret_cast<const T*>(row_major(context, self)), result.as<T>());
    result.commit();
  });
}

Window max_window(Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation, bool ceil_mode) {
  Window w;
  w.kernel = pair_of(kernel_size, "kernel_size");
  w.stride = stride.empty() ? w.kernel : pair_of(stride, "stride");
  w.padding = pair_of(padding, "padding");
  w.dilation = pair_of(dilation, "dilation");
  w.ceil_mode = ceil_mode;
  check_window(w);
  return w;
}

void max_pool2d_with_indices_out(OpContext& context, const Tensor& self, Sizes kernel_size, Sizes stride, Sizes padding,
                                 Sizes dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  require_planes(self, 2);
  require_dtype(out, self.dtype, "out");
  require_dtype(indices, DType::kInt64, "indices");
  const Window w = max_window(kernel_size, stride, padding, dilation, ceil_mode);
  const int64_t height = pooled_size(self.size(self.rank - 2u), w, 0);
  const int64_t width = pooled_size(self.size(self.rank - 1u), w, 1);
  const Shape sizes = image_shape(self, height, width);
  context.resize(out, sizes);
  context.resize(indices, sizes, "indices");
  if (out.numel() == 0) return;
  const kernels::PoolShape shape = pool_shape(self, w, height, width);
  with_pooled_type(self.dtype, [&]<class T>() {
    RowMajorOut result(context, out);
    RowMajorOut index(context, indices);
    kernels::max_pool_nchw<T>(shape, reinterpret_cast<const T*>(row_major(context, self)), result.as<T>(),
                              index.as<int64_t>());
    result.commit();
    index.commit();
  });
}

void max_pool2d_with_indices_backward_grad_input(OpContext& context, const Tensor& grad_output, const Tensor& self,
                                                 Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
                                                 bool ceil_mode, const Tensor& indices, Tensor& grad_input) {
  require_planes(self, 2);
  require_dtype(grad_output, self.dtype, "grad_output");
  require_dtype(indices, DType::kInt64, "indices");
  require_dtype(grad_input, self.dtype, "grad_input");
  const Window w = max_window(kernel_size, stride, padding, dilation, ceil_mode);
  const int64_t height = pooled_size(self.size(self.rank - 2u), w, 0);
  const int64_t width = pooled_size(self.size(self.rank - 1u), w, 1);
  const Shape sizes = image_shape(self, height, width);
  require_sizes(grad_output, sizes, "grad_output");
  require_sizes(indices, sizes, "indices");
  const int64_t pixels = self.size(self.rank - 2u) * self.size(self.rank - 1u);
  const int64_t pooled = height * width;
  const int64_t planes = self.numel() / pixels;
  const auto* index = row_major_as<int64_t>(context, indices);
  for (int64_t i = 0; i < grad_output.numel(); ++i) {
    if (index[i] < 0 || index[i] >= pixels)
      fail_execution("indices: expected 0 to ", pixels - 1, ", got ", index[i], " at ", i);
  }
  context.resize(grad_input, self.sizes(), "grad_input");
  if (grad_input.numel() == 0) return;
  with_pooled_type(self.dtype, [&]<class T>() {
    const auto* grad = reinterpret_cast<const T*>(row_major(context, grad_output));
    RowMajorOut result(context, grad_input);
    T* to = result.as<T>();
    std::fill(to, to + grad_input.numel(), T(0));
    for (int64_t p = 0; p < planes; ++p) {
      for (int64_t i = p * pooled; i < (p + 1) * pooled; ++i) {
        T& target = to[p * pixels + index[i]];
        target = static_cast<T>(target + grad[i]);
      }
    }
    result.commit();
  });
}

std::array<int64_t, 2> output_sizes(Sizes output_size) {
  if (output_size.size() != 2) fail_execution("output_size: expected two numbers, got ", output_size);
  if (output_size[0] < 0 || output_size[1] < 0) fail_execution("output_size: expected at least 0, got ", output_size);
  return {output_size[0], output_size[1]};
}

void adaptive_avg_pool2d_out(OpContext& context, const Tensor& self, Sizes output_size, Tensor& out) {
  require_image(self);
  require_dtype(out, self.dtype, "out");
  const auto size = output_sizes(output_size);
  context.resize(out, image_shape(self, size[0], size[1]));
  if (out.numel() == 0) return;
  const int64_t height = self.size(self.rank - 2u);
  const int64_t width = self.size(self.rank - 1u);
  if (height == 0 || width == 0) fail_execution("self: expected pixels, got shape ", self.sizes());
  const auto planes = static_cast<size_t>(self.numel() / (height * width));
  with_pooled_type(self.dtype, [&]<class T>() {
    RowMajorOut result(context, out);
    kernels::adaptive_average_pool_nchw<T>(planes, static_cast<size_t>(height), static_cast<size_t>(width),
                                           static_cast<size_t>(size[0]), static_cast<size_t>(size[1]),
                                           reinterpret_cast<const T*>(row_major(context, self)), result.as<T>());
    result.commit();
  });
}

// Each output takes the largest of the input pixels from floor(i * in / out) to ceil((i + 1) * in / out); a NaN wins.
void adaptive_max_pool2d_out(OpContext& context, const Tensor& self, Sizes output_size, Tensor& out, Tensor& indices) {
  require_planes(self, 2);
  require_dtype(out, self.dtype, "out");
  require_dtype(indices, DType::kInt64, "indices");
  const auto size = output_sizes(output_size);
  const Shape sizes = image_shape(self, size[0], size[1]);
  context.resize(out, sizes);
  context.resize(indices, sizes, "indices");
  if (out.numel() == 0) return;
  const int64_t height = self.size(self.rank - 2u);
  const int64_t width = self.size(self.rank - 1u);
  if (height == 0 || width == 0) fail_execution("self: expected pixels, got shape ", self.sizes());
  const int64_t planes = self.numel() / (height * width);
  with_pooled_type(self.dtype, [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, self));
    RowMajorOut result(context, out);
    RowMajorOut index(context, indices);
    T* to = result.as<T>();
    auto* to_index = index.as<int64_t>();
    for (int64_t o = 0; o < planes * size[0] * size[1]; ++o) {
      const int64_t y = o / size[1] % size[0];
      const int64_t x = o % size[1];
      const T* plane = in + o / (size[0] * size[1]) * height * width;
      int64_t best = y * height / size[0] * width + x * width / size[1];
      for (int64_t r = y * height / size[0]; r < ((y + 1) * height + size[0] - 1) / size[0]; ++r) {
        for (int64_t c = x * width / size[1]; c < ((x + 1) * width + size[1] - 1) / size[1]; ++c) {
          const T value = plane[r * width + c];
          if (value > plane[best] || value != value) best = r * width + c;
        }
      }
      to[o] = plane[best];
      to_index[o] = best;
    }
    result.commit();
    index.commit();
  });
}

// A line as an image of one row.
Tensor as_row_image(OpContext& context, const Tensor& self) {
  if (self.rank != 2 && self.rank != 3) fail_execution("self: expected rank 2 or 3, got shape ", self.sizes());
  Tensor image = row_major(context, self, self.dtype);
  Shape sizes(self.sizes().first(self.rank - 1u));
  sizes.push_back(1);
  sizes.push_back(self.size(self.rank - 1u));
  image.rank = static_cast<uint8_t>(sizes.rank);
  for (size_t d = 0; d < sizes.rank; ++d) image.dim_order_array[d] = static_cast<uint8_t>(d);
  image.set_sizes(sizes);
  return image;
}

int64_t one_of(Sizes list, const char* what) {
  if (list.size() != 1) fail_execution(what, ": expected one number, got ", list);
  return list[0];
}

void write_row(OpContext& context, const Tensor& image, Tensor& out) {
  copy_view(context, StridedView(out), StridedView(image.data, image.dtype, out.sizes()));
}

void avg_pool1d_out(OpContext& context, const Tensor& self, Sizes kernel_size, Sizes stride, Sizes padding,
                    bool ceil_mode, bool count_include_pad, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Tensor image = as_row_image(context, self);
  Window w;
  w.kernel = {1, one_of(kernel_size, "kernel_size")};
  w.stride = {1, stride.empty() ? w.kernel[1] : one_of(stride, "stride")};
  w.padding = {0, one_of(padding, "padding")};
  w.ceil_mode = ceil_mode;
  check_window(w);
  Shape sizes(self.sizes());
  sizes[sizes.rank - 1] = pooled_size(self.size(self.rank - 1u), w, 1);
  context.resize(out, sizes);
  Tensor result = scratch_tensor(context, out.dtype, image_shape(image, 1, sizes[sizes.rank - 1]));
  avg_pool2d_out(context, image, Sizes(w.kernel), Sizes(w.stride), Sizes(w.padding), ceil_mode, count_include_pad,
                 std::nullopt, result);
  write_row(context, result, out);
}

void adaptive_avg_pool1d_out(OpContext& context, const Tensor& self, Sizes output_size, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Tensor image = as_row_image(context, self);
  const std::array<int64_t, 2> size{1, one_of(output_size, "output_size")};
  Shape sizes(self.sizes());
  sizes[sizes.rank - 1] = size[1];
  if (size[1] < 0) fail_execution("output_size: expected at least 0, got ", output_size);
  context.resize(out, sizes);
  Tensor result = scratch_tensor(context, out.dtype, image_shape(image, 1, size[1]));
  adaptive_avg_pool2d_out(context, image, Sizes(size), result);
  write_row(context, result, out);
}

}  // namespace

void register_pooling(OperatorTable& table) {
  table.add<avg_pool1d_out>("aten::avg_pool1d.out",
                            "self, kernel_size, stride, padding, ceil_mode, count_include_pad, out");
  table.add<adaptive_avg_pool1d_out>("aten::adaptive_avg_pool1d.out", "self, output_size, out");
  table.add<avg_pool2d_out>("aten::avg_pool2d.out",
                            "self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out");
  table.add<max_pool2d_with_indices_out>("aten::max_pool2d_with_indices.out",
                                         "self, kernel_size, stride, padding, dilation, ceil_mode, out, indices");
  table.add<max_pool2d_with_indices_backward_grad_input>(
      "aten::max_pool2d_with_indices_backward.grad_input",
      "grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices, grad_input");
  table.add<adaptive_avg_pool2d_out>("aten::_adaptive_avg_pool2d.out", "self, output_size, out");
  table.add<adaptive_avg_pool2d_out>("aten::adaptive_avg_pool2d.out", "self, output_size, out");
  table.add<adaptive_max_pool2d_out>("aten::adaptive_max_pool2d.out", "self, output_size, out, indices");
}

}  // namespace enr::ops
