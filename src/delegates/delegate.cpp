#include "delegates/delegate.h"

#include <array>

#include "delegates/xnnpack/backend.h"

namespace enr::delegates {

namespace {

struct Row {
  const char* name;
  const Backend& (*backend)();
};

constexpr std::array kBackends{Row{"XnnpackBackend", xnnpack::backend}};

}  // namespace

const Backend* find_backend(std::string_view name) noexcept {
  for (const Row& row : kBackends) {
    if (name == row.name) return &row.backend();
  }
  return nullptr;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Row& row : kBackends) names.emplace_back(row.name);
  return names;
}

}  // namespace enr::delegates
