#pragma once

#include <cstddef>

namespace enr::kernels {

// The divisor of `groups` for which groups / divisor products, each of which costs cost(divisor), cost least.
template <class Cost>
size_t fastest_group_merge(size_t groups, const Cost& cost) noexcept {
  size_t best = 1, least = groups * cost(size_t{1});
  for (size_t merged = 2; merged <= groups; ++merged) {
    if (groups % merged != 0) continue;
    const size_t all = groups / merged * cost(merged);
    if (all >= least) continue;
    least = all;
    best = merged;
  }
  return best;
}

}  // namespace enr::kernels
