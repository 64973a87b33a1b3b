#pragma once

// Tensors of a .pte: shape, layout and where the elements come from.

#include <cstdint>
#include <vector>

#include "base/flatbuffer.h"
#include "program/constants.h"
#include "program/program.h"

namespace enr::program {

// The dtype of a code; throws for one that this runtime does not know.
DType decode_dtype(int8_t code);

// Sizes that are not negative.
std::vector<int64_t> decode_sizes(const flatbuffer::Vector<int32_t>& sizes);

// A permutation of the dims.
std::vector<uint8_t> decode_dim_order(const flatbuffer::Vector<uint8_t>& dim_order, size_t rank);

// Bytes that a dense tensor takes; throws beyond kMaxBufferBytes.
uint64_t dense_size_bytes(DType dtype, const std::vector<int64_t>& sizes);

Tensor decode_tensor(const flatbuffer::Table& table, DataTables& data, const std::vector<uint64_t>& arena_sizes);

}  // namespace enr::program
