#include "delegates/xnnpack/backend.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "delegates/xnnpack/argument_layouts.h"
#include "delegates/xnnpack/declared_shapes.h"
#include "delegates/xnnpack/image_layouts.h"
#include "delegates/xnnpack/lost_arguments.h"
#include "delegates/xnnpack/lost_scales.h"
#include "delegates/xnnpack/payload.h"
#include "delegates/xnnpack/translate.h"
#include "graph/compiled_graph.h"

namespace enr::delegates::xnnpack {

namespace {

using graph::Shape;

bool accepts(const graph::Value& value, DType dtype) {
  switch (value.dtype) {
    case DType::kInt8:
      return dtype == DType::kInt8 || dtype == DType::kQInt8;
    case DType::kUInt8:
      return dtype == DType::kUInt8 || dtype == DType::kQUInt8;
    // Indices of argmax pooling are 32 bits wide in the graph; the program asks for PyTorch's 64.
    case DType::kInt32:
      return dtype == DType::kInt32 || (value.is_output && dtype == DType::kInt64);
    default:
      return dtype == value.dtype;
  }
}

// The dims of a tensor in the order they have in the payload, outermost in memory first.
using Order = std::vector<uint8_t>;

// The tensor's own order, unless the payload has its dims of 1 elsewhere: they make no difference in memory, and
// exporters may read any order of them off the strides.
Order order_in_payload(const program::Tensor& tensor, const std::vector<int64_t>& dims) {
  Order order(tensor.dim_order.begin(), tensor.dim_order.end());
  const auto is_one = [&](uint8_t dim) { return tensor.sizes[dim] == 1; };
  const Order original = order;
  const auto others = std::stable_partition(order.begin(), order.end(), is_one);
  if (dims.size() != order.size() || std::ranges::count(dims, 1) != others - order.begin()) return original;
  Order result;
  for (auto one = order.begin(), other = others; const int64_t dim : dims) {
    result.push_back(dim == 1 ? *one++ : *other++);
    if (tensor.sizes[result.back()] != dim) return original;
  }
  return result;
}

// Of the tensors of further calls, which exporters do not write, nothing but their own order is known.
uint8_t dim_at(const Tensor& tensor, const Order& order, size_t index) {
  return order.size() == tensor.rank ? order[index] : tensor.dim_order()[index];
}

// The tensor's sizes in memory order. A scalar is one dim of 1 in payloads.
Shape memory_shape(const Tensor& tensor, const graph::Value& value, const Order& order) {
  if (tensor.rank == 0 && value.shape.rank() == 1) return {1};
  Shape shape;
  for (size_t i = 0; i < tensor.rank; ++i) shape.push_back(tensor.size(dim_at(tensor, order, i)));
  return shape;
}

void resize_output(Tensor& tensor, const Shape& shape, const Order& order, OpContext& context) {
  std::array<int64_t, enr::kMaxRank> sizes{};
  for (size_t i = 0; i < tensor.rank; ++i) sizes[dim_at(tensor, order, i)] = shape[i];
  if (tensor.rank == 0 && shape[0] != 1) fail_execution("output: the result has shape ", shape, ", expected a scalar");
  if (tensor.data == nullptr || !std::equal(tensor.sizes().begin(), tensor.sizes().end(), sizes.begin())) {
    context.resize(tensor, Sizes(sizes.data(), tensor.rank), "output");
  }
}

void widen_indices(const Tensor& tensor) {
  const auto* narrow = reinterpret_cast<const int32_t*>(tensor.data);
  auto* wide = reinterpret_cast<int64_t*>(tensor.data);
  for (int64_t i = tensor.numel(); i-- > 0;) {
    const int64_t index = narrow[i];
    wide[i] = index;
  }
}

graph::Graph checked_graph(Payload& payload) {
  turn_softmax_of_pixels(payload);
  graph::Graph graph = translate(payload);
  find_shapes(payload, graph);
  return graph;
}

// The graph of the payload, which is changed to what was meant.
graph::Graph make_graph(Payload& payload) {
  Payload meant = payload;
  bool is_changed = quantise_rows_beside_images(meant);
  is_changed |= turn_quantised_arguments(meant);
  is_changed |= read_outputs_as_pixels(meant);
  is_changed |= read_turned_as_planes(meant);
  is_changed |= turn_in_front_of_convolutions(meant);
  if (is_changed) {
    try {
      graph::Graph graph = checked_graph(meant);
      payload = std::move(meant);
      return graph;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it was meant as it is
    }
  }
  return checked_graph(payload);
}

class Compiled;

class Instance : public DelegateInstance {
 public:
  // `positions`: where the graph's arguments are among the call's. `orders`: of their dims.
  Instance(std::shared_ptr<const graph::CompiledGraph> compiled, std::vector<uint32_t> positions,
           std::vector<Order> orders)
      : compiled_(std::move(compiled)),
        runner_(compiled_),
        positions_(std::move(positions)),
        orders_(std::move(orders)) {
    const graph::Graph& graph = compiled_->graph();
    for (const graph::ValueId id : graph.arguments) {
      if (graph.values[id].is_input) ++input_count_;
    }
    inputs_.resize(input_count_);
    arguments_.resize(graph.arguments.size());
    addresses_.resize(graph.arguments.size());
  }

