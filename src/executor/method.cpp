#include "executor/method.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include "base/error.h"
#include "executor/overlaps.h"
#include "kernels/transpose/strided_copy.h"

namespace enr::executor {

namespace {

// A program that runs longer than this is taken to loop for ever, as the official runtime does.
constexpr size_t kMaxInstructions = 10'000'000;

// Below, copying costs less than what moving addresses makes delegates look up anew.
constexpr size_t kLargeBytes = 16 << 10;

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

std::array<int64_t, kMaxRank> strides_in_bytes(const Tensor& tensor) {
  std::array<int64_t, kMaxRank> strides{};
  for (size_t d = 0; d < tensor.rank; ++d)
    strides[d] = tensor.stride(d) * static_cast<int64_t>(dtype_size(tensor.dtype));
  return strides;
}

}  // namespace

Method::Method(std::shared_ptr<Program> program, std::shared_ptr<const plan::MethodPlan> plan, bool shares)
    : program_(std::move(program)),
      plan_(std::move(plan)),
      spec_(method_spec(*plan_->method)),
      shares_(shares),
      number_(program_->next_method_number()),
      context_(program_->weights(), random_) {
  for (size_t i = 0; i < spec_.outputs.size(); ++i) {
    ValueSpec& output = spec_.outputs[i];
    output.is_writable_in_place = plan_->writable_in_place[i] != 0 && output.size_bytes >= kLargeBytes;
  }
  uses_shared_arena_ = plan_->method->arena_sizes.size() > 1;
  const std::lock_guard<std::mutex> guard(lock());
  try {
    place_values();
  } catch (const std::bad_alloc&) {
    uint64_t bytes = 0;
    for (const uint64_t size : plan_->method->arena_sizes) bytes += size;
    fail_load(spec_.name, ": not enough memory for the ", bytes, " bytes the program plans");
  }
  for (const plan::State& state : plan_->states) {
    const auto& tensor = std::get<program::Tensor>(plan_->method->values[state.value]);
    states_.push_back({state.name, tensor.dtype, tensor.sizes, tensor.dim_order, !tensor.bytes.empty()});
    state_tensors_.push_back(*values_[state.value].get<Tensor>());
  }
  write_initial_values(false);
  for (const auto& compiled : plan_->delegates) delegates_.push_back(compiled->instantiate());
  for (const raise::Region& region : plan_->regions) regions_.emplace_back(*plan_->method, region, values_);
  call_sites_.resize(plan_->instructions.size());
  saved_.resize(plan_->states.size());
  is_saved_.resize(plan_->states.size());
}

std::byte* Method::arena(size_t index) {
  if (index > 0 && shares_) return program_->shared_arena(index).data();
  if (own_arenas_.size() <= index) own_arenas_.resize(index + 1);
  AlignedBuffer& buffer = own_arenas_[index];
  if (buffer.data() == nullptr) buffer = zeroed_buffer(plan_->method->arena_sizes[index]);
  return buffer.data();
}

void Method::place_values() {
  const program::Method& method = *plan_->method;
  std::vector<uint8_t> is_input(method.values.size());
  for (const uint32_t v : method.inputs) is_input[v] = 1;
  for (const uint32_t v : plan_->redirected) is_input[v] = 1;  // given memory when an instruction points them somewhere
  values_.resize(method.values.size());
  for (size_t v = 0; v < method.values.size(); ++v) make_value(method.values[v], is_input[v] != 0, values_[v]);
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
      if (!is_input) context_.resize(tensor, Sizes(tensor.sizes()));
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

// At load a shared buffer gets its initial value from the first method only; a reset writes them all.
void Method::write_initial_values(bool all) {
  for (size_t s = 0; s < state_tensors_.size(); ++s) {
    const auto& source = std::get<program::Tensor>(plan_->method->values[plan_->states[s].value]);
    const Tensor& tensor = state_tensors_[s];
    const bool is_shared = shares_ && source.placement.arena > 0;
    const bool is_first = !is_shared || program_->claim_initial_value(source.placement.arena, source.placement.offset);
    if (tensor.data == nullptr || (!all && !is_first)) continue;
    if (!source.bytes.empty()) {
      std::memcpy(tensor.data, source.bytes.data(), source.size_bytes);
    } else if (all) {
      std::memset(tensor.data, 0, source.size_bytes);
    }
  }
}

void Method::run(std::span<const Input> inputs, FunctionRef<void(std::span<const Value* const>)> consume,
                 std::span<std::byte* const> output_memory, TraceSink* trace) {
  check_inputs(spec_, inputs);
  const std::lock_guard<std::mutex> guard(lock());
  for (size_t i = 0; i < redirected_.size(); ++i) values_[plan_->redirected[i]].data = redirected_[i];
  struct Restore {
    Method& method;
    ~Restore() {
      method.use_own_memory();
      method.trace_ = nullptr;
    }
  } restore{*this};
  trace_ = trace;
  seed_if_changed();
  use_caller_memory(inputs, output_memory);
  execute();
  consume(outputs_);
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

void Method::seed_if_changed() {
  const uint64_t changes = program_->seed_changes();
  if (changes == seed_changes_) return;
  seed_changes_ = changes;
  const uint64_t seed = program_->current_seed();
  if (number_ == 0) return random_.seed(seed);
  std::seed_seq sequence{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                         static_cast<uint32_t>(number_)};
  random_.seed(sequence);
}

void Method::use_own_memory() noexcept {
  for (const auto& [tensor, data] : displaced_) tensor->data = data;
  displaced_.clear();
}

void Method::execute() {
  try {
    size_t executed = 0;
    for (size_t i = 0; i < plan_->instructions.size();) {
      if (++executed > kMaxInstructions) {
        fail_execution(spec_.name, "[", i, "]: stopped after ", kMaxInstructions,
                       " instructions: the program seems to loop for ever");
      }
      i = step(i);
    }
    check_outputs();
    std::fill(is_saved_.begin(), is_saved_.end(), uint8_t{0});
  } catch (const std::bad_alloc&) {
    restore_states();
    fail_execution(spec_.name, ": not enough memory");
  } catch (...) {
    restore_states();
    throw;
  }
}

// A program may free what it gives.
void Method::check_outputs() const {
  const auto check = [&](const Value& value, size_t index) {
    const auto* tensor = value.get<Tensor>();
    if (tensor != nullptr && tensor->data == nullptr && tensor->numel() != 0)
      fail_execution(spec_.name, ": output ", index, ": the tensor has no memory");
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    check(*outputs_[i], i);
    const auto* list = outputs_[i]->get<TensorList>();
    if (list == nullptr) continue;
    for (const Value* item : list->items) {
      if (item != nullptr) check(*item, i);
    }
  }
}

// Runs one instruction and gives the index of the next.
size_t Method::step(size_t index) {
  const plan::Instruction& instruction = plan_->instructions[index];
  if (instruction.region != plan::kNoRegion && run_region(instruction.region, index)) {
    return plan_->regions[instruction.region].end;
  }
  if (instruction.saves_state) save_states(index);
  Value* const* arguments = arguments_.data() + instruction.first_arg;
  switch (instruction.kind) {
    case plan::InstructionKind::kOperator:
      call_operator(instruction, index);
      break;
    case plan::InstructionKind::kDelegate:
      call_delegate(instruction, index);
      break;
    case plan::InstructionKind::kMove:
      move(*arguments[0], *arguments[1]);
      break;
    case plan::InstructionKind::kFree:
      if (auto* tensor = arguments[0]->get<Tensor>()) {
        tensor->data = nullptr;
        tensor->grown = nullptr;
        tensor->capacity_bytes = 0;  // whoever writes it next gives it memory
      }
      break;
    case plan::InstructionKind::kJumpIfFalse:
      if (!is_true(*arguments[0])) return instruction.destination;
      break;
  }
  return index + 1;
}

// For its life, an instruction reads copies of the tensors that lie where it writes.
class Method::ReadCopies {
 public:
  ReadCopies(Method& method, const plan::Instruction& instruction, size_t index)
      : method_(method), arguments_(method.arguments_.data() + instruction.first_arg) {
    if (!instruction.reads_overlapped) return;
    const std::span<const plan::TensorUse> movable(method.plan_->movable_uses[index]);
    if (!movable.empty()) found_ = find_overlapped_reads(movable, method.values_);
    const std::span<const plan::OverlappedRead> reads(movable.empty() ? method.plan_->overlapped_reads[index] : found_);
    copies_.reserve(reads.size());
    for (const plan::OverlappedRead& read : reads) {
      const Tensor& tensor = *method_.values_[read.value].get<Tensor>();
      Tensor& copy = copies_.emplace_back().data.emplace<Tensor>(tensor);
      if (tensor.data == nullptr) continue;
      copy.data = method_.context_.scratch(tensor.size_bytes());
      std::memcpy(copy.data, tensor.data, tensor.size_bytes());
    }
    reads_ = reads;
    exchange();
  }
  ~ReadCopies() { exchange(); }
  ReadCopies(const ReadCopies&) = delete;
  ReadCopies& operator=(const ReadCopies&) = delete;

 private:
  void exchange() noexcept {
    for (size_t i = 0; i < reads_.size(); ++i) {
      Value& own = method_.values_[reads_[i].value];
      if (reads_[i].own_argument) {
        Value*& argument = arguments_[*reads_[i].own_argument];
        argument = argument == &own ? &copies_[i] : &own;
      } else {
        std::swap(own.get<Tensor>()->data, copies_[i].get<Tensor>()->data);
      }
    }
  }

  Method& method_;
  Value** arguments_;
  std::vector<plan::OverlappedRead> found_;
  std::span<const plan::OverlappedRead> reads_;
  std::vector<Value> copies_;
};

// What was freed and is now written, or updated in place, starts over as zeros.
void Method::give_memory(size_t index) {
  for (const plan::TensorUse& use : plan_->movable_uses[index]) {
    auto* tensor = values_[use.value].get<Tensor>();
    if (!use.is_written || tensor == nullptr || tensor->data != nullptr || tensor->numel() == 0) continue;
    context_.resize(*tensor, Sizes(tensor->sizes()));
    std::memset(tensor->data, 0, tensor->size_bytes());
  }
}

void Method::call_operator(const plan::Instruction& instruction, size_t index) {
  const Operator& op = *plan_->operators[instruction.callee];
  context_.begin(call_sites_[index]);
  const uint64_t start = trace_ != nullptr ? now_ns() : 0;
  try {
    give_memory(index);
    const ReadCopies copies(*this, instruction, index);
    op.run(context_, Arguments(arguments_.data() + instruction.first_arg, instruction.arg_count));
  } catch (const Error& error) {
    throw Error(error.kind(), concat(spec_.name, "[", index, "] ", op.name, ": ", error.what()));
  }
  if (trace_ != nullptr) {
    trace_->record({"operator", op.name, static_cast<int64_t>(index), start, now_ns() - start, describe(index)});
  }
}

bool Method::run_region(uint32_t region, size_t index) {
  context_.begin(call_sites_[index]);
  const uint64_t start = trace_ != nullptr ? now_ns() : 0;
  if (!regions_[region].run(context_, trace_)) return false;
  if (trace_ != nullptr) {
    const size_t count = plan_->regions[region].end - index;
    trace_->record({"region", concat(count, " operators"), static_cast<int64_t>(index), start, now_ns() - start,
                    concat("instructions ", index, " to ", plan_->regions[region].end - 1)});
  }
  return true;
}

void Method::call_delegate(const plan::Instruction& instruction, size_t index) {
  const std::string& name = plan_->method->delegates[instruction.callee].id;
  context_.begin(call_sites_[index]);
  const size_t input_count = plan_->delegates[instruction.callee]->input_count();
  const uint64_t start = trace_ != nullptr ? now_ns() : 0;
  try {
    give_memory(index);
    const ReadCopies copies(*this, instruction, index);
    delegate_arguments_.clear();
    for (size_t a = 0; a < instruction.arg_count; ++a) {
      delegate_arguments_.push_back(arguments_[instruction.first_arg + a]->get<Tensor>());
    }
    for (size_t a = 0; a < delegate_arguments_.size(); ++a) {
      const Tensor* tensor = delegate_arguments_[a];
      if (tensor == nullptr) fail_execution("argument ", a, ": expected a tensor");
      if (a >= input_count && tensor->is_constant) fail_execution("argument ", a, ": a constant cannot be written");
      if (a < input_count && tensor->data == nullptr && tensor->numel() != 0)
        fail_execution("argument ", a, ": the tensor has no memory");
    }
    delegates_[instruction.callee]->run(delegate_arguments_, context_, trace_);
  } catch (const Error& error) {
    throw Error(error.kind(), concat(spec_.name, "[", index, "] ", name, ": ", error.what()));
  }
  if (trace_ != nullptr) {
    trace_->record({"delegate", name, static_cast<int64_t>(index), start, now_ns() - start, describe(index)});
  }
}

// Branches and loops hand their results over by moves. Where the target has memory of its own, the elements are copied,
// so that a later write to the source cannot change them; elsewhere the target refers to the source's memory.
void Method::move(Value& from, Value& to) {
  const auto* source = from.get<Tensor>();
  auto* target = to.get<Tensor>();
  if (source == nullptr || target == nullptr) {
    if (&from != &to) to.data = from.data;
    return;
  }
  if (source->data == nullptr && source->numel() != 0) fail_execution(spec_.name, ": a tensor without memory is moved");
  const bool has_room = target->data != nullptr && !target->is_constant && target->dtype == source->dtype &&
                        target->rank == source->rank && source->size_bytes() <= target->capacity_bytes;
  if (!has_room) {
    to.data = Tensor(*source);
    return;
  }
  if (source->data == target->data) {
    target->set_sizes(source->sizes());
    return;
  }
  target->dim_order_array = source->dim_order_array;
  target->set_sizes(source->sizes());
  if (source->size_bytes() != 0) std::memmove(target->data, source->data, source->size_bytes());
}

bool Method::is_true(const Value& condition) const {
  if (const auto* flag = condition.get<bool>()) return *flag;
  const auto* tensor = condition.get<Tensor>();
  if (tensor == nullptr || tensor->dtype != DType::kBool) {
    fail_execution(spec_.name, ": a branch depends on ", condition.kind_name(), ", expected a bool or a bool tensor");
  }
  if (tensor->data == nullptr && tensor->numel() != 0)
    fail_execution(spec_.name, ": a branch depends on a tensor without memory");
  const auto* flags = tensor->as<uint8_t>();
  return std::all_of(flags, flags + tensor->numel(), [](uint8_t f) { return f != 0; });
}

void Method::save_states(size_t index) {
  for (const uint32_t s : plan_->state_writes[index]) {
    if (is_saved_[s] != 0) continue;
    const auto& source = std::get<program::Tensor>(plan_->method->values[plan_->states[s].value]);
    if (saved_[s].size_bytes() != source.size_bytes) saved_[s] = AlignedBuffer(source.size_bytes);
    if (source.size_bytes != 0) std::memcpy(saved_[s].data(), state_tensors_[s].data, source.size_bytes);
    is_saved_[s] = 1;
  }
}

void Method::restore_states() noexcept {
  for (size_t s = 0; s < is_saved_.size(); ++s) {
    if (is_saved_[s] == 0) continue;
    is_saved_[s] = 0;
    if (saved_[s].size_bytes() != 0) std::memcpy(state_tensors_[s].data, saved_[s].data(), saved_[s].size_bytes());
  }
}

void Method::get_state(size_t index, std::byte* out, size_t size_bytes) {
  const std::lock_guard<std::mutex> guard(lock());
  const Tensor& tensor = state_tensors_.at(index);
  if (tensor.size_bytes() != size_bytes)
    fail_execution(states_[index].name, ": expected ", tensor.size_bytes(), " bytes, got ", size_bytes);
  if (size_bytes == 0) return;
  const auto strides = strides_in_bytes(tensor);
  kernels::strided_copy_to_contiguous(out, tensor.data, {strides.data(), tensor.rank}, tensor.sizes(),
                                      dtype_size(tensor.dtype));
}

void Method::set_state(size_t index, const std::byte* in, size_t size_bytes) {
  const std::lock_guard<std::mutex> guard(lock());
  const Tensor& tensor = state_tensors_.at(index);
  if (tensor.size_bytes() != size_bytes)
    fail_execution(states_[index].name, ": expected ", tensor.size_bytes(), " bytes, got ", size_bytes);
  if (size_bytes == 0) return;
  const auto element = static_cast<int64_t>(dtype_size(tensor.dtype));
  std::array<int64_t, kMaxRank> row_major{};
  int64_t stride = element;
  for (size_t d = tensor.rank; d-- > 0;) {
    row_major[d] = stride;
    stride *= tensor.size(d);
  }
  const auto strides = strides_in_bytes(tensor);
  kernels::strided_copy(tensor.data, {strides.data(), tensor.rank}, in, {row_major.data(), tensor.rank}, tensor.sizes(),
                        static_cast<size_t>(element));
}

void Method::reset() {
  const std::lock_guard<std::mutex> guard(lock());
  write_initial_values(true);
}

MemoryReport Method::memory() {
  const std::lock_guard<std::mutex> guard(lock());
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
  for (const auto& delegate : delegates_) report.workspace_bytes += delegate->workspace_bytes();
  return report;
}

// "float32 [1, 2], float32 [2] -> ..." of an instruction's tensor arguments.
std::string Method::describe(size_t index) const {
  const plan::Instruction& instruction = plan_->instructions[index];
  std::string text;
  for (size_t a = 0; a < instruction.arg_count; ++a) {
    const auto* tensor = arguments_[instruction.first_arg + a]->get<Tensor>();
    if (tensor == nullptr) continue;
    text += concat(text.empty() ? "" : ", ", dtype_name(tensor->dtype), " ", tensor->sizes());
  }
  return text;
}

}  // namespace enr::executor
