#include "ops/shapes.h"

#include <algorithm>

namespace enr::ops {

Shape::Shape(Sizes sizes) : rank(sizes.size()) {
  if (rank > kMaxRank) fail_execution("size: expected a rank of at most ", kMaxRank, ", got ", rank);
  std::copy(sizes.begin(), sizes.end(), items.begin());
}

void Shape::push_back(int64_t size) {
  if (rank == kMaxRank) fail_execution("size: expected a rank of at most ", kMaxRank, ", got ", rank + 1);
  items[rank++] = size;
}

size_t normalize_dim(int64_t dim, size_t rank, const char* what) {
  const auto limit = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (dim < -limit || dim >= limit) {
    fail_execution(what, ": expected ", -limit, " to ", limit - 1, " for rank ", rank, ", got ", dim);
  }
  return static_cast<size_t>(dim < 0 ? dim + limit : dim);
}

Shape broadcast(Sizes a, Sizes b, const char* what) {
  Shape result(a.size() >= b.size() ? a : b);
  const Sizes shorter = a.size() >= b.size() ? b : a;
  const size_t shift = result.rank - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = result[shift + i];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1) fail_execution(what, ": expected a shape that broadcasts with ", a, ", got ", b);
    size = shorter[i];
  }
  return result;
}

void require_broadcasts(const Tensor& tensor, Sizes sizes, const char* what) {
  if (std::ranges::equal(broadcast(sizes, tensor.sizes(), what), sizes)) return;
  fail_execution(what, ": expected a shape that broadcasts to ", sizes, ", got ", tensor.sizes());
}

void require_countable(DType dtype, Sizes sizes) {
  if (!is_countable(dtype, sizes)) fail_execution("shape ", sizes, " is too large");
}

void require_one_for_each_size(Sizes given, Sizes size, const char* what) {
  if (given.size() == size.size()) return;
  fail_execution(what, ": expected as many as size ", size, " has, got ", given);
}

std::string describe(const Tensor& tensor) { return concat(dtype_name(tensor.dtype), " ", tensor.sizes()); }

}  // namespace enr::ops
