#include "base/error.h"

#include <charconv>
#include <locale>
#include <sstream>

namespace enr::detail {

namespace {

template <class Integer>
void append_number(std::string& out, Integer value, int base) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), value, base).ptr);
}

}  // namespace

void append_text(std::string& out, std::string_view text) { out.append(text); }

void append_integer(std::string& out, int64_t value) { append_number(out, value, 10); }

void append_integer(std::string& out, uint64_t value) { append_number(out, value, 10); }

void append_real(std::string& out, double value) {
  std::ostringstream stream;
  stream.imbue(std::locale::classic());
  stream << value;
  out += std::move(stream).str();
}

void append_address(std::string& out, const void* address) {
  if (address != nullptr) out += "0x";
  append_number(out, reinterpret_cast<uintptr_t>(address), 16);
}

}  // namespace enr::detail
