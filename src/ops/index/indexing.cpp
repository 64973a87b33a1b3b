#include "ops/index/indexing.h"

#include <algorithm>
#include <vector>

#include "kernels/transpose/gather.h"

namespace enr::ops {

namespace {

// One index tensor.
struct Index {
  size_t item, first_dim, dims;  // in the list; of self, that it stands for
  Shape shape;
  const int64_t* values;  // row-major by shape, not yet checked; of masks, offsets into self
  int64_t size, stride;   // of what they count
};

bool is_mask(const Tensor& index) noexcept { return index.dtype == DType::kBool || index.dtype == DType::kUInt8; }

// Calls visit(offset of the line's start in self, line's start in the mask, length) for each innermost line of the
// mask.
template <class Visit>
void for_each_line(const Tensor& self, size_t first_dim, Sizes sizes, const Visit& visit) {
  const size_t rank = sizes.size();
  if (rank == 0) return visit(int64_t{0}, int64_t{0}, int64_t{1});
  const int64_t length = sizes[rank - 1];
  const int64_t lines = length == 0 ? 0 : product(sizes) / length;
  std::array<int64_t, kMaxRank> counter{};
  int64_t offset = 0;
  for (int64_t line = 0; line < lines; ++line) {
    visit(offset, line * length, length);
    for (size_t d = rank - 1; d-- > 0;) {
      offset += self.stride(first_dim + d);
      if (++counter[d] < sizes[d]) break;
      offset -= self.stride(first_dim + d) * sizes[d];
      counter[d] = 0;
    }
  }
}

Index resolve_mask(OpContext& context, const Tensor& self, const Tensor& mask, size_t dim, size_t item) {
  for (size_t d = 0; d < mask.rank; ++d) {
    if (mask.size(d) != self.size(dim + d)) {
      fail_execution("indices: expected item ", item, " to have the sizes of dims ", dim, " to ", dim + mask.rank - 1,
                     " of shape ", self.sizes(), ", got ", mask.sizes());
    }
  }
  const auto* flags = reinterpret_cast<const uint8_t*>(row_major(context, mask));
  const int64_t total = mask.numel();
  const int64_t count = total - std::count(flags, flags + total, 0);
  auto* offsets = context.scratch_of<int64_t>(static_cast<size_t>(count));
  int64_t* next = offsets;
  const int64_t* end = offsets + count;
  const int64_t stride = mask.rank == 0 ? 0 : self.stride(dim + mask.rank - 1u);
  for_each_line(self, dim, mask.sizes(), [&](int64_t offset, int64_t start, int64_t length) {
    // Every offset is stored, and the next one overwrites it unless it is chosen: no branch to guess.
    for (int64_t i = 0; i < length && next != end; ++i) {
      *next = offset + i * stride;
      next += flags[start + i] != 0;
    }
  });
  constexpr int64_t kUnchecked = INT64_MAX / 2;  // wherever the mask is, self has an element
  return {item, dim, mask.rank, Shape(Sizes(&count, 1)), offsets, kUnchecked, 1};
}

Index resolve_integers(OpContext& context, const Tensor& self, const Tensor& index, size_t dim, size_t item) {
  if (index.dtype != DType::kInt64 && index.dtype != DType::kInt32) {
    fail_execution("indices: expected int64, int32, bool or uint8 for item ", item, ", got ", dtype_name(index.dtype));
  }
  return {item, dim, 1, Shape(index.sizes()), row_major_as<int64_t>(context, index), self.size(dim), self.stride(dim)};
}

std::vector<Index> resolve_each(OpContext& context, const Tensor& self, OptionalTensors indices) {
  std::vector<Index> resolved;
  size_t dim = 0;
  for (size_t item = 0; item < indices.items.size(); ++item) {
    const Tensor* index = indices.items[item];
    const size_t dims = index != nullptr && is_mask(*index) ? index->rank : 1;
    if (dim + dims > self.rank) {
      fail_execution("indices: expected indices of at most ", int{self.rank}, " dims, got more in item ", item);
    }
    if (index != nullptr) {
      resolved.push_back(is_mask(*index) ? resolve_mask(context, self, *index, dim, item)
                                         : resolve_integers(context, self, *index, dim, item));
    }
    dim += dims;
  }
  return resolved;
}

[[noreturn]] void fail_outside(const Index& index, size_t count) {
  const size_t at = kernels::first_index_outside(index.values, count, -index.size, index.size);
  fail_execution("indices: expected ", -index.size, " to ", index.size - 1, " in item ", index.item, ", got ",
                 index.values[at], " at ", at);
}

// The sum of all indices' offsets at each position of their common shape.
std::span<int64_t> sum_offsets(OpContext& context, std::span<const Index> indices, const Shape& common) {
  const auto count = static_cast<size_t>(product(common));
  auto* sums = context.scratch_of<int64_t>(count);
  if (indices.empty()) std::fill_n(sums, count, int64_t{0});
  for (const Index& index : indices) {
    const bool is_first = &index == indices.data();
    if (std::ranges::equal(Sizes(index.shape), Sizes(common))) {
      const auto put = is_first ? kernels::set_index_offsets : kernels::add_index_offsets;
      if (!put(index.values, count, index.size, index.stride, sums)) fail_outside(index, count);
      continue;
    }
    const auto own_count = static_cast<size_t>(product(index.shape));
    auto* own = context.scratch_of<int64_t>(own_count);
    if (!kernels::set_index_offsets(index.values, own_count, index.size, index.stride, own))
      fail_outside(index, own_count);
    StridedView narrow(reinterpret_cast<std::byte*>(own), DType::kInt64, index.shape);
    narrow.expand(common);
    auto* expanded = is_first ? sums : context.scratch_of<int64_t>(count);
    copy_view(context, StridedView(reinterpret_cast<std::byte*>(expanded), DType::kInt64, common), narrow);
    for (size_t i = 0; !is_first && i < count; ++i) sums[i] += expanded[i];
  }
  return {sums, count};
}

// Where each element of the sizes lies with the strides, row-major.
std::span<const int64_t> enumerate_offsets(OpContext& context, Sizes sizes, const int64_t* strides) {
  const auto count = static_cast<size_t>(product(sizes));
  auto* offsets = context.scratch_of<int64_t>(count);
  if (count == 0) return {offsets, 0};
  offsets[0] = 0;
  size_t filled = 1;  // the innermost dims' elements
  for (size_t d = sizes.size(); d-- > 0;) {
    const size_t block = filled;
    for (int64_t i = 1; i < sizes[d]; ++i) {
      for (size_t k = 0; k < block; ++k) offsets[filled++] = offsets[k] + i * strides[d];
    }
  }
  return {offsets, count};
}

// As long as the next element always is the same step away, no table is needed.
Offsets offsets_of(OpContext& context, Sizes sizes, const int64_t* strides) {
  int64_t step = 0, count = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (count == 1) step = strides[d];
    if (strides[d] != step * count) return {enumerate_offsets(context, sizes, strides).data(), 0};
    count *= sizes[d];
  }
  return {nullptr, step};
}

}  // namespace

