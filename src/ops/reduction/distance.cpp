// Distances between the rows of matrices.

#include <cmath>

#include "base/thread_pool.h"
#include "kernels/reduce/distance.h"
#include "kernels/transpose/transpose_kernels.h"
#include "ops/families.h"
#include "ops/memory_order.h"

namespace enr::ops {

namespace {

// Terms of a distance, and what becomes of their sum.
template <class T>
struct CountTerm {
  static T term(T d, T) { return d != 0 ? T(1) : T(0); }
  static T merge(T a, T b) { return a + b; }
  static T finish(T sum, T) { return sum; }
};
template <class T>
struct AbsTerm {
  static T term(T d, T) { return std::abs(d); }
  static T merge(T a, T b) { return a + b; }
  static T finish(T sum, T) { return sum; }
};
template <class T>
struct SquareTerm {
  static T term(T d, T) { return d * d; }
  static T merge(T a, T b) { return a + b; }
  static T finish(T sum, T) { return std::sqrt(sum); }
};
template <class T>
struct LargestTerm {
  static T term(T d, T) { return std::abs(d); }
  static T merge(T a, T b) { return a > b || a != a ? a : b; }
  static T finish(T largest, T) { return largest; }
};
template <class T>
struct PowerTerm {
  static T term(T d, T p) { return std::pow(std::abs(d), p); }
  static T merge(T a, T b) { return a + b; }
  static T finish(T sum, T p) { return std::pow(sum, T(1) / p); }
};

// Sums in several lanes, which the compiler turns into vectors.
template <class T, class Term>
T distance(const T* x, const T* y, size_t n, T p) {
  constexpr size_t kLanes = 8;
  T lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) lanes[k] = Term::merge(lanes[k], Term::term(x[i + k] - y[i + k], p));
  }
  for (size_t k = 0; i < n; ++i, ++k) lanes[k] = Term::merge(lanes[k], Term::term(x[i] - y[i], p));
  T total = lanes[0];
  for (size_t k = 1; k < kLanes; ++k) total = Term::merge(total, lanes[k]);
  return Term::finish(total, p);
}

template <class T>
using DistanceFn = T (*)(const T*, const T*, size_t, T);

template <class T>
DistanceFn<T> distance_fn(double p) {
  if (p == 0) return &distance<T, CountTerm<T>>;
  if (p == 1) return &distance<T, AbsTerm<T>>;
  if (p == 2) return &distance<T, SquareTerm<T>>;
  if (std::isinf(p)) return &distance<T, LargestTerm<T>>;
  return &distance<T, PowerTerm<T>>;
}

// The kernel for one point and many, or null.
template <class T>
kernels::DistanceFunction<T> many_distances_fn(double p) {
  const kernels::DistanceKernels<T>* table;
  if constexpr (sizeof(T) == sizeof(float)) {
    table = &kernels::distance_table().f32;
  } else {
    table = &kernels::distance_table().f64;
  }
  if (p == 0) return table->count;
  if (p == 1) return table->sum;
  if (p == 2) return table->euclidean;
  return std::isinf(p) ? table->largest : nullptr;
}

// Whether it pays to have the coordinates of `points` points side by side, for `rows` others to be measured from them.
bool pays_to_turn(size_t rows, size_t cols) { return rows >= 4 || cols < 32; }

// `matrices` matrices, each transposed.
template <class T>
T* turned(OpContext& context, const T* in, size_t matrices, size_t rows, size_t cols) {
  T* out = context.scratch_of<T>(matrices * rows * cols);
  const auto transpose = kernels::transpose_kernels().transpose[kernels::element_size_index(sizeof(T))];
  for (size_t i = 0; i < matrices; ++i) {
    transpose(reinterpret_cast<char*>(out + i * rows * cols), static_cast<ptrdiff_t>(rows * sizeof(T)),
              reinterpret_cast<const char*>(in + i * rows * cols), static_cast<ptrdiff_t>(cols * sizeof(T)), rows,
              cols);
  }
  return out;
}

void require_order(double p) {
  if (!(p >= 0)) fail_execution("p: expected at least 0, got ", p);
}

void require_full_floating(const Tensor& tensor, const char* what) {
  if (tensor.dtype != DType::kFloat32 && tensor.dtype != DType::kFloat64) {
    fail_execution(what, ": expected float32 or float64, got ", dtype_name(tensor.dtype));
  }
}

constexpr size_t kGrainElements = 8192;

size_t grain_for(size_t work) { return kGrainElements / (work + 1) + 1; }

// Between all pairs of rows: [batch, rows, cols] and [batch, others, cols] give [batch, rows, others]. The strides, in
// elements, are those of a batch: 0 where an operand repeats.
struct Pairs {
  size_t batches = 1, rows, others, cols;
  Shape batch_sizes;
  int64_t strides1[kMaxRank], strides2[kMaxRank];

  void starts(size_t batch, size_t& start1, size_t& start2) const noexcept {
    start1 = start2 = 0;
    for (size_t d = batch_sizes.rank; d-- > 0;) {
      const size_t index = batch % static_cast<size_t>(batch_sizes[d]);
      batch /= static_cast<size_t>(batch_sizes[d]);
      start1 += index * static_cast<size_t>(strides1[d]);
      start2 += index * static_cast<size_t>(strides2[d]);
    }
  }

