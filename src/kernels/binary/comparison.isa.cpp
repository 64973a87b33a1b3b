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

// Whether x is not 0, as 0 or 1; of bytes without a comparison, whose result would have to be masked.
template <class T>
ENR_INLINE uint8_t truth(T x) {
  if constexpr (sizeof(T) == 1) {
    const uint8_t byte = static_cast<uint8_t>(x);
    return byte < 1 ? byte : uint8_t{1};
  } else {
    return x != 0;
  }
}

ENR_FUNCTION(Eq, x == y)
ENR_FUNCTION(Ne, x != y)
ENR_FUNCTION(Lt, x < y)
ENR_FUNCTION(Le, x <= y)
ENR_FUNCTION(Gt, x > y)
ENR_FUNCTION(Ge, x >= y)
ENR_FUNCTION(LogicalAnd, truth(x) & truth(y))
ENR_FUNCTION(LogicalOr, truth(x) | truth(y))
ENR_FUNCTION(LogicalXor, truth(x) ^ truth(y))
#undef ENR_FUNCTION

template <class T>
void fill(LoopFn* rows) {
#define ENR_ROW(name, cost) rows[static_cast<int>(Comparison::k##name)] = &run_scalars<uint8_t, T, name>;
  ENR_COMPARISONS(ENR_ROW)
#undef ENR_ROW
}

}  // namespace

void fill_comparisons(BinaryTable& table) {
  fill<float>(table.comparison[kBinF32]);
  fill<double>(table.comparison[kBinF64]);
  fill<int64_t>(table.comparison[kBinI64]);
  fill<int32_t>(table.comparison[kBinI32]);
  fill<int8_t>(table.comparison[kBinI8]);
  fill<uint8_t>(table.comparison[kBinU8]);
  fill<uint64_t>(table.comparison[kBinU64]);
  fill<uint8_t>(table.comparison[kBinBool]);
}

}  // namespace enr::kernels::ENR_ISA
