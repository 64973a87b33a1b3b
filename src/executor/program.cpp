#include "executor/program.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "executor/method.h"

namespace enr::executor {

std::shared_ptr<Program> Program::load(std::shared_ptr<const program::FileData> file, const program::DataMap& data) {
  std::vector<program::BundledMethod> bundled;
  std::shared_ptr<const program::FileData> bundled_file;
  if (program::is_bundled_program(file->bytes())) {
    bundled_file = file;
    program::BundledProgram opened = program::load_bundled(file);
    bundled = std::move(opened.methods);
    file = std::move(opened.program);
  }
  program::Program decoded = program::load(std::move(file));
  program::attach(decoded, data);
  auto program = std::make_shared<Program>(std::move(decoded));
  program->bundled_ = std::move(bundled);
  program->bundled_file_ = std::move(bundled_file);
  return program;
}

std::vector<std::string> Program::method_names() const {
  std::vector<std::string> names;
  for (const program::Method& method : program_.methods) names.push_back(method.name);
  return names;
}

const program::Method& Program::find(std::string_view name) const {
  const program::Method* method = program_.find_method(name);
  if (method != nullptr) return *method;
  std::string known;
  for (const program::Method& other : program_.methods) known += (known.empty() ? "" : ", ") + other.name;
  fail_load("method ", quoted(name), " not found: the program has ", known);
}

MethodSpec Program::spec(std::string_view name) const { return method_spec(find(name)); }

std::shared_ptr<const plan::MethodPlan> Program::plan_of(const program::Method& method) {
  const std::lock_guard<std::mutex> lock(plan_lock_);
  std::shared_ptr<const plan::MethodPlan>& entry = plans_[&method];
  if (entry == nullptr) entry = plan::make_plan(program_, method, weights_);
  return entry;
}

std::shared_ptr<Method> Program::load_method(std::string_view name, bool shares) {
  const program::Method& method = find(name);
  const std::vector<std::string> missing = program::missing_data(method);
  if (!missing.empty()) {
    std::string list;
    for (const std::string& key : missing) list += (list.empty() ? "" : ", ") + quoted(key);
    fail_load(method.name, ": ", missing.size(), missing.size() == 1 ? " tensor is" : " tensors are",
              " kept outside of the program; pass the .ptd with data=. Missing: ", list);
  }
  return std::make_shared<Method>(shared_from_this(), plan_of(method), shares);
}

void Program::seed(uint64_t value) noexcept {
  seed_ = value;
  ++seed_changes_;
}

AlignedBuffer& Program::shared_arena(size_t index) {
  AlignedBuffer& arena = shared_arenas_[index];
  if (arena.data() == nullptr) {
    size_t size = 0;
    for (const program::Method& method : program_.methods) {
      if (index < method.arena_sizes.size()) size = std::max<size_t>(size, method.arena_sizes[index]);
    }
    arena = AlignedBuffer::zeroed(size);
  }
  return arena;
}

bool Program::claim_initial_value(size_t arena, size_t offset) {
  return claimed_.emplace(std::pair(arena, offset), true).second;
}

namespace {

ValueSpec value_spec(const program::Value& value) {
  ValueSpec spec;
  if (const auto* tensor = std::get_if<program::Tensor>(&value)) {
    spec.kind = ValueKind::kTensor;
    spec.dtype = tensor->dtype;
    spec.sizes = tensor->sizes;
    spec.dim_order = tensor->dim_order;
    spec.dynamism = tensor->dynamism == program::Dynamism::kStatic ? Dynamism::kStatic : Dynamism::kBounded;
    spec.is_memory_planned = tensor->is_memory_planned();
    spec.size_bytes = tensor->size_bytes;
  } else if (const auto* i = std::get_if<int64_t>(&value)) {
    spec.kind = ValueKind::kInt;
    spec.traced = *i;
  } else if (const auto* d = std::get_if<double>(&value)) {
    spec.kind = ValueKind::kFloat;
    spec.traced = *d;
  } else if (const auto* b = std::get_if<bool>(&value)) {
    spec.kind = ValueKind::kBool;
    spec.traced = *b;
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    spec.kind = ValueKind::kString;
    spec.traced = *text;
  } else if (!std::holds_alternative<std::monostate>(value)) {
    spec.kind = ValueKind::kList;
  }
  return spec;
}

}  // namespace

MethodSpec method_spec(const program::Method& method) {
  MethodSpec spec;
  spec.name = method.name;
  for (const uint32_t v : method.inputs) spec.inputs.push_back(value_spec(method.values[v]));
  for (const uint32_t v : method.outputs) spec.outputs.push_back(value_spec(method.values[v]));
  for (const program::Delegate& delegate : method.delegates) {
    if (std::find(spec.backends.begin(), spec.backends.end(), delegate.id) == spec.backends.end()) {
      spec.backends.push_back(delegate.id);
    }
  }
  return spec;
}

}  // namespace enr::executor
