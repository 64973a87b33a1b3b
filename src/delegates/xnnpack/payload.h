#pragma once

// The payload of the "XnnpackBackend" delegate as checked plain structs. After decode_payload() every index is in
// range, every constant has the size its datatype and dims ask for, scales are finite and positive, nodes are in an
// order in which each value is written once before it is read, and node parameters fit the filters they come with.
// Shapes of activations are bounds and are not compared with each other: whoever runs the graph infers shapes from
// those of the inputs.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"

namespace enr::delegates::xnnpack {

inline constexpr size_t kMaxRank = 8;  // the graph's; XNNPACK stops at 6, its exporter does not
inline constexpr uint32_t kNone = 0xFFFFFFFF;

enum class DataType : uint8_t {
  kFloat32 = 1,
  kFloat16 = 2,
  kQInt8 = 3,    // one scale and zero point
  kQUInt8 = 4,   // one scale and zero point
  kQInt32 = 5,   // one scale
  kQCInt8 = 6,   // a scale per channel
  kQCInt32 = 7,  // a scale per channel
  kQCInt4 = 8,   // a scale per channel, stored as value + 8, the even index in the low nibble, rows padded to bytes
  kQDInt8 = 9,   // quantised at run time, parameters per row
  kQBInt4 = 10,  // as kQCInt4 with a scale per block of a row
  kInt32 = 12,
  kBFloat16 = 14,
};

const char* data_type_name(DataType type) noexcept;

enum class ImageLayout : uint8_t { kUnknown, kPlanes, kPixels };  // NCHW, NHWC

struct Value {
  DataType type = DataType::kFloat32;
  std::vector<int64_t> dims;  // in memory order (NHWC for images); bounds where the graph is dynamic

  bool is_constant = false;
  Bytes data;  // the constant's elements, aligned to 16; may be empty where a dim is 0

  bool is_external_input = false;
  bool is_external_output = false;
  uint32_t external_id = kNone;                // the position among the delegate call's arguments
  ImageLayout layout = ImageLayout::kUnknown;  // of an argument, where the program tells

  // kQInt8, kQUInt8, kQInt32
  float scale = 1.0f;
  int32_t zero_point = 0;
  // kQCInt8, kQCInt32, kQCInt4: dims[channel_dim] scales. kQBInt4: [dims[0], dims[1] / group_size] scales.
  std::vector<float> scales;
  uint32_t channel_dim = 0;
  uint32_t group_size = 0;
  // kQDInt8: how many innermost dims share one pair of parameters
  uint32_t num_nonbatch_dims = 0;
};

enum class NodeType : uint8_t {
  kAdd = 1,
  kFullyConnected = 2,
  kSoftmax = 3,
  kSigmoid = 4,
  kStaticTranspose = 5,
  kClamp = 6,
  kConv2d = 7,
  kDivide = 8,
  kResizeBilinear2d = 9,
  kConstantPad = 10,
  kAveragePooling2d = 11,
  kMinimum = 12,
  kDepthwiseConv2d = 13,
  kMaxPooling2d = 14,
  kMultiply = 15,
  kSubtract = 16,
  kFloor = 17,
  kConvert = 18,
  kGlobalAveragePooling2d = 19,
  kStaticReshape = 20,
  kArgMaxPooling2d = 21,
  kSquareRoot = 22,
  kCeiling = 23,
  kHardswish = 24,
  kLeakyRelu = 25,
  kMaximum = 26,
  kNegate = 27,
  kSquare = 28,
  kElu = 29,
  kAbs = 30,
  kPRelu = 31,
  kConcatenate2 = 32,  // all concatenations decode as this, with 2 to 5 inputs
  kStaticSlice = 35,
  kScaledDotProductAttention = 36,
  kBatchMatrixMultiply = 37,
  kConvTranspose2d = 39,
  kReciprocalSquareRoot = 40,
  kLog = 41,
  kGelu = 42,
  kTanh = 43,
  kExp = 44,
  kSin = 45,
  kCopy = 46,
  kCos = 47,
};

const char* node_type_name(NodeType type) noexcept;

inline constexpr uint32_t kFlagTransposeWeights = 1;
inline constexpr uint32_t kFlagAlignCorners = 8;
inline constexpr uint32_t kFlagKeepDims = 0x40;

// Of convolutions and poolings.
struct Window {
  uint32_t pad_top = 0, pad_right = 0, pad_bottom = 0, pad_left = 0;
  uint32_t kernel_height = 0, kernel_width = 0;  // >= 1 where the node has a window
  uint32_t stride_height = 1, stride_width = 1;
  uint32_t dilation_height = 1, dilation_width = 1;
};

struct Node {
  NodeType type = NodeType::kAdd;
  // Indices into Payload::values, in the order of the schema: convolutions and fully connected have [input, filter,
  // bias], where bias may be kNone; attention [q, k, v, scale, mask]; argmax pooling has outputs [value, index].
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  float output_min = -std::numeric_limits<float>::infinity();  // clamp of any node, in real units
  float output_max = std::numeric_limits<float>::infinity();
  uint32_t flags = 0;
  uint32_t debug_handle = 0;

  Window window;  // convolutions, poolings
  // Convolutions. A depthwise filter is [1, kh, kw, groups * group_output_channels], the others are
  // [groups * group_output_channels, kh, kw, group_input_channels].
  uint32_t groups = 1, group_input_channels = 0, group_output_channels = 0;
  uint32_t adjustment_height = 0, adjustment_width = 0;  // transposed convolution: extra rows and columns of output

  std::vector<uint32_t> perm;              // transpose: output dim i is input dim perm[i]
  std::vector<int64_t> new_shape;          // reshape; a single 0 stands for the dim to infer
  std::vector<int64_t> offsets, sizes;     // slice; a size of 0 takes what is left
  std::vector<int64_t> pre_pad, post_pad;  // pad
  float value = 0.0f;                      // pad: the fill; leaky relu: the slope; elu: alpha
  uint32_t new_height = 0, new_width = 0;  // resize
  int32_t axis = 0;                        // concatenate; may count from the end
};

inline constexpr uint32_t kMaxArguments = 4096;

struct Payload {
  std::vector<Value> values;
  std::vector<Node> nodes;  // in an order to run them in
  // Indices into values, sorted by external_id, which is the position among the delegate call's arguments: inputs, then
  // outputs. Arguments may be left out: exporters up to 0.6 pass inputs that the graph does not read.
  std::vector<uint32_t> externals;
  uint32_t argument_count = 0;
  std::vector<std::shared_ptr<const void>> keep_alive;  // aligned copies that `data` may refer to
};

// Finds a constant that the payload refers to by name.
using FindNamedData = FunctionRef<std::optional<Bytes>(std::string_view)>;

// `where` names the delegate in messages, e.g. "forward.delegates[0]"; it may be empty. `payload` and what find_named
// returns have to outlive the result. Throws kProgramLoad naming node or value, field, value and limit; names that are
// not found are all listed.
Payload decode_payload(Bytes payload, FindNamedData find_named, std::string_view where);

}  // namespace enr::delegates::xnnpack