IndexedRegion resolve_indices(OpContext& context, const Tensor& self, OptionalTensors indices) {
  const std::vector<Index> resolved = resolve_each(context, self, indices);
  Shape common;
  std::array<bool, kMaxRank> is_indexed{};
  bool is_adjacent = true;
  for (size_t i = 0; i < resolved.size(); ++i) {
    const Index& index = resolved[i];
    common = broadcast(common, index.shape, "indices");
    for (size_t d = 0; d < index.dims; ++d) is_indexed[index.first_dim + d] = true;
    if (i != 0) is_adjacent &= resolved[i - 1].first_dim + resolved[i - 1].dims == index.first_dim;
  }
  IndexedRegion region;
  region.index_rank = common.rank;
  region.rest.data = self.data;
  region.rest.dtype = self.dtype;
  if (is_adjacent && !resolved.empty()) region.index_at = resolved.front().first_dim;
  for (size_t d = 0; d < self.rank; ++d) {
    if (!is_indexed[d]) region.rest.push_back(self.size(d), self.stride(d));
  }
  for (size_t d = 0; d <= region.rest.rank; ++d) {
    if (d == region.index_at) {
      for (const int64_t size : common) region.shape.push_back(size);
    }
    if (d < region.rest.rank) region.shape.push_back(region.rest.size(d));
  }
  region.positions = sum_offsets(context, resolved, common);
  return region;
}

IndexedTransfer plan_transfer(OpContext& context, const IndexedRegion& region, const StridedView& view) {
  std::array<int64_t, kernels::kMaxCopyRank> rest_strides;
  for (size_t d = 0; d < region.rest.rank; ++d) {
    rest_strides[d] = view.stride(d < region.index_at ? d : d + region.index_rank);
  }
  IndexedTransfer transfer;
  size_t rank = region.rest.rank;
  while (rank > 0 && (region.rest.size(rank - 1) == 1 ||
                      (region.rest.stride(rank - 1) == transfer.chunk && rest_strides[rank - 1] == transfer.chunk))) {
    transfer.chunk *= region.rest.size(--rank);
  }
  transfer.positions = region.positions;
  transfer.index_in_view = offsets_of(context, {view.size_array.data() + region.index_at, region.index_rank},
                                      view.stride_array.data() + region.index_at);
  const Sizes looped{region.rest.size_array.data(), rank};
  transfer.rest_in_region = enumerate_offsets(context, looped, region.rest.stride_array.data());
  transfer.rest_in_view = enumerate_offsets(context, looped, rest_strides.data());
  return transfer;
}

}  // namespace enr::ops
