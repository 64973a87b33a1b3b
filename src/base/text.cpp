#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace enr {

namespace {

constexpr size_t kMaxQuoted = 120;

// Length of the well-formed UTF-8 sequence at the start of `text`; 0 where there is none.
size_t utf8_length(std::string_view text) noexcept {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto continues = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xBF) {
    return i < text.size() && at(i) >= low && at(i) <= high;
  };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {  // no overlong forms, no surrogates
    const bool second = continues(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {  // up to U+10FFFF
    const bool second = continues(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool has_control_characters(std::string_view text) noexcept {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 127; });
}

bool is_valid_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string quoted(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string result = "'";
  while (!text.empty()) {
    if (result.size() > kMaxQuoted) {
      result += "...";
      break;
    }
    const size_t length = utf8_length(text);
    const auto first = static_cast<uint8_t>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      result += {'\\', 'x', kDigits[first >> 4], kDigits[first & 15]};
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result + "'";
}

}  // namespace enr
