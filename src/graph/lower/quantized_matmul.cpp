#include <algorithm>
#include <atomic>
#include <memory>

#include "base/error.h"
#include "base/half.h"
#include "graph/lower/quantized.h"

namespace enr::graph {

namespace {

struct Products {
  kernels::QWeights weights;
  size_t m = 0;
};

Products products_of(const Lowering& lowering, const Node& node) {
  const Value& filter = lowering.value(node.inputs[1]);
  const bool transposed = node.as<MatmulAttributes>().transposed;
  const bool is_int4 = filter.dtype == DType::kQUInt4x2;
  if (!filter.is_constant() || (!is_int4 && filter.dtype != DType::kInt8 && filter.dtype != DType::kUInt8)) {
    fail_no_kernel(lowering, node);
  }
  Products products;
  products.m = static_cast<size_t>(lowering.shape(node.inputs[0]).rows());
  kernels::QWeights& weights = products.weights;
  weights.type = is_int4                         ? kernels::QWeightType::kInt4
                 : filter.dtype == DType::kUInt8 ? kernels::QWeightType::kUInt8
                                                 : kernels::QWeightType::kInt8;
  weights.layout = transposed ? kernels::WeightLayout::kInputMajor : kernels::WeightLayout::kOutputMajor;
  weights.n = static_cast<size_t>(filter.shape[transposed ? 1 : 0]);
  weights.k = static_cast<size_t>(filter.shape[transposed ? 0 : 1]);
  weights.data = filter.data;
  const auto row = static_cast<size_t>(filter.shape[1]);
  weights.row_bytes = is_int4 ? (row + 1) / 2 : row;
  weights.zero_point = is_int4 ? 8 : filter.quantization.zero_point;
  if (filter.quantization.kind == Quantization::Kind::kPerBlock) {
    weights.block_size = filter.quantization.group_size;
    const std::vector<float>& scales = *filter.quantization.scales;
    weights.has_float_scales = std::any_of(scales.begin(), scales.end(),
                                           [](float scale) { return bfloat16_value(bfloat16_bits(scale)) != scale; });
  }
  return products;
}

std::string weights_key(const kernels::QWeights& weights) {
  return concat(static_cast<int>(weights.type), ' ', static_cast<int>(weights.layout), ' ', weights.n, 'x', weights.k,
                '/', weights.block_size, ' ', weights.has_float_scales, ' ', weights.zero_point, ' ');
}

struct GemmStep : Step {
  size_t m = 0, a_stride = 0, c_stride = 0;
  kernels::QWeights weights;
  std::shared_ptr<const AlignedBuffer> packed;
  size_t scratch_bytes = 0;
  uint32_t a = 0, c = 0, scratch = 0;

  kernels::QWorkspace workspace(const Frame& frame) const noexcept { return {frame.out<void>(scratch), scratch_bytes}; }
};

struct StaticGemmStep : GemmStep {
  kernels::QOutput output;

  void run(const Frame& frame) const noexcept override {
    kernels::qgemm_static(m, weights.n, weights.k, frame.in<void>(a), a_stride, packed->data(), output,
                          frame.out<void>(c), c_stride, workspace(frame));
  }
};

// Weights that no second-level cache holds are passed over in the other direction each time: those of the last run's
// end are still there.
constexpr size_t kAlternatingBytes = 1024 * 1024;

struct DynamicGemmStep : GemmStep {
  kernels::QClamp clamp;
  size_t parameters_offset = 0;
  mutable std::atomic<bool> backwards{false};

