#pragma once

// The one exception of the core. Its text says where, what, got and expected; its kind picks the Python class.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace enr {

enum class ErrorKind {
  kProgramLoad,          // the file, or a part of it, is not a valid program
  kBackendNotAvailable,  // the program needs a delegate that is not built in
  kOperatorNotFound,     // the program needs operators that are not built in
  kExecution,            // a call, its inputs or an operator's arguments are wrong
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

namespace detail {

void append_text(std::string& out, std::string_view text);
void append_integer(std::string& out, int64_t value);
void append_integer(std::string& out, uint64_t value);
void append_real(std::string& out, double value);
void append_address(std::string& out, const void* address);

// As streams print it. Streams themselves are large, and messages and keys are made in many places.
template <class T>
void append(std::string& out, const T& part) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    append_text(out, part);
  } else if constexpr (std::is_same_v<T, char>) {
    out.push_back(part);
  } else if constexpr (std::is_pointer_v<T>) {
    append_address(out, part);
  } else if constexpr (requires { +part; }) {
    using Number = decltype(+part);
    if constexpr (std::is_floating_point_v<Number>) {
      append_real(out, static_cast<double>(part));
    } else if constexpr (std::is_signed_v<Number>) {
      append_integer(out, static_cast<int64_t>(part));
    } else {
      append_integer(out, static_cast<uint64_t>(part));
    }
  } else {  // a range of numbers: [1, 2, 3]
    out.push_back('[');
    std::string_view separator;
    for (const auto& item : part) {
      append_text(out, separator);
      append(out, +item);
      separator = ", ";
    }
    out.push_back(']');
  }
}

}  // namespace detail

// Joins the parts into one string; ranges of numbers print as [1, 2, 3].
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, concat(parts...));
}

// For operators and everything that happens in a call.
template <class... Parts>
[[noreturn]] void fail_execution(const Parts&... parts) {
  throw Error(ErrorKind::kExecution, concat(parts...));
}

// For everything that is wrong with a file.
template <class... Parts>
[[noreturn]] void fail_load(const Parts&... parts) {
  throw Error(ErrorKind::kProgramLoad, concat(parts...));
}

}  // namespace enr
