#include "kernels/binary/loops.h"

namespace enr::kernels::ENR_ISA {
namespace {

#define ENR_FUNCTION(name, value)                \
  struct name {                                  \
    explicit name(const LoopParams&) {}          \
    template <class T>                           \
    ENR_INLINE auto operator()(T x, T y) const { \
      return value;                              \
    }                                            \
  };

ENR_FUNCTION(Eq, x == y)
ENR_FUNCTION(Ne, x != y)
ENR_FUNCTION(Lt, x < y)
ENR_FUNCTION(Le, x <= y)
ENR_FUNCTION(Gt, x > y)
ENR_FUNCTION(Ge, x >= y)
ENR_FUNCTION(LogicalAnd, (x != 0) & (y != 0))
ENR_FUNCTION(LogicalOr, (x != 0) | (y != 0))
ENR_FUNCTION(LogicalXor, (x != 0) ^ (y != 0))
#undef ENR_FUNCTION

#if defined(__AVX2__)
// Four vectors of floats at a time make one of bytes. kPredicate: the processor's number for the comparison.
template <int kPredicate>
ENR_INLINE void compare_floats(const float* x, const float* y, uint8_t* z) {
#if defined(__AVX512F__)
  uint64_t bits = 0;
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __mmask16 mask = _mm512_cmp_ps_mask(_mm512_loadu_ps(x + 16 * v), _mm512_loadu_ps(y + 16 * v), kPredicate);
    bits |= (uint64_t)mask << 16 * v;
  }
  _mm512_storeu_si512(z, _mm512_maskz_set1_epi8(bits, 1));
#else
  __m256i mask[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    mask[v] = (__m256i)_mm256_cmp_ps(_mm256_loadu_ps(x + 8 * v), _mm256_loadu_ps(y + 8 * v), kPredicate);
  }
  // Packing works in halves of registers: their words of 4 bytes are put in order at the end.
  const __m256i low = _mm256_packs_epi32(mask[0], mask[1]), high = _mm256_packs_epi32(mask[2], mask[3]);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
  _mm256_storeu_si256((__m256i*)z, _mm256_and_si256(bytes, _mm256_set1_epi8(1)));
#endif
}

template <class F, int kPredicate>
void run_floats(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  constexpr size_t block = 4 * kF32Lanes;
  const float *x = static_cast<const float*>(in[0]), *y = static_cast<const float*>(in[1]);
  uint8_t* z = static_cast<uint8_t*>(out);
  size_t i = 0;
  if (step[0] != 0 && step[1] != 0) {
    for (; i + block <= n; i += block) compare_floats<kPredicate>(x + i, y + i, z + i);
  }
  const void* rest[] = {x + i, y + i};
  run_scalars<uint8_t, float, F>(z + i, rest, step, n - i, params);
}

void fill_floats(LoopFn* rows) {
  rows[static_cast<int>(Comparison::kEq)] = &run_floats<Eq, _CMP_EQ_OQ>;
  rows[static_cast<int>(Comparison::kNe)] = &run_floats<Ne, _CMP_NEQ_UQ>;
  rows[static_cast<int>(Comparison::kLt)] = &run_floats<Lt, _CMP_LT_OQ>;
  rows[static_cast<int>(Comparison::kLe)] = &run_floats<Le, _CMP_LE_OQ>;
  rows[static_cast<int>(Comparison::kGt)] = &run_floats<Gt, _CMP_GT_OQ>;
  rows[static_cast<int>(Comparison::kGe)] = &run_floats<Ge, _CMP_GE_OQ>;
}
#endif

template <class T>
void fill(LoopFn* rows) {
#define ENR_ROW(name, cost) rows[static_cast<int>(Comparison::k##name)] = &run_scalars<uint8_t, T, name>;
  ENR_COMPARISONS(ENR_ROW)
#undef ENR_ROW
  if constexpr (sizeof(T) == 1) {
    rows[static_cast<int>(Comparison::kLogicalAnd)] = &run_vectors<uint8_t, BytesAnd>;
    rows[static_cast<int>(Comparison::kLogicalOr)] = &run_vectors<uint8_t, BytesOr>;
    rows[static_cast<int>(Comparison::kLogicalXor)] = &run_vectors<uint8_t, BytesXor>;
  }
}

}  // namespace

void fill_comparisons(BinaryTable& table) {
  fill<float>(table.comparison[kBinF32]);
#if defined(__AVX2__)
  fill_floats(table.comparison[kBinF32]);
#endif
  fill<double>(table.comparison[kBinF64]);
  fill<int64_t>(table.comparison[kBinI64]);
  fill<int32_t>(table.comparison[kBinI32]);
  fill<int16_t>(table.comparison[kBinI16]);
  fill<int8_t>(table.comparison[kBinI8]);
  fill<uint8_t>(table.comparison[kBinU8]);
  fill<uint64_t>(table.comparison[kBinU64]);
  fill<uint8_t>(table.comparison[kBinBool]);
}

}  // namespace enr::kernels::ENR_ISA
