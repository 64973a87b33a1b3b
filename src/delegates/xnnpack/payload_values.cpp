#include "delegates/xnnpack/payload_values.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/half.h"

namespace enr::delegates::xnnpack {

namespace {

using flatbuffer::for_each_table;
using flatbuffer::in_field;
using flatbuffer::Table;
using flatbuffer::Vector;

constexpr uint64_t kMaxValueBytes = uint64_t{1} << 36;
constexpr uint32_t kFlagExternalInput = 1;
constexpr uint32_t kFlagExternalOutput = 2;

// Codes of the union of quantisation parameters.
enum : uint8_t { kNoParams = 0, kPerChannel = 1, kPerTensor = 2, kPerToken = 3, kPerBlock = 4 };

uint8_t params_code_for(DataType type) {
  switch (type) {
    case DataType::kQInt8:
    case DataType::kQUInt8:
    case DataType::kQInt32:
      return kPerTensor;
    case DataType::kQCInt8:
    case DataType::kQCInt32:
    case DataType::kQCInt4:
      return kPerChannel;
    case DataType::kQDInt8:
      return kPerToken;
    case DataType::kQBInt4:
      return kPerBlock;
    default:
      return kNoParams;
  }
}

DataType decode_data_type(int16_t code) {
  const bool is_known = (code >= 1 && code <= 10) || code == 12 || code == 14;
  if (!is_known) fail_load("datatype: is ", code, ", which no exporter writes");
  return static_cast<DataType>(code);
}

uint64_t bits_per_element(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kQInt32:
    case DataType::kQCInt32:
    case DataType::kInt32:
      return 32;
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 16;
    case DataType::kQCInt4:
    case DataType::kQBInt4:
      return 4;
    default:
      return 8;
  }
}

// Bytes that a value takes; rows of 4-bit elements are padded to bytes.
uint64_t value_size_bytes(DataType type, const std::vector<int64_t>& dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  const uint64_t bits = bits_per_element(type);
  uint64_t size = bits < 8 && !dims.empty() ? (static_cast<uint64_t>(dims.back()) + 1) / 2 : (bits + 7) / 8;
  const size_t count = bits < 8 && !dims.empty() ? dims.size() - 1 : dims.size();
  for (size_t d = 0; d < count; ++d) {
    if (static_cast<uint64_t>(dims[d]) > kMaxValueBytes / size) {
      fail_load("dims: ", data_type_name(type), dims, " takes more than the ", kMaxValueBytes,
                " bytes this runtime allows");
    }
    size *= static_cast<uint64_t>(dims[d]);
  }
  if (size > kMaxValueBytes)
    fail_load("dims: ", data_type_name(type), dims, " takes more than ", kMaxValueBytes, " bytes");
  return size;
}

std::vector<int64_t> decode_dims(const Table& tensor) {
  const auto rank = tensor.scalar<uint32_t>({1, "num_dims"});
  const Vector<uint32_t> dims = tensor.vector<uint32_t>({2, "dims"});
  if (rank > kMaxRank) fail_load("num_dims: is ", rank, ", at most ", kMaxRank, " are supported");
  if (dims.size() != rank) fail_load("dims: has ", dims.size(), " items, num_dims is ", rank);
  std::vector<int64_t> result(rank);
  for (size_t d = 0; d < rank; ++d) result[d] = dims[d];
  return result;
}

void check_scale(float scale, size_t index, const char* field) {
  if (!(scale > 0.0f) || !std::isnormal(scale)) {
    fail_load(field, "[", index, "]: is ", scale, ", expected a positive finite number");
  }
}

void decode_per_tensor(const Table& params, Value& value) {
  value.scale = params.scalar<float>({0, "scale"});
  value.zero_point = params.scalar<int32_t>({1, "zero_point"});
  if (!(value.scale > 0.0f) || !std::isnormal(value.scale)) {
    fail_load("scale: is ", value.scale, ", expected a positive finite number");
  }
  const int32_t low = value.type == DataType::kQInt8 ? -128 : 0;
  const int32_t high = value.type == DataType::kQInt8 ? 127 : value.type == DataType::kQUInt8 ? 255 : 0;
  if (value.zero_point < low || value.zero_point > high) {
    fail_load("zero_point: is ", value.zero_point, ", expected ", low, " to ", high, " for ",
              data_type_name(value.type));
  }
}

float stored_scale(Bytes bytes, size_t i, DataType type) {
  if (type == DataType::kFloat32) return load_unaligned<float>(bytes, 4 * i);
  const auto bits = load_unaligned<uint16_t>(bytes, 2 * i);
  return type == DataType::kFloat16 ? half_value(bits) : bfloat16_value(bits);
}

// `count` scales of that type from a constant of their own, or those in the table.
void decode_scales(const Table& params, uint64_t count, uint32_t buffer_index, uint32_t stored, Constants& constants,
                   DataType type, Value& value) {
  const Vector<float> inline_scales = params.vector<float>({0, "scale"});
  const uint64_t given = buffer_index != 0 ? stored : inline_scales.size();
  const char* field = buffer_index != 0 ? "num_scales" : "scale";
  if (given != count) {
    fail_load(field, ": ", given, " scales for ", data_type_name(value.type), value.dims, ", expected ", count);
  }
  constants.charge(count * sizeof(float), field);
  value.scales.reserve(count);
  if (buffer_index == 0) {
    for (size_t i = 0; i < count; ++i) {
      float scale = inline_scales[i];
      // Blockwise scales are bfloat16: older files round theirs by adding half a step and cutting the lower half off.
      if (type == DataType::kBFloat16)
        scale = std::bit_cast<float>(std::bit_cast<uint32_t>(scale * 1.00389105f) & 0xFFFF0000u);
      value.scales.push_back(scale);
    }
  } else {
    const size_t item_size = type == DataType::kFloat32 ? 4 : 2;
    const Bytes bytes = constants.get(buffer_index, count * item_size, "scale_buffer_idx");
    for (size_t i = 0; i < count; ++i) value.scales.push_back(stored_scale(bytes, i, type));
  }
  for (size_t i = 0; i < count; ++i) check_scale(value.scales[i], i, "scale");
}

// Models of halves keep the scales of channels as halves, which only the size of the constant tells. `half`: which
// kind.
void decode_per_channel(const Table& params, Constants& constants, DataType half, Value& value) {
  const auto channel_dim = params.scalar<int32_t>({1, "channel_dim"});
  if (channel_dim < 0 || static_cast<size_t>(channel_dim) >= value.dims.size()) {
    fail_load("channel_dim: is ", channel_dim, ", the value has ", value.dims.size(), " dims");
  }
  value.channel_dim = static_cast<uint32_t>(channel_dim);
  const auto count = static_cast<uint64_t>(value.dims[value.channel_dim]);
  const auto buffer_index = params.scalar<uint32_t>({2, "scale_buffer_idx"});
  const bool are_halves = buffer_index != 0 && constants.size_bytes(buffer_index) == 2 * count;
  decode_scales(params, count, buffer_index, params.scalar<uint32_t>({3, "num_scales"}), constants,
                are_halves ? half : DataType::kFloat32, value);
}

void decode_per_block(const Table& params, Constants& constants, Value& value) {
  if (value.dims.size() != 2) fail_load("dims: ", value.dims, " of a blockwise quantised value, expected 2 dims");
  const auto channel_dim = params.scalar<int32_t>({1, "channel_dim"});
  if (channel_dim != 0) fail_load("channel_dim: is ", channel_dim, ", expected 0 for a blockwise quantised value");
  const auto group_size = params.scalar<int32_t>({2, "group_size"});
  if (group_size <= 0 || group_size % 32 != 0 || value.dims[1] % group_size != 0) {
    fail_load("group_size: is ", group_size, ", expected a multiple of 32 that divides ", value.dims[1]);
  }
  value.group_size = static_cast<uint32_t>(group_size);
  const auto count = static_cast<uint64_t>(value.dims[0]) * static_cast<uint64_t>(value.dims[1] / group_size);
  decode_scales(params, count, params.scalar<uint32_t>({4, "scale_buffer_idx"}),
                params.scalar<uint32_t>({5, "num_scales"}), constants, DataType::kBFloat16, value);
}

void decode_per_token(const Table& params, Value& value) {
  const auto count = params.scalar<int32_t>({0, "num_nonbatch_dims"});
  if (count < 1 || static_cast<size_t>(count) > value.dims.size()) {
    fail_load("num_nonbatch_dims: is ", count, ", the value has ", value.dims.size(), " dims");
  }
  value.num_nonbatch_dims = static_cast<uint32_t>(count);
}

void decode_externals(const Table& tensor, Value& value) {
  const auto flags = tensor.scalar<uint32_t>({5, "flags"});
  if (flags > kFlagExternalOutput) {
    fail_load("flags: are ", flags, ", expected 0 (internal), 1 (external input) or 2 (external output)");
  }
  value.is_external_input = flags == kFlagExternalInput;
  value.is_external_output = flags == kFlagExternalOutput;
  if (flags == 0) return;
  value.external_id = tensor.scalar<uint32_t>({4, "external_id"});
  if (value.external_id == kNone) fail_load("external_id: missing for an external value");
  if (value.is_constant) fail_load("flags: are ", flags, " for a constant, expected 0");
  switch (value.type) {
    case DataType::kFloat32:
    case DataType::kFloat16:
    case DataType::kBFloat16:
    case DataType::kInt32:
    case DataType::kQInt8:
    case DataType::kQUInt8:
      return;
    default:
      fail_load("datatype: an external value cannot be ", data_type_name(value.type));
  }
}

Value decode_value(const Table& tensor, uint8_t params_code, const std::optional<Table>& params, Constants& constants,
                   DataType half) {
  Value value;
  value.type = decode_data_type(tensor.scalar<int16_t>({0, "datatype"}));
  value.dims = decode_dims(tensor);
  const uint64_t size_bytes = value_size_bytes(value.type, value.dims);
  const auto buffer_index = tensor.scalar<uint32_t>({3, "constant_buffer_idx"});
  if (buffer_index != 0) {
    value.is_constant = true;
    value.data = constants.get(buffer_index, size_bytes, "constant_buffer_idx");
  }
  const uint8_t expected = params_code_for(value.type);
  if (params_code != expected || (expected != kNoParams && !params)) {
    fail_load("quant_params_type: is ", +params_code, ", expected ", +expected, " for ", data_type_name(value.type));
  }
  decode_externals(tensor, value);
  if (value.is_constant && value.type == DataType::kQDInt8) fail_load("datatype: a constant cannot be qdint8");
  if (!value.is_constant && bits_per_element(value.type) == 4) {
    fail_load("constant_buffer_idx: a ", data_type_name(value.type), " value that is not a constant");
  }
  if (expected != kNoParams) {
    in_field("quant_params", [&] {
      if (expected == kPerTensor) decode_per_tensor(*params, value);
      if (expected == kPerChannel) decode_per_channel(*params, constants, half, value);
      if (expected == kPerToken) decode_per_token(*params, value);
      if (expected == kPerBlock) decode_per_block(*params, constants, value);
    });
  }
  return value;
}

void decode_entry(const Table& entry, Constants& constants, DataType half, DecodedValues& decoded) {
  const auto type = entry.scalar<uint8_t>({0, "xvalue_union_type"});
  if (type != 1 && type != 2)
    fail_load("xvalue_union_type: is ", +type, ", expected 1 (tensor) or 2 (quantised tensor)");
  const Table outer = entry.required_table({1, "xvalue_union"});
  in_field("xvalue_union", [&] {
    const Table tensor = type == 1 ? outer : outer.required_table({0, "tensor_value"});
    const uint8_t params_code = type == 1 ? uint8_t{kNoParams} : outer.scalar<uint8_t>({1, "quant_params_type"});
    const auto params = type == 1 ? std::optional<Table>() : outer.table({2, "quant_params"});
    const auto index = static_cast<uint32_t>(decoded.values.size());
    decoded.values.push_back(decode_value(tensor, params_code, params, constants, half));
    const auto id = tensor.scalar<uint32_t>({6, "id_out"});
    if (id == kNone) fail_load("id_out: is ", id, ", which stands for no value");
    if (!decoded.index_of_id.emplace(id, index).second) fail_load("id_out: is ", id, ", as another value's");

    const auto dynamic_type = tensor.scalar<int16_t>({7, "dq_datatype"});
    if (dynamic_type == 0) return;
    const Value& value = decoded.values.back();
    if (dynamic_type != static_cast<int16_t>(DataType::kQInt8) || !value.is_external_input ||
        value.type != DataType::kFloat32 || value.dims.empty()) {
      fail_load("dq_datatype: is ", dynamic_type, ", expected 3 (qint8) on an external input of fp32");
    }
    decoded.to_quantise.push_back(index);
  });
}

DataType find_half_kind(const Table& graph) {
  DataType half = DataType::kFloat16;
  for_each_table(graph, {2, "xvalues"}, [&](const Table& entry, size_t) {
    const bool is_plain = entry.scalar<uint8_t>({0, "xvalue_union_type"}) == 1;
    const auto tensor = is_plain ? entry.table({1, "xvalue_union"}) : std::nullopt;
    if (!tensor) return;
    const auto code = tensor->scalar<int16_t>({0, "datatype"});
    if (code == static_cast<int16_t>(DataType::kBFloat16)) half = DataType::kBFloat16;
  });
  return half;
}

}  // namespace

DecodedValues decode_values(const Table& graph, Constants& constants) {
  DecodedValues decoded;
  const DataType half = find_half_kind(graph);
  for_each_table(graph, {2, "xvalues"},
                 [&](const Table& entry, size_t) { decode_entry(entry, constants, half, decoded); });
  return decoded;
}

}  // namespace enr::delegates::xnnpack
