// Where a method's values lie: arenas, memory of their own, constants, the caller's arrays.

#include <algorithm>
#include <cstring>

#include "executor/method.h"

namespace enr::executor {

std::byte* Method::arena(size_t index) {
  if (index > 0 && shares_) return program_->shared_arena(index).data();
  if (own_arenas_.size() <= index) own_arenas_.resize(index + 1);
  AlignedBuffer& buffer = own_arenas_[index];
  if (buffer.data() == nullptr) buffer = AlignedBuffer::zeroed(plan_->method->arena_sizes[index]);
  return buffer.data();
}

void Method::place_values() {
  const program::Method& method = *plan_->method;
  std::vector<uint8_t> is_input(method.values.size());
  for (const uint32_t v : method.inputs) is_input[v] = 1;
  for (const uint32_t v : plan_->redirected) is_input[v] = 1;  // given memory when an instruction points them somewhere
  values_.resize(method.values.size());
  for (size_t v = 0; v < method.values.size(); ++v) make_value(method.values[v], is_input[v] != 0, values_[v]);
  for (const plan::InPlaceUpdate& update : plan_->in_place_updates) {
    values_[update.copy].get<Tensor>()->data = values_[update.target].get<Tensor>()->data;
  }
  for (const uint32_t v : method.inputs) {
    // Inputs without planned memory: the caller's array is copied, so the runtime provides it.
    auto* tensor = values_[v].get<Tensor>();
    if (tensor != nullptr && tensor->data == nullptr) context_.resize(*tensor, Sizes(tensor->sizes()));
  }
  for (const uint32_t v : plan_->args) arguments_.push_back(&values_[v]);
  for (const uint32_t v : method.outputs) outputs_.push_back(&values_[v]);
  for (const uint32_t v : plan_->redirected) redirected_.push_back(*values_[v].get<Tensor>());
}

void Method::place_tensor(const program::Tensor& source, bool is_input, Tensor& tensor) {
  tensor.dtype = source.dtype;
  tensor.rank = static_cast<uint8_t>(source.sizes.size());
  tensor.dynamism = source.dynamism == program::Dynamism::kStatic ? Dynamism::kStatic : Dynamism::kBounded;
  std::copy(source.dim_order.begin(), source.dim_order.end(), tensor.dim_order_array.begin());
  tensor.set_sizes(source.sizes);
  tensor.capacity_bytes = source.size_bytes;
  switch (source.storage) {
    case program::Storage::kConstant:
      tensor.is_constant = true;
      tensor.data = const_cast<std::byte*>(source.bytes.data());
      break;
    case program::Storage::kPlanned:
    case program::Storage::kMutableInitial: {
      std::byte* base = arena(source.placement.arena);
      if (base != nullptr) tensor.data = base + source.placement.offset;
      break;
    }
    default:
      tensor.capacity_bytes = 0;
      if (is_input) break;
      context_.resize(tensor, Sizes(tensor.sizes()));
      // A state starts as zeros, and what nobody writes is nothing of what was in the memory before.
      if (tensor.size_bytes() != 0) std::memset(tensor.data, 0, tensor.size_bytes());
      break;
  }
}

void Method::make_value(const program::Value& source, bool is_input, Value& value) {
  const auto pointers = [&](const std::vector<uint32_t>& items) {
    std::vector<Value*> slots;
    for (const uint32_t v : items) {
      slots.push_back(v == program::OptionalTensorList::kNone ? nullptr : &values_[v]);
    }
    return slots;
  };
  if (const auto* tensor = std::get_if<program::Tensor>(&source)) {
    place_tensor(*tensor, is_input, value.data.emplace<Tensor>());
  } else if (const auto* ints = std::get_if<program::IntList>(&source)) {
    auto& list = value.data.emplace<IntList>();
    for (const uint32_t v : ints->items) list.items.push_back(&values_[v]);
  } else if (const auto* doubles = std::get_if<program::DoubleList>(&source)) {
    value.data = DoubleList{doubles->items};
  } else if (const auto* bools = std::get_if<program::BoolList>(&source)) {
    auto& list = value.data.emplace<BoolList>();
    list.items.assign(bools->items.begin(), bools->items.end());
  } else if (const auto* tensors = std::get_if<program::TensorList>(&source)) {
    value.data = TensorList{pointers(tensors->items), {}};
  } else if (const auto* optional = std::get_if<program::OptionalTensorList>(&source)) {
    value.data = TensorList{pointers(optional->items), {}};
  } else if (const auto* i = std::get_if<int64_t>(&source)) {
    value.data = *i;
  } else if (const auto* d = std::get_if<double>(&source)) {
    value.data = *d;
  } else if (const auto* b = std::get_if<bool>(&source)) {
    value.data = *b;
  } else if (const auto* text = std::get_if<std::string>(&source)) {
    value.data = *text;
  }
}

// Points large tensors to the caller's memory and copies the inputs that cannot be read there.
void Method::use_caller_memory(std::span<const Input> inputs, std::span<std::byte* const> output_memory) {
  const auto place = [&](Tensor& tensor, std::byte* data) {
    displaced_.emplace_back(&tensor, tensor.data);
    tensor.data = data;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* input = std::get_if<TensorInput>(&inputs[i]);
    if (input == nullptr) continue;
    Tensor& tensor = *values_[plan_->method->inputs[i]].get<Tensor>();
    if (plan_->readable_in_place[i] != 0 && spec_.inputs[i].size_bytes >= kLargeBytes &&
        has_layout_of(*input, tensor)) {
      tensor.set_sizes(Sizes(input->sizes, input->rank));
      place(tensor, const_cast<std::byte*>(static_cast<const std::byte*>(input->data)));  // no instruction writes it
    } else {
      copy_input(*input, tensor);
    }
  }
  for (size_t i = 0; i < output_memory.size(); ++i) {
    if (output_memory[i] != nullptr) place(*values_[plan_->method->outputs[i]].get<Tensor>(), output_memory[i]);
  }
}

void Method::use_own_memory() noexcept {
  for (const auto& [tensor, data] : displaced_) tensor->data = data;
  displaced_.clear();
}

// What was freed and is now written, or updated in place, starts over as zeros.
void Method::give_memory(size_t index) {
  for (const plan::TensorUse& use : plan_->movable_uses[index]) {
    auto* tensor = values_[use.value].get<Tensor>();
    if (!use.is_written || tensor == nullptr || tensor->data != nullptr || tensor->numel() == 0) continue;
    context_.resize(*tensor, Sizes(tensor->sizes()));
    std::memset(tensor->data, 0, tensor->size_bytes());
  }
}

MemoryReport Method::memory() {
  const std::lock_guard guard(lock());
  MemoryReport report;
  for (const uint64_t size : plan_->method->arena_sizes) report.planned_bytes += size;
  for (const program::Value& value : plan_->method->values) {
    const auto* tensor = std::get_if<program::Tensor>(&value);
    if (tensor != nullptr && tensor->storage == program::Storage::kConstant)
      report.constant_bytes += tensor->size_bytes;
  }
  for (const program::Delegate& delegate : plan_->method->delegates) report.constant_bytes += delegate.processed.size();
  for (const auto& [key, bytes] : program_->decoded().named_data) report.constant_bytes += bytes.size();
  report.packed_bytes = program_->weights().size_bytes();
  report.workspace_bytes = context_.scratch_bytes();
  for (const auto& delegate : delegates_) {
    report.workspace_bytes = std::max(report.workspace_bytes, delegate->workspace_bytes());
  }
  return report;
}

}  // namespace enr::executor
