#pragma once

// Spreads a product of packed weights over rows, panels and threads; shared with the convolutions.

#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"
#include "kernels/qgemm/qgemm.h"
#include "kernels/qgemm/qtile.h"

namespace enr::kernels {

// In front of packed weights.
struct alignas(64) QPackedHeader {
  int32_t input_zero_point = 0;  // static: as int8
  int32_t flip = 0;              // static: 0x80 where activations are uint8, which are then computed as int8
  int32_t weight_zero_point = 0;
  int32_t exceeds_int32 = false;  // static: scaled sums may be 2^31 and more
  int32_t has_offsets = false;    // static
};

struct QProduct {
  QKind kind = QKind::kStatic;
  QWeights weights;  // type, n, k, block_size
  const void* packed = nullptr;
  size_t m = 0;
  // The activations where they are rows already, or null: a row's bytes are neighbours, rows a_stride bytes apart. Read
  // as they lie where tiles hold the same bytes.
  const void* a = nullptr;
  size_t a_stride = 0;
  void* c = nullptr;
  size_t c_stride = 0;  // elements
  QOutput output{};     // static
  QClamp clamp{};       // dynamic
  // Dynamic: row r has the parameters rows[r / rows_each].
  const Quantization* rows = nullptr;
  size_t rows_each = 1;
  // C's rows may come in lines: c_line rows c_stride apart, lines c_line_stride apart. 0: one line.
  size_t c_line = 0, c_line_stride = 0;
  bool backwards = false;  // panels are taken from the last to the first
};

// The activations of rows [row, row + count), each to a + i * a_stride with copy_int8 or copy_int4 of the table.
using PackRows = FunctionRef<void(size_t row, size_t count, std::byte* a, size_t a_stride)>;

// workspace: qgemm_workspace_bytes(m, n, k).
void run_qproduct(const QProduct& product, PackRows pack, QWorkspace workspace) noexcept;

}  // namespace enr::kernels
