#pragma once

// What an instruction set offers for conversions; convert.h is the family's public face.

#include "kernels/convert/convert.h"

namespace enr::kernels {

// Storage types in the order of the table.
enum StorageType : int {
  kStoreBool,
  kStoreU8,
  kStoreI8,
  kStoreI16,
  kStoreI32,
  kStoreI64,
  kStoreU16,
  kStoreU32,
  kStoreU64,
  kStoreF32,
  kStoreF64,
  kStoreF16,
  kStoreBF16,
  kStoreC32,
  kStoreC64,
  kStoreC128,
  kStorageTypes,
};

struct ConvertTable {
  ConvertFn convert[kStorageTypes][kStorageTypes];  // [from][to], null on the diagonal
};
const ConvertTable& convert_table();

}  // namespace enr::kernels
