#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/origin.h"
#include "base/thread_pool.h"
#include "kernels/gemm/driver.h"
#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(GemmKernels, gemm_kernels)
ENR_SELECT_ISA(PackKernels, pack_kernels)

namespace {

// Depth of a block: a panel of it and some rows of A share the second-level cache.
constexpr size_t kDepth = 1024;
// Rows of A and C that a block keeps in that cache, in floats.
constexpr size_t kBlockFloats = 64 * 1024, kNearBlockFloats = 5 * 1024;
// Depth of a block of 16-bit weights: as float32 they share the first-level cache with some rows of A.
constexpr size_t kHalfDepth = 256, kMaxWidth = 32;
// Columns of C a block returns to for each piece of the depth.
constexpr size_t kBlockColumns = 512;
// A task should be worth handing over: multiply-adds, some 10 us.
constexpr size_t kTaskWork = 1u << 20;
constexpr size_t kTileRowsLost = 8;
// Bytes of weights for the products of few rows, which wait for memory instead.
constexpr size_t kTaskWeights = 1u << 17;

// What the tiles of one panel read.
struct PanelWeights {
  const float* bias = nullptr;
  const void* rows = nullptr;  // from the block's depth on
  const TilesFunction* functions = nullptr;
};

// The weights of a block's panels, one after the other, whatever their type.
class BlockWeights {
 public:
  BlockWeights(const Product& product, const Panels& panels, const Block& block) noexcept
      : product_(product),
        panels_(panels),
        block_(block),
        rows_(block.row_end - block.row),
        depth_(block.depth_end - block.depth) {}

  PanelWeights enter(size_t panel, float* widened) const noexcept {
    const GemmKernels& kernels = gemm_kernels();
    const size_t width = panels_.width_of(panel);
    const bool is_wide = width == panels_.width;
    if (product_.half == nullptr) {
      const float* bias = static_cast<const float*>(product_.b) + panels_.offset_of(panel);
      return {bias, bias + (1 + block_.depth) * width, is_wide ? kernels.wide : kernels.narrow};
    }
    const HalfWeights& half = *product_.half;
    const auto* bias = reinterpret_cast<const float*>(bytes() + panels_.half_offset_of(panel));
    const uint16_t* weights = reinterpret_cast<const uint16_t*>(bias + width) + block_.depth * width;
    if (rows_ <= kMaxHalfRows) return {bias, weights, is_wide ? half.few_rows->wide : half.few_rows->narrow};
    half.widen(weights, widened, depth_ * width);
    return {bias, widened, is_wide ? kernels.wide : kernels.narrow};
  }

  // For the panel that was entered.
  FetchAhead ahead(GemmTiles& tile, size_t tiles, size_t panel) const noexcept {
    if (product_.half == nullptr) {
      const size_t next = panel + 1 < panels_.count ? panel + 1 : 0;
      const float* weights =
          static_cast<const float*>(product_.b) + panels_.offset_of(next) + (1 + block_.depth) * panels_.width_of(next);
      return FetchAhead(tile, tiles, weights, depth_);
    }
    FetchAhead ahead(tile);
    const size_t width = panels_.width_of(panel), row_bytes = width * sizeof(uint16_t);
    if (rows_ <= kMaxHalfRows) {
      ahead.fetch_further_on(tile, row_bytes);
    } else {
      const std::byte* weights = bytes() + panels_.half_offset_of(panel) + width * sizeof(float);
      ahead.fetch_shares(tile, tiles, weights + block_.depth_end * row_bytes, depth_, row_bytes);
    }
    return ahead;
  }

 private:
  const std::byte* bytes() const noexcept { return static_cast<const std::byte*>(product_.b); }

