#include "kernels/qgemm/driver.h"

#include <algorithm>
#include <atomic>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/convert/convert.h"
#include "kernels/isa.h"
#include "kernels/qgemm/qpack.h"

namespace enr::kernels {

ENR_SELECT_VNNI_ISA(QGemmTable, qgemm_table)

namespace {

// Activations that are packed before the weights pass over them. Where there are few weights, what they are multiplied
// to shares the first-level cache with them; where there are many, they come from far and had better come seldom.
constexpr size_t kGroupBytes = 96 * 1024, kSmallGroupBytes = 32 * 1024, kLargeGroupBytes = 256 * 1024;
constexpr size_t kFewWeights = 16 * 1024, kManyWeights = 256 * 1024;
constexpr size_t kFetchedWeights = 64 * 1024;  // that may not be in the cache
constexpr size_t kMaxThreads = 64;
constexpr size_t kThreadBytes = 32 * 1024;      // to pack that pay for a thread
constexpr size_t kThreadProducts = 512 * 1024;  // multiplications that pay for a thread

size_t round_up(size_t value, size_t multiple) noexcept { return (value + multiple - 1) / multiple * multiple; }

// A row of a tile. Rows that lie a multiple of 256 bytes apart would fight for the same lines of the cache.
size_t row_bytes(const QActivations& activations, size_t k) noexcept {
  const size_t bytes = round_up(round_up(k, 2 * activations.group) * activations.bytes + activations.slack, 64);
  return bytes % 256 == 0 ? bytes + 64 : bytes;
}

// What a row needs in all: its activations, scale, zero point and sums of blocks (of 32 inputs at least).
size_t row_space(const QActivations& activations, size_t k) noexcept {
  return row_bytes(activations, k) + 8 + 4 * (k / 32 + 1);
}

size_t rows_bytes(size_t rows, const QActivations& activations, size_t k) noexcept {
  return round_up(rows * row_space(activations, k), 64);
}
// A thread's panel of wide weights. Behind it is a gap: what one thread fetches ahead must not be what another writes.
size_t wide_bytes(size_t k) noexcept {
  constexpr size_t kGap = 4096;
  return round_up(qgemm_table().wide_bytes(k), 64) + kGap;
}

struct Schedule {
  size_t threads;
  bool by_rows;       // threads take groups of rows and pack them; else all rows are packed first, threads take panels
  size_t groups;      // of rows that are packed together
  size_t group_rows;  // of the largest
  size_t bytes;       // of workspace

  Schedule(size_t m, size_t n, size_t k, const QActivations& activations, size_t wanted_threads) noexcept {
    const size_t tile = activations.max_rows, tiles = std::max<size_t>(1, (m + tile - 1) / tile);
    threads = std::clamp<size_t>(m * n * k / kThreadProducts, 1, std::clamp<size_t>(wanted_threads, 1, kMaxThreads));
    // Few tiles may not share evenly, where many panels do.
    const bool shares_rows = (tiles + threads - 1) / threads * threads * tile <= m + m / 10;
    const bool shares_panels = n / qgemm_table().panel >= 8 * threads;
    by_rows = threads == 1 || (tiles >= 2 * threads && (shares_rows || !shares_panels));
    groups = 1;
    if (by_rows) {
      const size_t space = row_space(activations, k);
      const size_t most = n * k <= kFewWeights
                              ? kSmallGroupBytes / ((space + n) * tile)
                              : (n * k < kManyWeights ? kGroupBytes : kLargeGroupBytes) / (space * tile);
      const size_t fitting = std::max<size_t>(1, most);
      groups = (tiles + fitting - 1) / fitting;
      // Several large groups for each thread, so that one that is held up can be helped.
      const size_t pieces = std::clamp<size_t>(tiles / (8 * threads), 1, 2);
      if (threads > 1) groups = round_up(std::max(groups, pieces * threads), threads);
      groups = std::min(groups, tiles);
    }
    group_rows = std::min((tiles + groups - 1) / groups * tile, m);
    bytes = by_rows ? threads * (rows_bytes(group_rows, activations, k) + wide_bytes(k))
                    : rows_bytes(group_rows, activations, k) + threads * wide_bytes(k);
  }
};

// Runs body(task, thread) for tasks [0, count). Each thread has neighbouring tasks of its own (those it had in the
// layer before, as a rule), then takes others'. backwards: the last one of a share first.
template <class Body>
void each_in_shares(size_t count, size_t threads, bool backwards, const Body& body) noexcept {
  struct alignas(64) Counter {  // in a line of its own
    std::atomic<size_t> next;
  };
  Counter counters[kMaxThreads];
  const auto first = [&](size_t thread) { return count * thread / threads; };
  for (size_t thread = 0; thread < threads; ++thread) counters[thread].next = first(thread);
  parallel_for(threads, [&](size_t thread) {
    for (size_t k = 0; k < threads; ++k) {
      const size_t owner = (thread + k) % threads;
      std::atomic<size_t>& next = counters[owner].next;
      for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < first(owner + 1);
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        body(backwards ? first(owner) + first(owner + 1) - 1 - i : i, thread);
      }
    }
  });
}

// Rows of a tile with what belongs to them.
struct PackedRows {
  const std::byte* a;
  size_t a_stride;
  float* scales = nullptr;
  int32_t* zero_points = nullptr;
  int32_t* terms = nullptr;
  void* wide = nullptr;  // see QTile
};

class Runner {
 public:
  Runner(const QProduct& product, PackRows pack) noexcept
      : product_(product),
        pack_(pack),
        panels_(product.weights),
        is_int4_(product.weights.type == QWeightType::kInt4),
        activations_(is_int4_ ? qgemm_table().int4 : qgemm_table().int8),
        row_bytes_(row_bytes(activations_, product.weights.k)),
        header_(*static_cast<const QPackedHeader*>(product.packed)),
        reads_in_place_(can_read_in_place()) {}

