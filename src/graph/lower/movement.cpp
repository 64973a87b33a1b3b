#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/thread_pool.h"
#include "graph/lower/quantized.h"
#include "graph/lowering.h"
#include "kernels/qelementwise/qelementwise.h"
#include "kernels/transpose/layout.h"
#include "kernels/transpose/pad.h"
#include "kernels/transpose/strided_copy.h"

namespace enr::graph {

namespace {

// Elements move, strides in bytes.
struct MoveStep : Step {
  uint32_t in = 0, out = 0;
  size_t in_offset = 0, out_offset = 0;
  Shape sizes;
  std::array<int64_t, kMaxRank> in_strides{}, out_strides{};
  size_t element_size = 4;

  void run(const Frame& frame) const noexcept override {
    const size_t rank = sizes.rank();
    kernels::strided_copy(frame.out<std::byte>(out) + out_offset, {out_strides.data(), rank},
                          frame.in<std::byte>(in) + in_offset, {in_strides.data(), rank}, sizes.dims(), element_size);
  }
};

std::array<int64_t, kMaxRank> byte_strides(const Lowering& lowering, ValueId id) {
  auto strides = lowering.strides(id);
  for (int64_t& stride : strides) stride *= static_cast<int64_t>(dtype_size(lowering.value(id).dtype));
  return strides;
}

MoveStep& add_move(Lowering& lowering, const Node& node, ValueId in, std::string name) {
  auto& step = lowering.add<MoveStep>(node, std::move(name));
  step.in = in;
  step.out = node.outputs[0];
  step.element_size = dtype_size(lowering.value(in).dtype);
  step.in_strides = byte_strides(lowering, in);
  step.out_strides = byte_strides(lowering, step.out);
  step.sizes = lowering.shape(step.out);
  return step;
}

// From planes of floats to pixels of bytes, in blocks that stay in cache in between.
template <class T>
struct QuantizedTranspose : Step {
  uint32_t in = 0, out = 0;
  size_t batch = 0, channels = 0, pixels = 0, out_stride = 0;
  kernels::Quantization parameters;

  void run(const Frame& frame) const noexcept override {
    constexpr size_t kGrain = 16 * 1024;  // pixels that pay for a thread
    for (size_t image = 0; image < batch; ++image) {
      const float* planes = frame.in<float>(in) + image * channels * pixels;
      T* to = frame.out<T>(out) + image * pixels * out_stride;
      parallel_ranges(pixels, kGrain, [&](size_t begin, size_t end) {
        const size_t block = kBlockBytes / channels / 64 * 64;
        alignas(64) T bytes[kBlockBytes];
        for (size_t pixel = begin; pixel < end; pixel += block) {
          const size_t count = std::min(block, end - pixel);
          for (size_t channel = 0; channel < channels; ++channel) {
            kernels::quantize_by(planes + channel * pixels + pixel, bytes + channel * block, count,
                                 1.0f / parameters.scale, parameters.zero_point, std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max());
          }
          kernels::transpose_2d(to + pixel * out_stride, out_stride, 0, bytes, block, 0, 1, channels, count, 1);
        }
      });
    }
  }

  static constexpr size_t kBlockBytes = 8 * 1024;
};

template <class T>
void add_quantized_transpose(Lowering& lowering, const Node& node) {
  auto& step = lowering.add<QuantizedTranspose<T>>(node, "quantize, transpose");
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  const Shape& shape = lowering.shape(step.in);
  step.batch = static_cast<size_t>(shape[0]);
  step.channels = static_cast<size_t>(shape[1]);
  step.pixels = static_cast<size_t>(shape[2] * shape[3]);
  step.out_stride = lowering.row_stride(step.out);
  step.parameters = parameters_of(lowering.value(step.out));
}

struct PadStep : Step {
  uint32_t in = 0, out = 0;
  Shape sizes, before, after;
  uint32_t fill = 0;  // bits of the element
  size_t element_size = 4;

  void run(const Frame& frame) const noexcept override {
    kernels::pad_constant(frame.out<void>(out), frame.in<void>(in), sizes.dims(), before.dims(), after.dims(), &fill,
                          element_size);
  }
};

// A part of a concatenation whose parameters differ from the result's.
struct RequantizedPart : Step {
  uint8_t table[256] = {};
  uint32_t in = 0, out = 0;
  size_t out_offset = 0, rows = 0, columns = 0, out_stride = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::apply_lut_rows(table, rows, columns, frame.in<void>(in), columns, frame.out<std::byte>(out) + out_offset,
                            out_stride);
  }
};

void add_requantized_part(Lowering& lowering, const Node& node, ValueId in, size_t offset) {
  const Value &from = lowering.value(in), &to = lowering.value(node.outputs[0]);
  if (!is_per_tensor(from) || !is_per_tensor(to) || from.dtype != to.dtype || !lowering.is_dense(in) ||
      !lowering.is_dense(node.outputs[0])) {
    fail_no_kernel(lowering, node);
  }
  auto& step = lowering.add<RequantizedPart>(node, "requantize");
  if (from.dtype == DType::kUInt8) {
    kernels::make_convert_lut<uint8_t>(parameters_of(from), parameters_of(to), step.table);
  } else {
    kernels::make_convert_lut<int8_t>(parameters_of(from), parameters_of(to), step.table);
  }
  const size_t axis = node.as<ConcatAttributes>().axis;
  step.in = in;
  step.out = node.outputs[0];
  step.out_offset = offset;
  step.rows = static_cast<size_t>(from.shape.product(0, axis));
  step.columns = static_cast<size_t>(from.shape.product(axis, from.shape.rank()));
  step.out_stride = static_cast<size_t>(to.shape.product(axis, to.shape.rank()));
}

}  // namespace