  const Product& product_;
  const Panels& panels_;
  const Block& block_;
  size_t rows_, depth_;
};

// continues: C holds the sums over the depth before.
void compute_tiles(const Product& product, const Panels& panels, const GemmEpilogue& epilogue, const Block& block,
                   bool continues) noexcept {
  const size_t tile_rows = gemm_kernels().rows;
  const bool is_first = block.depth == 0, is_last = block.depth_end == panels.k;
  GemmTiles tile = {};
  tile.taps = 1;
  tile.a_stride = product.a_stride;
  tile.k = block.depth_end - block.depth;
  tile.c_stride = product.c_stride;
  tile.min = is_last ? epilogue.min : -std::numeric_limits<float>::infinity();
  tile.max = is_last ? epilogue.max : std::numeric_limits<float>::infinity();
  tile.addend_scale = is_first ? epilogue.residual_scale : 1.0f;
  tile.addend_stride = is_first ? epilogue.residual_stride : product.c_stride;
  const BlockWeights block_weights(product, panels, block);
  alignas(64) float widened[kHalfDepth * kMaxWidth];
  const size_t rows = block.row_end - block.row, whole = rows / tile_rows, rest = rows % tile_rows;
  for (size_t panel = block.panel; panel < block.panel_end; ++panel) {
    const PanelWeights weights = block_weights.enter(panel, widened);
    const size_t column = panel * panels.width;
    tile.bias = is_first ? weights.bias : nullptr;
    tile.b = weights.rows;
    tile.b_stride = panels.width_of(panel);
    tile.columns = panels.columns_of(panel);
    const FetchAhead ahead = block_weights.ahead(tile, whole + (rest != 0), panel);
    const auto compute_rows = [&](size_t row, size_t size, size_t count) {
      const float* a = product.a + row * product.a_stride + block.depth;
      tile.count = count;
      tile.a = &a;
      tile.c = product.c + row * product.c_stride + column;
      if (continues) {
        tile.addend = tile.c;
      } else if (is_first && epilogue.residual != nullptr) {
        tile.addend = epilogue.residual + row * epilogue.residual_stride + column;
      }
      weights.functions[size - 1](tile);
    };
    tile.ahead = ahead.part(0);
    if (whole != 0) compute_rows(block.row, tile_rows, whole);
    tile.ahead = ahead.part(whole);
    if (rest != 0) compute_rows(block.row_end - rest, rest, 1);
  }
}

size_t pieces_of(size_t count, size_t most) noexcept { return std::max<size_t>(1, (count + most - 1) / most); }

}  // namespace

void compute_block(const Product& product, const Panels& panels, const GemmEpilogue& epilogue,
                   const Block& whole) noexcept {
  const size_t tile_rows = gemm_kernels().rows, depth = whole.depth_end - whole.depth;
  const bool is_half = product.half != nullptr, widens = is_half && whole.row_end - whole.row > kMaxHalfRows;
  const size_t depth_pieces = widens                         ? pieces_of(depth, kHalfDepth)
                              : depth <= kDepth + kDepth / 2 ? 1
                                                             : pieces_of(depth, kDepth);
  const size_t columns = std::min((whole.panel_end - whole.panel) * panels.width, kBlockColumns);
  const size_t row_floats = depth / depth_pieces + columns;
  const size_t tiles = (whole.row_end - whole.row + tile_rows - 1) / tile_rows;
  // Few weights are in the first-level cache, and the rows stay there too.
  const size_t block_floats = panels.size() <= kNearFloats ? kNearBlockFloats : kBlockFloats;
  const size_t row_pieces = pieces_of(tiles, std::max<size_t>(1, block_floats / (row_floats * tile_rows)));
  // Panels of 16-bit weights are read from end to end.
  const size_t panel_pieces =
      pieces_of(whole.panel_end - whole.panel, is_half ? 1 : std::max<size_t>(1, kBlockColumns / panels.width));
  for (size_t i = 0; i < row_pieces; ++i) {
    const Range tile_range = part_of(tiles, row_pieces, i);
    Block block;
    block.row = whole.row + tile_range.begin * tile_rows;
    block.row_end = std::min(whole.row + tile_range.end * tile_rows, whole.row_end);
    for (size_t j = 0; j < panel_pieces; ++j) {
      const Range panel_range = part_of(whole.panel_end - whole.panel, panel_pieces, j);
      block.panel = whole.panel + panel_range.begin;
      block.panel_end = whole.panel + panel_range.end;
      for (size_t d = 0; d < depth_pieces; ++d) {
        const Range depth_range = part_of(depth, depth_pieces, d);
        block.depth = whole.depth + depth_range.begin;
        block.depth_end = whole.depth + depth_range.end;
        compute_tiles(product, panels, epilogue, block, d != 0);
      }
      if (whole.depth_end != panels.k) continue;
      const size_t first = block.panel * panels.width;
      const size_t count = std::min(block.panel_end * panels.width, panels.n) - first;
      epilogue.activate(product.c + block.row * product.c_stride + first, block.row_end - block.row, product.c_stride,
                        count);
    }
  }
}

