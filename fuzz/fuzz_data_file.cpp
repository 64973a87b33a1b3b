// Any bytes as a data file.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "program/data_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace enr;
  try {
    program::DataMap map;
    map.add(program::FileData::copy(std::as_bytes(std::span(data, size))));
  } catch (const Error&) {
  }
  return 0;
}
