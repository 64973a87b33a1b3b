#include "kernels/convert/convert_table.h"
#include "kernels/simd/half.h"

namespace enr::kernels::ENR_ISA {
namespace {

struct BoolByte {
  uint8_t value;
};
struct HalfBitsOf {
  uint16_t bits;
};
struct BFloat16BitsOf {
  uint16_t bits;
};
template <class T>
struct ComplexOf {
  T real, imag;
};

constexpr size_t kTile = 512;

// Out-of-range values give what the processor's conversion gives: that is the contract, so the check for it is off.
template <class To, class From>
__attribute__((no_sanitize("float-cast-overflow"))) ENR_INLINE To to_integer(From x) {
  // Types narrower than 32 bits take the low bits of an int32, uint8 and uint32 those of an int64, as scalar code on
  // x86 does. A float of 2^31 or more has zeros in its low byte, so that for it int32 gives what int64 would.
  constexpr bool from_double = sizeof(From) == 8;
  if constexpr (sizeof(To) == 8 && static_cast<To>(-1) > To{0}) {
    const From half = static_cast<From>(0x1p63);
    return x >= half ? static_cast<To>(static_cast<int64_t>(x - half)) ^ (To{1} << 63)
                     : static_cast<To>(static_cast<int64_t>(x));
  } else if constexpr (sizeof(To) == 8) {
    return static_cast<To>(x);
  } else if constexpr (static_cast<To>(-1) > To{0} && (sizeof(To) == 4 || (sizeof(To) == 1 && from_double))) {
    return static_cast<To>(static_cast<int64_t>(x));
  } else {
    return static_cast<To>(static_cast<int32_t>(x));
  }
}

template <class T>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;
template <>
inline constexpr bool kIsFloat<double> = true;

// Between plain numbers and bool bytes.
template <class From, class To>
void convert_numbers(const void* from, void* to, size_t n) noexcept {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  ENR_NO_ALIAS_LOOP
  for (size_t i = 0; i < n; ++i) {
    if constexpr (__is_same(From, BoolByte)) {
      out[i] = static_cast<To>(in[i].value != 0);
    } else if constexpr (__is_same(To, BoolByte)) {
      out[i].value = in[i] != 0;
    } else if constexpr (kIsFloat<From> && !kIsFloat<To>) {
      out[i] = to_integer<To>(in[i]);
    } else {
      out[i] = static_cast<To>(in[i]);
    }
  }
}

template <class Convert>
ENR_INLINE void widen_halves(const uint16_t* in, float* out, size_t n, Convert convert) {
  size_t i = 0;
  for (; i + kF32Lanes <= n; i += kF32Lanes) store(out + i, convert(load_half_bits(in + i)));
  if (i < n) {
    uint16_t rest[kF32Lanes] = {};
    for (size_t k = 0; k < n - i; ++k) rest[k] = in[i + k];
    store_first(out + i, convert(load_half_bits(rest)), n - i);
  }
}

template <class Convert>
ENR_INLINE void narrow_floats(const float* in, uint16_t* out, size_t n, Convert convert) {
  size_t i = 0;
  for (; i + kF32Lanes <= n; i += kF32Lanes) store_half_bits(out + i, convert(load(in + i)));
  if (i < n) {
    uint16_t rest[kF32Lanes];
    store_half_bits(rest, convert(load_first(in + i, n - i)));
    for (size_t k = 0; k < n - i; ++k) out[i + k] = rest[k];
  }
}

void half_to_float(const void* from, void* to, size_t n) noexcept {
  widen_halves(static_cast<const uint16_t*>(from), static_cast<float*>(to), n, [](HalfBits v) { return from_half(v); });
}
void float_to_half(const void* from, void* to, size_t n) noexcept {
  narrow_floats(static_cast<const float*>(from), static_cast<uint16_t*>(to), n, [](F32 v) { return to_half(v); });
}
void bfloat16_to_float(const void* from, void* to, size_t n) noexcept {
  widen_halves(static_cast<const uint16_t*>(from), static_cast<float*>(to), n,
               [](HalfBits v) { return from_bfloat16(v); });
}
void float_to_bfloat16(const void* from, void* to, size_t n) noexcept {
  narrow_floats(static_cast<const float*>(from), static_cast<uint16_t*>(to), n, [](F32 v) { return to_bfloat16(v); });
}

template <class T>
void complex_real(const void* from, void* to, size_t n) noexcept {
  const auto* in = static_cast<const ComplexOf<T>*>(from);
  T* out = static_cast<T*>(to);
  for (size_t i = 0; i < n; ++i) out[i] = in[i].real;
}
template <class T>
void complex_nonzero(const void* from, void* to, size_t n) noexcept {
  const auto* in = static_cast<const ComplexOf<T>*>(from);
  uint8_t* out = static_cast<uint8_t*>(to);
  for (size_t i = 0; i < n; ++i) out[i] = in[i].real != 0 || in[i].imag != 0;
}
template <class T>
void real_complex(const void* from, void* to, size_t n) noexcept {
  const T* in = static_cast<const T*>(from);
  auto* out = static_cast<ComplexOf<T>*>(to);
  for (size_t i = 0; i < n; ++i) out[i] = {in[i], T{0}};
}
// Complex numbers as pairs of their parts.
template <ConvertFn parts>
void pairs(const void* from, void* to, size_t n) noexcept {
  parts(from, to, 2 * n);
}

// from -> Middle -> to, through a tile on the stack.
template <class Middle, ConvertFn first, ConvertFn second, size_t from_size, size_t to_size>
void convert_through(const void* from, void* to, size_t n) noexcept {
  Middle tile[kTile];
  for (size_t i = 0; i < n; i += kTile) {
    const size_t count = n - i < kTile ? n - i : kTile;
    first(static_cast<const char*>(from) + i * from_size, tile, count);
    second(tile, static_cast<char*>(to) + i * to_size, count);
  }
}

template <class From>
void fill_numbers(ConvertTable& table, StorageType from) {
  ConvertFn* row = table.convert[from];
  if constexpr (!__is_same(From, BoolByte)) row[kStoreBool] = &convert_numbers<From, BoolByte>;
  row[kStoreU8] = &convert_numbers<From, uint8_t>;
  row[kStoreI8] = &convert_numbers<From, int8_t>;
  row[kStoreI16] = &convert_numbers<From, int16_t>;
  row[kStoreI32] = &convert_numbers<From, int32_t>;
  row[kStoreI64] = &convert_numbers<From, int64_t>;
  row[kStoreU16] = &convert_numbers<From, uint16_t>;
  row[kStoreU32] = &convert_numbers<From, uint32_t>;
  row[kStoreU64] = &convert_numbers<From, uint64_t>;
  row[kStoreF32] = &convert_numbers<From, float>;
  row[kStoreF64] = &convert_numbers<From, double>;
}

// The pairs of a real type and those that are reached through float or, for complex128, double.
template <class From, StorageType from>
void fill_composed(ConvertTable& table) {
  constexpr ConvertFn to_float = &convert_numbers<From, float>;
  constexpr ConvertFn to_double = &convert_numbers<From, double>;
  constexpr size_t size = sizeof(From);
  constexpr bool is_bool = __is_same(From, BoolByte);
  ConvertFn* row = table.convert[from];
  row[kStoreF16] = &convert_through<float, to_float, &float_to_half, size, 2>;
  row[kStoreBF16] = &convert_through<float, to_float, &float_to_bfloat16, size, 2>;
  row[kStoreC64] = &convert_through<float, to_float, &real_complex<float>, size, 8>;
  row[kStoreC128] = &convert_through<double, to_double, &real_complex<double>, size, 16>;
  if constexpr (!is_bool) {
    constexpr ConvertFn from_float = &convert_numbers<float, From>;
    constexpr ConvertFn from_double = &convert_numbers<double, From>;
    table.convert[kStoreF16][from] = &convert_through<float, &half_to_float, from_float, 2, size>;
    table.convert[kStoreBF16][from] = &convert_through<float, &bfloat16_to_float, from_float, 2, size>;
    table.convert[kStoreC64][from] = &convert_through<float, &complex_real<float>, from_float, 8, size>;
    table.convert[kStoreC128][from] = &convert_through<double, &complex_real<double>, from_double, 16, size>;
  }
}

void fill_halves(ConvertTable& table) {
  ConvertFn* half = table.convert[kStoreF16];
  ConvertFn* bfloat16 = table.convert[kStoreBF16];
  constexpr ConvertFn float_to_bool = &convert_numbers<float, BoolByte>;
  half[kStoreBool] = &convert_through<float, &half_to_float, float_to_bool, 2, 1>;
  bfloat16[kStoreBool] = &convert_through<float, &bfloat16_to_float, float_to_bool, 2, 1>;
  half[kStoreF32] = &half_to_float;
  bfloat16[kStoreF32] = &bfloat16_to_float;
  table.convert[kStoreF32][kStoreF16] = &float_to_half;
  table.convert[kStoreF32][kStoreBF16] = &float_to_bfloat16;
  half[kStoreBF16] = &convert_through<float, &half_to_float, &float_to_bfloat16, 2, 2>;
  bfloat16[kStoreF16] = &convert_through<float, &bfloat16_to_float, &float_to_half, 2, 2>;
  half[kStoreC64] = &convert_through<float, &half_to_float, &real_complex<float>, 2, 8>;
  bfloat16[kStoreC64] = &convert_through<float, &bfloat16_to_float, &real_complex<float>, 2, 8>;
}

void fill_complex(ConvertTable& table) {
  ConvertFn* c64 = table.convert[kStoreC64];
  ConvertFn* c128 = table.convert[kStoreC128];
  c64[kStoreBool] = &complex_nonzero<float>;
  c64[kStoreF32] = &complex_real<float>;
  c64[kStoreF16] = &convert_through<float, &complex_real<float>, &float_to_half, 8, 2>;
  c64[kStoreBF16] = &convert_through<float, &complex_real<float>, &float_to_bfloat16, 8, 2>;
  c64[kStoreC128] = &pairs<&convert_numbers<float, double>>;
  c64[kStoreC32] = &pairs<&float_to_half>;
  c128[kStoreBool] = &complex_nonzero<double>;
  c128[kStoreF64] = &complex_real<double>;
  c128[kStoreC64] = &pairs<&convert_numbers<double, float>>;
  table.convert[kStoreF32][kStoreC64] = &real_complex<float>;
  table.convert[kStoreF64][kStoreC128] = &real_complex<double>;
  table.convert[kStoreC32][kStoreC64] = &pairs<&half_to_float>;
  constexpr ConvertFn float_to_c128 =
      &convert_through<double, &convert_numbers<float, double>, &real_complex<double>, 4, 16>;
  table.convert[kStoreF16][kStoreC128] = &convert_through<float, &half_to_float, float_to_c128, 2, 16>;
  table.convert[kStoreBF16][kStoreC128] = &convert_through<float, &bfloat16_to_float, float_to_c128, 2, 16>;
  constexpr ConvertFn double_to_half = &convert_through<float, &convert_numbers<double, float>, &float_to_half, 8, 2>;
  constexpr ConvertFn double_to_bfloat16 =
      &convert_through<float, &convert_numbers<double, float>, &float_to_bfloat16, 8, 2>;
  c128[kStoreF16] = &convert_through<double, &complex_real<double>, double_to_half, 16, 2>;
  c128[kStoreBF16] = &convert_through<double, &complex_real<double>, double_to_bfloat16, 16, 2>;
}

ConvertTable make_table() {
  ConvertTable table{};
  fill_numbers<BoolByte>(table, kStoreBool);
  fill_numbers<uint8_t>(table, kStoreU8);
  fill_numbers<int8_t>(table, kStoreI8);
  fill_numbers<int16_t>(table, kStoreI16);
  fill_numbers<int32_t>(table, kStoreI32);
  fill_numbers<int64_t>(table, kStoreI64);
  fill_numbers<uint16_t>(table, kStoreU16);
  fill_numbers<uint32_t>(table, kStoreU32);
  fill_numbers<uint64_t>(table, kStoreU64);
  fill_numbers<float>(table, kStoreF32);
  fill_numbers<double>(table, kStoreF64);
  fill_composed<BoolByte, kStoreBool>(table);
  fill_composed<uint8_t, kStoreU8>(table);
  fill_composed<int8_t, kStoreI8>(table);
  fill_composed<int16_t, kStoreI16>(table);
  fill_composed<int32_t, kStoreI32>(table);
  fill_composed<int64_t, kStoreI64>(table);
  fill_composed<uint16_t, kStoreU16>(table);
  fill_composed<uint32_t, kStoreU32>(table);
  fill_composed<uint64_t, kStoreU64>(table);
  fill_composed<float, kStoreF32>(table);
  fill_composed<double, kStoreF64>(table);
  fill_halves(table);
  fill_complex(table);
  for (int type = 0; type < kStorageTypes; ++type) table.convert[type][type] = nullptr;
  return table;
}

}  // namespace

const ConvertTable& convert_table() {
  static const ConvertTable table = make_table();
  return table;
}

}  // namespace enr::kernels::ENR_ISA
