#include "delegates/xnnpack/lost_scales.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/half.h"

namespace enr::delegates::xnnpack {

namespace {

using program::Tensor;

bool is_float(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

float float_at(const Tensor& tensor, size_t i) {
  if (tensor.dtype == DType::kFloat32) return load_unaligned<float>(tensor.bytes, 4 * i);
  const auto bits = load_unaligned<uint16_t>(tensor.bytes, 2 * i);
  return tensor.dtype == DType::kFloat16 ? half_value(bits) : bfloat16_value(bits);
}

// Constants among the arguments that no node reads, by position.
std::vector<const Tensor*> find_unread_constants(const Payload& payload, std::span<const Tensor* const> arguments) {
  std::vector<bool> is_read(payload.values.size()), is_known(arguments.size());
  for (const Node& node : payload.nodes) {
    for (const uint32_t input : node.inputs) {
      if (input != kNone) is_read[input] = true;
    }
  }
  for (const uint32_t id : payload.externals) {
    const Value& value = payload.values[id];
    if (value.external_id < arguments.size()) is_known[value.external_id] = is_read[id] || value.is_external_output;
  }
  std::vector<const Tensor*> unread;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor* tensor = arguments[i];
    if (tensor == nullptr || is_known[i] || tensor->storage != program::Storage::kConstant) continue;
    if (std::ranges::is_sorted(tensor->dim_order)) unread.push_back(tensor);
  }
  return unread;
}

bool has_integers(const Value& weights) {
  const size_t count = weights.data.size() / sizeof(float);
  for (size_t i = 0; i < count; ++i) {
    const auto weight = load_unaligned<float>(weights.data, sizeof(float) * i);
    if (!(weight >= -128 && weight <= 127) || weight != std::rint(weight)) return false;
  }
  return count > 0;
}

bool are_positive(const Tensor& scales) {
  const size_t count = scales.bytes.size() / (scales.dtype == DType::kFloat32 ? 4 : 2);
  for (size_t i = 0; i < count; ++i) {
    if (!(float_at(scales, i) > 0)) return false;
  }
  return count > 0;
}

// Which weights are whole numbers. Bytes that several layers read are looked at once.
class Weights {
 public:
  bool have_integers(const Value& weights) {
    const std::byte *begin = weights.data.data(), *end = begin + weights.data.size();
    if (const auto next = seen_.lower_bound(end); next != seen_.begin()) {
      const auto& [other_end, are_integers] = std::prev(next)->second;
      if (other_end > begin) {
        share_integers_ = share_integers_ || are_integers;
        return are_integers;
      }
    }
    const bool found = has_integers(weights);
    seen_[begin] = {end, found};
    return found;
  }

  // Layers that share them, with different scales, would multiply the file's size in memory.
  bool share_integers() const noexcept { return share_integers_; }

