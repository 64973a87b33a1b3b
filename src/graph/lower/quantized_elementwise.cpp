#include <algorithm>
#include <memory>

#include "base/error.h"
#include "graph/lower/quantized.h"
#include "kernels/qelementwise/qelementwise.h"

namespace enr::graph {

namespace {

using kernels::Binary;
using kernels::QBinary;

// The dims of a broadcast operation, merged where all operands allow; innermost last.
struct BroadcastDim {
  size_t size, a_stride, b_stride;
};

std::vector<BroadcastDim> merge_dims(const Shape& a, const Shape& b, const Shape& out) {
  std::vector<BroadcastDim> dims;
  size_t a_stride = 1, b_stride = 1;
  for (size_t i = 0; i < out.rank(); ++i) {  // from the innermost out
    const auto size = static_cast<size_t>(out[out.rank() - 1 - i]);
    const auto a_size = static_cast<size_t>(i < a.rank() ? a[a.rank() - 1 - i] : 1);
    const auto b_size = static_cast<size_t>(i < b.rank() ? b[b.rank() - 1 - i] : 1);
    const BroadcastDim dim{size, a_size == 1 ? 0 : a_stride, b_size == 1 ? 0 : b_stride};
    a_stride *= a_size;
    b_stride *= b_size;
    if (size == 1) continue;
    if (!dims.empty()) {
      BroadcastDim& inner = dims.front();
      if (dim.a_stride == inner.size * inner.a_stride && dim.b_stride == inner.size * inner.b_stride) {
        inner.size *= size;
        continue;
      }
    }
    dims.insert(dims.begin(), dim);
  }
  if (dims.empty()) dims.push_back({1, 1, 1});
  return dims;
}

struct BinaryStep : Step {
  struct Offsets {
    size_t a, b, out;
  };
  kernels::QBinaryParams params;
  kernels::QBroadcast broadcast;
  std::vector<Offsets> calls;
  bool is_unsigned = false;
  uint32_t a = 0, b = 0, out = 0;

  void run(const Frame& frame) const noexcept override { is_unsigned ? run_as<uint8_t>(frame) : run_as<int8_t>(frame); }

  template <class T>
  void run_as(const Frame& frame) const noexcept {
    for (const Offsets& offsets : calls) {
      kernels::qbinary(params, broadcast, frame.in<T>(a) + offsets.a, frame.in<T>(b) + offsets.b,
                       frame.out<T>(out) + offsets.out);
    }
  }
};

QBinary quantized_operation(const Lowering& lowering, const Node& node) {
  switch (node.as<BinaryAttributes>().op) {
    case Binary::kAdd:
      return QBinary::kAdd;
    case Binary::kSub:
      return QBinary::kSubtract;
    case Binary::kMul:
      return QBinary::kMultiply;
    default:
      fail_no_kernel(lowering, node);
  }
}

// A function of one byte.
struct TableStep : Step {
  uint8_t table[256] = {};
  uint32_t in = 0, out = 0;
  size_t rows = 0, columns = 0, in_stride = 0, out_stride = 0;

