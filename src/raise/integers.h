#pragma once

// The integers of a method as instructions find them: those the program fixes, and those computed from sizes.

#include <cstdint>
#include <map>
#include <vector>

#include "program/program.h"

namespace enr::raise {

class Integers {
 public:
  // `varies[v]`: value v may change while the method runs.
  Integers(const program::Method& method, const std::vector<bool>& varies) : method_(method), varies_(varies) {}

  bool varies(uint32_t value) const { return varies_[value]; }
  // Throws where it is not known.
  int64_t at(uint32_t value);
  // What an instruction computes, or what comes in from outside.
  void set(uint32_t value, int64_t integer) { known_[value] = integer; }
  void compute(uint32_t value, int64_t integer);

  // From here on instructions of one region are looked at.
  void begin_region();
  // Of the region: the integers that come in from outside, in the order of their first use, and those it computes.
  const std::vector<uint32_t>& asked() const noexcept { return asked_; }
  const std::vector<uint32_t>& computed() const noexcept { return computed_; }

 private:
  const program::Method& method_;
  const std::vector<bool>& varies_;
  std::map<uint32_t, int64_t> known_;
  std::vector<uint32_t> asked_, computed_;
};

}  // namespace enr::raise
