#include "kernels/gemm/tile.h"
#include "kernels/isa.h"
#include "kernels/simd/partial.h"
#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

namespace {

#if defined(__AVX512F__)
constexpr size_t kRows = 14, kVectors = 2;
#elif defined(__aarch64__)
constexpr size_t kRows = 8, kVectors = 2;
#else
constexpr size_t kRows = 6, kVectors = 2;
#endif
// Longer loops leave fewer branches to foresee; wide registers' instructions are twice as long as it is.
constexpr size_t kUnroll = kVectorBytes == 64 ? 4 : 8;
static_assert(kUnroll % kAheadSteps == 0);

// Row i of A lies at base[row_base(i)] + row_factor(i) * stride, so that four bases and one stride address 14 rows with
// the processor's own scaled addressing (factors 0, 1, 2, 4, 8).
constexpr size_t kBaseRow[4] = {0, 3, 5, 10};
constexpr size_t kRowBase[14] = {0, 0, 0, 1, 0, 2, 2, 1, 0, 2, 3, 1, 3, 2};
constexpr size_t row_factor(size_t i) { return i - kBaseRow[kRowBase[i]]; }

// Hides where the stride comes from, or the compiler would derive a pointer for each row: too many for the registers.
ENR_INLINE void hide(size_t& stride) { __asm__("" : "+r"(stride)); }

template <size_t R, size_t V>
ENR_INLINE void multiply(F32 (&sum)[R][V], const char* const (&base)[4], size_t stride, const char* b, size_t step) {
  F32 weights[V];
  for (size_t v = 0; v < V; ++v) weights[v] = load((const float*)(b + v * kVectorBytes));
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const F32 value = splat(*(const float*)(base[kRowBase[i]] + row_factor(i) * stride + step * sizeof(float)));
#pragma GCC unroll 4
    for (size_t v = 0; v < V; ++v) sum[i][v] = fma(value, weights[v], sum[i][v]);
  }
}

// Few rows leave the multipliers waiting for one another's sums: they take several sets of sums in turn.
template <size_t R, size_t V>
inline constexpr size_t kSets = R * V <= 2   ? 4
                                : R * V <= 6 ? 2
                                             : 1;

template <size_t R, size_t V>
using TileSums = F32[kSets<R, V>][R][V];

template <size_t R, size_t V>
ENR_INLINE void accumulate(TileSums<R, V>& sum, const GemmTile& tile) {
  const char* b = (const char*)tile.b;
  const size_t b_step = tile.b_stride * sizeof(float);
  const char* ahead = (const char*)tile.ahead;
  const size_t ahead_step = tile.ahead_step_bytes;
  size_t stride = tile.a_stride * sizeof(float);
  for (size_t tap = 0; tap < tile.taps; ++tap) {
    const char* a = (const char*)tile.a[tap];
    const char* base[4] = {a, a + 3 * stride, a + 5 * stride, a + 10 * stride};
    size_t k = tile.k;
    for (; k >= kUnroll; k -= kUnroll) {
      if (tile.ahead_by_lines) {
        for (size_t step = 0; step < kUnroll; step += kAheadSteps, ahead += ahead_step) __builtin_prefetch(ahead);
      } else {
        for (size_t step = 0; step < kUnroll; ++step, ahead += ahead_step) {
          for (size_t v = 0; v < V * kVectorBytes; v += 64) __builtin_prefetch(ahead + v);
        }
      }
#pragma GCC unroll 8
      for (size_t step = 0; step < kUnroll; ++step) {
        hide(stride);
        multiply(sum[step % kSets<R, V>], base, stride, b, step);
        b += b_step;
      }
      for (const char*& p : base) p += kUnroll * sizeof(float);
    }
    for (; k != 0; --k) {
      hide(stride);
      multiply(sum[0], base, stride, b, 0);
      b += b_step;
      for (const char*& p : base) p += sizeof(float);
    }
  }
#pragma GCC unroll 4
  for (size_t set = 1; set < kSets<R, V>; ++set) {
    for (size_t i = 0; i < R; ++i) {
      for (size_t v = 0; v < V; ++v) sum[0][i][v] += sum[set][i][v];
    }
  }
}

template <size_t R, size_t V>
void compute_tile(const GemmTile& tile) {
  F32 sets[kSets<R, V>][R][V] = {};
  F32(&sum)[R][V] = sets[0];
  F32 bias[V];
  for (size_t v = 0; v < V; ++v) bias[v] = tile.bias != nullptr ? load(tile.bias + v * kF32Lanes) : F32{};
  // How many of each vector's lanes are C's.
  size_t lanes[V];
  for (size_t v = 0; v < V; ++v) {
    const size_t from = v * kF32Lanes;
    lanes[v] = tile.columns <= from ? 0 : tile.columns - from < kF32Lanes ? tile.columns - from : kF32Lanes;
  }
  const bool full = tile.columns == V * kF32Lanes;
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    for (size_t v = 0; v < V; ++v) sum[i][v] = bias[v];
  }
  if (tile.addend != nullptr) {
    const F32 scale = splat(tile.addend_scale);
    const float* from = tile.addend;
#pragma GCC unroll 16
    for (size_t i = 0; i < R; ++i, from += tile.addend_stride) {
      for (size_t v = 0; v < V; ++v) {
        const float* p = from + v * kF32Lanes;
        sum[i][v] = fma(full ? load(p) : load_first(p, lanes[v]), scale, sum[i][v]);
      }
    }
  }
  accumulate<R, V>(sets, tile);
  const F32 low = splat(tile.min), high = splat(tile.max);
  float* to = tile.c;
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i, to += tile.c_stride) {
    for (size_t v = 0; v < V; ++v) {
      const F32 value = min_keep_nan(max_keep_nan(sum[i][v], low), high);
      if (full) {
        store(to + v * kF32Lanes, value);
      } else {
        store_first(to + v * kF32Lanes, value, lanes[v]);
      }
    }
  }
}

template <size_t V, size_t R = 1>
void fill(TileFunction* functions) {
  functions[R - 1] = compute_tile<R, V>;
  if constexpr (R < kRows) fill<V, R + 1>(functions);
}

}  // namespace

const GemmKernels& gemm_kernels() {
  static const GemmKernels kernels = [] {
    GemmKernels k = {};
    k.rows = kRows;
    k.width = kVectors * kF32Lanes;
    k.narrow_width = kVectors / 2 * kF32Lanes;
    fill<kVectors>(k.wide);
    fill<kVectors / 2>(k.narrow);
    return k;
  }();
  return kernels;
}

}  // namespace enr::kernels::ENR_ISA