void lower_movement(Lowering& lowering, const Node& node) {
  const ValueId in = node.inputs[0];
  if (node.op == Op::kTranspose && lowering.value(in).dtype != lowering.value(node.outputs[0]).dtype) {
    if (lowering.value(node.outputs[0]).dtype == DType::kUInt8) return add_quantized_transpose<uint8_t>(lowering, node);
    return add_quantized_transpose<int8_t>(lowering, node);
  }
  if (node.op == Op::kTranspose) {
    auto& step = add_move(lowering, node, in, "transpose");
    const auto strides = step.in_strides;
    const Shape& permutation = node.as<TransposeAttributes>().permutation;
    for (size_t d = 0; d < permutation.rank(); ++d) step.in_strides[d] = strides[static_cast<size_t>(permutation[d])];
    return;
  }
  auto& step = add_move(lowering, node, in, "slice");
  const Shape& offsets = node.as<SliceAttributes>().offsets;
  int64_t offset = 0;
  for (size_t d = 0; d < offsets.rank(); ++d) {
    offset += (offsets[d] < 0 ? offsets[d] + lowering.shape(in)[d] : offsets[d]) * step.in_strides[d];
  }
  step.in_offset = static_cast<size_t>(offset);
}

void lower_concat(Lowering& lowering, const Node& node) {
  const ValueId out = node.outputs[0];
  const size_t axis = node.as<ConcatAttributes>().axis;
  const auto out_strides = byte_strides(lowering, out);
  const auto& views = lowering.layouts.views;
  size_t offset = 0;
  for (const ValueId in : node.inputs) {
    const size_t position = offset;
    offset += lowering.dim(in, axis) * static_cast<size_t>(out_strides[axis]);
    const bool in_place =
        views[in].root == views[out].root && views[in].offset_bytes == views[out].offset_bytes + position;
    if (in_place || lowering.shape(in).numel() == 0) continue;
    if (!same_quantization(lowering.value(in), lowering.value(out))) {
      add_requantized_part(lowering, node, in, position);
      continue;
    }
    auto& step = add_move(lowering, node, in, "concatenate");
    step.sizes = lowering.shape(in);
    step.out_offset = position;
  }
  lower_post(lowering, node, node.post);
}

void lower_copy(Lowering& lowering, const Node& node) {
  const ValueId in = node.inputs[0], out = node.outputs[0];
  if (!same_quantization(lowering.value(in), lowering.value(out))) return lower_convert(lowering, node);
  if (is_per_row(lowering.value(in))) fail_no_kernel(lowering, node);
  // A reshape's input is dense unless it lies in a concatenation; its result may be anywhere.
  if (lowering.shape(in) == lowering.shape(out)) {
    add_move(lowering, node, in, "copy");
  } else if (lowering.is_dense(in)) {
    auto& step = add_move(lowering, node, in, "copy");
    int64_t stride = static_cast<int64_t>(step.element_size);
    for (size_t d = step.sizes.rank(); d-- > 0;) {
      step.in_strides[d] = stride;
      stride *= step.sizes[d];
    }
  } else {
    auto& step = add_move(lowering, node, in, "copy");
    step.sizes = lowering.shape(in);
    int64_t stride = static_cast<int64_t>(step.element_size);
    for (size_t d = step.sizes.rank(); d-- > 0;) {
      step.out_strides[d] = stride;
      stride *= step.sizes[d];
    }
  }
}

void lower_pad(Lowering& lowering, const Node& node) {
  const auto& pad = node.as<PadAttributes>();
  const Value& value = lowering.value(node.inputs[0]);
  auto& step = lowering.add<PadStep>(node, "pad");
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.sizes = value.shape;
  step.before = pad.before;
  step.after = pad.after;
  step.element_size = dtype_size(value.dtype);
  switch (value.dtype) {
    case DType::kFloat32:
      step.fill = std::bit_cast<uint32_t>(pad.value);
      break;
    case DType::kFloat16:
      step.fill = half_bits(pad.value);
      break;
    case DType::kBFloat16:
      step.fill = bfloat16_bits(pad.value);
      break;
    default:
      step.fill = static_cast<uint8_t>(quantize_value(value, pad.value));
      break;
  }
}

}  // namespace enr::graph
