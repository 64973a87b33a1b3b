// Any bytes as a program whose methods are run on zeros and on those bytes: refused by an enr::Error or run, nothing
// else.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
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

// What the inputs of a call are made of: sizes where they may vary, and elements.
struct Call {
  int64_t divisor;  // of dims, rounded up; 0 makes them 0
  bool zeros;       // or else the bytes of the file, which are NaNs, giant indices and the like
};

std::vector<std::byte> elements(const executor::ValueSpec& spec, const Call& call, std::span<const std::byte> file) {
  std::vector<std::byte> bytes(spec.size_bytes);
  if (call.zeros) return bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = file[file.size() - 1 - i % file.size()];
    if (spec.dtype == DType::kBool) bytes[i] &= std::byte{1};
  }
  return bytes;
}

void run(executor::Method& method, const Call& call, std::span<const std::byte> file) {
  std::list<std::vector<std::byte>> data;
  std::list<std::vector<int64_t>> shapes;
  std::vector<executor::Input> inputs;
  for (const executor::ValueSpec& spec : method.spec().inputs) {
    if (spec.kind != executor::ValueKind::kTensor) {
      std::visit([&](const auto& traced) { inputs.emplace_back(traced); }, spec.traced);
      continue;
    }
    std::vector<int64_t>& sizes = shapes.emplace_back(spec.sizes);
    std::vector<int64_t>& strides = shapes.emplace_back(spec.sizes.size());
    int64_t stride = static_cast<int64_t>(dtype_size(spec.dtype));
    for (size_t d = sizes.size(); d-- > 0;) {
      if (spec.dynamism != Dynamism::kStatic) {
        sizes[d] = call.divisor == 0 ? 0 : (sizes[d] + call.divisor - 1) / call.divisor;
      }
      strides[d] = stride;
      // Sizes beside a 0 multiply to anything; nothing is read there.
      if (__builtin_mul_overflow(stride, std::max<int64_t>(sizes[d], 1), &stride)) stride = 0;
    }
    data.push_back(elements(spec, call, file));
    inputs.emplace_back(
        executor::TensorInput{data.back().data(), spec.dtype, sizes.size(), sizes.data(), strides.data()});
  }
  method.run(inputs, [](std::span<const Value* const>) {});
}

bool has_dynamic_inputs(const executor::Method& method) {
  return std::ranges::any_of(method.spec().inputs, [](const executor::ValueSpec& spec) {
    return spec.kind == executor::ValueKind::kTensor && spec.dynamism != Dynamism::kStatic;
  });
}

// Every call may fail; the next ones find whatever state it left.
void run_calls(executor::Program& program, const std::string& name, std::span<const std::byte> file) {
  const std::shared_ptr<executor::Method> method = program.load_method(name);
  std::vector<Call> calls = {{1, true}, {1, false}, {1, true}};
  if (has_dynamic_inputs(*method)) calls.insert(calls.end() - 1, {{2, true}, {0, true}});
  for (const Call& call : calls) {
    try {
      run(*method, call, file);
    } catch (const Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  set_num_threads(1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto file = program::FileData::copy(bytes);
    const std::shared_ptr<executor::Program> program = executor::Program::load(file, {});
    for (const program::Method& method : program->decoded().methods) {
      if (!is_worth_running(method)) continue;
      try {
        run_calls(*program, method.name, bytes);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
