#include "plan/requirements.h"

#include <map>
#include <set>
#include <string>

#include "base/error.h"
#include "delegates/delegate.h"
#include "ops/registry.h"

namespace enr::plan {

namespace {

struct Uses {
  size_t calls = 0;
  std::set<std::string> methods;
};
using Missing = std::map<std::string, Uses>;

Missing missing_operators(const program::Program& program) {
  Missing missing;
  for (const program::Method& method : program.methods) {
    for (const program::Chain& chain : method.chains) {
      for (const program::Instruction& instruction : chain.instructions) {
        const auto* call = std::get_if<program::KernelCall>(&instruction);
        if (call == nullptr) continue;
        const std::string& name = method.operators[call->operator_index];
        if (operator_table().find(name) != nullptr) continue;
        Uses& uses = missing[name];
        ++uses.calls;
        uses.methods.insert(method.name);
      }
    }
  }
  return missing;
}

Missing missing_backends(const program::Program& program) {
  Missing missing;
  for (const program::Method& method : program.methods) {
    for (const program::Delegate& delegate : method.delegates) {
      if (delegates::find_backend(delegate.id) != nullptr) continue;
      Uses& uses = missing[delegate.id];
      ++uses.calls;
      uses.methods.insert(method.name);
    }
  }
  return missing;
}

bool concerns(const Missing& missing, const std::string& method) {
  for (const auto& [name, uses] : missing) {
    if (uses.methods.contains(method)) return true;
  }
  return false;
}

// A message names so many operators, and methods of one, and counts the rest.
constexpr size_t kMaxNamed = 20;

std::string list(const Missing& missing, const char* unit) {
  std::string text;
  size_t named = 0;
  for (const auto& [name, uses] : missing) {
    if (named++ == kMaxNamed) return concat(text, "; and ", missing.size() - kMaxNamed, " more");
    text += concat(text.empty() ? "" : "; ", name, " (", uses.calls, " ", unit, uses.calls == 1 ? "" : "s", " in ");
    size_t methods = 0;
    for (const std::string& method : uses.methods) {
      if (methods == kMaxNamed) {
        text += concat(", and ", uses.methods.size() - kMaxNamed, " more");
        break;
      }
      text += (methods++ == 0 ? "" : ", ") + method;
    }
    text += ")";
  }
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

void check_requirements(const program::Program& program, const program::Method& method) {
  const Missing backends = missing_backends(program);
  const Missing operators = missing_operators(program);
  const std::string operator_list = operators.empty() ? "" : list(operators, "call");
  if (concerns(backends, method.name)) {
    fail(ErrorKind::kBackendNotAvailable, method.name,
         ": the program was lowered to a backend this runtime does not have: ", list(backends, "partition"),
         ". This runtime has: ", joined(delegates::backend_names()),
         ". Export again with its partitioner, or with none.",
         operators.empty() ? "" : " Operators that are missing too: ", operator_list);
  }
  if (concerns(operators, method.name)) {
    fail(ErrorKind::kOperatorNotFound, method.name,
         ": the program calls operators this runtime does not have: ", operator_list,
         ". Export again without them: decompose them, or replace them in the model.");
  }
}

}  // namespace enr::plan
