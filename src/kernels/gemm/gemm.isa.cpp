#include "kernels/gemm/tile.h"
#include "kernels/isa.h"
#include "kernels/simd/half.h"
#include "kernels/simd/hide.h"
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
constexpr size_t kRowBase[14] = {0, 0, 0, 1, 0, 1, 2, 1, 0, 2, 3, 1, 3, 2};
constexpr size_t row_factor(size_t i) { return i - kBaseRow[kRowBase[i]]; }
// How many bases the rows of a tile need.
template <size_t R>
inline constexpr size_t kBases = R <= 3    ? 1
                                 : R <= 6  ? 2
                                 : R <= 10 ? 3
                                           : 4;

// sum += a * b. In place: the compiler would move sums between registers, and some of them to memory.
ENR_INLINE void add_product(F32& sum, F32 a, F32 b) {
#if defined(__FMA__)
  __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#else
  sum = fma(a, b, sum);
#endif
}

enum class Weights { kFloat, kHalf, kBFloat16 };

// Weights of which each is one number, or one and a multiple of a second; `from` is where those of a step are.
template <Weights W>
struct Single {
  static constexpr bool kIsCombined = false;
  static constexpr size_t kBytes = W == Weights::kFloat ? 4 : 2;

  template <size_t V>
  ENR_INLINE void read(const char* from, F32 (&weights)[V]) const {
    for (size_t v = 0; v < V; ++v) {
      const char* p = from + v * kF32Lanes * kBytes;
      if constexpr (W == Weights::kFloat) {
        weights[v] = load((const float*)p);
      } else if constexpr (W == Weights::kHalf) {
        weights[v] = from_half(load_half_bits((const uint16_t*)p));
      } else {
        weights[v] = from_bfloat16(load_half_bits((const uint16_t*)p));
      }
    }
  }
};
template <GemmCombination kCombination>
struct Combined {
  static constexpr bool kIsCombined = true;
  static constexpr size_t kBytes = 4;
  ptrdiff_t to_second;  // in bytes
  F32 factor;

  template <size_t V>
  ENR_INLINE void read(const char* from, F32 (&weights)[V]) const {
    const char* second_from = from + to_second;
    hide(second_from);
    for (size_t v = 0; v < V; ++v) {
      const F32 first = load((const float*)(from + v * kVectorBytes));
      const F32 second = load((const float*)(second_from + v * kVectorBytes));
      weights[v] = kCombination == kSum          ? first + second
                   : kCombination == kDifference ? first - second
                                                 : fma(second, factor, first);
    }
  }
};

template <size_t R, size_t V, class Kind>
ENR_INLINE void multiply(F32 (&sum)[R][V], const char* const (&base)[kBases<R>], size_t stride, const char* b,
                         const Kind& kind, size_t step) {
  F32 weights[V];
  kind.read(b, weights);
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const F32 value = splat(*(const float*)(base[kRowBase[i]] + row_factor(i) * stride + step * sizeof(float)));
#pragma GCC unroll 4
    for (size_t v = 0; v < V; ++v) add_product(sum[i][v], value, weights[v]);
  }
}

// Few rows leave the multipliers waiting for one another's sums: they take several sets of sums in turn.
template <size_t R, size_t V>
inline constexpr size_t kSets = R * V <= 2   ? 4
                                : R * V <= 6 ? 2
                                             : 1;

template <size_t R, size_t V>
using TileSums = F32[kSets<R, V>][R][V];

// The products of one tile, whose rows of A start row_offset bytes behind those of the first. kIsPacked: the weights'
// rows are one behind the other.
template <size_t R, size_t V, bool kIsPacked, class Kind>
ENR_INLINE void accumulate(TileSums<R, V>& sum, const GemmTiles& tiles, const Kind& kind, size_t row_offset,
                           const char* ahead) {
  const char* b = (const char*)tiles.b;
  const size_t b_step = kIsPacked ? V * kF32Lanes * Kind::kBytes : tiles.b_stride * Kind::kBytes;
  const size_t ahead_step = tiles.ahead_step_bytes;
  size_t stride = tiles.a_stride * sizeof(float);
  for (size_t tap = 0; tap < tiles.taps; ++tap) {
    const char* a = (const char*)tiles.a[tap] + row_offset;
    const char* base[kBases<R>];
    for (size_t i = 0; i < kBases<R>; ++i) base[i] = a + kBaseRow[i] * stride;
    size_t k = tiles.k;
    for (; k >= kUnroll; k -= kUnroll) {
      if constexpr (Kind::kIsCombined) {
        for (size_t step = 0; step < kUnroll; ++step, ahead += ahead_step) __builtin_prefetch(ahead);
      } else if (tiles.ahead_by_lines) {
        for (size_t step = 0; step < kUnroll; step += kAheadSteps, ahead += ahead_step) __builtin_prefetch(ahead);
      } else {
        for (size_t step = 0; step < kUnroll; ++step, ahead += ahead_step) {
          for (size_t v = 0; v < V * kF32Lanes * Kind::kBytes; v += 64) __builtin_prefetch(ahead + v);
        }
      }
#pragma GCC unroll 8
      for (size_t step = 0; step < kUnroll; ++step) {
        hide(stride);
        multiply(sum[step % kSets<R, V>], base, stride, b, kind, step);
        b += b_step;
      }
      hide(b);
      for (const char*& p : base) {
        p += kUnroll * sizeof(float);
        hide(p);
      }
    }
#pragma GCC unroll 1
    for (; k != 0; --k) {
      hide(stride);
      multiply(sum[0], base, stride, b, kind, 0);
      b += b_step;
      hide(b);
      for (const char*& p : base) {
        p += sizeof(float);
        hide(p);
      }
    }
  }
#pragma GCC unroll 4
  for (size_t set = 1; set < kSets<R, V>; ++set) {
    for (size_t i = 0; i < R; ++i) {
      for (size_t v = 0; v < V; ++v) sum[0][i][v] += sum[set][i][v];
    }
  }
}