  void run(const Frame& frame) const noexcept override {
    if (in_stride == columns && out_stride == columns) {
      kernels::apply_lut(table, frame.in<void>(in), frame.out<void>(out), rows * columns);
    } else {
      kernels::apply_lut_rows(table, rows, columns, frame.in<void>(in), in_stride, frame.out<void>(out), out_stride);
    }
  }
};

struct FloatFunction {
  kernels::Loop loop;
  kernels::LoopParams params;
};

float evaluate(float x, const void* context) {
  const auto& function = *static_cast<const FloatFunction*>(context);
  const void* in[1] = {&x};
  const uint8_t step[1] = {1};
  float y = 0;
  function.loop.run(&y, in, step, 1, function.params);
  return y;
}

// In the order in which XNNPACK rounds.
float hard_swish(float x, const void*) { return x / 6.0f * std::max(std::min(x + 3.0f, 6.0f), 0.0f); }

template <class T>
void make_table(const UnaryAttributes& unary, const Value& in, const Value& out, const Post& post, uint8_t* table) {
  const kernels::Quantization from = parameters_of(in), to = parameters_of(out);
  if (unary.table != nullptr) {
    std::ranges::copy(*unary.table, table);
  } else if (unary.op == kernels::Unary::kClamp && same_quantization(in, out)) {
    Post clamp;
    clamp.min = static_cast<float>(unary.params.a);
    clamp.max = static_cast<float>(unary.params.b);
    const kernels::QOutput range = quantized_output(out, clamp);
    kernels::make_clamp_lut<T>(range.min, range.max, table);
  } else if (unary.op == kernels::Unary::kLeakyRelu) {
    kernels::make_leaky_relu_lut<T>(static_cast<float>(unary.params.a), from, to, table);
  } else if (unary.op == kernels::Unary::kHardSwish) {
    kernels::make_lut<T>(hard_swish, nullptr, from, to, table);
  } else {
    const FloatFunction function{kernels::unary_loop(unary.op, DType::kFloat32), unary.params};
    kernels::make_lut<T>(evaluate, &function, from, to, table);
  }
  if (!post.clamps()) return;
  const kernels::QOutput range = quantized_output(out, post);
  for (int i = 0; i < 256; ++i) {
    const int32_t value = static_cast<T>(table[i]);
    table[i] = static_cast<uint8_t>(value < range.min ? range.min : value > range.max ? range.max : value);
  }
}

// A product of a value and itself, which XNNPACK rounds as a function of one byte.
Node as_square(Node node) {
  node.op = Op::kUnary;
  node.attributes = UnaryAttributes{kernels::Unary::kSquare, {}};
  node.inputs.resize(1);
  return node;
}

}  // namespace

void lower_quantized_binary(Lowering& lowering, const Node& node) {
  if (node.as<BinaryAttributes>().op == Binary::kMul && node.inputs[0] == node.inputs[1]) {
    return lower_quantized_unary(lowering, as_square(node));
  }
  const ValueId a = node.inputs[0], b = node.inputs[1], out = node.outputs[0];
  const Value &x = lowering.value(a), &y = lowering.value(b), &z = lowering.value(out);
  if (!is_per_tensor(x) || !is_per_tensor(y) || !is_per_tensor(z) || x.dtype != y.dtype || x.dtype != z.dtype) {
    fail_no_kernel(lowering, node);
  }
  const QBinary op = quantized_operation(lowering, node);
  auto& step = lowering.add<BinaryStep>(node, concat(kernels::binary_name(node.as<BinaryAttributes>().op), " int8"));
  const kernels::QOutput range = quantized_output(z, node.post);
  step.params = kernels::make_qbinary(op, parameters_of(x), parameters_of(y), parameters_of(z), range.min, range.max);
  step.is_unsigned = x.dtype == DType::kUInt8;
  step.a = a;
  step.b = b;
  step.out = out;

  std::vector<BroadcastDim> dims = merge_dims(x.shape, y.shape, z.shape);
  const BroadcastDim inner = dims.back();
  dims.pop_back();
  step.broadcast.n = inner.size;
  step.broadcast.a_step = static_cast<uint8_t>(inner.a_stride);
  step.broadcast.b_step = static_cast<uint8_t>(inner.b_stride);
  size_t extent = inner.size;
  if (!dims.empty()) {
    step.broadcast.rows = dims.back().size;
    step.broadcast.a_row = dims.back().a_stride;
    step.broadcast.b_row = dims.back().b_stride;
    extent *= dims.back().size;
    dims.pop_back();
  }
  step.calls = {{0, 0, 0}};
  for (const BroadcastDim& dim : dims) {
    std::vector<BinaryStep::Offsets> expanded;
    for (const auto& call : step.calls) {
      for (size_t i = 0; i < dim.size; ++i)
        expanded.push_back({call.a + i * dim.a_stride, call.b + i * dim.b_stride, 0});
    }
    step.calls = std::move(expanded);
  }
  for (size_t i = 0; i < step.calls.size(); ++i) step.calls[i].out = i * extent;
}

void add_table(Lowering& lowering, const Node& node, const uint8_t* table, std::string name) {
  auto& step = lowering.add<TableStep>(node, std::move(name));
  std::copy(table, table + 256, step.table);
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  const Shape& shape = lowering.shape(step.in);
  step.rows = static_cast<size_t>(shape.rows());
  step.columns = shape.rank() == 0 ? 1 : static_cast<size_t>(shape.back());
  step.in_stride = lowering.row_stride(step.in);
  step.out_stride = lowering.row_stride(step.out);
}

void lower_quantized_unary(Lowering& lowering, const Node& node) {
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  if (!is_per_tensor(in) || !is_per_tensor(out) || in.dtype != out.dtype) fail_no_kernel(lowering, node);
  const auto& unary = node.as<UnaryAttributes>();
  uint8_t table[256];
  if (in.was_signed && out.was_signed) {
    uint8_t of_signed[256];
    make_table<int8_t>(unary, as_signed(in), as_signed(out), node.post, of_signed);
    for (size_t i = 0; i < 256; ++i) table[i ^ kUnsignedOffset] = of_signed[i] ^ kUnsignedOffset;
  } else if (in.dtype == DType::kUInt8) {
    make_table<uint8_t>(unary, in, out, node.post, table);
  } else {
    make_table<int8_t>(unary, in, out, node.post, table);
  }
  add_table(lowering, node, table, concat(kernels::unary_name(unary.op), " int8"));
}

}  // namespace enr::graph