// Threads get equal numbers of tasks, so that the largest share is what counts, and a little what one of them holds up
// when its thread is late. Cut by rows, which other steps are too, a thread finds in its own cache what it wrote
// before; cut by columns, every thread reads all of A.
TaskGrid plan_tasks(size_t m, const Panels& panels) noexcept {
  const size_t threads = num_threads();
  if (threads == 1) return {1, 1};
  const size_t tiles = (m + gemm_kernels().rows - 1) / gemm_kernels().rows;
  // Lanes that hold no column take as long, and starting and storing a tile as some rows of weights.
  const size_t lanes = panels.size() / (1 + panels.k);
  const size_t work =
      std::max(m * lanes * (panels.k + kTileRowsLost) / kTaskWork, panels.size() * sizeof(float) / kTaskWeights);
  const size_t most = std::clamp<size_t>(work, 1, 4 * threads);
  const bool by_rows = panels.n * panels.k < m * (panels.n + panels.k);
  TaskGrid best = {1, 1};
  size_t least = std::numeric_limits<size_t>::max();
  const auto consider = [&](size_t rows, size_t columns) {
    const size_t task = pieces_of(tiles, rows) * pieces_of(panels.count, columns);
    size_t cost = task * (4 * pieces_of(rows * columns, threads) + 1);
    if ((by_rows ? columns : rows) > 1) cost += cost / 6;
    if (cost >= least) return;
    least = cost;
    best = {rows, columns};
  };
  for (size_t tasks = std::min(most, threads); tasks <= most; tasks += threads) {
    for (size_t pieces = std::min(tasks, by_rows ? tiles : panels.count); pieces != 0; --pieces) {
      if (by_rows) {
        consider(pieces, std::min(tasks / pieces, panels.count));
      } else {
        consider(std::min(tasks / pieces, tiles), pieces);
      }
    }
  }
  return best;
}

namespace {

void run(const Product& product, const Panels& panels, const GemmEpilogue& epilogue) noexcept {
  const TaskGrid grid = plan_tasks(product.m, panels);
  const size_t tile_rows = gemm_kernels().rows, tiles = (product.m + tile_rows - 1) / tile_rows;
  const auto task = [&](size_t i) {
    const Range rows = part_of(tiles, grid.rows, i / grid.columns);
    const Range columns = part_of(panels.count, grid.columns, i % grid.columns);
    compute_block(
        product, panels, epilogue,
        {rows.begin * tile_rows, std::min(rows.end * tile_rows, product.m), columns.begin, columns.end, 0, panels.k});
  };
  parallel_for(grid.rows * grid.columns, task);
}

}  // namespace

void gemm(size_t m, size_t n, size_t k, const float* a, size_t a_stride, const void* packed, float* c, size_t c_stride,
          const GemmEpilogue& epilogue) noexcept {
  if (m == 0 || n == 0) return;
  run({m, a, a_stride, packed, c, c_stride}, Panels(n, k), epilogue);
}

void gemm_half(HalfType type, size_t m, size_t n, size_t k, const float* a, size_t a_stride, const void* packed,
               float* c, size_t c_stride, const GemmEpilogue& epilogue) noexcept {
  if (m == 0 || n == 0) return;
  const GemmKernels& kernels = gemm_kernels();
  const HalfWeights half = type == HalfType::kFloat16
                               ? HalfWeights{&kernels.half, convert_fn(DType::kFloat16, DType::kFloat32)}
                               : HalfWeights{&kernels.bfloat16, convert_fn(DType::kBFloat16, DType::kFloat32)};
  run({m, a, a_stride, packed, c, c_stride, &half}, Panels(n, k), epilogue);
}

size_t gemm_column_step() noexcept { return gemm_kernels().width; }
size_t gemm_row_step() noexcept { return gemm_kernels().rows; }

void gemm_part(size_t m, size_t n, size_t k, const GemmPart& part, const float* a, size_t a_stride, const void* packed,
               float* c, size_t c_stride, const GemmEpilogue& epilogue) noexcept {
  if (m == 0 || part.column == part.column_end) return;
  const Panels panels(n, k);
  // Where whole matrices would start.
  const Product product = {m, origin_of(a, part.depth), a_stride, packed, origin_of(c, part.column), c_stride};
  compute_block(product, panels, epilogue,
                {0, m, part.column / panels.width, (part.column_end + panels.width - 1) / panels.width, part.depth,
                 part.depth_end});
}

}  // namespace enr::kernels
