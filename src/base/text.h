#pragma once

// Text that comes from files and goes into messages.

#include <string>
#include <string_view>

namespace enr {

bool is_valid_utf8(std::string_view text) noexcept;

bool has_control_characters(std::string_view text) noexcept;

// "'text'", with control characters and invalid bytes shown as \xNN and long texts cut.
std::string quoted(std::string_view text);

}  // namespace enr
