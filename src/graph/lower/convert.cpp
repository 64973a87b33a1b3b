#include <algorithm>
#include <limits>
#include <variant>

#include "base/error.h"
#include "base/thread_pool.h"
#include "graph/lower/quantized.h"
#include "graph/lowering.h"
#include "kernels/convert/convert.h"
#include "kernels/qelementwise/qelementwise.h"

namespace enr::graph {

namespace {

struct ConvertStep : Step {
  DType from{}, to{};
  uint32_t in = 0, out = 0;
  size_t count = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::convert(from, frame.in<void>(in), to, frame.out<void>(out), count);
  }
};

template <class T>
struct QuantizeStep : Step {
  uint32_t in = 0, out = 0;
  size_t count = 0;
  kernels::Quantization parameters;

  void run(const Frame& frame) const noexcept override {
    kernels::quantize(frame.in<float>(in), frame.out<T>(out), count, parameters, std::numeric_limits<T>::min(),
                      std::numeric_limits<T>::max());
  }
};

template <class T>
struct DequantizeStep : Step {
  uint32_t in = 0, out = 0;
  size_t count = 0;
  kernels::Quantization parameters;

  void run(const Frame& frame) const noexcept override {
    kernels::dequantize(frame.in<T>(in), frame.out<float>(out), count, parameters);
  }
};

struct QuantizeRowsStep : Step {
  uint32_t in = 0, out = 0;
  size_t rows = 0, columns = 0, parameters_offset = 0;

  void run(const Frame& frame) const noexcept override {
    auto* parameters = reinterpret_cast<kernels::Quantization*>(frame.out<std::byte>(out) + parameters_offset);
    kernels::quantize_rows(rows, columns, frame.in<float>(in), columns, frame.out<int8_t>(out), parameters);
  }
};

// Infinities and NaN have no zero point.
kernels::Quantization choose_parameters(float min, float max, float epsilon) noexcept {
  const auto [scale, zero_point] = kernels::choose_parameters(min, max, -128, 127, epsilon);
  return {scale, zero_point == zero_point ? static_cast<int32_t>(zero_point) : 0};
}

// One scale and zero point for all rows.
struct QuantizeWholeStep : Step {
  uint32_t in = 0, out = 0;
  size_t rows = 0, count = 0, parameters_offset = 0;
  float epsilon = 0;

  void run(const Frame& frame) const noexcept override {
    const auto* from = frame.in<float>(in);
    float min = 0, max = 0;
    kernels::extremes_with_zero(from, count, min, max);
    const kernels::Quantization parameters = choose_parameters(min, max, epsilon);
    kernels::quantize(from, frame.out<int8_t>(out), count, parameters, -128, 127);
    auto* of_rows = reinterpret_cast<kernels::Quantization*>(frame.out<std::byte>(out) + parameters_offset);
    std::fill_n(of_rows, rows, parameters);
  }
};

// The same for each row.
struct QuantizeChosenRowsStep : Step {
  uint32_t in = 0, out = 0;
  size_t rows = 0, columns = 0, parameters_offset = 0;
  float epsilon = 0;

  void run(const Frame& frame) const noexcept override {
    const auto* from = frame.in<float>(in);
    auto* to = frame.out<int8_t>(out);
    auto* of_rows = reinterpret_cast<kernels::Quantization*>(frame.out<std::byte>(out) + parameters_offset);
    constexpr size_t kGrain = 16384;  // elements that pay for a thread
    parallel_ranges(rows, kGrain / columns + 1, [&](size_t begin, size_t end) {
      for (size_t r = begin; r < end; ++r) {
        const float* row = from + r * columns;
        float min = 0, max = 0;
        kernels::extremes_with_zero(row, columns, min, max);
        of_rows[r] = choose_parameters(min, max, epsilon);
        kernels::quantize_by(row, to + r * columns, columns, 1.0f / of_rows[r].scale, of_rows[r].zero_point, -128, 127);
      }
    });
  }
};

struct DequantizeRowsStep : Step {
  uint32_t in = 0, out = 0;
  size_t rows = 0, columns = 0, parameters_offset = 0;

