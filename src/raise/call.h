#pragma once

// One operator instruction as a translation sees it: arguments by position, numbers only where they are known.
// Everything that does not fit throws (fail_execution); the instruction then stays an operator.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "raise/integers.h"

namespace enr::raise {

class Call {
 public:
  Call(const program::Method& method, Integers& integers, std::string_view name, std::span<const uint32_t> args)
      : method_(method), integers_(integers), name_(name), args_(args) {}

  std::string_view name() const noexcept { return name_; }
  // The value index of an argument.
  uint32_t value(size_t i) const;
  bool is_none(size_t i) const;
  const program::Tensor& tensor(size_t i) const;
  int64_t integer(size_t i) const { return integers_.at(value(i)); }
  // The instruction's result is this number.
  void compute(size_t i, int64_t result) const { integers_.compute(value(i), result); }
  double number(size_t i) const;
  bool flag(size_t i) const;
  std::vector<int64_t> integers(size_t i) const;
  const std::vector<double>& reals(size_t i) const;
  // Value indices of a list of tensors.
  const std::vector<uint32_t>& tensors(size_t i) const;
  std::string_view text(size_t i) const;
  // An entry for each of `count` dims: one entry stands for all, none for `missing`.
  std::vector<int64_t> for_dims(size_t i, size_t count, const std::vector<int64_t>& missing) const;
  // A dim of `rank`, counted from the end where negative.
  size_t dim(size_t i, size_t rank) const;

 private:
  const program::Value& argument(size_t i) const { return method_.values[value(i)]; }
  const program::Method& method_;
  Integers& integers_;
  std::string_view name_;
  std::span<const uint32_t> args_;
};

// A dim of `rank`, counted from the end where negative; throws where there is no such dim.
size_t resolve_dim(int64_t dim, size_t rank);

}  // namespace enr::raise
