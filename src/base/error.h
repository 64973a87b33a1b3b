#pragma once

// The one exception of the core. Its text says where, what, got and expected; its kind picks the Python class.

#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

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

template <class T>
void append(std::ostringstream& out, const T& part) {
  if constexpr (requires { out << part; }) {
    out << part;
  } else {  // a range of numbers: [1, 2, 3]
    out << '[';
    const char* separator = "";
    for (const auto& item : part) {
      out << separator << +item;
      separator = ", ";
    }
    out << ']';
  }
}

}  // namespace detail

// Joins the parts into one string; ranges of numbers print as [1, 2, 3].
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (detail::append(out, parts), ...);
  return std::move(out).str();
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