  void run(QWorkspace workspace) const noexcept {
    const QWeights& w = product_.weights;
    size_t threads = num_threads();
    Schedule schedule(product_.m, w.n, w.k, activations_, threads);
    while (threads > 1 && schedule.bytes > workspace.size_bytes) {
      schedule = Schedule(product_.m, w.n, w.k, activations_, --threads);
    }
    std::byte* space = static_cast<std::byte*>(workspace.data);
    if (schedule.by_rows) {
      run_by_rows(schedule, space);
    } else {
      run_by_panels(schedule, space);
    }
  }

 private:
  // Whether tiles would hold the very bytes of the activations. Rows a multiple of 2048 bytes apart would fight for the
  // same lines of the first-level cache.
  bool can_read_in_place() const noexcept {
    return product_.a != nullptr && product_.kind == QKind::kStatic && activations_.bytes == 1 &&
           header_.flip == activations_.offset && product_.weights.k % activations_.unit == 0 &&
           product_.a_stride % 2048 != 0;
  }

  void run_by_rows(const Schedule& schedule, std::byte* space) const noexcept {
    const size_t group = schedule.group_rows, tile = activations_.max_rows;
    const size_t tiles = (product_.m + tile - 1) / tile;
    const size_t wide = rows_bytes(group, activations_, product_.weights.k);
    const size_t slot = wide + wide_bytes(product_.weights.k);
    each_in_shares(schedule.groups, schedule.threads, false, [&](size_t i, size_t thread) {
      const size_t row = tiles * i / schedule.groups * tile;
      const size_t count = std::min(tiles * (i + 1) / schedule.groups * tile, product_.m) - row;
      PackedRows rows = place_rows(row, group, space + thread * slot);
      pack_rows(rows, row, 0, count, space + thread * slot);
      rows.wide = wide_panel(space + thread * slot + wide);
      each_panel(0, panels_.count, [&](size_t panel) { multiply(rows, row, 0, count, panel); });
    });
  }

