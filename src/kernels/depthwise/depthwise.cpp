#include "kernels/depthwise/depthwise.h"

#include <algorithm>

#include "base/origin.h"
#include "base/thread_pool.h"
#include "kernels/depthwise/depthwise_kernels.h"

namespace enr::kernels {

namespace {

// Multiply-adds that a core does in about 10 us, and so the least to give to another thread.
constexpr size_t kGrainWork = 200'000;

size_t input_stride(const DepthwiseShape& s) noexcept {
  return s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels;
}
size_t output_stride(const DepthwiseShape& s) noexcept {
  return s.output_pixel_stride != 0 ? s.output_pixel_stride : s.output_channels();
}
size_t block_count(const DepthwiseShape& s) noexcept {
  const size_t lanes = depthwise_kernels().lanes;
  return (s.output_channels() + lanes - 1) / lanes;
}

DepthwiseRowFunction choose_row(const DepthwiseShape& s) noexcept {
  const DepthwiseKernels& kernels = depthwise_kernels();
  if (s.multiplier == 1 && s.dilation_width == 1) {
    if (s.kernel_width == 3 && s.stride_width == 1) return kernels.width3_stride1;
    if (s.kernel_width == 3 && s.stride_width == 2) return kernels.width3_stride2;
    if (s.kernel_width == 5 && s.stride_width == 1) return kernels.width5_stride1;
    if (s.kernel_width == 5 && s.stride_width == 2) return kernels.width5_stride2;
  }
  return kernels.any;
}

DepthwiseCall make_call(const DepthwiseShape& s, const void* packed, const GemmEpilogue& epilogue) noexcept {
  DepthwiseCall call;
  call.packed = static_cast<const float*>(packed);
  call.input_height = s.input_height;
  call.input_width = s.input_width;
  call.output_width = s.output_width;
  call.channels = s.output_channels();
  call.multiplier = s.multiplier;
  call.kernel_height = s.kernel_height;
  call.kernel_width = s.kernel_width;
  call.stride_height = s.stride_height;
  call.stride_width = s.stride_width;
  call.dilation_height = s.dilation_height;
  call.dilation_width = s.dilation_width;
  call.pad_top = s.pad_top;
  call.pad_left = s.pad_left;
  call.input_pixel_stride = input_stride(s);
  call.output_pixel_stride = output_stride(s);
  call.residual_stride = epilogue.residual_stride;
  call.residual_scale = epilogue.residual_scale;
  call.min = epilogue.min;
  call.max = epilogue.max;
  return call;
}

// The kernel's functions for rows one at a time, and in pairs where it has one.
class RowKernels {
 public:
  explicit RowKernels(const DepthwiseShape& s) noexcept : row_(choose_row(s)) {
    const bool is_plain = s.multiplier == 1 && s.kernel_height == 3 && s.kernel_width == 3 && s.stride_height == 1 &&
                          s.stride_width == 1 && s.dilation_height == 1 && s.dilation_width == 1;
    if (!is_plain || s.input_height < 3) return;
    pair_ = depthwise_kernels().pair3;
    whole_begin_ = s.pad_top;
    whole_end_ = s.input_height - 2 + s.pad_top;
  }

  // Blocks [block_begin, block_end) of rows [row_begin, row_end) of one image.
  void run(const DepthwiseCall& call, size_t row_begin, size_t row_end, size_t block_begin, size_t block_end,
           const float* input, float* output, const GemmEpilogue& epilogue) const noexcept {
    for (size_t y = row_begin; y < row_end;) {
      const bool in_pairs = pair_ != nullptr && y >= whole_begin_ && y + 2 <= std::min(row_end, whole_end_);
      const size_t pixel = y * call.output_width;
      float* to = output + pixel * call.output_pixel_stride;
      (in_pairs ? pair_ : row_)(
          call, y, block_begin, block_end, input, to,
          epilogue.residual == nullptr ? nullptr : epilogue.residual + pixel * call.residual_stride);
      const size_t rows = in_pairs ? 2 : 1;
      if (epilogue.activation != nullptr) activate(call, rows, block_begin, block_end, to, epilogue);
      y += rows;
    }
  }

 private:
  static void activate(const DepthwiseCall& call, size_t rows, size_t block_begin, size_t block_end, float* output,
                       const GemmEpilogue& epilogue) noexcept {
    const size_t lanes = depthwise_kernels().lanes, pixels = rows * call.output_width;
    const size_t begin = block_begin * lanes, count = std::min(block_end * lanes, call.channels) - begin;
    epilogue.activate(output + begin, pixels, call.output_pixel_stride, count);
  }

