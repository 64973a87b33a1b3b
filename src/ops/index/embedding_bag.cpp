// Sums, means or maxima over bags of a table's rows.

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/thread_pool.h"
#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

enum class BagMode : int64_t { kSum, kMean, kMax };

struct Bags {
  BagMode mode;
  const int64_t* indices;
  int64_t count;
  std::vector<int64_t> offsets;
  int64_t bags;
  int64_t padding;  // a row that does not count; negative for none
  bool last_ends;   // the offset behind the last bag's ends it, where there is one

  int64_t begin(int64_t bag) const noexcept { return offsets[static_cast<size_t>(bag)]; }
  int64_t end(int64_t bag) const noexcept {
    if (bag + 1 == bags && !last_ends) return count;
    const auto next = static_cast<size_t>(bag) + 1;
    return next < offsets.size() ? offsets[next] : count;
  }
};

template <class T>
void run(OpContext& context, const Bags& b, const Tensor& weight, const Tensor* scales, Tensor& out,
         const int64_t* sizes, int64_t* largest) {
  const auto width = static_cast<size_t>(weight.size(1));
  const T* table = row_major_as<T>(context, weight);
  const T* factors = scales == nullptr ? nullptr : row_major_as<T>(context, *scales);
  RowMajorOut result(context, out, dtype_of<T>);
  T* to = result.template as<T>();
  parallel_ranges(static_cast<size_t>(b.bags), 16, [&](size_t first, size_t last) {
    for (size_t bag = first; bag < last; ++bag) {
      T* sums = to + bag * width;
      int64_t* chosen = largest == nullptr ? nullptr : largest + bag * width;
      std::fill_n(sums, width, T{0});
      if (chosen != nullptr) std::fill_n(chosen, width, 0);
      int64_t members = 0;
      for (int64_t i = b.begin(static_cast<int64_t>(bag)); i < b.end(static_cast<int64_t>(bag)); ++i) {
        const int64_t index = b.indices[i];
        if (index == b.padding) continue;
        const T* row = table + static_cast<size_t>(index) * width;
        if (b.mode == BagMode::kMax) {
          for (size_t d = 0; d < width; ++d) {
            if (members != 0 && !(row[d] > sums[d])) continue;
            sums[d] = row[d];
            chosen[d] = index;
          }
        } else {
          const T factor = factors == nullptr ? T{1} : factors[i];
          for (size_t d = 0; d < width; ++d) sums[d] += row[d] * factor;
        }
        ++members;
      }
      if (b.mode == BagMode::kMean && sizes[bag] > 1) {
        for (size_t d = 0; d < width; ++d) sums[d] /= static_cast<T>(sizes[bag]);
      }
    }
  });
  result.commit();
}

// As eager promotes the two.
void require_indices(const Tensor& indices, const Tensor& offsets) {
  const auto is_wide = [](const Tensor& t) { return t.dtype == DType::kInt64 || t.dtype == DType::kInt32; };
  for (const auto& [tensor, other, what] :
       {std::tuple(&indices, &offsets, "indices"), {&offsets, &indices, "offsets"}}) {
    const bool is_narrow = is_bool(tensor->dtype) || tensor->dtype == DType::kUInt8 || tensor->dtype == DType::kInt8 ||
                           tensor->dtype == DType::kInt16;
    if (!is_wide(*tensor) && !(is_narrow && is_wide(*other))) require_index_dtype(*tensor, what);
  }
}

void write_numbers(OpContext& context, Tensor& out, const std::vector<int64_t>& numbers) {
  RowMajorOut result(context, out, DType::kInt64);
  std::copy(numbers.begin(), numbers.end(), result.as<int64_t>());
  result.commit();
}

