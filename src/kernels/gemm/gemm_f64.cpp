#include "kernels/gemm/gemm_f64.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/driver.h"
#include "kernels/gemm/tile_f64.h"
#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(F64Kernels, f64_kernels)

namespace {

// Multiplications worth a task of their own.
constexpr size_t kTaskWork = 1u << 18;

size_t panel_count(size_t n) noexcept { return (n + f64_kernels().width - 1) / f64_kernels().width; }

// Rows of B that are packed and used before the next ones: they stay in the second-level cache.
constexpr size_t kBlockDepth = 256;

// B's rows [depth.begin, depth.end).
void pack_panel(const MatmulF64& call, const double* b, size_t panel, Range depth, double* out) noexcept {
  const size_t width = f64_kernels().width, column = panel * width, columns = std::min(width, call.n - column);
  const size_t row_step = call.b_transposed ? 1 : call.n, column_step = call.b_transposed ? call.k : 1;
  if (depth.begin == depth.end) return;  // B may have no address
  b += column * column_step;
  if (columns == width && !call.b_transposed) {
    return f64_kernels().pack(b + depth.begin * call.n, call.n, depth.end - depth.begin, out);
  }
  for (size_t k = depth.begin; k < depth.end; ++k, out += width) {
    for (size_t j = 0; j < columns; ++j) out[j] = b[k * row_step + j * column_step];
    std::fill(out + columns, out + width, 0.0);
  }
}

void pack_panels(const MatmulF64& call, size_t batch, Range panels, Range depth, double* packed) noexcept {
  const size_t panel_size = f64_kernels().width * (depth.end - depth.begin);
  for (size_t panel = panels.begin; panel < panels.end; ++panel) {
    pack_panel(call, call.b + batch * call.k * call.n, panel, depth, packed + panel * panel_size);
  }
}

// What rows of B before `depth` give is in C already.
void multiply_rows(const MatmulF64& call, size_t batch, Range row_tiles, Range depth, const double* packed) noexcept {
  const F64Kernels& kernels = f64_kernels();
  const size_t panels = panel_count(call.n), length = depth.end - depth.begin;
  for (size_t panel = 0; panel < panels; ++panel) {
    for (size_t t = row_tiles.begin; t < row_tiles.end; ++t) {
      const size_t row = t * kernels.rows, rows = std::min(kernels.rows, call.m - row);
      const size_t offset = (batch * call.m + row) * call.n + panel * kernels.width;
      TileF64 tile{};
      tile.a = call.a + (batch * call.m + row) * call.k + depth.begin;
      tile.a_stride = call.k;
      tile.k = length;
      tile.panel = packed + panel * kernels.width * length;
      tile.c = call.c + offset;
      tile.c_stride = call.n;
      tile.columns = std::min(kernels.width, call.n - panel * kernels.width);
      tile.alpha = call.alpha;
      tile.addend = call.addend == nullptr ? nullptr : call.addend + offset;
      tile.beta = call.beta;
      if (depth.begin != 0) {
        tile.addend = tile.c;
        tile.beta = 1;
      }
      kernels.tile[rows - 1](tile);
    }
  }
}

// f(range) for the blocks of B's rows, at least once.
template <class F>
void for_each_block(size_t k, F f) {
  size_t begin = 0;
  do {
    const size_t end = std::min(begin + kBlockDepth, k);
    f(Range{begin, end});
    begin = end;
  } while (begin < k);
}

// Dot products of A's rows and B's columns, where these lie in memory as rows do.
void multiply_dots(const MatmulF64& call) noexcept {
  const size_t count = call.batch * call.m * call.n;
  parallel_ranges(count, kTaskWork / 16 / std::max<size_t>(call.k, 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t row = i / call.n, batch = row / call.m;
      const double* b = call.b + (batch * call.n + i % call.n) * call.k;
      double value = call.alpha * f64_kernels().dot(call.a + row * call.k, b, call.k);
      if (call.addend != nullptr) value += call.beta * call.addend[i];
      call.c[i] = value;
    }
  });
}