  template <class T>
  void run(OpContext& context, const T* x1, const T* x2, size_t matrices2, double p, T* out) const {
    const DistanceFn<T> between = distance_fn<T>(p);
    const kernels::DistanceFunction<T> to_many = pays_to_turn(rows, cols) ? many_distances_fn<T>(p) : nullptr;
    if (to_many != nullptr) x2 = turned(context, x2, matrices2, others, cols);
    parallel_ranges(batches * rows, grain_for(others * cols), [&](size_t begin, size_t end) {
      for (size_t r = begin; r < end; ++r) {
        size_t start1, start2;
        starts(r / rows, start1, start2);
        const T* row = x1 + start1 + r % rows * cols;
        if (to_many != nullptr) {
          to_many(row, x2 + start2, others, cols, out + r * others, others);
          continue;
        }
        for (size_t k = 0; k < others; ++k) {
          out[r * others + k] = between(row, x2 + start2 + k * cols, cols, static_cast<T>(p));
        }
      }
    });
  }
};

void cdist_forward_out(OpContext& context, const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>,
                       Tensor& out) {
  require_order(p);
  require_full_floating(x1, "x1");
  require_same_dtype(x2, x1.dtype, "x2");
  require_same_dtype(out, x1.dtype, "out");
  if (x1.rank < 2) fail_execution("x1: expected at least rank 2, got shape ", x1.sizes());
  if (x2.rank < 2) fail_execution("x2: expected at least rank 2, got shape ", x2.sizes());
  const size_t last1 = x1.rank - 1u, last2 = x2.rank - 1u;
  if (x1.size(last1) != x2.size(last2)) {
    fail_execution("x2: expected ", x1.size(last1), " columns as x1 has, got shape ", x2.sizes());
  }
  Pairs pairs;
  pairs.rows = static_cast<size_t>(x1.size(last1 - 1));
  pairs.others = static_cast<size_t>(x2.size(last2 - 1));
  pairs.cols = static_cast<size_t>(x1.size(last1));
  pairs.batch_sizes = broadcast(x1.sizes().first(last1 - 1), x2.sizes().first(last2 - 1), "x2");
  for (const int64_t size : pairs.batch_sizes) pairs.batches *= static_cast<size_t>(size);
  Shape shape = pairs.batch_sizes;
  shape.push_back(x1.size(last1 - 1));
  shape.push_back(x2.size(last2 - 1));
  context.resize(out, shape);
  if (out.numel() == 0) return;
  const Tensor in1 = row_major(context, x1, x1.dtype);
  const Tensor in2 = row_major(context, x2, x1.dtype);
  const auto batch_strides = [&](const Tensor& in, size_t last, int64_t* strides) {
    const size_t missing = pairs.batch_sizes.rank - (last - 1);
    for (size_t d = 0; d < pairs.batch_sizes.rank; ++d) {
      strides[d] = d < missing || in.size(d - missing) == 1 ? 0 : in.stride(d - missing);
    }
  };
  batch_strides(in1, last1, pairs.strides1);
  batch_strides(in2, last2, pairs.strides2);
  Tensor staging = out.is_contiguous() ? out : scratch_tensor(context, out.dtype, shape);
  const size_t matrices2 = pairs.cols == 0 ? 0 : static_cast<size_t>(x2.numel()) / (pairs.others * pairs.cols);
  if (out.dtype == DType::kFloat32) {
    pairs.run(context, in1.as<float>(), in2.as<float>(), matrices2, p, staging.as<float>());
  } else {
    pairs.run(context, in1.as<double>(), in2.as<double>(), matrices2, p, staging.as<double>());
  }
  if (staging.data != out.data) copy_elements(context, staging, out);
}

// Each row with every later one, in order.
template <class T>
void run_pdist(OpContext& context, const T* x, size_t rows, size_t cols, double p, T* out) {
  const DistanceFn<T> between = distance_fn<T>(p);
  const kernels::DistanceFunction<T> to_many = pays_to_turn(rows, cols) ? many_distances_fn<T>(p) : nullptr;
  const T* columns = to_many != nullptr ? turned(context, x, 1, rows, cols) : nullptr;
  parallel_ranges(rows, grain_for(rows * cols), [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      T* to = out + r * (2 * rows - r - 1) / 2;
      if (to_many != nullptr) {
        to_many(x + r * cols, columns + r + 1, rows, cols, to, rows - r - 1);
        continue;
      }
      for (size_t k = r + 1; k < rows; ++k) *to++ = between(x + r * cols, x + k * cols, cols, static_cast<T>(p));
    }
  });
}

void pdist_forward_out(OpContext& context, const Tensor& self, double p, Tensor& out) {
  require_order(p);
  require_full_floating(self, "self");
  require_same_dtype(out, self.dtype, "out");
  if (self.rank != 2) fail_execution("self: expected rank 2, got shape ", self.sizes());
  const int64_t rows = self.size(0);
  context.resize(out, {rows < 2 ? 0 : rows * (rows - 1) / 2});
  if (out.numel() == 0) return;
  const Tensor in = row_major(context, self, self.dtype);
  const auto cols = static_cast<size_t>(self.size(1));
  if (self.dtype == DType::kFloat32) {
    run_pdist(context, in.as<float>(), static_cast<size_t>(rows), cols, p, out.as<float>());
  } else {
    run_pdist(context, in.as<double>(), static_cast<size_t>(rows), cols, p, out.as<double>());
  }
}

}  // namespace

void register_distance(OperatorTable& table) {
  table.add<cdist_forward_out>("aten::_cdist_forward.out", "x1, x2, p, compute_mode, out");
  table.add<pdist_forward_out>("aten::_pdist_forward.out", "self, p, out");
}

}  // namespace enr::ops
