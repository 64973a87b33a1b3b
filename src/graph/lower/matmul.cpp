#include <memory>
#include <optional>

#include "base/error.h"
#include "graph/infer.h"
#include "graph/lower/epilogue.h"
#include "graph/lowering.h"
#include "kernels/gemm/gemm.h"

namespace enr::graph {

namespace {

struct GemmStep : Step {
  size_t m = 0, n = 0, k = 0, a_stride = 0, c_stride = 0;
  std::shared_ptr<const AlignedBuffer> packed;
  std::optional<kernels::HalfType> half;  // of weights of 16 bits
  Epilogue epilogue;
  uint32_t a = 0, c = 0;

  void run(const Frame& frame) const noexcept override {
    if (half) {
      kernels::gemm_half(*half, m, n, k, frame.in<float>(a), a_stride, packed->data(), frame.out<float>(c), c_stride,
                         epilogue.bind(frame));
      return;
    }
    kernels::gemm(m, n, k, frame.in<float>(a), a_stride, packed->data(), frame.out<float>(c), c_stride,
                  epilogue.bind(frame));
  }
};

// One call for each of `calls`: more than two batch dims do not merge into one call.
struct BatchMatmulStep : Step {
  struct Offsets {
    size_t a, b, c;
  };
  kernels::BatchMatmul matmul;
  std::vector<Offsets> calls;
  uint32_t a = 0, b = 0, c = 0, bias = kNoValue, scratch = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::BatchMatmul bound = matmul;
    for (const Offsets& offsets : calls) {
      bound.a = frame.in<float>(a) + offsets.a;
      bound.b = frame.in<float>(b) + offsets.b;
      bound.c = frame.out<float>(c) + offsets.c;
      if (bias != kNoValue) bound.addend = frame.in<float>(bias);
      kernels::batch_matmul(bound, frame.out<void>(scratch));
    }
  }
};

struct Sizes {
  size_t m, n, k;
};

GemmStep& add_gemm(Lowering& lowering, const Node& node, const Sizes& sizes, kernels::WeightLayout layout) {
  const Value& weights = lowering.value(node.inputs[1]);
  const ValueId bias_id = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
  const float* bias = bias_id == kNoValue ? nullptr : reinterpret_cast<const float*>(lowering.value(bias_id).data);
  const size_t n = sizes.n, k = sizes.k;
  const size_t stride = layout == kernels::WeightLayout::kOutputMajor ? k : n;
  auto& step = lowering.add<GemmStep>(node, "gemm");
  if (weights.dtype == DType::kFloat16) step.half = kernels::HalfType::kFloat16;
  if (weights.dtype == DType::kBFloat16) step.half = kernels::HalfType::kBFloat16;
  const auto fill = [&](void* packed) {
    if (step.half) {
      kernels::gemm_half_pack(layout, n, k, reinterpret_cast<const uint16_t*>(weights.data), stride, bias, packed);
    } else {
      kernels::gemm_pack(layout, n, k, reinterpret_cast<const float*>(weights.data), stride, bias, packed);
    }
  };
  step.packed =
      lowering.pack(node.inputs[1],
                    concat("gemm ", static_cast<int>(layout), ' ', n, 'x', k, ' ', static_cast<int>(weights.dtype),
                           " bias ", static_cast<const void*>(bias)),
                    step.half ? kernels::gemm_half_packed_bytes(n, k) : kernels::gemm_packed_bytes(n, k), fill);
  step.m = sizes.m;
  step.n = n;
  step.k = k;
  step.a = node.inputs[0];
  step.c = node.outputs[0];
  step.c_stride = lowering.row_stride(step.c);
  step.epilogue = Epilogue(lowering, node);
  step.operations = 2.0 * static_cast<double>(sizes.m) * static_cast<double>(n) * static_cast<double>(k);
  return step;
}

// Merges the batch dims of both operands, as broadcast, into as few as possible; innermost last.
struct BatchDim {
  size_t size, a_stride, b_stride;
};

std::vector<BatchDim> merge_batch_dims(const Shape& a, const Shape& b, const Shape& c) {
  std::vector<BatchDim> dims;
  const size_t batch_rank = c.rank() - 2;
  size_t a_stride = static_cast<size_t>(a.product(a.rank() - 2, a.rank()));
  size_t b_stride = static_cast<size_t>(b.product(b.rank() - 2, b.rank()));
  for (size_t i = 0; i < batch_rank; ++i) {  // from the innermost out
    const auto size = static_cast<size_t>(c[batch_rank - 1 - i]);
    const int64_t a_size = i + 2 < a.rank() ? a[a.rank() - 3 - i] : 1,
                  b_size = i + 2 < b.rank() ? b[b.rank() - 3 - i] : 1;
    const BatchDim dim{size, a_size == 1 ? 0 : a_stride, b_size == 1 ? 0 : b_stride};
    a_stride *= static_cast<size_t>(a_size);
    b_stride *= static_cast<size_t>(b_size);
    if (size == 1) continue;
    if (!dims.empty()) {
      BatchDim& inner = dims.front();
      if (dim.a_stride == inner.size * inner.a_stride && dim.b_stride == inner.size * inner.b_stride) {
        inner.size *= size;
        continue;
      }
    }
    dims.insert(dims.begin(), dim);
  }
  return dims;
}

}  // namespace

