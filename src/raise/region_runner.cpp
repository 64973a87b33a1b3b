#include "raise/region_runner.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace enr::raise {

RegionRunner::RegionRunner(const program::Method& method, const Region& region, std::span<Value> values)
    : runner_(region.graph), input_count_(region.inputs.size()) {
  for (const auto* list : {&region.inputs, &region.outputs}) {
    for (const uint32_t value : *list) {
      ports_.push_back({&values[value], &std::get<program::Tensor>(method.values[value])});
    }
  }
  const graph::Graph& graph = region.graph->graph();
  for (size_t i = 0; i < input_count_; ++i) shapes_.push_back(graph.values[graph.arguments[i]].shape);
  tensors_.resize(ports_.size());
  addresses_.resize(ports_.size());
}

bool RegionRunner::fits(const Port& port, bool is_output) {
  const auto* tensor = port.value->get<Tensor>();
  return tensor != nullptr && tensor->data != nullptr && tensor->dtype == port.declared->dtype &&
         std::ranges::equal(tensor->sizes(), port.declared->sizes) &&
         std::ranges::equal(tensor->dim_order(), port.declared->dim_order) && !(is_output && tensor->is_constant);
}

// Memory planning may give a result the memory of an operand that is not needed behind the instruction that computes
// it. The graph computes in another order, so such results are staged.
void RegionRunner::find_staged() {
  if (staged_for_ == tensors_) return;
  staged_for_ = tensors_;
  staged_.assign(ports_.size(), false);
  const auto overlap = [&](size_t a, size_t b) {
    return tensors_[a] < tensors_[b] + ports_[b].declared->size_bytes &&
           tensors_[b] < tensors_[a] + ports_[a].declared->size_bytes;
  };
  for (size_t out = input_count_; out < ports_.size(); ++out) {
    for (size_t other = 0; other < ports_.size(); ++other) {
      if (other != out && overlap(out, other)) staged_[out] = true;
    }
  }
}

bool RegionRunner::run(OpContext& context, TraceSink* trace) {
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (!fits(ports_[i], i >= input_count_)) return false;
    tensors_[i] = ports_[i].value->get<Tensor>()->data;
  }
  find_staged();
  const graph::Plan& plan = runner_.prepare(shapes_);
  std::byte* workspace = nullptr;
  try {
    workspace = context.scratch(plan.workspace_bytes());
    for (size_t i = 0; i < ports_.size(); ++i) {
      addresses_[i] = staged_[i] ? context.scratch(ports_[i].declared->size_bytes) : tensors_[i];
    }
  } catch (const std::bad_alloc&) {
    return false;  // the instructions may need less
  }
  runner_.run(addresses_, workspace, trace);
  for (size_t i = input_count_; i < ports_.size(); ++i) {
    if (staged_[i]) std::memcpy(tensors_[i], addresses_[i], ports_[i].declared->size_bytes);
  }
  return true;
}

}  // namespace enr::raise
