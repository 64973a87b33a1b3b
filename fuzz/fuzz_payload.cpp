// Any bytes as the payload of an XNNPACK delegate. Every name is found, with some zeros or ones behind it.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "delegates/xnnpack/payload.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace enr;
  // 0x3F803F80 is a good scale as float and as bfloat16.
  static const std::vector<uint32_t> named(1 << 12, 0x3F803F80);
  const auto find = [&](std::string_view key) -> std::optional<Bytes> {
    return std::as_bytes(std::span(named)).first(key.size() % 2 != 0 ? named.size() : named.size() * 4);
  };
  try {
    delegates::xnnpack::decode_payload(std::as_bytes(std::span(data, size)), find, "fuzz");
  } catch (const Error&) {
  }
  return 0;
}