  DepthwiseRowFunction row_, pair_ = nullptr;
  size_t whole_begin_ = 0, whole_end_ = 0;  // rows of outputs for which the kernel's rows all exist
};

}  // namespace

size_t depthwise_packed_bytes(const DepthwiseShape& shape) noexcept {
  return block_count(shape) * depthwise_kernels().lanes * (shape.kernel_height * shape.kernel_width + 1) *
         sizeof(float);
}

void depthwise_pack(const DepthwiseShape& shape, const float* weights, size_t tap_stride, size_t channel_stride,
                    const float* bias, void* packed) noexcept {
  const size_t lanes = depthwise_kernels().lanes, channels = shape.output_channels();
  const size_t taps = shape.kernel_height * shape.kernel_width;
  float* out = static_cast<float*>(packed);
  for (size_t first = 0; first < channels; first += lanes) {
    const size_t count = std::min(lanes, channels - first);
    std::fill_n(out, (taps + 1) * lanes, 0.0f);
    if (bias != nullptr) std::copy_n(bias + first, count, out);
    out += lanes;
    for (size_t tap = 0; tap < taps; ++tap, out += lanes) {
      for (size_t k = 0; k < count; ++k) out[k] = weights[tap * tap_stride + (first + k) * channel_stride];
    }
  }
}

void depthwise_rows(const DepthwiseShape& shape, const void* packed, const float* input, float* output,
                    size_t row_begin, size_t row_end, const GemmEpilogue& epilogue) noexcept {
  if (shape.output_width == 0 || shape.output_channels() == 0) return;
  const DepthwiseCall call = make_call(shape, packed, epilogue);
  RowKernels(shape).run(call, row_begin, row_end, 0, block_count(shape), input, output, epilogue);
}

size_t depthwise_channel_step() noexcept { return depthwise_kernels().lanes; }

void depthwise_channels(const DepthwiseShape& shape, const void* packed, const float* input, float* output,
                        size_t channel, size_t channel_end, const GemmEpilogue& epilogue) noexcept {
  if (shape.output_width == 0 || channel == channel_end) return;
  const DepthwiseCall call = make_call(shape, packed, epilogue);
  const size_t lanes = depthwise_kernels().lanes;
  RowKernels(shape).run(call, 0, shape.output_height, channel / lanes, (channel_end + lanes - 1) / lanes,
                        origin_of(input, channel), origin_of(output, channel), epilogue);
}

void depthwise(const DepthwiseShape& shape, const void* packed, const float* input, float* output,
               const GemmEpilogue& epilogue) noexcept {
  if (shape.output_width == 0 || shape.output_channels() == 0) return;
  const DepthwiseCall call = make_call(shape, packed, epilogue);
  const RowKernels kernels(shape);
  const size_t input_image = shape.input_height * shape.input_width * call.input_pixel_stride;
  const size_t output_pixels = shape.output_height * shape.output_width;
  const size_t rows = shape.batch * shape.output_height, blocks = block_count(shape);
  const size_t row_work = shape.output_width * shape.output_channels() * shape.kernel_height * shape.kernel_width;
  const auto run_rows = [&](size_t row_begin, size_t row_end, size_t block_begin, size_t block_end) {
    for (size_t i = row_begin; i < row_end;) {
      const size_t b = i / shape.output_height, y = i % shape.output_height;
      const size_t end = std::min(row_end - i + y, shape.output_height);
      GemmEpilogue image = epilogue;
      if (image.residual != nullptr) image.residual += b * output_pixels * image.residual_stride;
      kernels.run(call, y, end, block_begin, block_end, input + b * input_image,
                  output + b * output_pixels * call.output_pixel_stride, image);
      i += end - y;
    }
  };
  // Rows are shared out, or the channels of small images (and of sound), as the products before and after them are.
  if (rows * shape.output_width < shape.output_channels() / 4 || rows < num_threads()) {
    parallel_ranges(blocks, std::max<size_t>(1, kGrainWork * blocks / (rows * row_work)),
                    [&](size_t begin, size_t end) { run_rows(0, rows, begin, end); });
  } else {
    parallel_ranges(rows, std::max<size_t>(1, kGrainWork / row_work),
                    [&](size_t begin, size_t end) { run_rows(begin, end, 0, blocks); });
  }
}

}  // namespace enr::kernels
