// Reductions of consecutive segments of a dim.

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

enum class Reduction { kMax, kMean, kMin, kSum, kProd };

Reduction reduction_of(std::string_view name) {
  if (name == "max") return Reduction::kMax;
  if (name == "mean") return Reduction::kMean;
  if (name == "min") return Reduction::kMin;
  if (name == "sum") return Reduction::kSum;
  if (name == "prod") return Reduction::kProd;
  fail_execution("reduce: expected max, mean, min, sum or prod, got ", name);
}

double start_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kMax:
      return -std::numeric_limits<double>::infinity();
    case Reduction::kMin:
      return std::numeric_limits<double>::infinity();
    case Reduction::kProd:
      return 1;
    default:
      return 0;
  }
}

// T's own precision at each step, as eager has it; NaN wins.
template <class T>
T combine(Reduction reduction, T total, T value) {
  const auto a = static_cast<double>(total), b = static_cast<double>(value);
  switch (reduction) {
    case Reduction::kMax:
      return std::isnan(b) || (!std::isnan(a) && a < b) ? value : total;
    case Reduction::kMin:
      return std::isnan(b) || (!std::isnan(a) && b < a) ? value : total;
    case Reduction::kProd:
      return static_cast<T>(total * value);
    default:
      return static_cast<T>(total + value);
  }
}

struct Segment {
  int64_t begin, end;
};

// The segments of every row, one row after the other, within [0, size).
std::vector<Segment> segments_of(OpContext& context, const Tensor& bounds, bool are_lengths, int64_t rows, int64_t size,
                                 bool must_fill) {
  const char* what = are_lengths ? "lengths" : "offsets";
  const auto* numbers = row_major_as<int64_t>(context, bounds);
  const int64_t columns = bounds.size(bounds.rank - 1u);
  std::vector<Segment> segments;
  for (int64_t row = 0; row < rows; ++row, numbers += columns) {
    int64_t position = 0;
    for (int64_t i = 0; i < columns - (are_lengths ? 0 : 1); ++i) {
      const Segment next = are_lengths ? Segment{position, numbers[i] <= size - position ? position + numbers[i] : -1}
                                       : Segment{numbers[i], numbers[i + 1]};
      if (next.begin < 0 || next.end < next.begin || next.end > size) {
        fail_execution(what, ": expected segments of ", size, " elements, got ", numbers[i], " at ", i);
      }
      position = next.end;
      segments.push_back(next);
    }
    if (are_lengths && must_fill && position != size) {
      fail_execution("lengths: expected a sum of ", size, ", got ", position);
    }
  }
  return segments;
}

void segment_reduce_out(OpContext& context, const Tensor& data, std::string_view reduce, const Tensor* lengths,
                        const Tensor* indices, const Tensor* offsets, int64_t axis, bool is_unsafe,
                        std::optional<Scalar> initial, Tensor& out) {
  require_floating(data.dtype, "data");
  require_same_dtype(out, data.dtype, "out");
  const Reduction reduction = reduction_of(reduce);
  if (indices != nullptr) fail_execution("indices: expected None, as in eager, got a tensor");
  if (lengths == nullptr && offsets == nullptr) fail_execution("lengths: expected these or offsets, got neither");
  const Tensor& bounds = lengths != nullptr ? *lengths : *offsets;
  const char* what = lengths != nullptr ? "lengths" : "offsets";
  require_index_dtype(bounds, what);
  const size_t d = normalize_dim(axis, data.rank, "axis");
  if (data.rank == 0 || bounds.rank != d + 1 || !std::ranges::equal(bounds.sizes().first(d), data.sizes().first(d))) {
    fail_execution(what, ": expected segments along dim ", d, " of data of shape ", data.sizes(), ", got shape ",
                   bounds.sizes());
  }
  const int64_t count = bounds.size(d) - (lengths != nullptr ? 0 : 1);
  if (count < 0) fail_execution("offsets: expected at least one number, got none");
  const int64_t outer = product(data.sizes(), 0, d), size = data.size(d);
  const int64_t inner = product(data.sizes(), d + 1, data.rank);
  const std::vector<Segment> segments = segments_of(context, bounds, lengths != nullptr, outer, size, !is_unsafe);
  Shape shape(data.sizes());
  shape[d] = count;
  context.resize(out, shape);

  const double start = initial ? initial->to<double>() : start_of(reduction);
  with_real_type(data.dtype, "data", [&]<class T>() {
    if constexpr (!std::is_integral_v<T>) {
      const auto* values = reinterpret_cast<const T*>(row_major(context, data));
      RowMajorOut to(context, out);
      T* result = to.as<T>();
      for (size_t s = 0; s < segments.size(); ++s) {
        const auto [begin, end] = segments[s];
        const T* row = values + static_cast<int64_t>(s) / count * size * inner;
        for (int64_t k = 0; k < inner; ++k) {
          T total = static_cast<T>(static_cast<float>(start));
          if constexpr (sizeof(T) == 8) total = start;
          for (int64_t i = begin; i < end; ++i) total = combine(reduction, total, row[i * inner + k]);
          if (reduction == Reduction::kMean) {
            if (begin == end && !initial) total = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
            if (begin != end) total = static_cast<T>(total / static_cast<T>(static_cast<float>(end - begin)));
          }
          *result++ = total;
        }
      }
      to.commit();
    }
  });
}

}  // namespace

void register_segments(OperatorTable& table) {
  table.add<segment_reduce_out>("aten::segment_reduce.out",
                                "data, reduce, lengths, indices, offsets, axis, unsafe, initial, out");
}

}  // namespace enr::ops
