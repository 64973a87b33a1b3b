#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "delegates/xnnpack/payload_nodes.h"
#include "kernels/conv/phases.h"

namespace enr::delegates::xnnpack {

namespace {

constexpr int64_t kMaxPad = int64_t{1} << 31;

void require_rank(const Value& value, size_t rank, const char* field) {
  if (value.dims.size() != rank) fail_load(field, ": dims are ", value.dims, ", expected ", rank, " of them");
}

void require_dims(const Value& value, const std::vector<int64_t>& expected, const char* field) {
  if (value.dims != expected) fail_load(field, ": dims are ", value.dims, ", expected ", expected);
}

// Exporters give values inside the graph wrong dims around changes of layout, and let nodes read results of another
// layout; what nodes give is found and checked later.
bool has_true_dims(const Value& value) { return value.is_constant || value.is_external_input; }

void require_last_dim(const Value& value, int64_t expected, const char* field) {
  if (!has_true_dims(value)) return;
  if (value.dims.empty() || value.dims.back() != expected) {
    fail_load(field, ": dims are ", value.dims, ", expected the last to be ", expected);
  }
}

void require_constant(const Value& value, const char* field) {
  if (!value.is_constant) fail_load(field, ": is not a constant");
}

void require_positive(uint32_t value, const char* field) {
  if (value == 0 || value > static_cast<uint32_t>(std::numeric_limits<int32_t>::max())) {
    fail_load(field, ": is ", value, ", expected 1 or more");
  }
}

void require_finite(float value, const char* field) {
  if (!std::isfinite(value)) fail_load(field, ": is ", value, ", expected a finite number");
}

void check_window(const Window& window) {
  require_positive(window.kernel_height, "kernel_height");
  require_positive(window.kernel_width, "kernel_width");
  require_positive(window.stride_height, "stride_height");
  require_positive(window.stride_width, "stride_width");
  require_positive(window.dilation_height, "dilation_height");
  require_positive(window.dilation_width, "dilation_width");
  for (const uint32_t pad : {window.pad_top, window.pad_right, window.pad_bottom, window.pad_left}) {
    if (pad >= kMaxPad) fail_load("padding: is ", pad, ", expected less than ", kMaxPad);
  }
}

bool is_float_kind(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBFloat16;
}

// A bias that is computed goes with float weights that may be computed too.
void check_bias(const Node& node, const std::vector<Value>& values, int64_t channels) {
  if (node.inputs[2] == kNone) return;
  const Value& bias = values[node.inputs[2]];
  require_dims(bias, {channels}, "bias_id");
  const bool may_vary = is_float_kind(values[node.inputs[0]].type) && is_float_kind(values[node.inputs[1]].type) &&
                        is_float_kind(bias.type);
  if (!may_vary) require_constant(bias, "bias_id");
}

void check_convolution(const Node& node, const std::vector<Value>& values) {
  check_window(node.window);
  require_positive(node.groups, "groups");
  require_positive(node.group_input_channels, "group_input_channels");
  require_positive(node.group_output_channels, "group_output_channels");
  const int64_t inputs = int64_t{node.groups} * node.group_input_channels;
  const int64_t outputs = int64_t{node.groups} * node.group_output_channels;
  const bool is_depthwise = node.type == NodeType::kDepthwiseConv2d;
  if (is_depthwise && node.group_input_channels != 1) {
    fail_load("group_input_channels: is ", node.group_input_channels, ", expected 1");
  }
  const Window& window = node.window;
  const Value& filter = values[node.inputs[1]];
  const int64_t height = window.kernel_height;
  const int64_t width = window.kernel_width;
  require_constant(filter, "filter_id");
  require_dims(filter,
               is_depthwise ? std::vector<int64_t>{1, height, width, outputs}
                            : std::vector<int64_t>{outputs, height, width, node.group_input_channels},
               "filter_id");
  check_bias(node, values, outputs);
  require_rank(values[node.inputs[0]], 4, "input1_id");
  require_rank(values[node.outputs[0]], 4, "output_id");
  require_last_dim(values[node.inputs[0]], inputs, "input1_id");
  require_last_dim(values[node.outputs[0]], outputs, "output_id");
  const bool is_transposed = node.type == NodeType::kConvTranspose2d;
  if (is_transposed && kernels::has_too_many_phases(window.stride_height, window.stride_width)) {
    fail_load("stride_height: strides of ", window.stride_height, " by ", window.stride_width,
              ", expected a product of at most ", kernels::kMaxPhases);
  }
  if (node.adjustment_height >= (is_transposed ? std::max(window.stride_height, window.dilation_height) : 1)) {
    fail_load("adjustment_height: is ", node.adjustment_height, ", expected less than stride or dilation");
  }
  if (node.adjustment_width >= (is_transposed ? std::max(window.stride_width, window.dilation_width) : 1)) {
    fail_load("adjustment_width: is ", node.adjustment_width, ", expected less than stride or dilation");
  }
}

void check_attention(const Node& node, const std::vector<Value>& values) {
  static constexpr const char* kFields[] = {"query_id", "key_id", "value_id", "scale_id", "mask_id"};
  const size_t rank = values[node.inputs[0]].dims.size();
  if (rank < 3) fail_load("query_id: dims are ", values[node.inputs[0]].dims, ", expected three at least");
  // Keys and values may have no dim of heads: one head of them then serves all.
  const size_t key_rank = values[node.inputs[1]].dims.size() + 1 == rank ? rank - 1 : rank;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    require_rank(values[node.inputs[i]], i == 0 ? rank : i < 3 ? key_rank : i == 3 ? 1 : 2, kFields[i]);
    if (!is_float_kind(values[node.inputs[i]].type)) fail_load(kFields[i], ": is quantised, expected a float type");
  }
  require_rank(values[node.outputs[0]], rank, "output_id");
}

void check_fully_connected(const Node& node, const std::vector<Value>& values) {
  const Value& filter = values[node.inputs[1]];
  require_rank(filter, 2, "filter_id");
  const bool is_transposed = (node.flags & kFlagTransposeWeights) != 0;
  const int64_t inputs = filter.dims[is_transposed ? 0 : 1];
  const int64_t outputs = filter.dims[is_transposed ? 1 : 0];
  check_bias(node, values, outputs);
  require_last_dim(values[node.inputs[0]], inputs, "input1_id");
  require_last_dim(values[node.outputs[0]], outputs, "output_id");
}

void check_pooling(const Node& node, const std::vector<Value>& values) {
  check_window(node.window);
  require_rank(values[node.inputs[0]], 4, "input_id");
  for (const uint32_t output : node.outputs) {
    require_rank(values[output], 4, "output_id");
    if (has_true_dims(values[node.inputs[0]])) {
      require_last_dim(values[output], values[node.inputs[0]].dims.back(), "output_id");
    }
  }
}

void check_transpose(const Node& node, const std::vector<Value>& values) {
  const size_t rank = values[node.inputs[0]].dims.size();
  if (node.perm.size() != rank) fail_load("perm: has ", node.perm.size(), " items, the input has ", rank, " dims");
  require_rank(values[node.outputs[0]], rank, "output_id");
  uint32_t seen = 0;
  for (size_t d = 0; d < rank; ++d) {
    if (node.perm[d] >= rank || (seen >> node.perm[d] & 1) != 0) {
      fail_load("perm: is ", node.perm, ", expected a permutation of 0 to ", rank - 1);
    }
    seen |= uint32_t{1} << node.perm[d];
  }
}

void check_reshape(const Node& node, const std::vector<Value>& values) {
  require_rank(values[node.outputs[0]], node.new_shape.size(), "output_id");
  const Value& input = values[node.inputs[0]];
  const bool is_empty = std::find(input.dims.begin(), input.dims.end(), 0) != input.dims.end();
  if (!is_empty && std::count(node.new_shape.begin(), node.new_shape.end(), 0) > 1) {
    fail_load("new_shape: is ", node.new_shape, ", expected one 0 at most");
  }
}

void check_slice(const Node& node, const std::vector<Value>& values) {
  const Value& input = values[node.inputs[0]];
  if (node.offsets.size() != input.dims.size()) {
    fail_load("offsets: has ", node.offsets.size(), " items, the input has ", input.dims.size(), " dims");
  }
  require_rank(values[node.outputs[0]], input.dims.size(), "output_id");
  for (size_t d = 0; d < input.dims.size() && has_true_dims(input); ++d) {
    if (node.offsets[d] + node.sizes[d] > input.dims[d]) {
      fail_load("sizes[", d, "]: ", node.offsets[d], " + ", node.sizes[d], " is beyond the input's ", input.dims[d]);
    }
  }
}

void check_pad(const Node& node, const std::vector<Value>& values) {
  const size_t rank = values[node.inputs[0]].dims.size();
  require_rank(values[node.outputs[0]], rank, "output_id");
  if (node.pre_pad.size() != rank || node.post_pad.size() != rank) {
    fail_load("paddings: have ", node.pre_pad.size(), " and ", node.post_pad.size(), " items, the input has ", rank,
              " dims");
  }
  for (size_t d = 0; d < rank; ++d) {
    if (node.pre_pad[d] >= kMaxPad || node.post_pad[d] >= kMaxPad) {
      fail_load("paddings[", d, "]: are ", node.pre_pad[d], " and ", node.post_pad[d], ", expected less than ",
                kMaxPad);
    }
  }
}

void check_concatenate(const Node& node, const std::vector<Value>& values) {
  const auto rank = static_cast<int64_t>(values[node.outputs[0]].dims.size());
  if (node.axis < -rank || node.axis >= rank) fail_load("axis: is ", node.axis, ", the output has ", rank, " dims");
  for (const uint32_t input : node.inputs) require_rank(values[input], static_cast<size_t>(rank), "inputs");
}

void check_flags(const Node& node) {
  uint32_t allowed = 0;
  if (node.type == NodeType::kFullyConnected) allowed = kFlagTransposeWeights;
  if (node.type == NodeType::kResizeBilinear2d) allowed = kFlagAlignCorners;
  if (node.type == NodeType::kGlobalAveragePooling2d || node.type == NodeType::kAveragePooling2d ||
      node.type == NodeType::kMaxPooling2d || node.type == NodeType::kArgMaxPooling2d) {
    allowed = kFlagKeepDims;
  }
  if ((node.flags & ~allowed) != 0) fail_load("flags: are ", node.flags, ", this node knows ", allowed);
}

void check_same_rank(const Node& node, const std::vector<Value>& values) {
  require_rank(values[node.outputs[0]], values[node.inputs[0]].dims.size(), "output_id");
}

}  // namespace