// The last three results are what eager's gradient needs; their sizes are those of eager on a CPU.
template <bool kForwardOnly>
void embedding_bag_out(OpContext& context, const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool,
                       int64_t mode, bool, const Tensor* per_sample_weights, bool include_last_offset,
                       int64_t padding_idx, Tensor& out, Tensor& offset2bag, Tensor& bag_size, Tensor& max_indices) {
  require_floating(weight.dtype, "weight");
  require_rank(weight, 2, "weight");
  // Of indices with more dims, eager takes the first as many as the first dim has.
  if (indices.rank == 0 || indices.rank > 2 || indices.numel() < indices.size(0)) {
    fail_execution("indices: expected rank 1 or 2, got shape ", indices.sizes());
  }
  require_rank(offsets, 1, "offsets");
  require_indices(indices, offsets);
  require_same_dtype(out, weight.dtype, "out0");
  if (mode < 0 || mode > 2) fail_execution("mode: expected 0 (sum), 1 (mean) or 2 (max), got ", mode);
  if (per_sample_weights != nullptr) {
    if (mode != 0) fail_execution("per_sample_weights: expected None unless bags are summed, got a tensor");
    require_same_dtype(*per_sample_weights, weight.dtype, "per_sample_weights");
    const int64_t expected = indices.numel();
    require_sizes(*per_sample_weights, Sizes(&expected, 1), "per_sample_weights");
  }
  Bags b{};
  b.mode = static_cast<BagMode>(mode);
  b.indices = row_major_as<int64_t>(context, indices);
  b.count = indices.size(0);
  const auto* given = row_major_as<int64_t>(context, offsets);
  b.offsets.assign(given, given + offsets.size(0));
  if (include_last_offset && b.offsets.empty()) fail_execution("offsets: expected at least one, got none");
  b.bags = offsets.size(0) - (include_last_offset ? 1 : 0);
  b.padding = padding_idx;
  const bool is_sum = b.mode == BagMode::kSum, is_max = b.mode == BagMode::kMax;
  const int64_t width = weight.size(1);
  // The last offset counts only where eager sums without a list of the bag of each index.
  const bool sums_unlisted = !is_max && padding_idx < 0 && weight.dtype != DType::kFloat64 && width != 0;
  const bool is_listed = !is_sum || !sums_unlisted;
  if (!b.offsets.empty() && b.offsets.back() > b.count) {
    fail_execution("offsets: expected at most ", b.count, " at the end, got ", b.offsets.back());
  }
  if (!sums_unlisted) b.offsets.resize(static_cast<size_t>(b.bags));
  for (size_t i = 0; i < b.offsets.size(); ++i) {
    const int64_t least = i == 0 ? 0 : b.offsets[i - 1];
    if (b.offsets[i] < least || b.offsets[i] > b.count || (i == 0 && b.offsets[0] != 0)) {
      fail_execution("offsets: expected numbers that rise from 0 to at most ", b.count, ", got ", b.offsets[i], " at ",
                     i);
    }
  }
  for (int64_t i = 0; i < b.count; ++i) {
    if (b.indices[i] >= 0 && b.indices[i] < weight.size(0)) continue;
    fail_execution("indices: expected 0 to ", weight.size(0) - 1, ", got ", b.indices[i], " at ", i);
  }

  const int64_t listed = is_listed ? b.count : 0;
  context.resize(out, {b.bags, width}, "out0");
  context.resize(offset2bag, {listed}, "out1");
  const int64_t sized = is_sum && kForwardOnly ? offsets.size(0) : b.bags;
  context.resize(bag_size, {sized}, "out2");
  if (is_max) {
    context.resize(max_indices, {b.bags, width}, "out3");
  } else {
    context.resize(max_indices, {sized}, "out3");
  }
  std::vector<int64_t> owners(static_cast<size_t>(listed), -1), sizes(static_cast<size_t>(sized)),
      largest(static_cast<size_t>(max_indices.numel()));
  for (int64_t bag = 0; bag < b.bags && listed != 0; ++bag) {
    for (int64_t i = b.begin(bag); i < b.end(bag); ++i) {
      owners[static_cast<size_t>(i)] = bag;
      if (!is_sum && b.indices[i] != padding_idx) ++sizes[static_cast<size_t>(bag)];
    }
  }
  b.last_ends = sums_unlisted;
  const auto reduce = weight.dtype == DType::kFloat64 ? &run<double> : &run<float>;
  reduce(context, b, weight, per_sample_weights, out, sizes.data(), is_max ? largest.data() : nullptr);
  if (!is_max && !is_sum) largest = sizes;
  write_numbers(context, offset2bag, owners);
  write_numbers(context, bag_size, sizes);
  write_numbers(context, max_indices, largest);
}

}  // namespace

void register_embedding_bag(OperatorTable& table) {
  table.add<embedding_bag_out<false>>("aten::_embedding_bag.out",
                                      "weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, "
                                      "include_last_offset, padding_idx, out0, out1, out2, out3");
  table.add<embedding_bag_out<true>>("aten::_embedding_bag_forward_only.out",
                                     "weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, "
                                     "include_last_offset, padding_idx, out0, out1, out2, out3");
}

}  // namespace enr::ops
