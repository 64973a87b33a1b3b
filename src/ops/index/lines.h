#pragma once

// Walks several views of one shape together, as few long lines as their strides allow.

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/strided_view.h"

namespace enr::ops {

// Offsets and strides count each view's own elements.
template <size_t kViews>
class Lines {
 public:
  using PerView = std::array<int64_t, kViews>;

  // The views have the same sizes.
  explicit Lines(const std::array<const StridedView*, kViews>& views) {
    const StridedView& first = *views[0];
    for (size_t d = 0; d < first.rank; ++d) {
      if (first.size(d) == 1) continue;
      PerView strides;
      for (size_t v = 0; v < kViews; ++v) strides[v] = views[v]->stride(d);
      append(first.size(d), strides);
    }
    if (rank_ == 0) append(1, PerView{});
  }

  int64_t length() const noexcept { return sizes_[rank_ - 1]; }
  const PerView& steps() const noexcept { return strides_[rank_ - 1]; }
  int64_t count() const noexcept {
    int64_t lines = 1;
    for (size_t d = 0; d + 1 < rank_; ++d) lines *= sizes_[d];
    return length() == 0 ? 0 : lines;
  }

  // visit(offsets of the line's first elements) for lines [begin, end), in row-major order.
  template <class Visit>
  void visit(int64_t begin, int64_t end, const Visit& visit) const {
    std::array<int64_t, kernels::kMaxCopyRank> counter{};
    PerView offsets{};
    int64_t rest = begin;
    for (size_t d = rank_ - 1; d-- > 0;) {
      counter[d] = rest % sizes_[d];
      rest /= sizes_[d];
      for (size_t v = 0; v < kViews; ++v) offsets[v] += counter[d] * strides_[d][v];
    }
    for (int64_t line = begin; line < end; ++line) {
      visit(offsets);
      for (size_t d = rank_ - 1; d-- > 0;) {
        for (size_t v = 0; v < kViews; ++v) offsets[v] += strides_[d][v];
        if (++counter[d] < sizes_[d]) break;
        for (size_t v = 0; v < kViews; ++v) offsets[v] -= strides_[d][v] * sizes_[d];
        counter[d] = 0;
      }
    }
  }

 private:
  // Merges the dim with the one before where every view steps through both evenly.
  void append(int64_t size, const PerView& strides) {
    if (rank_ != 0) {
      bool merges = true;
      for (size_t v = 0; v < kViews; ++v) merges &= strides_[rank_ - 1][v] == strides[v] * size;
      if (merges) {
        sizes_[rank_ - 1] *= size;
        strides_[rank_ - 1] = strides;
        return;
      }
    }
    sizes_[rank_] = size;
    strides_[rank_++] = strides;
  }

  size_t rank_ = 0;
  std::array<int64_t, kernels::kMaxCopyRank> sizes_{};
  std::array<PerView, kernels::kMaxCopyRank> strides_{};
};

}  // namespace enr::ops
