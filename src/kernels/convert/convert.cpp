#include "kernels/convert/convert.h"

#include <cstring>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/convert/convert_table.h"
#include "kernels/elementwise/line_start.h"
#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(ConvertTable, convert_table)

namespace {

constexpr size_t kGrain = 32768;

template <size_t size>
void copy(const void* from, void* to, size_t n) noexcept {
  if (from != to && n != 0) std::memcpy(to, from, n * size);
}

ConvertFn copy_fn(size_t size) noexcept {
  switch (size) {
    case 1:
      return &copy<1>;
    case 2:
      return &copy<2>;
    case 4:
      return &copy<4>;
    case 8:
      return &copy<8>;
    case 16:
      return &copy<16>;
    default:
      return nullptr;
  }
}

// The row of the table, or -1.
int storage_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kBool:
      return kStoreBool;
    case DType::kUInt8:
    case DType::kQUInt8:
      return kStoreU8;
    case DType::kInt8:
    case DType::kQInt8:
      return kStoreI8;
    case DType::kInt16:
      return kStoreI16;
    case DType::kInt32:
    case DType::kQInt32:
      return kStoreI32;
    case DType::kInt64:
      return kStoreI64;
    case DType::kUInt16:
    case DType::kBits16:
      return kStoreU16;
    case DType::kUInt32:
      return kStoreU32;
    case DType::kUInt64:
      return kStoreU64;
    case DType::kFloat32:
      return kStoreF32;
    case DType::kFloat64:
      return kStoreF64;
    case DType::kFloat16:
      return kStoreF16;
    case DType::kBFloat16:
      return kStoreBF16;
    case DType::kComplex32:
      return kStoreC32;
    case DType::kComplex64:
      return kStoreC64;
    case DType::kComplex128:
      return kStoreC128;
    default:
      return -1;
  }
}

}  // namespace

ConvertFn convert_fn(DType from, DType to) noexcept {
  const int from_type = storage_of(from);
  const int to_type = storage_of(to);
  if (from == to || (from_type == to_type && from_type >= 0)) return copy_fn(dtype_size(from));
  if (from_type < 0 || to_type < 0) return nullptr;
  return convert_table().convert[from_type][to_type];
}

void convert(DType from_dtype, const void* from, DType to_dtype, void* to, size_t n) noexcept {
  const ConvertFn fn = convert_fn(from_dtype, to_dtype);
  const size_t from_size = dtype_size(from_dtype);
  const size_t to_size = dtype_size(to_dtype);
  const auto run = [&](size_t begin, size_t end) {
    fn(static_cast<const std::byte*>(from) + begin * from_size, static_cast<std::byte*>(to) + begin * to_size,
       end - begin);
  };
  parallel_ranges(n, kGrain, [&](size_t begin, size_t end) {
    const size_t head = elements_before_line(static_cast<std::byte*>(to) + begin * to_size, to_size, end - begin);
    if (head != 0) run(begin, begin + head);
    run(begin + head, end);
  });
}

}  // namespace enr::kernels
