// Any bytes as a program whose methods are run on zeros: refused by an enr::Error or run, nothing else.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "executor/method.h"
#include "executor/program.h"

namespace {

using namespace enr;

constexpr uint64_t kMaxBytes = 1 << 20;  // keeps a run short

bool is_placed(const program::Tensor& tensor) {
  return tensor.storage == program::Storage::kPlanned || tensor.storage == program::Storage::kMutableInitial;
}

bool overlap(const program::Tensor& a, const program::Tensor& b) {
  return is_placed(a) && is_placed(b) && a.placement.arena == b.placement.arena &&
         a.placement.offset < b.placement.offset + b.size_bytes &&
         b.placement.offset < a.placement.offset + a.size_bytes;
}

// Whether no operator is told to write into memory it reads from. What comes out of such a call is undefined, and
// though it stays in bounds, the address sanitizer dislikes a copy onto itself. The last argument repeats the output.
bool writes_apart(const program::Method& method, const program::KernelCall& call) {
  if (call.args.empty() || method.operators[call.operator_index].starts_with("executorch_prim::")) return true;
  const auto* out = std::get_if<program::Tensor>(&method.values[call.args.back()]);
  if (out == nullptr) return std::holds_alternative<program::TensorList>(method.values[call.args.back()]);
  size_t repetitions = 0;
  for (const uint32_t arg : call.args) {
    const auto* tensor = std::get_if<program::Tensor>(&method.values[arg]);
    if (tensor == out) ++repetitions;
    if (tensor != nullptr && tensor != out && overlap(*tensor, *out)) return false;
  }
  return repetitions == 2;
}

bool is_worth_running(const program::Method& method) {
  for (const uint64_t size : method.arena_sizes) {
    if (size > kMaxBytes) return false;
  }
  for (const program::Value& value : method.values) {
    const auto* tensor = std::get_if<program::Tensor>(&value);
    if (tensor != nullptr && tensor->size_bytes > kMaxBytes) return false;
  }
  // Loops end after ten million instructions, which is too long here.
  for (const program::Chain& chain : method.chains) {
    for (size_t i = 0; i < chain.instructions.size(); ++i) {
      const auto* call = std::get_if<program::KernelCall>(&chain.instructions[i]);
      if (call != nullptr && !writes_apart(method, *call)) return false;
      const auto* jump = std::get_if<program::JumpIfFalse>(&chain.instructions[i]);
      if (jump != nullptr && jump->destination <= i) return false;
    }
  }
  return true;
}

void run(executor::Program& program, const std::string& name) {
  const std::shared_ptr<executor::Method> method = program.load_method(name);
  std::vector<std::vector<std::byte>> zeros;
  std::vector<std::vector<int64_t>> strides;
  std::vector<executor::Input> inputs;
  for (const executor::ValueSpec& spec : method->spec().inputs) {
    if (spec.kind != executor::ValueKind::kTensor) {
      std::visit([&](const auto& traced) { inputs.emplace_back(traced); }, spec.traced);
      continue;
    }
    int64_t stride = static_cast<int64_t>(dtype_size(spec.dtype));
    std::vector<int64_t>& of_input = strides.emplace_back(spec.sizes.size());
    for (size_t d = spec.sizes.size(); d-- > 0;) {
      of_input[d] = stride;
      stride *= spec.sizes[d];
    }
    zeros.emplace_back(spec.size_bytes);
    inputs.emplace_back(
        executor::TensorInput{zeros.back().data(), spec.dtype, spec.sizes.size(), spec.sizes.data(), of_input.data()});
  }
  for (int call = 0; call < 2; ++call) {
    method->run(inputs, [](std::span<const Value* const>) {});
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  set_num_threads(1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto file = program::FileData::copy(std::as_bytes(std::span(data, size)));
    const std::shared_ptr<executor::Program> program = executor::Program::load(file, {});
    for (const program::Method& method : program->decoded().methods) {
      if (!is_worth_running(method)) continue;
      try {
        run(*program, method.name);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