  void run(const Frame& frame) const noexcept override {
    const auto* of_rows = reinterpret_cast<const kernels::Quantization*>(frame.in<std::byte>(in) + parameters_offset);
    for (size_t r = 0; r < rows; ++r) {
      kernels::dequantize(frame.in<int8_t>(in) + r * columns, frame.out<float>(out) + r * columns, columns, of_rows[r]);
    }
  }
};

template <class S>
void add_quantization(Lowering& lowering, const Node& node, const Value& quantized, const char* name) {
  auto& step = lowering.add<S>(node, name);
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.count = static_cast<size_t>(quantized.shape.numel());
  step.parameters = parameters_of(quantized);
}

void lower_requantization(Lowering& lowering, const Node& node, const Value& in, const Value& out) {
  if (!kernels::qconvert_supports(in.quantization.scale, out.quantization.scale)) {
    fail_execution("node ", node.origin, " (", op_name(node.op), "): scale ", in.quantization.scale,
                   " is too far from the result's ", out.quantization.scale);
  }
  uint8_t table[256];
  if (in.dtype == DType::kUInt8) {
    kernels::make_convert_lut<uint8_t>(parameters_of(in), parameters_of(out), table);
  } else {
    kernels::make_convert_lut<int8_t>(parameters_of(in), parameters_of(out), table);
  }
  add_table(lowering, node, table, "requantize");
}

void lower_row_quantization(Lowering& lowering, const Node& node, const Value& out) {
  const auto* chosen = std::get_if<ChosenAttributes>(&node.attributes);
  if (chosen != nullptr && chosen->by_row) {
    auto& step = lowering.add<QuantizeChosenRowsStep>(node, "quantize rows");
    step.in = node.inputs[0];
    step.out = node.outputs[0];
    step.rows = quantized_rows(out);
    step.columns = static_cast<size_t>(out.shape.numel()) / step.rows;
    step.parameters_offset = row_parameters_offset(out);
    step.epsilon = chosen->epsilon;
    return;
  }
  if (chosen != nullptr) {
    auto& step = lowering.add<QuantizeWholeStep>(node, "quantize dynamically");
    step.in = node.inputs[0];
    step.out = node.outputs[0];
    step.rows = quantized_rows(out);
    step.count = static_cast<size_t>(out.shape.numel());
    step.parameters_offset = row_parameters_offset(out);
    step.epsilon = chosen->epsilon;
    return;
  }
  auto& step = lowering.add<QuantizeRowsStep>(node, "quantize rows");
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.rows = quantized_rows(out);
  step.columns = static_cast<size_t>(out.shape.numel()) / step.rows;
  step.parameters_offset = row_parameters_offset(out);
}

void lower_row_dequantization(Lowering& lowering, const Node& node, const Value& in) {
  auto& step = lowering.add<DequantizeRowsStep>(node, "dequantize rows");
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.rows = quantized_rows(in);
  step.columns = static_cast<size_t>(in.shape.numel()) / step.rows;
  step.parameters_offset = row_parameters_offset(in);
}

}  // namespace

void lower_convert(Lowering& lowering, const Node& node) {
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  const bool plain =
      in.quantization.kind == Quantization::Kind::kNone && out.quantization.kind == Quantization::Kind::kNone;
  if (plain && is_floating(in.dtype) && is_floating(out.dtype)) {
    auto& step = lowering.add<ConvertStep>(node, "convert");
    step.from = in.dtype;
    step.to = out.dtype;
    step.in = node.inputs[0];
    step.out = node.outputs[0];
    step.count = static_cast<size_t>(in.shape.numel());
  } else if (in.dtype == DType::kFloat32 && is_per_row(out)) {
    lower_row_quantization(lowering, node, out);
  } else if (is_per_row(in) && out.dtype == DType::kFloat32) {
    lower_row_dequantization(lowering, node, in);
  } else if (in.dtype == DType::kFloat32 && is_per_tensor(out)) {
    if (out.dtype == DType::kUInt8) return add_quantization<QuantizeStep<uint8_t>>(lowering, node, out, "quantize");
    add_quantization<QuantizeStep<int8_t>>(lowering, node, out, "quantize");
  } else if (is_per_tensor(in) && out.dtype == DType::kFloat32) {
    if (in.dtype == DType::kUInt8) return add_quantization<DequantizeStep<uint8_t>>(lowering, node, in, "dequantize");
    add_quantization<DequantizeStep<int8_t>>(lowering, node, in, "dequantize");
  } else if (is_per_tensor(in) && is_per_tensor(out) && in.dtype == out.dtype) {
    lower_requantization(lowering, node, in, out);
  } else {
    fail_no_kernel(lowering, node);
  }
}

}  // namespace enr::graph
