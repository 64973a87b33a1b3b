#include "raise/region_runner.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace enr::raise {

namespace {

bool varies(const program::Tensor& declared) { return declared.dynamism != program::Dynamism::kStatic; }

// Whether the tensor is what the program declares, but for sizes that vary.
bool fits(const Tensor& tensor, const program::Tensor& declared) {
  return tensor.dtype == declared.dtype && std::ranges::equal(tensor.dim_order(), declared.dim_order) &&
         (varies(declared) || std::ranges::equal(tensor.sizes(), declared.sizes));
}

void append_sizes(Variants::Key& key, const Tensor& tensor) {
  key.insert(key.end(), tensor.sizes().begin(), tensor.sizes().end());
}

}  // namespace

RegionRunner::RegionRunner(const program::Method& method, const Region& region, std::span<Value> values)
    : region_(region), values_(values), input_count_(region.inputs.size()) {
  const auto add = [&](std::vector<Port>& ports, const std::vector<uint32_t>& list) {
    for (const uint32_t value : list)
      ports.push_back({&values[value], &std::get<program::Tensor>(method.values[value])});
  };
  add(ports_, region.inputs);
  add(ports_, region.outputs);
  add(measured_, region.measured);
  tensors_.resize(ports_.size());
  addresses_.resize(ports_.size());
}

bool RegionRunner::find_key() {
  key_.clear();
  for (size_t i = 0; i < ports_.size(); ++i) {
    const auto* tensor = ports_[i].value->get<Tensor>();
    if (tensor == nullptr || !fits(*tensor, *ports_[i].declared)) return false;
    if (i >= input_count_) {
      if (tensor->is_constant) return false;
      continue;
    }
    if (tensor->data == nullptr) return false;
    if (varies(*ports_[i].declared)) append_sizes(key_, *tensor);
  }
  for (const Port& port : measured_) {
    const auto* tensor = port.value->get<Tensor>();
    if (tensor == nullptr || tensor->rank != port.declared->sizes.size()) return false;
    append_sizes(key_, *tensor);
  }
  for (const uint32_t value : region_.integers) {
    const auto* integer = values_[value].get<int64_t>();
    if (integer == nullptr) return false;
    key_.push_back(*integer);
  }
  return true;
}

bool RegionRunner::find_variant() {
  if (variant_ == nullptr || key_ != key_in_use_) {
    variant_ = region_.variants->get(region_, key_);
    key_in_use_ = key_;
    runner_.reset();
    shapes_.clear();
    if (variant_->graph == nullptr) return false;
    runner_.emplace(variant_->graph);
    const graph::Graph& graph = variant_->graph->graph();
    for (size_t i = 0; i < input_count_; ++i) shapes_.push_back(graph.values[graph.arguments[i]].shape);
  }
  return variant_->graph != nullptr;
}

// Gives the outputs their sizes; false where they have no room, or are read as well.
bool RegionRunner::size_outputs(OpContext& context) {
  for (size_t i = input_count_; i < ports_.size(); ++i) {
    Tensor& tensor = *ports_[i].value->get<Tensor>();
    const std::vector<int64_t>& sizes = variant_->outputs[i - input_count_];
    if (std::ranges::equal(tensor.sizes(), sizes) && tensor.data != nullptr) continue;
    const bool is_input = std::any_of(ports_.begin(), ports_.begin() + static_cast<ptrdiff_t>(input_count_),
                                      [&](const Port& port) { return port.value == ports_[i].value; });
    const bool has_room =
        tensor.data == nullptr || tensor.grown != nullptr ||
        static_cast<size_t>(graph::Shape(sizes).numel()) * dtype_size(tensor.dtype) <= tensor.capacity_bytes;
    if (is_input || !has_room || !varies(*ports_[i].declared)) return false;
    context.resize(tensor, Sizes(sizes));
  }
  return true;
}

// Memory planning may give a result the memory of an operand that is not needed behind the instruction that computes
// it. The graph computes in another order, so such results are staged.
void RegionRunner::find_staged() {
  if (staged_for_ == tensors_) return;
  staged_for_ = tensors_;
  staged_.assign(ports_.size(), false);
  const auto room = [&](size_t i) {
    const Tensor& tensor = *ports_[i].value->get<Tensor>();
    return std::max(tensor.capacity_bytes, tensor.size_bytes());
  };
  const auto overlap = [&](size_t a, size_t b) {
    return tensors_[a] < tensors_[b] + room(b) && tensors_[b] < tensors_[a] + room(a);
  };
  for (size_t out = input_count_; out < ports_.size(); ++out) {
    for (size_t other = 0; other < ports_.size(); ++other) {
      if (other != out && overlap(out, other)) staged_[out] = true;
    }
  }
}

bool RegionRunner::run(OpContext& context, TraceSink* trace) {
  std::byte* workspace = nullptr;
  try {
    if (!find_key() || !find_variant() || !size_outputs(context)) return false;
    for (size_t i = 0; i < ports_.size(); ++i) tensors_[i] = ports_[i].value->get<Tensor>()->data;
    find_staged();
    workspace = context.scratch(runner_->prepare(shapes_).workspace_bytes());
    for (size_t i = 0; i < ports_.size(); ++i) {
      addresses_[i] = staged_[i] ? context.scratch(ports_[i].value->get<Tensor>()->size_bytes()) : tensors_[i];
    }
  } catch (const std::bad_alloc&) {
    return false;  // the instructions may need less
  }
  runner_->run(addresses_, workspace, trace);
  for (size_t i = input_count_; i < ports_.size(); ++i) {
    if (staged_[i]) std::memcpy(tensors_[i], addresses_[i], ports_[i].value->get<Tensor>()->size_bytes());
  }
  for (size_t i = 0; i < region_.computed.size(); ++i) values_[region_.computed[i]].data = variant_->computed[i];
  return true;
}

}  // namespace enr::raise