  void run(std::span<Tensor* const> arguments, OpContext& context, TraceSink* trace) override {
    for (size_t i = 0; i < arguments_.size(); ++i) arguments_[i] = arguments[positions_[i]];
    check();
    const graph::Plan& plan = runner_.prepare(inputs_);
    for (size_t i = input_count_; i < arguments_.size(); ++i) {
      resize_output(*arguments_[i], plan.outputs()[i - input_count_], orders_[i], context);
    }
    for (size_t i = 0; i < arguments_.size(); ++i) addresses_[i] = arguments_[i]->data;
    // The workspace is the context's, so that one serves all delegates of a method and stays in cache.
    runner_.run(addresses_, context.scratch(plan.workspace_bytes()), trace);
    for (size_t i = input_count_; i < arguments_.size(); ++i) {
      if (arguments_[i]->dtype == DType::kInt64) widen_indices(*arguments_[i]);
    }
  }

  size_t workspace_bytes() const noexcept override { return compiled_->workspace_bytes(); }

 private:
  void check() {
    const graph::Graph& graph = compiled_->graph();
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Tensor& tensor = *arguments_[i];
      const graph::Value& value = graph.values[graph.arguments[i]];
      if (!accepts(value, tensor.dtype)) {
        fail_execution("argument ", positions_[i], " is ", dtype_name(tensor.dtype), ", expected ",
                       dtype_name(value.dtype));
      }
      const size_t rank = value.shape.rank();
      if (tensor.rank != rank && !(tensor.rank == 0 && rank == 1)) {
        fail_execution("argument ", positions_[i], " has ", +tensor.rank, " dims, expected ", rank);
      }
      if (i < input_count_) inputs_[i] = memory_shape(tensor, value, orders_[i]);
    }
  }

  std::shared_ptr<const graph::CompiledGraph> compiled_;
  graph::GraphRunner runner_;
  std::vector<uint32_t> positions_;
  std::vector<Order> orders_;
  size_t input_count_ = 0;
  std::vector<Shape> inputs_;
  std::vector<Tensor*> arguments_;
  std::vector<std::byte*> addresses_;
};

class Compiled : public CompiledDelegate {
 public:
  Compiled(const program::Program& program, const program::Delegate& delegate,
           std::span<const program::Tensor* const> arguments, WeightCache& weights)
      : payload_(decode_payload(
            delegate.processed, [&](std::string_view key) { return program.find_named_data(key); }, "")) {
    restore_lost_graph(payload_, arguments);
    restore_lost_scales(payload_, arguments);
    for (const uint32_t id : payload_.externals) {
      const Value& value = payload_.values[id];
      if (value.is_external_input && value.is_external_output) {
        fail_load("value ", id, " is both input and output, expected one of them");
      }
      positions_.push_back(value.external_id);
      const program::Tensor* tensor = value.external_id < arguments.size() ? arguments[value.external_id] : nullptr;
      orders_.push_back(tensor != nullptr ? order_in_payload(*tensor, value.dims) : Order());
      output_count_ += value.is_external_output;
    }
    input_count_ = payload_.argument_count - output_count_;
    set_layouts(payload_, arguments);
    try {
      compiled_ = std::make_shared<const graph::CompiledGraph>(make_graph(payload_), weights);
    } catch (const Error& error) {
      throw Error(ErrorKind::kProgramLoad, error.what());
    }
  }

  size_t input_count() const noexcept override { return input_count_; }
  size_t output_count() const noexcept override { return output_count_; }
  std::unique_ptr<DelegateInstance> instantiate() const override {
    return std::make_unique<Instance>(compiled_, positions_, orders_);
  }
  const graph::Graph& graph() const noexcept override { return compiled_->graph(); }
  std::span<const uint32_t> positions() const noexcept override { return positions_; }

 private:
  Payload payload_;  // holds the graph's constants
  std::shared_ptr<const graph::CompiledGraph> compiled_;
  std::vector<uint32_t> positions_;
  std::vector<Order> orders_;  // parallel to positions_
  size_t input_count_ = 0, output_count_ = 0;
};

class XnnpackBackend : public Backend {
 public:
  std::shared_ptr<const CompiledDelegate> compile(const program::Program& program, const program::Delegate& delegate,
                                                  std::span<const program::Tensor* const> arguments,
                                                  WeightCache& weights) const override {
    return std::make_shared<const Compiled>(program, delegate, arguments, weights);
  }
};

}  // namespace

const Backend& backend() {
  static const XnnpackBackend instance;
  return instance;
}

}  // namespace enr::delegates::xnnpack
