#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/gemm/driver.h"
#include "kernels/gemm/gemm.h"

namespace enr::kernels {

namespace {

// With fewer rows than this, products of a transposed B are dot products of rows as they lie.
constexpr size_t kDotRows = 4;
// Packed matrices that are in use at once.
constexpr size_t kWorkspaceBytes = 4u << 20;
constexpr size_t kTaskWork = 1u << 20;

size_t matrix_floats(const Panels& panels) noexcept { return (panels.size() + 15) / 16 * 16; }

size_t batches_at_once(size_t batch, const Panels& panels) noexcept {
  const size_t bytes = std::max<size_t>(1, matrix_floats(panels) * sizeof(float));
  return std::max<size_t>(1, std::min(batch, kWorkspaceBytes / bytes));
}

struct Matrices {
  const float* a;
  const float* b;
  float* c;
  const float* addend;
};

Matrices matrices_of(const BatchMatmul& call, size_t batch) noexcept {
  const size_t outer = batch / call.batch_inner, inner = batch % call.batch_inner;
  return {call.a + outer * call.a_outer_stride + inner * call.a_inner_stride,
          call.b + outer * call.b_outer_stride + inner * call.b_inner_stride,
          call.c + outer * call.c_outer_stride + inner * call.c_inner_stride,
          call.addend == nullptr ? nullptr
                                 : call.addend + outer * call.addend_outer_stride + inner * call.addend_inner_stride};
}

void pack_panel(const BatchMatmul& call, const float* b, const Panels& panels, size_t panel, float* packed) noexcept {
  const size_t width = panels.width_of(panel), column = panel * panels.width;
  float* out = packed + panels.offset_of(panel);
  std::fill(out, out + width, 0.0f);
  const PackKernels& kernels = pack_kernels();
  const auto function = call.b_transposed ? kernels.pack_rows : kernels.pack_columns;
  function(b + column * (call.b_transposed ? call.b_stride : 1), call.b_stride, panels.columns_of(panel), width,
           panels.k, call.alpha, out + width);
}

// A few rows of C by dot products of A's and B's rows.
void compute_dots(const BatchMatmul& call, size_t batch, size_t column, size_t column_end) noexcept {
  const Matrices at = matrices_of(call, batch);
  for (size_t i = 0; i < call.m; ++i) {
    float* row = at.c + i * call.c_stride;
    constexpr size_t kAtOnce = 64;
    for (size_t j = column; j < column_end; j += kAtOnce) {
      float sums[kAtOnce];
      const size_t count = std::min(kAtOnce, column_end - j);
      pack_kernels().dot(at.a + i * call.a_stride, at.b + j * call.b_stride, call.b_stride, count, call.k, sums);
      for (size_t l = 0; l < count; ++l) {
        float value = call.alpha * sums[l];
        if (at.addend != nullptr) value += call.beta * at.addend[i * call.addend_stride + j + l];
        value = value < call.min ? call.min : value;
        row[j + l] = value > call.max ? call.max : value;
      }
    }
  }
}

void multiply_dots(const BatchMatmul& call, size_t batches) noexcept {
  const size_t work = batches * call.m * call.n * call.k;
  const size_t wanted = std::clamp<size_t>(work / (kTaskWork / 16), 1, 4 * num_threads());
  const size_t pieces = std::clamp<size_t>((wanted + batches - 1) / batches, 1, std::max<size_t>(1, call.n / 64));
  const size_t groups = std::min(batches, wanted);
  parallel_for(groups * pieces, [&](size_t i) {
    const Range range = part_of(batches, groups, i / pieces), columns = part_of(call.n, pieces, i % pieces);
    for (size_t batch = range.begin; batch < range.end; ++batch) {
      compute_dots(call, batch, columns.begin, columns.end);
    }
  });
}

// One row of A by [k, n] matrices as they lie.
void multiply_row(const BatchMatmul& call, size_t batches) noexcept {
  constexpr size_t kColumns = 2048;  // what they give stays in the nearest cache
  const size_t threads = batches >= num_threads() ? 1 : num_threads();
  const size_t width = std::clamp<size_t>((call.n / threads + 63) / 64 * 64, 64, kColumns);
  const size_t pieces = (call.n + width - 1) / width;
  const size_t grain = kTaskWork / 16 / std::max<size_t>(call.k * std::min(call.n, width), 1) + 1;
  parallel_ranges(batches * pieces, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Matrices at = matrices_of(call, i / pieces);
      const size_t column = i % pieces * width, columns = std::min(width, call.n - column);
      float sums[kColumns], *row = at.c + column;
      pack_kernels().row(at.a, at.b + column, call.b_stride, call.k, columns, sums);
      for (size_t j = 0; j < columns; ++j) {
        float value = call.alpha * sums[j];
        if (at.addend != nullptr) value += call.beta * at.addend[column + j];
        value = value < call.min ? call.min : value;
        row[j] = value > call.max ? call.max : value;
      }
    }
  });
}

