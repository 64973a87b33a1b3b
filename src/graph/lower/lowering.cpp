#include "graph/lowering.h"

#include <algorithm>

#include "base/mapped_pages.h"
#include "base/thread_pool.h"
#include "graph/lower/quantized.h"

namespace enr::graph {

namespace {

// The post of a node whose kernel does none of it, in place.
struct PostStep : Step {
  PostLoop post;
  uint32_t out;
  size_t rows, columns, stride;

  void run(const Frame& frame) const noexcept override {
    float* data = frame.out<float>(out);
    if (stride == columns) {
      parallel_ranges(rows * columns, 16384, [&](size_t begin, size_t end) { post.apply(data + begin, end - begin); });
    } else {
      for (size_t r = 0; r < rows; ++r) post.apply(data + r * stride, columns);
    }
  }
};

}  // namespace

PostLoop::PostLoop(const Post& post) {
  if (post.clamps()) {
    clamp_ = kernels::activation_fn(kernels::Unary::kClamp);
    clamp_params_.a = post.min;
    clamp_params_.b = post.max;
  }
  if (post.activation) {
    activation_ = kernels::activation_fn(post.activation->op);
    activation_params_ = post.activation->params;
  }
}

uint32_t Lowering::scratch(size_t size_bytes) {
  scratches.push_back({size_bytes, current_node});
  return static_cast<uint32_t>(graph.values.size() + scratches.size() - 1);
}

std::array<int64_t, kMaxRank> Lowering::strides(ValueId id) const {
  std::array<int64_t, kMaxRank> strides{};
  const Shape& s = shape(id);
  int64_t stride = 1;
  for (size_t d = s.rank(); d-- > 0;) {
    strides[d] = stride;
    stride = d + 1 == s.rank() ? static_cast<int64_t>(row_stride(id)) : stride * s[d];
  }
  return strides;
}

void Lowering::register_step(const Node& node, std::string name, std::unique_ptr<Step> step) {
  step->name = std::move(name);
  step->origin = node.origin;
  step->shape = shape(node.outputs[0]);
  steps.push_back(std::move(step));
}

std::shared_ptr<const AlignedBuffer> Lowering::pack(ValueId weights, const std::string& packing, size_t packed_bytes,
                                                    FunctionRef<void(void*)> fill) const {
  const Value& constant = value(weights);
  WeightCache& cache = constant.owner != nullptr ? context.own_weights : context.weights;
  return cache.get(constant.data, packing, [&] {
    AlignedBuffer buffer = AlignedBuffer::zeroed(packed_bytes);
    prefer_large_pages(buffer.data(), packed_bytes);
    fill(buffer.data());
    // Nothing reads the file's copy again.
    const auto count = static_cast<size_t>(constant.shape.numel());
    release_pages(constant.data, constant.dtype == DType::kQUInt4x2 ? count / 2 : count * dtype_size(constant.dtype));
    context.until_packed.erase(constant.data);
    return buffer;
  });
}

void lower_post(Lowering& lowering, const Node& node, const Post& post) {
  const Shape& shape = lowering.shape(node.outputs[0]);
  if ((!post.clamps() && !post.activation) || shape.numel() == 0) return;
  auto& step = lowering.add<PostStep>(node, "activation");
  step.post = PostLoop(post);
  step.out = node.outputs[0];
  step.rows = static_cast<size_t>(shape.rows());
  step.columns = shape.rank() == 0 ? 1 : static_cast<size_t>(shape.back());
  step.stride = lowering.row_stride(node.outputs[0]);
}

namespace {

// Data movement does not ask what the elements mean.
bool lower_any_dtype(Lowering& lowering, const Node& node) {
  switch (node.op) {
    case Op::kConcat:
      lower_concat(lowering, node);
      return true;
    case Op::kTranspose:
    case Op::kSlice:
      lower_movement(lowering, node);
      return true;
    case Op::kPad:
      lower_pad(lowering, node);
      return true;
    case Op::kConvert:
      lower_convert(lowering, node);
      return true;
    case Op::kReshape:
    case Op::kCopy:
      lower_copy(lowering, node);
      return true;
    default:
      return false;
  }
}

}  // namespace

void lower(Lowering& lowering, const Node& node) {
  if (lowering.shape(node.outputs[0]).numel() == 0 || lower_any_dtype(lowering, node)) return;
  const DType dtype = lowering.value(node.inputs[0]).dtype;
  if (dtype == DType::kInt8 || dtype == DType::kUInt8) return lower_quantized(lowering, node);
  const auto is_other = [&](ValueId id) { return id != kNoValue && !is_floating(lowering.value(id).dtype); };
  if (dtype != DType::kFloat32 || lowering.value(node.outputs[0]).dtype != DType::kFloat32 ||
      std::any_of(node.inputs.begin(), node.inputs.end(), is_other)) {
    fail_no_kernel(lowering, node);
  }
  if (node.producer != nullptr) return lower_bands(lowering, node);
  switch (node.op) {
    case Op::kConv:
      return lower_conv(lowering, node);
    case Op::kDepthwise:
      return lower_depthwise(lowering, node);
    case Op::kConvTranspose:
      return lower_conv_transpose(lowering, node);
    case Op::kFullyConnected:
      return lower_fully_connected(lowering, node);
    case Op::kBatchMatmul:
      return lower_batch_matmul(lowering, node);
    case Op::kBinary:
      return lower_binary(lowering, node);
    case Op::kUnary:
      return lower_unary(lowering, node);
    case Op::kAveragePool:
    case Op::kMaxPool:
    case Op::kArgMaxPool:
    case Op::kGlobalAverage:
      return lower_pool(lowering, node);
    case Op::kReduce:
      return lower_reduce(lowering, node);
    case Op::kSoftmax:
      return lower_softmax(lowering, node);
    case Op::kLayerNorm:
    case Op::kGroupNorm:
      return lower_norm(lowering, node);
    case Op::kResizeBilinear:
    case Op::kResizeNearest:
      return lower_resize(lowering, node);
    default:
      fail_no_kernel(lowering, node);
  }
}

}  // namespace enr::graph
