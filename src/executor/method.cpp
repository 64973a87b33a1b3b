#include "executor/method.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <numeric>

#include "base/error.h"
#include "executor/overlaps.h"

namespace enr::executor {

namespace {

// A program that runs longer than this is taken to loop for ever, as the official runtime does.
constexpr size_t kMaxInstructions = 10'000'000;

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

// Bytes of a method's arenas and of the tensors outside of them.
uint64_t needed_bytes(const program::Method& method) {
  uint64_t bytes = std::accumulate(method.arena_sizes.begin(), method.arena_sizes.end(), uint64_t{0});
  for (const program::Value& value : method.values) {
    const auto* tensor = std::get_if<program::Tensor>(&value);
    if (tensor != nullptr && tensor->storage == program::Storage::kUnplanned) bytes += tensor->size_bytes;
  }
  return bytes;
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
  const std::lock_guard guard(lock());
  try {
    place_values();
  } catch (const std::bad_alloc&) {
    fail_load(spec_.name, ": not enough memory for the ", needed_bytes(*plan_->method), " bytes the program needs");
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
  is_saved_.resize(plan_->states.size());
}

void Method::run(std::span<const Input> inputs, FunctionRef<void(std::span<const Value* const>)> consume,
                 std::span<std::byte* const> output_memory, TraceSink* trace, const FunctionRef<void()>* interrupt) {
  check_inputs(spec_, inputs);
  const std::lock_guard guard(lock());
  run_locked(inputs, consume, output_memory, trace, interrupt);
}

bool Method::try_run(std::span<const Input> inputs, FunctionRef<void(std::span<const Value* const>)> consume,
                     std::span<std::byte* const> output_memory) {
  check_inputs(spec_, inputs);
  const std::unique_lock guard(lock(), std::try_to_lock);
  if (!guard.owns_lock()) return false;
  run_locked(inputs, consume, output_memory, nullptr, nullptr);
  return true;
}

bool Method::has_fixed_work() const noexcept {
  return std::ranges::none_of(
             plan_->instructions,
             [](const plan::Instruction& i) { return i.kind == plan::InstructionKind::kJumpIfFalse; }) &&
         std::ranges::none_of(values_, [](const Value& value) {
           const auto* tensor = value.get<Tensor>();
           return tensor != nullptr && tensor->dynamism != Dynamism::kStatic;
         });
}

void Method::run_locked(std::span<const Input> inputs, FunctionRef<void(std::span<const Value* const>)> consume,
                        std::span<std::byte* const> output_memory, TraceSink* trace,
                        const FunctionRef<void()>* interrupt) {
  for (size_t i = 0; i < redirected_.size(); ++i) values_[plan_->redirected[i]].data = redirected_[i];
  struct Restore {
    Method& method;
    ~Restore() {
      method.use_own_memory();
      method.trace_ = nullptr;
    }
  } restore{*this};
  restore_states();  // of a call that a fork cut off
  trace_ = trace;
  seed_if_changed();
  use_caller_memory(inputs, output_memory);
  execute(interrupt);
  consume(outputs_);
}

void Method::seed_if_changed() {
  const uint64_t changes = program_->seed_changes();
  if (changes == seed_changes_) return;
  seed_changes_ = changes;
  random_.seed(program_->current_seed(), number_);
}

void Method::execute(const FunctionRef<void()>* interrupt) {
  constexpr uint64_t kBetweenInterruptsNs = 50'000'000;
  try {
    size_t executed = 0;
    uint64_t last_interrupt = 0;
    for (size_t i = 0; i < plan_->instructions.size();) {
      if (++executed > kMaxInstructions) {
        fail_execution(spec_.name, "[", i, "]: stopped after ", kMaxInstructions,
                       " instructions: the program seems to loop for ever");
      }
      const size_t next = step(i);
      if (next <= i && interrupt != nullptr && now_ns() - last_interrupt >= kBetweenInterruptsNs) {
        (*interrupt)();
        last_interrupt = now_ns();
      }
      i = next;
    }
    check_outputs();
    forget_saved_states();
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
  if (instruction.saves_state && !instruction.announces_writes) save_states(index);
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
      if (instruction.never_ends) {
        fail_execution(spec_.name, "[", index, "]: nothing ends the loop from instruction ", instruction.destination,
                       ": the program would loop for ever");
      }
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
    if (!movable.empty()) found_ = find_overlapped_reads(*method.plan_, instruction, movable, method.values_);
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

void Method::call_operator(const plan::Instruction& instruction, size_t index) {
  const Operator& op = *plan_->operators[instruction.callee];
  context_.begin(call_sites_[index], instruction.saves_state && instruction.announces_writes ? &journal_ : nullptr);
  const uint64_t start = trace_ != nullptr ? now_ns() : 0;
  try {
    give_memory(index);
    const ReadCopies copies(*this, instruction, index);
    op.call(context_, Arguments(arguments_.data() + instruction.first_arg, instruction.arg_count));
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
    trace_->record({"region", concat(count, " instructions"), static_cast<int64_t>(index), start, now_ns() - start,
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
    for (const uint32_t a : plan_->delegates[instruction.callee]->positions()) {
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
