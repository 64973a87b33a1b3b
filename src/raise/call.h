#pragma once

// One operator instruction as a translation sees it: arguments by position, numbers only where no instruction changes
// them. Everything that does not fit throws (fail_execution); the instruction then stays an operator.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace enr::raise {

class Call {
 public:
  // `varies[v]`: value v may change while the method runs.
  Call(const program::Method& method, const std::vector<bool>& varies, std::string_view name,
       std::span<const uint32_t> args)
      : method_(method), varies_(varies), name_(name), args_(args) {}

  std::string_view name() const noexcept { return name_; }
  // The value index of an argument.
  uint32_t value(size_t i) const;
  bool is_none(size_t i) const;
  const program::Tensor& tensor(size_t i) const;
  int64_t integer(size_t i) const;
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
  int64_t fixed_integer(uint32_t value) const;

  const program::Method& method_;
  const std::vector<bool>& varies_;
  std::string_view name_;
  std::span<const uint32_t> args_;
};

// A dim of `rank`, counted from the end where negative; throws where there is no such dim.
size_t resolve_dim(int64_t dim, size_t rank);

}  // namespace enr::raise
