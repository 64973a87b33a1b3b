#include "kernels/qgemm/qgemm.h"

#include "kernels/qgemm/driver.h"

namespace enr::kernels {

namespace {

void run(const QProduct& product, const void* a, size_t a_stride, QWorkspace workspace) noexcept {
  const QGemmTable& table = qgemm_table();
  const auto copy = product.weights.type == QWeightType::kInt4 ? table.copy_int4 : table.copy_int8;
  const uint8_t flip = static_cast<uint8_t>(static_cast<const QPackedHeader*>(product.packed)->flip);
  run_qproduct(
      product,
      [&](size_t row, size_t count, std::byte* to, size_t to_stride) {
        copy({.from = static_cast<const uint8_t*>(a) + row * a_stride,
              .from_stride = a_stride,
              .rows = count,
              .count = product.weights.k,
              .flip = flip,
              .to = to,
              .to_stride = to_stride});
      },
      workspace);
}

}  // namespace

bool qgemm_reads_unsigned() noexcept { return qgemm_table().int8.offset == 0x80; }

void qgemm_static(size_t m, size_t n, size_t k, const void* a, size_t a_stride, const void* packed,
                  const QOutput& output, void* c, size_t c_stride, QWorkspace workspace) noexcept {
  const QProduct product{.kind = QKind::kStatic,
                         .weights = {.n = n, .k = k},
                         .packed = packed,
                         .m = m,
                         .a = a,
                         .a_stride = a_stride,
                         .c = c,
                         .c_stride = c_stride,
                         .output = output};
  run(product, a, a_stride, workspace);
}

template <class Out>
void qgemm_dynamic(size_t m, const QWeights& weights, const int8_t* a, size_t a_stride, const Quantization* rows,
                   const void* packed, QClamp clamp, Out* c, size_t c_stride, QWorkspace workspace,
                   bool backwards) noexcept {
  const QProduct product{.kind = sizeof(Out) == sizeof(float) ? QKind::kDynamic : QKind::kDynamicF16,
                         .weights = weights,
                         .packed = packed,
                         .m = m,
                         .c = c,
                         .c_stride = c_stride,
                         .clamp = clamp,
                         .rows = rows,
                         .backwards = backwards};
  run(product, a, a_stride, workspace);
}

template void qgemm_dynamic<float>(size_t, const QWeights&, const int8_t*, size_t, const Quantization*, const void*,
                                   QClamp, float*, size_t, QWorkspace, bool) noexcept;
template void qgemm_dynamic<uint16_t>(size_t, const QWeights&, const int8_t*, size_t, const Quantization*, const void*,
                                      QClamp, uint16_t*, size_t, QWorkspace, bool) noexcept;

}  // namespace enr::kernels