// Few rows of A by a B that is read as it lies.
void multiply_few_rows(const MatmulF64& call) noexcept {
  constexpr size_t kColumns = 1024;  // what they give stays in the first-level cache
  const size_t threads = call.batch * call.m >= num_threads() ? 1 : num_threads();
  const size_t width = std::clamp<size_t>((call.n / threads + 63) / 64 * 64, 64, kColumns);
  const size_t pieces = (call.n + width - 1) / width;
  const size_t grain = kTaskWork / 16 / std::max<size_t>(call.k * std::min(call.n, width), 1) + 1;
  parallel_ranges(call.batch * pieces * call.m, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t row = i % call.m, piece = i / call.m % pieces, batch = i / call.m / pieces;
      const size_t column = piece * width, columns = std::min(width, call.n - column);
      const double* a = call.a + (batch * call.m + row) * call.k;
      double sums[kColumns];
      f64_kernels().row(a, call.b + batch * call.k * call.n + column, call.n, call.k, columns, sums);
      const size_t offset = (batch * call.m + row) * call.n + column;
      for (size_t j = 0; j < columns; ++j) {
        const double value = call.alpha * sums[j];
        call.c[offset + j] = call.addend != nullptr ? value + call.beta * call.addend[offset + j] : value;
      }
    }
  });
}

size_t packed_doubles(size_t n, size_t k) noexcept {
  return panel_count(n) * f64_kernels().width * std::min(k, kBlockDepth);
}

}  // namespace

size_t matmul_f64_slots(size_t batch) noexcept { return std::min(batch, num_threads()); }

size_t matmul_f64_workspace_bytes(size_t slots, size_t n, size_t k) noexcept {
  return slots * packed_doubles(n, k) * sizeof(double);
}

void matmul_f64(const MatmulF64& call, size_t slots, void* workspace) {
  constexpr size_t kPackedRows = 4;  // with fewer, packing B costs more than it saves
  if (call.k != 0 && (call.n == 1 || (call.b_transposed && call.m < kPackedRows))) return multiply_dots(call);
  if (call.k != 0 && call.m < kPackedRows && !call.b_transposed) return multiply_few_rows(call);
  auto* packed = static_cast<double*>(workspace);
  const size_t panels = panel_count(call.n), work = call.m * call.n * call.k;
  const size_t row_tiles = (call.m + f64_kernels().rows - 1) / f64_kernels().rows;
  // Products that are small, or enough for every thread, stay on one thread each.
  if (call.batch > 1 && (work < kTaskWork || call.batch >= 4 * slots)) {
    const size_t tasks = std::clamp<size_t>(call.batch * work / kTaskWork, 1, slots);
    return parallel_for(tasks, [&](size_t task) {
      double* own = packed + task * packed_doubles(call.n, call.k);
      const Range range = part_of(call.batch, tasks, task);
      for (size_t batch = range.begin; batch < range.end; ++batch) {
        for_each_block(call.k, [&](Range depth) {
          pack_panels(call, batch, {0, panels}, depth, own);
          multiply_rows(call, batch, {0, row_tiles}, depth, own);
        });
      }
    });
  }
  for (size_t batch = 0; batch < call.batch; ++batch) {
    for_each_block(call.k, [&](Range depth) {
      const size_t length = depth.end - depth.begin;
      const size_t pack_tasks = std::clamp<size_t>(call.n * length / kTaskWork, 1, panels);
      parallel_for(pack_tasks,
                   [&](size_t i) { pack_panels(call, batch, part_of(panels, pack_tasks, i), depth, packed); });
      const size_t tasks = std::clamp<size_t>(call.m * call.n * length / kTaskWork, 1, row_tiles);
      parallel_for(tasks, [&](size_t i) { multiply_rows(call, batch, part_of(row_tiles, tasks, i), depth, packed); });
    });
  }
}

}  // namespace enr::kernels