  void run_by_panels(const Schedule& schedule, std::byte* space) const noexcept {
    const PackedRows packed = place_rows(0, product_.m, space);
    parallel_ranges(product_.m, reads_in_place_ ? product_.m : kThreadBytes / row_bytes_ + 1,
                    [&](size_t begin, size_t end) { pack_rows(packed, 0, begin, end - begin, space); });
    std::byte* const wide = space + rows_bytes(product_.m, activations_, product_.weights.k);
    const size_t chunk = std::max<size_t>(1, panels_.count / (4 * schedule.threads));
    const size_t column_chunks = (panels_.count + chunk - 1) / chunk;
    // Where there are few panels, threads share them by rows.
    const size_t tiles = (product_.m + activations_.max_rows - 1) / activations_.max_rows;
    const size_t row_chunks = std::clamp<size_t>(2 * schedule.threads / column_chunks, 1, tiles);
    const size_t chunk_rows = (tiles + row_chunks - 1) / row_chunks * activations_.max_rows;
    each_in_shares(column_chunks * row_chunks, schedule.threads, product_.backwards, [&](size_t i, size_t thread) {
      PackedRows rows = packed;
      rows.wide = wide_panel(wide + thread * wide_bytes(product_.weights.k));
      const size_t row = i % row_chunks * chunk_rows, first = i / row_chunks * chunk;
      if (row >= product_.m) return;
      const size_t count = std::min(chunk_rows, product_.m - row);
      each_panel(first, std::min(first + chunk, panels_.count),
                 [&](size_t panel) { multiply(rows, 0, row, count, panel); });
    });
  }

  template <class Body>
  void each_panel(size_t begin, size_t end, const Body& body) const noexcept {
    for (size_t i = begin; i < end; ++i) body(product_.backwards ? begin + end - 1 - i : i);
  }

  std::byte* wide_panel(std::byte* space) const noexcept {
    return qgemm_table().wide_bytes(product_.weights.k) == 0 ? nullptr : space;
  }

  // Up to `capacity` rows from `first` on: where they lie, or space to pack them to, and what belongs to them; terms
  // are null where nobody needs them.
  PackedRows place_rows(size_t first, size_t capacity, std::byte* space) const noexcept {
    PackedRows rows{.a = space, .a_stride = row_bytes_};
    if (reads_in_place_) {
      rows.a = static_cast<const std::byte*>(product_.a) + first * product_.a_stride;
      rows.a_stride = product_.a_stride;
    }
    rows.scales = reinterpret_cast<float*>(space + capacity * row_bytes_);
    rows.zero_points = reinterpret_cast<int32_t*>(rows.scales + capacity);
    if (header_.weight_zero_point != 0 && product_.weights.k != 0) rows.terms = rows.zero_points + capacity;
    return rows;
  }

  // Packs rows [begin, begin + count) of those that were placed at `space`, from row `first` on.
  void pack_rows(const PackedRows& rows, size_t first, size_t begin, size_t count, std::byte* space) const noexcept {
    const QWeights& w = product_.weights;
    // What lies behind k meets weights of zero.
    if (!reads_in_place_) pack_(first + begin, count, space + begin * row_bytes_, row_bytes_);
    if (product_.kind != QKind::kStatic) {
      for (size_t i = begin; i < begin + count; ++i) {
        const Quantization& q = product_.rows[(first + i) / product_.rows_each];
        rows.scales[i] = q.scale;
        rows.zero_points[i] = q.zero_point + activations_.offset;
      }
    }
    if (rows.terms == nullptr) return;
    const auto sum = is_int4_ ? qgemm_table().sum_int4 : qgemm_table().sum_int8;
    const size_t block = w.block_size == 0 ? w.k : w.block_size;
    for (size_t i = begin; i < begin + count; ++i) {
      sum(rows.a + i * rows.a_stride, w.k, block, -header_.weight_zero_point, rows.terms + i * panels_.blocks);
    }
  }

  // Rows [begin, begin + count) of the packed ones, which are rows from first_row on of C.
  void multiply(const PackedRows& rows, size_t first_row, size_t begin, size_t count, size_t panel) const noexcept {
    const size_t line = product_.c_line;
    if (line == 0) return multiply_line(rows, (first_row + begin) * product_.c_stride, begin, count, panel);
    for (const size_t end = begin + count; begin != end;) {
      const size_t row = first_row + begin, part = std::min(end - begin, line - row % line);
      const size_t at = row / line * product_.c_line_stride + row % line * product_.c_stride;
      multiply_line(rows, at, begin, part, panel);
      begin += part;
    }
  }

