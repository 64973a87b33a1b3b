#include <cmath>

#include "kernels/reduce/reduce.h"
#include "kernels/reduce/walk.h"

namespace enr::kernels {

namespace {

constexpr size_t kColumns = 256;
constexpr size_t kGrain = 8192;

// One running value for each of a block of columns.
template <class A>
struct Running {
  A value[kColumns] = {};
  int64_t index[kColumns] = {};
};

template <class A>
A log_add_exp(A x, A y) noexcept {
  if constexpr (std::is_floating_point_v<A>) {
    const A larger = std::fmax(x, y);
    if (std::isnan(x) || std::isnan(y)) return x + y;
    return std::isinf(larger) ? larger : larger + std::log1p(std::exp(std::fmin(x, y) - larger));
  } else {
    return x;
  }
}

template <class A>
A wrapping_add(A x, A y) noexcept {
  if constexpr (std::is_floating_point_v<A>) return x + y;
  return static_cast<A>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
template <class A>
A wrapping_mul(A x, A y) noexcept {
  if constexpr (std::is_floating_point_v<A>) return x * y;
  return static_cast<A>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

// Eager's rule: a later equal value, and every NaN after the first, moves the index.
template <class A>
bool takes_over(Scan op, A value, A best) noexcept {
  if (value != value) return true;
  if (best != best) return false;
  return op == Scan::kCumMax ? value >= best : value <= best;
}

// Folds row `step` of `width` values into the running ones and leaves the result in `row`.
template <class A>
void fold(Scan op, int64_t step, A* row, size_t width, Running<A>& running) noexcept {
  if (step == 0) {
    for (size_t w = 0; w < width; ++w) {
      running.value[w] = row[w];
      running.index[w] = 0;
    }
    return;
  }
  switch (op) {
    case Scan::kCumSum:
      for (size_t w = 0; w < width; ++w) row[w] = running.value[w] = wrapping_add(running.value[w], row[w]);
      break;
    case Scan::kCumProd:
      for (size_t w = 0; w < width; ++w) row[w] = running.value[w] = wrapping_mul(running.value[w], row[w]);
      break;
    case Scan::kLogCumSumExp:
      for (size_t w = 0; w < width; ++w) row[w] = running.value[w] = log_add_exp(running.value[w], row[w]);
      break;
    case Scan::kCumMax:
    case Scan::kCumMin:
      for (size_t w = 0; w < width; ++w) {
        if (takes_over(op, row[w], running.value[w])) {
          running.value[w] = row[w];
          running.index[w] = step;
        }
        row[w] = running.value[w];
      }
      break;
  }
}

// Folds steps [step, step + n) of one line into `to`, which may be `from`.
template <class A>
void fold_line(Scan op, int64_t step, const A* from, A* to, size_t n, Running<A>& running, int64_t* places) noexcept {
  if (op != Scan::kCumSum && op != Scan::kCumProd) {
    for (size_t k = 0; k < n; ++k) {
      to[k] = from[k];
      fold(op, step + static_cast<int64_t>(k), to + k, 1, running);
      places[k] = running.index[0];
    }
    return;
  }
  const bool adds = op == Scan::kCumSum;
  A value = step == 0 ? static_cast<A>(adds ? 0 : 1) : running.value[0];
  if (adds) {
    for (size_t k = 0; k < n; ++k) to[k] = value = wrapping_add(value, from[k]);
  } else {
    for (size_t k = 0; k < n; ++k) to[k] = value = wrapping_mul(value, from[k]);
  }
  running.value[0] = value;
}

struct Shape {
  DimList outer;
  DimList inner;
  int64_t steps;
  int64_t step_stride;
};

// Copies n elements of the list, from the one numbered `first`.
void gather_list(const DimList& list, const std::byte* data, size_t size, size_t first, size_t n,
                 std::byte* to) noexcept {
  const size_t run = static_cast<size_t>(list.inner_size());
  for (size_t done = 0; done < n;) {
    const size_t at = first + done;
    const size_t count = std::min(n - done, run - at % run);
    gather(data + list.offset(at, list.rank) * static_cast<int64_t>(size), list.inner_stride(), size, to + done * size,
           count);
    done += count;
  }
}

template <class A>
void run(Scan op, const Shape& shape, const ConstStrided& in, DType out_dtype, void* out, int64_t* indices) noexcept {
  const ConvertFn read = convert_fn(in.dtype, dtype_of<A>);
  const ConvertFn write = convert_fn(dtype_of<A>, out_dtype);
  const size_t in_size = dtype_size(in.dtype);
  const size_t out_size = dtype_size(out_dtype);
  const size_t columns = shape.inner.count();
  const size_t steps = static_cast<size_t>(shape.steps);
  const size_t blocks = (columns + kColumns - 1) / kColumns;
  const size_t grain = std::max<size_t>(kGrain / (steps * std::min(columns, kColumns)), 1);
  // Rows that lie behind each other are taken several at a time.
  const bool is_dense = shape.inner.rank == 1 && shape.inner.inner_stride() == 1 && blocks == 1 &&
                        shape.step_stride == static_cast<int64_t>(columns);
  const size_t rows = is_dense ? kColumns / columns : 1;
  parallel_ranges(shape.outer.count() * blocks, grain, [&](size_t begin, size_t end) {
    Running<A> running;
    alignas(16) std::byte raw[kColumns * 16];
    A tile[kColumns];
    for (size_t i = begin; i < end; ++i) {
      const size_t column = i % blocks * kColumns;
      const size_t width = std::min(kColumns, columns - column);
      const int64_t base = shape.outer.offset(i / blocks, shape.outer.rank);
      for (size_t step = 0; step < steps; step += rows) {
        const size_t count = std::min(rows, steps - step);
        const int64_t offset = base + static_cast<int64_t>(step) * shape.step_stride;
        const std::byte* from = static_cast<const std::byte*>(in.data) + offset * static_cast<int64_t>(in_size);
        if (rows == 1) {
          gather_list(shape.inner, from, in_size, column, width, raw);
          from = raw;
        }
        read(from, tile, count * width);
        const size_t to = (i / blocks * steps + step) * columns + column;
        for (size_t r = 0; r < count; ++r) {
          fold(op, static_cast<int64_t>(step + r), tile + r * width, width, running);
          if (indices != nullptr) std::memcpy(indices + to + r * columns, running.index, width * sizeof(int64_t));
        }
        write(tile, static_cast<std::byte*>(out) + to * out_size, count * width);
      }
    }
  });
}

// The same along the innermost dimension: one line at a time, in tiles of steps.
template <class A>
void run_lines(Scan op, const Shape& shape, const ConstStrided& in, DType out_dtype, void* out,
               int64_t* indices) noexcept {
  const ConvertFn read = convert_fn(in.dtype, dtype_of<A>);
  const ConvertFn write = convert_fn(dtype_of<A>, out_dtype);
  const size_t in_size = dtype_size(in.dtype);
  const size_t out_size = dtype_size(out_dtype);
  const size_t steps = static_cast<size_t>(shape.steps);
  parallel_ranges(shape.outer.count(), std::max<size_t>(kGrain / steps, 1), [&](size_t begin, size_t end) {
    Running<A> running;
    alignas(16) std::byte raw[kColumns * 16];
    A tile[kColumns];
    int64_t places[kColumns];
    for (size_t line = begin; line < end; ++line) {
      const int64_t base = shape.outer.offset(line, shape.outer.rank);
      for (size_t step = 0; step < steps; step += kColumns) {
        const size_t count = std::min(kColumns, steps - step);
        const int64_t offset = base + static_cast<int64_t>(step) * shape.step_stride;
        const std::byte* from = static_cast<const std::byte*>(in.data) + offset * static_cast<int64_t>(in_size);
        if (shape.step_stride != 1) {
          gather(from, shape.step_stride, in_size, raw, count);
          from = raw;
        }
        // Without conversions the line is folded where it lies.
        std::byte* to = static_cast<std::byte*>(out) + (line * steps + step) * out_size;
        const A* source = in.dtype == dtype_of<A> ? reinterpret_cast<const A*>(from) : tile;
        A* target = out_dtype == dtype_of<A> ? reinterpret_cast<A*>(to) : tile;
        if (source == tile) read(from, tile, count);
        fold_line(op, static_cast<int64_t>(step), source, target, count, running, places);
        if (target == tile) write(tile, to, count);
        if (indices != nullptr) std::memcpy(indices + line * steps + step, places, count * sizeof(int64_t));
      }
    }
  });
}

}  // namespace

void scan(Scan op, std::span<const int64_t> sizes, const ConstStrided& in, size_t dim, DType out_dtype, void* out,
          int64_t* indices) noexcept {
  Shape shape;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return;
    if (d < dim) shape.outer.add(sizes[d], in.strides[d]);
    if (d > dim) shape.inner.add(sizes[d], in.strides[d]);
  }
  shape.outer.finish();
  shape.inner.finish();
  shape.steps = sizes.empty() ? 1 : sizes[dim];
  shape.step_stride = sizes.empty() ? 1 : in.strides[dim];
  const bool floating = is_floating(in.dtype) || is_floating(out_dtype);
  const bool lines = shape.inner.count() == 1;
  if (floating) {
    (lines ? run_lines<double> : run<double>)(op, shape, in, out_dtype, out, indices);
  } else {
    (lines ? run_lines<int64_t> : run<int64_t>)(op, shape, in, out_dtype, out, indices);
  }
}

}  // namespace enr::kernels
