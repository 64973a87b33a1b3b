#pragma once

// What a file that is not the expected one looks like, for messages.

#include <string>

#include "base/bytes.h"

namespace enr::program {

// "a zip archive (...)", or "" where nothing is recognised. Never looks at more than the first few KB.
std::string describe_file(Bytes bytes);

// Throws kProgramLoad saying that the bytes are not `expected` (e.g. "an ExecuTorch program (.pte)") but what they look
// like.
[[noreturn]] void fail_wrong_file(Bytes bytes, const char* expected, const char* identifier);

}  // namespace enr::program