void check_node(const Node& node, const std::vector<Value>& values) {
  check_flags(node);
  switch (node.type) {
    case NodeType::kConv2d:
    case NodeType::kDepthwiseConv2d:
    case NodeType::kConvTranspose2d:
      return check_convolution(node, values);
    case NodeType::kFullyConnected:
      return check_fully_connected(node, values);
    case NodeType::kAveragePooling2d:
    case NodeType::kMaxPooling2d:
    case NodeType::kArgMaxPooling2d:
      return check_pooling(node, values);
    case NodeType::kGlobalAveragePooling2d:
      return require_rank(values[node.inputs[0]], 4, "input_id");
    case NodeType::kResizeBilinear2d:
      require_positive(node.new_height, "new_height");
      require_positive(node.new_width, "new_width");
      require_rank(values[node.inputs[0]], 4, "input_id");
      return require_rank(values[node.outputs[0]], 4, "output_id");
    case NodeType::kStaticTranspose:
      return check_transpose(node, values);
    case NodeType::kStaticReshape:
      return check_reshape(node, values);
    case NodeType::kStaticSlice:
      return check_slice(node, values);
    case NodeType::kConstantPad:
      return check_pad(node, values);
    case NodeType::kConcatenate2:
      return check_concatenate(node, values);
    case NodeType::kLeakyRelu:
      require_finite(node.value, "negative_slope");
      return check_same_rank(node, values);
    case NodeType::kElu:
      require_finite(node.value, "alpha");
      return check_same_rank(node, values);
    case NodeType::kSoftmax:
      if (values[node.inputs[0]].dims.empty()) fail_load("input_id: has no dims, expected one at least");
      return check_same_rank(node, values);
    case NodeType::kBatchMatrixMultiply:
      for (const uint32_t input : node.inputs) {
        if (values[input].dims.size() < 2)
          fail_load("inputs: dims are ", values[input].dims, ", expected two at least");
      }
      return;
    case NodeType::kAdd:
    case NodeType::kSubtract:
    case NodeType::kMultiply:
    case NodeType::kDivide:
    case NodeType::kMinimum:
    case NodeType::kMaximum:
    case NodeType::kPRelu:
      return;
    case NodeType::kScaledDotProductAttention:
      return check_attention(node, values);
    default:
      return check_same_rank(node, values);
  }
}

}  // namespace enr::delegates::xnnpack
