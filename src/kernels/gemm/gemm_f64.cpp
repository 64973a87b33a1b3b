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

void pack_panel(const MatmulF64& call, const double* b, size_t panel, double* out) noexcept {
  const size_t width = f64_kernels().width, column = panel * width, columns = std::min(width, call.n - column);
  const size_t row_step = call.b_transposed ? 1 : call.n, column_step = call.b_transposed ? call.k : 1;
  if (call.k == 0) return;  // B may have no address
  b += column * column_step;
  for (size_t k = 0; k < call.k; ++k, out += width) {
    for (size_t j = 0; j < columns; ++j) out[j] = b[k * row_step + j * column_step];
    std::fill(out + columns, out + width, 0.0);
  }
}

}  // namespace

size_t matmul_f64_workspace_bytes(size_t n, size_t k) noexcept {
  return panel_count(n) * f64_kernels().width * k * sizeof(double);
}

void matmul_f64(const MatmulF64& call, void* workspace) {
  const F64Kernels& kernels = f64_kernels();
  const size_t panels = panel_count(call.n), panel_size = kernels.width * call.k;
  const size_t row_tiles = (call.m + kernels.rows - 1) / kernels.rows;
  auto* packed = static_cast<double*>(workspace);
  for (size_t batch = 0; batch < call.batch; ++batch) {
    const double* a = call.a + batch * call.m * call.k;
    const double* b = call.b + batch * call.k * call.n;
    const size_t c_offset = batch * call.m * call.n;
    const size_t pack_tasks = std::clamp<size_t>(call.n * call.k / kTaskWork, 1, panels);
    parallel_for(pack_tasks, [&](size_t task) {
      const Range range = part_of(panels, pack_tasks, task);
      for (size_t panel = range.begin; panel < range.end; ++panel) {
        pack_panel(call, b, panel, packed + panel * panel_size);
      }
    });
    const size_t tasks = std::clamp<size_t>(call.m * call.n * call.k / kTaskWork, 1, row_tiles);
    parallel_for(tasks, [&](size_t task) {
      const Range range = part_of(row_tiles, tasks, task);
      for (size_t panel = 0; panel < panels; ++panel) {
        for (size_t t = range.begin; t < range.end; ++t) {
          const size_t row = t * kernels.rows, rows = std::min(kernels.rows, call.m - row);
          const size_t offset = c_offset + row * call.n + panel * kernels.width;
          TileF64 tile{};
          tile.a = a + row * call.k;
          tile.a_stride = call.k;
          tile.k = call.k;
          tile.panel = packed + panel * panel_size;
          tile.c = call.c + offset;
          tile.c_stride = call.n;
          tile.columns = std::min(kernels.width, call.n - panel * kernels.width);
          tile.alpha = call.alpha;
          tile.addend = call.addend == nullptr ? nullptr : call.addend + offset;
          tile.beta = call.beta;
          kernels.tile[rows - 1](tile);
        }
      }
    });
  }
}

}  // namespace enr::kernels
