// The Walsh-Hadamard transform of the last dim, which rotates activations before they are quantised.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/thread_pool.h"
#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

constexpr size_t kOrder = 28;
constexpr size_t kCirculant = 7;

using Matrix = std::array<std::array<int8_t, kOrder>, kOrder>;

// The Hadamard matrix of order 28 by Williamson's construction: four symmetric circulant blocks in a signed array.
constexpr Matrix order_28() {
  constexpr std::array<std::string_view, 4> kRows = {"+------", "++----+", "+-+--+-", "+--++--"};
  // Which block stands where, and with which sign.
  constexpr int kBlocks[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
  constexpr int kSigns[4][4] = {{1, 1, 1, 1}, {-1, 1, -1, 1}, {-1, 1, 1, -1}, {-1, -1, 1, 1}};
  Matrix matrix{};
  for (size_t i = 0; i < kOrder; ++i) {
    for (size_t j = 0; j < kOrder; ++j) {
      const size_t row = i / kCirculant, column = j / kCirculant;
      const size_t shift = (j + kOrder - i % kCirculant) % kCirculant;
      const bool is_positive = kRows[static_cast<size_t>(kBlocks[row][column])][shift] == '+';
      matrix[i][j] = static_cast<int8_t>(is_positive ? kSigns[row][column] : -kSigns[row][column]);
    }
  }
  return matrix;
}

// In place, for a power of two; divided by its root.
template <class T>
void transform(T* data, size_t size) noexcept {
  for (size_t step = 1; step < size; step *= 2) {
    for (size_t begin = 0; begin < size; begin += 2 * step) {
      T *low = data + begin, *high = low + step;
      for (size_t i = 0; i < step; ++i) {
        const T x = low[i], y = high[i];
        low[i] = x + y;
        high[i] = x - y;
      }
    }
  }
  const T factor = static_cast<T>(1 / std::sqrt(static_cast<double>(size)));
  for (size_t i = 0; i < size; ++i) data[i] *= factor;
}

// Between the 28 rows of [28, columns]; not divided by anything, as models expect it.
template <class T>
void mix_rows(T* data, size_t columns) noexcept {
  static constexpr Matrix kMatrix = order_28();
  constexpr size_t kAtOnce = 16;
  for (size_t first = 0; first < columns; first += kAtOnce) {
    const size_t count = std::min(kAtOnce, columns - first);
    T sums[kOrder][kAtOnce] = {};
    for (size_t i = 0; i < kOrder; ++i) {
      for (size_t j = 0; j < kOrder; ++j) {
        const T* row = data + j * columns + first;
        const T sign = kMatrix[i][j];
        for (size_t c = 0; c < count; ++c) sums[i][c] += sign * row[c];
      }
    }
    for (size_t i = 0; i < kOrder; ++i) std::copy_n(sums[i], count, data + i * columns + first);
  }
}

template <class T>
void run(OpContext& context, const Tensor& mat, size_t size, Tensor& out) {
  const T* in = row_major_as<T>(context, mat);
  RowMajorOut result(context, out, dtype_of<T>);
  T* data = result.template as<T>();
  const size_t count = static_cast<size_t>(out.numel()) / size;
  const size_t pieces = size % kOrder == 0 ? kOrder : 1;
  parallel_ranges(count, std::max<size_t>(1, 4096 / size), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      T* vector = data + i * size;
      std::memmove(vector, in + i * size, size * sizeof(T));
      for (size_t piece = 0; piece < pieces; ++piece) transform(vector + piece * (size / pieces), size / pieces);
      if (pieces != 1) mix_rows(vector, size / pieces);
    }
  });
  result.commit();
}

void fast_hadamard_transform_out(OpContext& context, const Tensor& mat, Tensor& out) {
  require_floating(mat.dtype, "mat");
  require_same_dtype(out, mat.dtype, "out");
  const auto size = static_cast<size_t>(mat.rank == 0 ? 1 : mat.size(mat.rank - 1u));
  if (size != 0 && !std::has_single_bit(size % kOrder == 0 ? size / kOrder : size)) {
    fail_execution("mat: expected a last size that is a power of two or 28 times one, got shape ", mat.sizes());
  }
  context.resize(out, mat.sizes());
  if (out.numel() == 0) return;
  (out.dtype == DType::kFloat64 ? &run<double> : &run<float>)(context, mat, size, out);
}

}  // namespace

void register_hadamard(OperatorTable& table) {
  table.add<fast_hadamard_transform_out>("llama::fast_hadamard_transform.out", "mat, out");
}

}  // namespace enr::ops
