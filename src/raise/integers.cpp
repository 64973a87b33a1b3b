#include "raise/integers.h"

#include <algorithm>

#include "base/error.h"

namespace enr::raise {

namespace {

bool contains(const std::vector<uint32_t>& values, uint32_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

int64_t Integers::at(uint32_t value) {
  if (!varies_[value]) {
    const auto* integer = std::get_if<int64_t>(&method_.values[value]);
    if (integer == nullptr) fail_execution("value ", value, " is no int");
    return *integer;
  }
  const auto known = known_.find(value);
  if (known == known_.end()) fail_execution("value ", value, " is not known");
  if (!contains(computed_, value) && !contains(asked_, value)) asked_.push_back(value);
  return known->second;
}

void Integers::compute(uint32_t value, int64_t integer) {
  known_[value] = integer;
  if (!contains(computed_, value)) computed_.push_back(value);
}

void Integers::begin_region() {
  asked_.clear();
  computed_.clear();
}

}  // namespace enr::raise
