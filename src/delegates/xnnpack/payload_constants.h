#pragma once

// The constants of a payload, by the indices that its values use.

#include <cstdint>
#include <string>
#include <vector>

#include "base/aligned_views.h"
#include "base/bytes.h"
#include "base/flatbuffer.h"
#include "delegates/xnnpack/payload.h"

namespace enr::delegates::xnnpack {

// The outer layer: a header with a flatbuffer and constants behind it, or only a flatbuffer that holds its constants.
struct PayloadParts {
  bool has_header = false;
  Bytes flatbuffer;
  Bytes constants;
};

PayloadParts split_payload(Bytes payload);

class Constants {
 public:
  // Resolves all names at once, so that an error can list all that are missing.
  Constants(const flatbuffer::Table& graph, const PayloadParts& parts, FindNamedData find_named);

  // At least `size_bytes` bytes of a constant, aligned and cut to that.
  Bytes get(uint32_t index, uint64_t size_bytes, const char* field);

  // 0 for one that is not there.
  uint64_t size_bytes(uint32_t index) const noexcept { return index < items_.size() ? items_[index].size() : 0; }

  // Bounds the work that many users of one large constant can cause.
  void charge(uint64_t size_bytes, const char* field);

  const std::vector<std::shared_ptr<const void>>& keep_alive() const noexcept { return aligned_.keep_alive(); }

 private:
  void read_inline(const flatbuffer::Table& graph);
  void read_offsets(const flatbuffer::Table& graph, const PayloadParts& parts, FindNamedData find_named);

  std::vector<Bytes> items_;
  uint64_t budget_ = 0;
  AlignedViews aligned_{16, 0};
};

}  // namespace enr::delegates::xnnpack