  void run(const Frame& frame) const noexcept override {
    const auto* rows = reinterpret_cast<const kernels::Quantization*>(frame.in<std::byte>(a) + parameters_offset);
    const bool back = packed->size_bytes() >= kAlternatingBytes && backwards.load(std::memory_order_relaxed);
    backwards.store(!back, std::memory_order_relaxed);
    kernels::qgemm_dynamic(m, weights, frame.in<int8_t>(a), a_stride, rows, packed->data(), clamp, frame.out<float>(c),
                           c_stride, workspace(frame), back);
  }
};

void finish(Lowering& lowering, const Node& node, const Products& products, GemmStep& step) {
  const kernels::QWeights& weights = products.weights;
  step.m = products.m;
  step.weights = weights;
  step.a = node.inputs[0];
  step.a_stride = lowering.row_stride(step.a);
  step.c = node.outputs[0];
  step.c_stride = lowering.row_stride(step.c);
  step.scratch_bytes = kernels::qgemm_workspace_bytes(products.m, weights.n, weights.k);
  step.scratch = lowering.scratch(step.scratch_bytes);
  step.operations =
      2.0 * static_cast<double>(products.m) * static_cast<double>(weights.n) * static_cast<double>(weights.k);
}

void lower_static(Lowering& lowering, const Node& node, const Products& products) {
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  if (in.dtype != out.dtype || products.weights.type == kernels::QWeightType::kInt4) fail_no_kernel(lowering, node);
  const std::vector<float> scales = requantization_scales(lowering, node, node.inputs[0]);
  const StaticBias bias = static_bias(lowering, node, node.inputs[0]);
  const kernels::QStatic quantization{in.dtype == DType::kUInt8, in.quantization.zero_point, scales.data(),
                                      scales.size(), bias.offsets_data()};
  auto& step = lowering.add<StaticGemmStep>(node, "gemm int8");
  step.packed = lowering.pack(node.inputs[1],
                              concat("qgemm ", weights_key(products.weights), quantization.is_unsigned, ' ',
                                     quantization.input_zero_point, ' ', scales_key(scales), " bias ", bias.source),
                              kernels::qgemm_packed_bytes(products.weights), [&](void* packed) {
                                kernels::qgemm_pack_static(products.weights, bias.sums_data(), quantization, packed);
                              });
  step.output = quantized_output(out, node.post);
  finish(lowering, node, products, step);
}

void lower_dynamic(Lowering& lowering, const Node& node, const Products& products) {
  const Value &in = lowering.value(node.inputs[0]), &filter = lowering.value(node.inputs[1]);
  const std::vector<float> scales = filter_scales(filter);
  std::vector<uint16_t> block_scales;
  if (products.weights.block_size != 0 && !products.weights.has_float_scales) {
    for (const float scale : scales) block_scales.push_back(bfloat16_bits(scale));
  }
  const float* bias = constant_bias(lowering, node);
  kernels::QDynamic quantization;
  if (block_scales.empty()) {
    quantization.scales = scales.data();
    quantization.scale_count = scales.size();
  } else {
    quantization.block_scales = block_scales.data();
  }
  quantization.bias = bias;
  auto& step = lowering.add<DynamicGemmStep>(
      node, products.weights.type == kernels::QWeightType::kInt4 ? "gemm dynamic int4" : "gemm dynamic int8");
  step.packed = lowering.pack(
      node.inputs[1],
      concat("qdgemm ", weights_key(products.weights), scales_key(scales), " bias ", static_cast<const void*>(bias)),
      kernels::qgemm_packed_bytes(products.weights),
      [&](void* packed) { kernels::qgemm_pack_dynamic(products.weights, quantization, packed); });
  step.clamp = {node.post.min, node.post.max};
  step.parameters_offset = row_parameters_offset(in);
  finish(lowering, node, products, step);
  step.weights.data = nullptr;
  Post rest = node.post;
  rest.min = -std::numeric_limits<float>::infinity();
  rest.max = std::numeric_limits<float>::infinity();
  lower_post(lowering, node, rest);
}

}  // namespace

void lower_quantized_fully_connected(Lowering& lowering, const Node& node) {
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  const Products products = products_of(lowering, node);
  if (is_per_tensor(in) && is_per_tensor(out)) return lower_static(lowering, node, products);
  if (!is_per_row(in) || in.quantization.nonbatch_dims != 1 || out.dtype != DType::kFloat32)
    fail_no_kernel(lowering, node);
  lower_dynamic(lowering, node, products);
}

}  // namespace enr::graph