  void multiply_line(const PackedRows& rows, size_t at, size_t begin, size_t count, size_t panel) const noexcept {
    const QWeights& w = product_.weights;
    const size_t full = qgemm_table().panel, column = panel * full, width = panels_.width(panel);
    QTile tile;
    tile.a = rows.a + begin * rows.a_stride;
    tile.a_stride = rows.a_stride;
    tile.rows = count;
    tile.panel = panels_.at(product_.packed, panel);
    tile.vectors = width == full ? 2 : 1;
    tile.columns = std::min(width, w.n - column);
    tile.k = w.k;
    tile.block_size = w.block_size;
    tile.blocks = panels_.blocks;
    tile.has_float_scales = w.has_float_scales;
    tile.wide = rows.wide;
    const size_t next = product_.backwards ? panel - 1 : panel + 1;
    if (next < panels_.count && w.n * w.k >= kFetchedWeights) tile.next = panels_.at(product_.packed, next);
    tile.row_terms = rows.terms != nullptr ? rows.terms + begin * panels_.blocks : nullptr;
    tile.c_stride = product_.c_stride;
    at += column;
    if (product_.kind == QKind::kStatic) {
      multiply_static(tile, at);
    } else {
      tile.row_scales = rows.scales + begin;
      tile.row_zero_points = rows.zero_points + begin;
      multiply_dynamic(tile, at);
    }
  }

  void multiply_static(QTile& tile, size_t at) const noexcept {
    const QOutput& output = product_.output;
    tile.c = static_cast<uint8_t*>(product_.c) + at;
    tile.low = static_cast<float>(output.min - output.zero_point);
    tile.high = static_cast<float>(output.max - output.zero_point);
    tile.zero_point = output.zero_point - header_.flip;
    tile.flip = static_cast<uint8_t>(header_.flip);
    tile.exceeds_int32 = header_.exceeds_int32 != 0;
    tile.has_offsets = header_.has_offsets != 0;
    qgemm_table().static_tile(tile);
  }

  void multiply_dynamic(QTile& tile, size_t at) const noexcept {
    const QGemmTable& table = qgemm_table();
    const auto run_tile = !is_int4_              ? table.dynamic_tile
                          : tile.block_size == 0 ? table.int4_tile
                                                 : table.int4_block_tile;
    tile.min = product_.clamp.min;
    tile.max = product_.clamp.max;
    if (product_.kind == QKind::kDynamic) {
      tile.c = static_cast<float*>(product_.c) + at;
      run_tile(tile);
      return;
    }
    static const ConvertFn to_half = convert_fn(DType::kFloat32, DType::kFloat16);
    alignas(64) float buffer[kMaxTileRows * kMaxPanel];
    uint16_t* c = static_cast<uint16_t*>(product_.c) + at;
    const size_t rows = tile.rows;
    for (size_t row = 0; row < rows; row += activations_.max_rows) {
      QTile part = tile;
      part.rows = std::min(activations_.max_rows, rows - row);
      part.a = static_cast<const std::byte*>(tile.a) + row * tile.a_stride;
      if (tile.row_terms != nullptr) part.row_terms += row * tile.blocks;
      part.row_scales += row;
      part.row_zero_points += row;
      part.c = buffer;
      part.c_stride = table.panel;
      run_tile(part);
      for (size_t i = 0; i < part.rows; ++i) {
        to_half(buffer + i * table.panel, c + (row + i) * product_.c_stride, tile.columns);
      }
    }
  }

  static constexpr size_t kMaxTileRows = 32, kMaxPanel = 32;

  const QProduct& product_;
  PackRows pack_;
  QPanels panels_;
  bool is_int4_;
  const QActivations& activations_;
  size_t row_bytes_;
  const QPackedHeader& header_;
  bool reads_in_place_;
};

}  // namespace

void run_qproduct(const QProduct& product, PackRows pack, QWorkspace workspace) noexcept {
  if (product.m == 0 || product.weights.n == 0) return;
  Runner(product, pack).run(workspace);
}

size_t qgemm_workspace_bytes(size_t m, size_t n, size_t k, size_t threads) noexcept {
  const QGemmTable& table = qgemm_table();
  size_t bytes = 0;
  // Fewer threads may need more: then all rows are packed at once.
  for (size_t t = 1; t <= std::max<size_t>(threads, 1); ++t) {
    bytes = std::max({bytes, Schedule(m, n, k, table.int8, t).bytes, Schedule(m, n, k, table.int4, t).bytes});
  }
  return bytes;
}

size_t qgemm_workspace_bytes(size_t m, size_t n, size_t k) noexcept {
  return qgemm_workspace_bytes(m, n, k, num_threads());
}

}  // namespace enr::kernels
