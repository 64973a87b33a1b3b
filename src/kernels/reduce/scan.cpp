#include <cmath>
#include <limits>

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

// The running values before the first row, whose elements lie `apart`.
template <class A>
void start(Scan op, const A* row, size_t width, size_t apart, Running<A>& running) noexcept {
  std::fill_n(running.index, width, 0);
  switch (op) {
    case Scan::kCumSum:
      std::fill_n(running.value, width, A{0});
      break;
    case Scan::kCumProd:
      std::fill_n(running.value, width, A{1});
      break;
    case Scan::kLogCumSumExp:
      std::fill_n(running.value, width, -std::numeric_limits<A>::infinity());
      break;
    case Scan::kCumMax:
    case Scan::kCumMin:
      for (size_t w = 0; w < width; ++w) running.value[w] = row[w * apart];
      break;
  }
}

// Folds row `step` of `width` values into the running ones and leaves the result in `row`.
template <class A>
void fold(Scan op, int64_t step, A* row, size_t width, Running<A>& running) noexcept {
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

// One column's running value, in registers.
template <Scan op, class A>
class Column {
 public:
  Column(Running<A>& running, size_t w) noexcept
      : running_(running), w_(w), value_(running.value[w]), index_(running.index[w]) {}
  ~Column() {
    running_.value[w_] = value_;
    running_.index[w_] = index_;
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  // The value of row `step`; its place goes to places[i].
  A fold(int64_t step, A from, int64_t* places, size_t i) noexcept {
    if constexpr (op == Scan::kCumSum) {
      value_ = wrapping_add(value_, from);
    } else if constexpr (op == Scan::kCumProd) {
      value_ = wrapping_mul(value_, from);
    } else if constexpr (op == Scan::kLogCumSumExp) {
      value_ = log_add_exp(value_, from);
    } else {
      const bool takes = takes_over(op, from, value_);
      value_ = takes ? from : value_;
      places[i] = index_ = takes ? step : index_;
    }
    return value_;
  }

 private:
  Running<A>& running_;
  size_t w_;
  A value_;
  int64_t index_;
};

// Rows [step, step + rows) of `width` columns and how far apart their elements lie.
struct Block {
  int64_t step;
  size_t rows, width, row_stride, column_stride;
};

// Folds the rows into `to`, which may be `from`: two columns at a time, for neither waits for the other.
template <Scan op, class A>
void fold_columns(const Block& block, const A* from, A* to, Running<A>& running, int64_t* places) noexcept {
  size_t w = 0;
  for (; w + 2 <= block.width; w += 2) {
    Column<op, A> first(running, w), second(running, w + 1);
    size_t i = w * block.column_stride, k = i + block.column_stride;
    for (size_t r = 0; r < block.rows; ++r, i += block.row_stride, k += block.row_stride) {
      const int64_t step = block.step + static_cast<int64_t>(r);
      to[i] = first.fold(step, from[i], places, i);
      to[k] = second.fold(step, from[k], places, k);
    }
  }
  if (w == block.width) return;
  Column<op, A> last(running, w);
  const size_t begin = w * block.column_stride;
  const auto fold_last = [&](size_t row_stride) {
    for (size_t r = 0, i = begin; r < block.rows; ++r, i += row_stride) {
      to[i] = last.fold(block.step + static_cast<int64_t>(r), from[i], places, i);
    }
  };
  if (block.row_stride == 1) return fold_last(1);
  fold_last(block.row_stride);
}

template <class A>
using FoldColumns = void (*)(const Block& block, const A* from, A* to, Running<A>& running, int64_t* places) noexcept;

template <class A>
FoldColumns<A> fold_columns_of(Scan op) noexcept {
  switch (op) {
    case Scan::kCumSum:
      return fold_columns<Scan::kCumSum, A>;
    case Scan::kCumProd:
      return fold_columns<Scan::kCumProd, A>;
    case Scan::kLogCumSumExp:
      return fold_columns<Scan::kLogCumSumExp, A>;
    case Scan::kCumMax:
      return fold_columns<Scan::kCumMax, A>;
    default:
      return fold_columns<Scan::kCumMin, A>;
  }
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
  constexpr size_t narrow = 8;
  const FoldColumns<A> fold_narrow = is_dense && columns <= narrow ? fold_columns_of<A>(op) : nullptr;
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
        if (step == 0) start(op, tile, width, 1, running);
        const size_t to = (i / blocks * steps + step) * columns + column;
        int64_t* places = indices == nullptr ? nullptr : indices + to;
        if (fold_narrow != nullptr) {
          fold_narrow({static_cast<int64_t>(step), count, width, width, 1}, tile, tile, running, places);
        }
        for (size_t r = 0; r < count && fold_narrow == nullptr; ++r) {
          fold(op, static_cast<int64_t>(step + r), tile + r * width, width, running);
          if (places != nullptr) std::memcpy(places + r * columns, running.index, width * sizeof(int64_t));
        }
        write(tile, static_cast<std::byte*>(out) + to * out_size, count * width);
      }
    }
  });
}

// The same along the innermost dimension: each line is a column of its own, in tiles of steps; short lines that lie
// behind each other share a tile.
template <class A>
void run_lines(Scan op, const Shape& shape, const ConstStrided& in, DType out_dtype, void* out,
               int64_t* indices) noexcept {
  const ConvertFn read = convert_fn(in.dtype, dtype_of<A>);
  const ConvertFn write = convert_fn(dtype_of<A>, out_dtype);
  const FoldColumns<A> fold_lines = fold_columns_of<A>(op);
  const size_t in_size = dtype_size(in.dtype);
  const size_t out_size = dtype_size(out_dtype);
  const size_t steps = static_cast<size_t>(shape.steps);
  const bool is_dense = shape.step_stride == 1 && shape.outer.rank == 1 && shape.outer.inner_stride() == shape.steps;
  const size_t together = is_dense ? std::max<size_t>(kColumns / steps, 1) : 1;
  parallel_ranges(shape.outer.count(), std::max<size_t>(kGrain / steps, 1), [&](size_t begin, size_t end) {
    Running<A> running;
    alignas(16) std::byte raw[kColumns * 16];
    A tile[kColumns];
    for (size_t line = begin; line < end; line += together) {
      const size_t lines = std::min(together, end - line);
      const int64_t base = shape.outer.offset(line, shape.outer.rank);
      for (size_t step = 0; step < steps; step += kColumns) {
        const size_t count = std::min(kColumns, steps - step), total = lines * count;
        const int64_t offset = base + static_cast<int64_t>(step) * shape.step_stride;
        const std::byte* from = static_cast<const std::byte*>(in.data) + offset * static_cast<int64_t>(in_size);
        if (shape.step_stride != 1) {
          gather(from, shape.step_stride, in_size, raw, count);
          from = raw;
        }
        // Without conversions lines are folded where they lie.
        const size_t written = line * steps + step;
        std::byte* to = static_cast<std::byte*>(out) + written * out_size;
        const A* source = in.dtype == dtype_of<A> ? reinterpret_cast<const A*>(from) : tile;
        A* target = out_dtype == dtype_of<A> ? reinterpret_cast<A*>(to) : tile;
        int64_t* places = indices == nullptr ? nullptr : indices + written;
        if (source == tile) read(from, tile, total);
        if (step == 0) start(op, source, lines, count, running);
        fold_lines({static_cast<int64_t>(step), count, lines, 1, count}, source, target, running, places);
        if (target == tile) write(tile, to, total);
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