// A few rows of A by [k, n] matrices as they lie; only a last panel that is not full is packed.
void multiply_in_place(const BatchMatmul& call, const Panels& panels, size_t first, size_t count,
                       float* workspace) noexcept {
  const GemmKernels& kernels = gemm_kernels();
  const size_t wanted = std::clamp<size_t>(count * call.m * call.n * call.k / kTaskWork, 1, 4 * num_threads());
  const size_t groups = std::min(wanted, count * panels.count);
  parallel_for(groups, [&](size_t i) {
    const Range range = part_of(count * panels.count, groups, i);
    for (size_t j = range.begin; j < range.end; ++j) {
      const size_t batch = j / panels.count, panel = j % panels.count, column = panel * panels.width;
      const Matrices at = matrices_of(call, first + batch);
      const bool is_full = panels.columns_of(panel) == panels.width_of(panel);
      GemmTiles tile = {};
      tile.count = 1;
      tile.taps = 1;
      tile.a_stride = call.a_stride;
      tile.k = call.k;
      tile.b = at.b + column;
      tile.b_stride = call.b_stride;
      if (!is_full) {
        float* packed = workspace + batch * matrix_floats(panels);
        pack_panel(call, at.b, panels, panel, packed);
        tile.b = packed + panels.offset_of(panel) + panels.width_of(panel);
        tile.b_stride = panels.width_of(panel);
      }
      tile.c_stride = call.c_stride;
      tile.columns = panels.columns_of(panel);
      tile.addend_stride = call.addend_stride;
      tile.addend_scale = call.beta;
      tile.min = call.min;
      tile.max = call.max;
      const TilesFunction* functions = panels.width_of(panel) == panels.width ? kernels.wide : kernels.narrow;
      for (size_t row = 0; row < call.m; row += kernels.rows) {
        tile.ahead = FetchAhead(tile, 1, nullptr, tile.k).part(0);
        const float* a = at.a + row * call.a_stride;
        tile.a = &a;
        tile.c = at.c + row * call.c_stride + column;
        tile.addend = at.addend == nullptr ? nullptr : at.addend + row * call.addend_stride + column;
        functions[std::min(call.m - row, kernels.rows) - 1](tile);
      }
    }
  });
}

// Batches [first, first + count) by packed matrices: all are packed, then all are multiplied.
void multiply_packed(const BatchMatmul& call, const Panels& panels, size_t first, size_t count,
                     float* workspace) noexcept {
  const size_t size = matrix_floats(panels);
  const size_t wanted = std::clamp<size_t>(count * call.m * call.n * call.k / kTaskWork, 1, 4 * num_threads());
  const size_t groups = std::min(wanted, count * panels.count);
  parallel_for(groups, [&](size_t i) {
    const Range range = part_of(count * panels.count, groups, i);
    for (size_t j = range.begin; j < range.end; ++j) {
      const size_t batch = j / panels.count;
      pack_panel(call, matrices_of(call, first + batch).b, panels, j % panels.count, workspace + batch * size);
    }
  });
  const size_t tile_rows = gemm_kernels().rows, tiles = (call.m + tile_rows - 1) / tile_rows;
  const size_t row_pieces = std::clamp<size_t>((wanted + count - 1) / count, 1, tiles);
  parallel_for(count * row_pieces, [&](size_t i) {
    const size_t batch = i / row_pieces;
    const Matrices at = matrices_of(call, first + batch);
    const Product product = {call.m, at.a, call.a_stride, workspace + batch * size, at.c, call.c_stride};
    GemmEpilogue epilogue;
    epilogue.residual = at.addend;
    epilogue.residual_stride = call.addend_stride;
    epilogue.residual_scale = call.beta;
    epilogue.min = call.min;
    epilogue.max = call.max;
    const Range rows = part_of(tiles, row_pieces, i % row_pieces);
    compute_block(product, panels, epilogue,
                  {rows.begin * tile_rows, std::min(rows.end * tile_rows, call.m), 0, panels.count, 0, call.k});
  });
}

}  // namespace

size_t batch_matmul_workspace_bytes(size_t batch, size_t, size_t n, size_t k) noexcept {
  const Panels panels(n, k);
  return batches_at_once(batch, panels) * matrix_floats(panels) * sizeof(float);
}

void batch_matmul(const BatchMatmul& given, void* workspace) noexcept {
  // Operands without elements may have no address; then offsets are taken from one that is never read.
  static constexpr float kNothing = 0;
  BatchMatmul call = given;
  if (call.a == nullptr) call.a = &kNothing;
  if (call.b == nullptr) call.b = &kNothing;
  const size_t batches = call.batch_outer * call.batch_inner;
  if (batches == 0 || call.m == 0 || call.n == 0) return;
  // A matrix by a vector: the vector's products with its rows.
  const bool is_vector = call.n == 1 && (call.b_transposed || call.b_stride == 1);
  if (is_vector && call.m > 1 && call.c_stride == 1 && (call.addend == nullptr || call.addend_stride == 1)) {
    std::swap(call.a, call.b);
    std::swap(call.a_outer_stride, call.b_outer_stride);
    std::swap(call.a_inner_stride, call.b_inner_stride);
    std::swap(call.a_stride, call.b_stride);
    std::swap(call.m, call.n);
    call.b_transposed = true;
  }
  if (call.b_transposed && call.m < kDotRows) return multiply_dots(call, batches);
  if (!call.b_transposed && call.m == 1 && call.k != 0) return multiply_row(call, batches);
  const Panels panels(call.n, call.k);
  const size_t at_once = batches_at_once(batches, panels);
  // Packing costs about as much as a few rows of the product, and gains nothing where B stays in the nearest cache.
  const bool is_near =
      call.k * call.b_stride <= kNearFloats && panels.columns_of(panels.count - 1) == panels.width_of(panels.count - 1);
  const bool is_in_place = !call.b_transposed && call.alpha == 1.0f && (call.m <= gemm_kernels().rows || is_near);
  const auto multiply = is_in_place ? multiply_in_place : multiply_packed;
  for (size_t first = 0; first < batches; first += at_once) {
    multiply(call, panels, first, std::min(at_once, batches - first), static_cast<float*>(workspace));
  }
}

}  // namespace enr::kernels
