// Any bytes as a bundled program, and the program inside.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "program/bundled_program.h"
#include "program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace enr;
  try {
    const auto bundle = program::load_bundled(program::FileData::copy(std::as_bytes(std::span(data, size))));
    program::load(bundle.program);
  } catch (const Error&) {
  }
  return 0;
}