void lower_fully_connected(Lowering& lowering, const Node& node) {
  const ValueId in = node.inputs[0], filter = node.inputs[1], out = node.outputs[0];
  const bool transposed = node.as<MatmulAttributes>().transposed;
  const Sizes sizes{static_cast<size_t>(lowering.shape(in).rows()), lowering.dim(filter, transposed ? 1 : 0),
                    lowering.dim(filter, transposed ? 0 : 1)};
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
  if (lowering.value(filter).is_constant() && (bias == kNoValue || lowering.value(bias).is_constant())) {
    auto& step = add_gemm(lowering, node, sizes,
                          transposed ? kernels::WeightLayout::kInputMajor : kernels::WeightLayout::kOutputMajor);
    step.a_stride = lowering.row_stride(in);
    return;
  }
  auto& step = lowering.add<BatchMatmulStep>(node, "matmul");
  kernels::BatchMatmul& matmul = step.matmul;
  matmul.m = sizes.m;
  matmul.n = sizes.n;
  matmul.k = sizes.k;
  matmul.a_stride = lowering.row_stride(in);
  matmul.b_transposed = !transposed;
  matmul.b_stride = lowering.row_stride(filter);
  matmul.c_stride = lowering.row_stride(out);
  step.calls = {{0, 0, 0}};
  step.a = in;
  step.b = filter;
  step.c = out;
  step.bias = bias;
  step.scratch = lowering.scratch(kernels::batch_matmul_workspace_bytes(1, sizes.m, sizes.n, sizes.k));
  step.operations = 2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  lower_post(lowering, node, node.post);
}

void lower_batch_matmul(Lowering& lowering, const Node& node) {
  const ValueId a = node.inputs[0], b = node.inputs[1], c = node.outputs[0];
  const bool transposed = node.as<MatmulAttributes>().transposed;
  const Shape &a_shape = lowering.shape(a), &c_shape = lowering.shape(c);
  const Shape b_shape = matmul_operand(node, lowering.shape(b));
  const Sizes sizes{static_cast<size_t>(c_shape[c_shape.rank() - 2]), static_cast<size_t>(c_shape.back()),
                    static_cast<size_t>(a_shape.back())};
  std::vector<BatchDim> dims = merge_batch_dims(a_shape, b_shape, c_shape);
  const bool shared_b = dims.empty() || (dims.size() == 1 && dims[0].b_stride == 0 && dims[0].a_stride != 0);
  if (shared_b && lowering.value(b).is_constant()) {
    const Sizes merged{static_cast<size_t>(c_shape.rows()), sizes.n, sizes.k};
    auto& step = add_gemm(lowering, node, merged,
                          transposed ? kernels::WeightLayout::kOutputMajor : kernels::WeightLayout::kInputMajor);
    step.a_stride = sizes.k;
    return;
  }
  auto& step = lowering.add<BatchMatmulStep>(node, "batch matmul");
  kernels::BatchMatmul& matmul = step.matmul;
  matmul.m = sizes.m;
  matmul.n = sizes.n;
  matmul.k = sizes.k;
  matmul.a_stride = sizes.k;
  matmul.b_transposed = transposed;
  matmul.b_stride = transposed ? sizes.k : sizes.n;
  matmul.c_stride = sizes.n;
  matmul.min = node.post.min;
  matmul.max = node.post.max;
  size_t c_step = sizes.m * sizes.n;
  if (!dims.empty()) {
    const BatchDim inner = dims.back();
    dims.pop_back();
    matmul.batch_inner = inner.size;
    matmul.a_inner_stride = inner.a_stride;
    matmul.b_inner_stride = inner.b_stride;
    matmul.c_inner_stride = c_step;
    c_step *= inner.size;
  }
  if (!dims.empty()) {
    const BatchDim outer = dims.back();
    dims.pop_back();
    matmul.batch_outer = outer.size;
    matmul.a_outer_stride = outer.a_stride;
    matmul.b_outer_stride = outer.b_stride;
    matmul.c_outer_stride = c_step;
    c_step *= outer.size;
  }
  step.calls = {{0, 0, 0}};
  for (const BatchDim& dim : dims) {  // outermost first
    std::vector<BatchMatmulStep::Offsets> expanded;
    for (const auto& call : step.calls) {
      for (size_t i = 0; i < dim.size; ++i)
        expanded.push_back({call.a + i * dim.a_stride, call.b + i * dim.b_stride, 0});
    }
    step.calls = std::move(expanded);
  }
  for (size_t i = 0; i < step.calls.size(); ++i) step.calls[i].c = i * c_step;
  step.a = a;
  step.b = b;
  step.c = c;
  step.scratch = lowering.scratch(
      kernels::batch_matmul_workspace_bytes(matmul.batch_outer * matmul.batch_inner, sizes.m, sizes.n, sizes.k));
  step.operations = 2.0 * static_cast<double>(c_shape.numel()) * static_cast<double>(sizes.k);
}

}  // namespace enr::graph
