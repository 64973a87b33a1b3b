#include "program/tensor_decoder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace enr::program {

namespace {

using flatbuffer::in_field;
using flatbuffer::Table;
using flatbuffer::Vector;

struct ExtraInfo {
  std::string fully_qualified_name;
  bool is_external = false;
};

ExtraInfo decode_extra_info(const Table& tensor) {
  const auto table = tensor.table({9, "extra_tensor_info"});
  if (!table) return {};
  return in_field("extra_tensor_info", [&] {
    ExtraInfo info;
    info.fully_qualified_name = table->string({1, "fully_qualified_name"});
    const int8_t location = table->scalar<int8_t>({2, "location"});
    if (location != 0 && location != 1) fail_load("location: is ", +location, ", expected 0 (segment) or 1 (external)");
    info.is_external = location == 1;
    if (info.is_external && info.fully_qualified_name.empty()) {
      fail_load("fully_qualified_name: missing for a tensor in an external data file");
    }
    const int8_t device = table->scalar<int8_t>({3, "device_type"});
    if (device != 0) fail_load("device_type: is ", +device, ", this runtime has the CPU (0) only");
    return info;
  });
}

Placement decode_placement(const Table& allocation, uint64_t size_bytes, DType dtype,
                           const std::vector<uint64_t>& arena_sizes) {
  const auto memory_id = allocation.scalar<uint32_t>({0, "memory_id"});
  const uint64_t low = allocation.scalar<uint32_t>({1, "memory_offset_low"});
  const uint64_t high = allocation.scalar<uint32_t>({2, "memory_offset_high"});
  if (memory_id == 0 || memory_id > arena_sizes.size()) {
    fail_load("memory_id: is ", memory_id, ", the method has arenas 1 to ", arena_sizes.size());
  }
  const Placement placement{memory_id - 1, low | high << 32};
  if (!is_range_within(placement.offset, size_bytes, arena_sizes[placement.arena])) {
    fail_load("memory_offset: bytes ", placement.offset, " + ", size_bytes, " do not fit in arena ", memory_id, " of ",
              arena_sizes[placement.arena], " bytes");
  }
  const size_t alignment = std::min<size_t>(dtype_size(dtype), alignof(double));
  if (placement.offset % alignment != 0) {
    fail_load("memory_offset: is ", placement.offset, ", expected a multiple of ", alignment, " for ",
              dtype_name(dtype));
  }
  return placement;
}

void decode_storage(const Table& table, DataTables& data, const std::vector<uint64_t>& arena_sizes, Tensor& tensor) {
  ExtraInfo extra = decode_extra_info(table);
  tensor.fully_qualified_name = std::move(extra.fully_qualified_name);
  const auto allocation = table.table({6, "allocation_info"});
  if (allocation) {
    tensor.placement = in_field(
        "allocation_info", [&] { return decode_placement(*allocation, tensor.size_bytes, tensor.dtype, arena_sizes); });
  }
  const auto index = table.scalar<uint32_t>({5, "data_buffer_idx"});
  if (extra.is_external) {
    tensor.storage = allocation ? Storage::kExternalMutable : Storage::kExternalConstant;
  } else if (index == 0) {
    tensor.storage = allocation ? Storage::kPlanned : Storage::kUnplanned;
  } else if (allocation) {
    tensor.storage = Storage::kMutableInitial;
    tensor.bytes = initial_state_bytes(data, index, tensor.size_bytes);
  } else {
    // Exporters keep the first values of buffers they do not plan among the constants, where they name nothing else.
    tensor.storage = tensor.fully_qualified_name.empty() ? Storage::kConstant : Storage::kOwnInitial;
    tensor.bytes = constant_bytes(data, index, tensor.size_bytes);
  }
}

}  // namespace

DType decode_dtype(int8_t code) {
  const auto dtype = static_cast<DType>(code);
  if (dtype_size(dtype) == 0) fail_load("scalar_type: ", +code, " is not a dtype this runtime knows");
  return dtype;
}

std::vector<int64_t> decode_sizes(const Vector<int32_t>& sizes) {
  if (sizes.size() > kMaxTensorRank)
    fail_load("sizes: rank is ", sizes.size(), ", at most ", kMaxTensorRank, " is supported");
  std::vector<int64_t> result(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0) fail_load("sizes[", d, "]: is ", sizes[d], ", expected 0 or more");
    result[d] = sizes[d];
  }
  return result;
}

std::vector<uint8_t> decode_dim_order(const Vector<uint8_t>& dim_order, size_t rank) {
  if (dim_order.size() != rank) fail_load("dim_order: has ", dim_order.size(), " dims, the tensor has ", rank);
  std::vector<uint8_t> result(rank);
  uint32_t seen = 0;
  for (size_t d = 0; d < rank; ++d) {
    result[d] = dim_order[d];
    if (result[d] >= rank || (seen >> result[d] & 1) != 0) {
      fail_load("dim_order[", d, "]: is ", +result[d], ", expected a permutation of 0 to ", rank - 1);
    }
    seen |= uint32_t{1} << result[d];
  }
  return result;
}

uint64_t dense_size_bytes(DType dtype, const std::vector<int64_t>& sizes) {
  // Sizes of 0 count as 1, as they do in strides, which have to be countable.
  uint64_t size_bytes = dtype_size(dtype);
  for (const int64_t size : sizes) {
    const auto count = static_cast<uint64_t>(std::max<int64_t>(1, size));
    if (count > kMaxBufferBytes / size_bytes) {
      fail_load("sizes: ", dtype_name(dtype), " of ", sizes, " takes more than the ", kMaxBufferBytes,
                " bytes this runtime allows");
    }
    size_bytes *= count;
  }
  return std::find(sizes.begin(), sizes.end(), 0) == sizes.end() ? size_bytes : 0;
}

Tensor decode_tensor(const Table& table, DataTables& data, const std::vector<uint64_t>& arena_sizes) {
  Tensor tensor;
  tensor.dtype = decode_dtype(table.scalar<int8_t>({0, "scalar_type"}));
  const auto storage_offset = table.scalar<int32_t>({1, "storage_offset"});
  if (storage_offset != 0) fail_load("storage_offset: is ", storage_offset, ", expected 0");
  tensor.sizes = decode_sizes(table.vector<int32_t>({2, "sizes"}));
  tensor.dim_order = decode_dim_order(table.vector<uint8_t>({3, "dim_order"}), tensor.sizes.size());
  const auto layout = table.scalar<int8_t>({7, "layout"});
  if (layout != 0) fail_load("layout: is ", +layout, ", expected 0 (strided)");
  const auto dynamism = table.scalar<int8_t>({8, "shape_dynamism"});
  if (dynamism == 2) fail_load("shape_dynamism: unbounded sizes are not supported, export with upper bounds");
  if (dynamism != 0 && dynamism != 1)
    fail_load("shape_dynamism: is ", +dynamism, ", expected 0 (static) or 1 (bounded)");
  tensor.dynamism = dynamism == 1 ? Dynamism::kBounded : Dynamism::kStatic;
  tensor.size_bytes = dense_size_bytes(tensor.dtype, tensor.sizes);
  decode_storage(table, data, arena_sizes, tensor);
  return tensor;
}

}  // namespace enr::program