 private:
  std::map<const std::byte*, std::pair<const std::byte*, bool>> seen_;  // by begins: ends, and what was found
  bool share_integers_ = false;
};

struct Levels {
  const Tensor* scales;       // [outputs, groups of inputs]
  const Tensor* zero_points;  // of the same shape, or null
};

// What belongs to layers of equally many outputs, in order.
struct Family {
  std::vector<size_t> layers;  // nodes
  std::vector<Levels> levels;
  std::vector<const Tensor*> biases;
};

// Whether each layer reads what the one before it has computed.
bool is_chain(const Payload& payload, const std::vector<size_t>& layers) {
  std::vector<uint32_t> reached(payload.values.size());  // how many of the layers a value comes from
  size_t next = 0;
  for (size_t n = 0; n < payload.nodes.size(); ++n) {
    const Node& node = payload.nodes[n];
    uint32_t most = 0;
    for (const uint32_t input : node.inputs) most = input == kNone ? most : std::max(most, reached[input]);
    if (next < layers.size() && layers[next] == n) {
      if (most != next) return false;
      most = static_cast<uint32_t>(++next);
    }
    for (const uint32_t output : node.outputs) reached[output] = most;
  }
  return true;
}

uint32_t add_constant(Payload& payload, DataType type, std::vector<int64_t> dims, Bytes data) {
  Value value;
  value.type = type;
  value.dims = std::move(dims);
  value.is_constant = true;
  value.data = data;
  payload.values.push_back(std::move(value));
  return static_cast<uint32_t>(payload.values.size() - 1);
}

uint32_t dequantise(Payload& payload, uint32_t weights, const Levels& levels) {
  const std::vector<int64_t> dims = payload.values[weights].dims;
  const Bytes integers = payload.values[weights].data;
  const auto outputs = static_cast<size_t>(dims[0]), inputs = static_cast<size_t>(dims[1]);
  const auto groups = static_cast<size_t>(levels.scales->sizes[1]);
  auto numbers = std::make_shared<std::vector<float>>(outputs * inputs);
  for (size_t o = 0; o < outputs; ++o) {
    for (size_t i = 0; i < inputs; ++i) {
      const size_t group = o * groups + i / (inputs / groups);
      const auto integer = load_unaligned<float>(integers, sizeof(float) * (o * inputs + i));
      const float zero_point =
          levels.zero_points == nullptr ? 0.0f : load_unaligned<int8_t>(levels.zero_points->bytes, group);
      (*numbers)[o * inputs + i] = (integer - zero_point) * float_at(*levels.scales, group);
    }
  }
  payload.keep_alive.push_back(numbers);
  return add_constant(payload, DataType::kFloat32, dims, std::as_bytes(std::span(*numbers)));
}

bool has_groups_of(const Tensor& scales, int64_t inputs) {
  return scales.sizes[1] > 0 && inputs % scales.sizes[1] == 0;
}

void restore(Payload& payload, const Family& family, bool share_weights) {
  std::vector<size_t> without_bias;
  for (const size_t n : family.layers) {
    if (payload.nodes[n].inputs[2] == kNone) without_bias.push_back(n);
  }
  bool fits = !share_weights && family.levels.size() == family.layers.size() && is_chain(payload, family.layers) &&
              (family.biases.empty() || family.biases.size() == without_bias.size());
  for (size_t i = 0; fits && i < family.layers.size(); ++i) {
    const Value& weights = payload.values[payload.nodes[family.layers[i]].inputs[1]];
    fits = has_groups_of(*family.levels[i].scales, weights.dims[1]);
  }
  if (!fits) {
    fail_load("node ", family.layers[0], " (fully connected): has integers for weights; the exporter lost which of ",
              family.levels.size(), " scales and ", family.biases.size(),
              " biases, arguments that nothing reads, belong to ", family.layers.size(),
              " layers of as many outputs (quantise activations too, or leave the layers undelegated)");
  }
  for (size_t i = 0; i < family.layers.size(); ++i) {
    std::vector<uint32_t>& inputs = payload.nodes[family.layers[i]].inputs;
    inputs[1] = dequantise(payload, inputs[1], family.levels[i]);
  }
  for (size_t i = 0; i < family.biases.size(); ++i) {
    const Tensor& bias = *family.biases[i];
    const DataType type = bias.dtype == DType::kFloat32   ? DataType::kFloat32
                          : bias.dtype == DType::kFloat16 ? DataType::kFloat16
                                                          : DataType::kBFloat16;
    const uint32_t value = add_constant(payload, type, bias.sizes, bias.bytes);
    payload.nodes[without_bias[i]].inputs[2] = value;
  }
}

}  // namespace

void restore_lost_scales(Payload& payload, std::span<const Tensor* const> arguments) {
  std::map<int64_t, Family> families;  // by outputs
  const std::vector<const Tensor*> unread = find_unread_constants(payload, arguments);
  for (size_t i = 0; i < unread.size(); ++i) {
    const Tensor& tensor = *unread[i];
    if (!is_float(tensor.dtype) || tensor.sizes.empty()) continue;
    if (tensor.sizes.size() == 1) families[tensor.sizes[0]].biases.push_back(&tensor);
    if (tensor.sizes.size() != 2 || !are_positive(tensor)) continue;
    const bool has_zero_points =
        i + 1 < unread.size() && unread[i + 1]->dtype == DType::kInt8 && unread[i + 1]->sizes == tensor.sizes;
    families[tensor.sizes[0]].levels.push_back({&tensor, has_zero_points ? unread[i + 1] : nullptr});
  }
  std::erase_if(families, [](const auto& family) { return family.second.levels.empty(); });
  if (families.empty()) return;
  Weights all_weights;
  for (size_t n = 0; n < payload.nodes.size(); ++n) {
    const Node& node = payload.nodes[n];
    if (node.type != NodeType::kFullyConnected || (node.flags & kFlagTransposeWeights) != 0) continue;
    const Value& weights = payload.values[node.inputs[1]];
    if (!weights.is_constant || weights.type != DataType::kFloat32 || weights.dims.size() != 2) continue;
    const auto family = families.find(weights.dims[0]);
    if (family != families.end() && all_weights.have_integers(weights)) family->second.layers.push_back(n);
  }
  for (const auto& [outputs, family] : families) {
    if (!family.layers.empty()) restore(payload, family, all_weights.share_integers());
  }
}

}  // namespace enr::delegates::xnnpack