// kIsWhole: the panel is packed, and all of its columns are C's.
template <size_t R, size_t V, bool kIsWhole, class Kind>
ENR_INLINE void compute(const GemmTiles& tiles, const Kind& kind) {
  // How many of each vector's lanes are C's.
  size_t lanes[V];
  for (size_t v = 0; v < V; ++v) {
    const size_t from = v * kF32Lanes;
    lanes[v] = tiles.columns <= from ? 0 : tiles.columns - from < kF32Lanes ? tiles.columns - from : kF32Lanes;
  }
  const bool clamps = tiles.min != -__builtin_inff() || tiles.max != __builtin_inff();
  const size_t c_stride = tiles.c_stride;
  size_t row_offset = 0;
  const char* ahead = (const char*)tiles.ahead;
  const float* addend = tiles.addend;
  float* c = tiles.c;
#pragma GCC unroll 1
  for (size_t left = tiles.count; left != 0; --left) {
    F32 sets[kSets<R, V>][R][V] = {};
    F32(&sum)[R][V] = sets[0];
#pragma GCC unroll 4
    for (size_t v = 0; v < V; ++v) {
      const F32 bias = tiles.bias != nullptr ? load(tiles.bias + v * kF32Lanes) : F32{};
#pragma GCC unroll 16
      for (size_t i = 0; i < R; ++i) sum[i][v] = bias;
    }
    if (addend != nullptr) {
      const F32 scale = splat(tiles.addend_scale);
#pragma GCC unroll 16
      for (size_t i = 0; i < R; ++i, addend += tiles.addend_stride) {
        for (size_t v = 0; v < V; ++v) {
          const float* p = addend + v * kF32Lanes;
          sum[i][v] = fma(kIsWhole ? load(p) : load_first(p, lanes[v]), scale, sum[i][v]);
        }
      }
    }
    accumulate<R, V, kIsWhole>(sets, tiles, kind, row_offset, ahead);
    row_offset += R * tiles.a_stride * sizeof(float);
    ahead += tiles.ahead_tile_bytes;
    const auto finish = [&](auto&& clamp) __attribute__((always_inline)) {
      float* to = c;
#pragma GCC unroll 16
      for (size_t i = 0; i < R; ++i, to += c_stride) {
        for (size_t v = 0; v < V; ++v) {
          if (kIsWhole) {
            store(to + v * kF32Lanes, clamp(sum[i][v]));
          } else {
            store_first(to + v * kF32Lanes, clamp(sum[i][v]), lanes[v]);
          }
        }
      }
    };
    if (clamps) {
      const F32 low = splat(tiles.min), high = splat(tiles.max);
      finish([&](F32 x) __attribute__((always_inline)) { return min_keep_nan(max_keep_nan(x, low), high); });
    } else {
      finish([](F32 x) __attribute__((always_inline)) { return x; });
    }
    c += R * c_stride;
  }
}

template <Weights W, size_t R, size_t V>
void compute_tiles(const GemmTiles& tiles) {
  if (tiles.columns == V * kF32Lanes && tiles.b_stride == V * kF32Lanes) {
    compute<R, V, true>(tiles, Single<W>{});
  } else {
    compute<R, V, false>(tiles, Single<W>{});
  }
}

template <Weights W, size_t V, size_t kMost, size_t R = 1>
void fill(TilesFunction* functions) {
  functions[R - 1] = compute_tiles<W, R, V>;
  if constexpr (R < kMost) fill<W, V, kMost, R + 1>(functions);
}

template <Weights W>
void fill(GemmKernels::FewRows& functions) {
  fill<W, kVectors, kMaxHalfRows>(functions.wide);
  fill<W, kVectors / 2, kMaxHalfRows>(functions.narrow);
}

template <size_t R, size_t V, GemmCombination kCombination>
void compute_combined_tiles(const GemmTiles& tiles) {
  const ptrdiff_t to_second = (const char*)tiles.b_second - (const char*)tiles.b;
  compute<R, V, true>(tiles, Combined<kCombination>{to_second, splat(tiles.factor)});
}

template <size_t V, size_t R = 1>
void fill_combined(TilesFunction (*functions)[kMaxTileRows]) {
  functions[kSum][R - 1] = compute_combined_tiles<R, V, kSum>;
  functions[kDifference][R - 1] = compute_combined_tiles<R, V, kDifference>;
  functions[kScaledSum][R - 1] = compute_combined_tiles<R, V, kScaledSum>;
  if constexpr (R < kRows) fill_combined<V, R + 1>(functions);
}

}  // namespace

const GemmKernels& gemm_kernels() {
  static const GemmKernels kernels = [] {
    GemmKernels k = {};
    k.rows = kRows;
    k.width = kVectors * kF32Lanes;
    k.narrow_width = kVectors / 2 * kF32Lanes;
    fill<Weights::kFloat, kVectors, kRows>(k.wide);
    fill<Weights::kFloat, kVectors / 2, kRows>(k.narrow);
    fill<Weights::kHalf>(k.half);
    fill<Weights::kBFloat16>(k.bfloat16);
    fill_combined<kVectors>(k.combined_wide);
    fill_combined<kVectors / 2>(k.combined_narrow);
    return k;
  }();
  return kernels;
}

}  // namespace enr::kernels::ENR_ISA
