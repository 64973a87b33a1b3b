#include "raise/call.h"

#include "base/error.h"

namespace enr::raise {

uint32_t Call::value(size_t i) const {
  if (i >= args_.size()) fail_execution(name_, ": no argument ", i);
  return args_[i];
}

bool Call::is_none(size_t i) const { return std::holds_alternative<std::monostate>(argument(i)); }

const program::Tensor& Call::tensor(size_t i) const {
  const auto* tensor = std::get_if<program::Tensor>(&argument(i));
  if (tensor == nullptr) fail_execution(name_, ": argument ", i, " is no tensor");
  return *tensor;
}

double Call::number(size_t i) const {
  if (integers_.varies(value(i))) return static_cast<double>(integer(i));
  if (const auto* real = std::get_if<double>(&argument(i))) return *real;
  if (const auto* flag = std::get_if<bool>(&argument(i))) return *flag ? 1.0 : 0.0;
  return static_cast<double>(integer(i));
}

bool Call::flag(size_t i) const {
  const auto* flag = std::get_if<bool>(&argument(i));
  if (flag == nullptr || integers_.varies(value(i))) fail_execution(name_, ": argument ", i, " is no fixed bool");
  return *flag;
}

std::vector<int64_t> Call::integers(size_t i) const {
  const auto* list = std::get_if<program::IntList>(&argument(i));
  if (list == nullptr) fail_execution(name_, ": argument ", i, " is no list of ints");
  std::vector<int64_t> integers;
  for (const uint32_t item : list->items) integers.push_back(integers_.at(item));
  return integers;
}

const std::vector<double>& Call::reals(size_t i) const {
  const auto* list = std::get_if<program::DoubleList>(&argument(i));
  if (list == nullptr) fail_execution(name_, ": argument ", i, " is no list of floats");
  return list->items;
}

const std::vector<uint32_t>& Call::tensors(size_t i) const {
  const auto* list = std::get_if<program::TensorList>(&argument(i));
  if (list == nullptr) fail_execution(name_, ": argument ", i, " is no list of tensors");
  return list->items;
}

std::string_view Call::text(size_t i) const {
  const auto* text = std::get_if<std::string>(&argument(i));
  if (text == nullptr) fail_execution(name_, ": argument ", i, " is no string");
  return *text;
}

std::vector<int64_t> Call::for_dims(size_t i, size_t count, const std::vector<int64_t>& missing) const {
  std::vector<int64_t> list = integers(i);
  if (list.empty()) list = missing;
  if (list.size() == 1) list.resize(count, list[0]);
  if (list.size() != count) fail_execution(name_, ": argument ", i, " has ", list.size(), " entries");
  return list;
}

size_t Call::dim(size_t i, size_t rank) const { return resolve_dim(integer(i), rank); }

size_t resolve_dim(int64_t dim, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (dim < -signed_rank || dim >= signed_rank) fail_execution("dim ", dim, " of ", rank);
  return static_cast<size_t>(dim < 0 ? dim + signed_rank : dim);
}

}  // namespace enr::raise
