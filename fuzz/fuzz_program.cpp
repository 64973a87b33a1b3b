// Any bytes as a program, and as the payloads of its delegates: refused by an enr::Error or decoded, nothing else.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "delegates/xnnpack/payload.h"
#include "program/data_file.h"
#include "program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace enr;
  try {
    program::Program program = program::load(std::as_bytes(std::span(data, size)));
    program::attach(program, {});
    for (const program::Method& method : program.methods) {
      program::missing_data(method);
      for (const program::Delegate& delegate : method.delegates) {
        if (delegate.id != "XnnpackBackend") continue;
        const auto find = [&](std::string_view key) { return program.find_named_data(key); };
        delegates::xnnpack::decode_payload(delegate.processed, find, method.name);
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
