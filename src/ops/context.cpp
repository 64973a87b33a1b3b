#include "ops/context.h"

#include <algorithm>

#include "base/error.h"

namespace enr {

void OpContext::resize(Tensor& out, Sizes sizes, const char* what) {
  if (out.is_constant) fail_execution(what, ": a constant cannot be written");
  if (sizes.size() != out.rank) {
    fail_execution(what, ": the result has shape ", sizes, ", the program planned rank ", int{out.rank}, ", shape ",
                   out.sizes());
  }
  const bool same = std::equal(sizes.begin(), sizes.end(), out.sizes().begin());
  if (same && out.data != nullptr) return;
  if (!same && out.dynamism == Dynamism::kStatic) {
    fail_execution(what, ": the result has shape ", sizes, ", the program fixed ", out.sizes());
  }
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
    fail_execution(what, ": expected sizes of at least 0, got ", sizes);
  }
  if (!is_countable(out.dtype, sizes)) fail_execution(what, ": shape ", sizes, " is too large");
  size_t bytes = dtype_size(out.dtype);
  for (const int64_t size : sizes) bytes *= static_cast<size_t>(size);
  if (bytes > out.capacity_bytes) {
    if (out.data != nullptr && out.grown == nullptr) {
      fail_execution(what, ": the result has shape ", sizes, " (", bytes, " bytes), the program planned at most ",
                     out.capacity_bytes, " bytes");
    }
    out.grown = std::make_shared<AlignedBuffer>(bytes);
    out.data = out.grown->data();
    out.capacity_bytes = bytes;
  }
  out.set_sizes(sizes);
}

size_t OpContext::scratch_bytes() const noexcept {
  size_t size_bytes = 0;
  for (const AlignedBuffer& buffer : scratch_) size_bytes += buffer.size_bytes();
  return size_bytes;
}

std::byte* OpContext::scratch(size_t size_bytes) {
  if (scratch_used_ == scratch_.size()) scratch_.emplace_back();
  AlignedBuffer& buffer = scratch_[scratch_used_++];
  if (buffer.size_bytes() < std::max<size_t>(size_bytes, 1)) buffer = AlignedBuffer(std::max<size_t>(size_bytes, 64));
  return buffer.data();
}

}  // namespace enr
