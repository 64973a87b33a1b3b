#pragma once

// A tensor graph to be compiled: what is computed, not how. Independent of where it came from. Shapes are in memory
// order (images are NHWC) and are bounds where they may change from call to call.

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/function_ref.h"
#include "base/weight_cache.h"
#include "graph/shape.h"
#include "kernels/binary/binary.h"
#include "kernels/reduce/reduce.h"
#include "kernels/unary/unary.h"

namespace enr::graph {

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = 0xFFFFFFFF;

// What integers of a value stand for: real = scale * (integer - zero_point).
struct Quantization {
  enum class Kind : uint8_t {
    kNone,
    kPerTensor,   // scale, zero_point
    kPerChannel,  // scales along channel_dim, zero point 0 (8 for 4-bit weights)
    kPerBlock,    // [outputs, inputs]: scales[output][block of group_size inputs], zero point 0 (8 for 4-bit weights)
    kPerRow,      // found at run time; rows span the nonbatch_dims innermost dims
  };
  Kind kind = Kind::kNone;
  float scale = 1.0f;
  int32_t zero_point = 0;
  std::shared_ptr<const std::vector<float>> scales;
  uint8_t channel_dim = 0;
  uint8_t nonbatch_dims = 1;
  uint32_t group_size = 0;
};

struct Value {
  DType dtype = DType::kFloat32;  // kQUInt4x2: two values a byte, the even one in the low nibble, rows padded to bytes
  Shape shape;
  Quantization quantization;
  const std::byte* data = nullptr;    // a constant's elements
  std::shared_ptr<const void> owner;  // keeps data that a pass made
  uint32_t argument = kNoValue;       // which argument of the call this is
  bool is_input = false;
  bool is_output = false;
  // A uint8 that was an int8, 128 less, before a pass chose how it is stored: where a zero point goes into float
  // arithmetic, it has to be the int8's.
  bool was_signed = false;

  bool is_constant() const noexcept { return data != nullptr; }
  bool is_external() const noexcept { return is_input || is_output; }
};

inline constexpr int32_t kUnsignedOffset = 128;
// The int8 that a value was, see was_signed; other values as they are.
Value as_signed(Value value);

// The integer that stands for `real` in a value quantised per tensor, within the limits of its dtype.
int32_t quantize_value(const Value& value, float real) noexcept;

// Whether it stores reals as 8-bit integers of one scale and zero point.
bool is_per_tensor(const Value& value) noexcept;
// Whether both store reals alike.
bool same_quantization(const Value& a, const Value& b) noexcept;

enum class Op : uint8_t {
  kConv,            // [input, filter, bias?]; filter [oc, kh, kw, ic / groups]
  kDepthwise,       // [input, filter, bias?]; filter [1, kh, kw, oc]
  kConvTranspose,   // [input, filter, bias?]; filter [oc, kh, kw, ic / groups]
  kFullyConnected,  // [input, filter, bias?]; filter [oc, ic], or [ic, oc] with MatmulAttributes::transposed
  kBatchMatmul,     // [a, b]; transposed: b is [..., n, k]
  kBinary,
  kUnary,
  kAveragePool,
  kMaxPool,
  kArgMaxPool,  // outputs [values, int32 indices]
  kGlobalAverage,
  kReduce,  // over some dims, which stay with size 1
  kSoftmax,
  kLayerNorm,  // [input, weight?, bias?]: over the last dim
  kGroupNorm,  // [input, weight?, bias?]: of [batch, channels, pixels]
  kConcat,
  kSlice,
  kReshape,
  kTranspose,
  kPad,
  kResizeBilinear,
  kResizeNearest,
  kConvert,  // between dtypes and quantisations
  kCopy,
};
const char* op_name(Op op) noexcept;

struct WindowAttributes {  // convolutions and pools
  uint32_t kernel_height = 1, kernel_width = 1;
  uint32_t stride_height = 1, stride_width = 1;
  uint32_t dilation_height = 1, dilation_width = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  uint32_t groups = 1;
  uint32_t adjustment_height = 0, adjustment_width = 0;  // kConvTranspose
  bool reads_planes = false;                             // kConv: the input is [batch, channels, height, width]
};
struct MatmulAttributes {
  bool transposed = false;
  bool shares_b = false;  // batch matmul: b lacks the last batch dim, all of whose items it serves
};
struct BinaryAttributes {
  kernels::Binary op = kernels::Binary::kAdd;
};
struct UnaryAttributes {
  kernels::Unary op = kernels::Unary::kRelu;
  kernels::LoopParams params;
  // Of each byte of an 8-bit value, the result's: what the node computes, whatever `op`.
  using Table = std::array<uint8_t, 256>;
  std::shared_ptr<const Table> table = nullptr;
};
struct ConcatAttributes {
  uint32_t axis = 0;
};
struct SliceAttributes {
  Shape offsets;
  Shape sizes;  // 0: what is left
};
struct ReshapeAttributes {
  Shape shape;
  std::optional<uint32_t> inferred;  // the dim that follows from the others
};
struct TransposeAttributes {
  Shape permutation;  // output dim d is input dim permutation[d]
};
struct PadAttributes {
  Shape before, after;
  float value = 0.0f;
};
struct ResizeAttributes {
  uint32_t height = 0, width = 0;
  bool align_corners = false;
};
struct GlobalAverageAttributes {
  bool keep_dims = true;
};
struct SoftmaxAttributes {
  bool logarithm = false;
  bool masked_rows_are_zero = false;  // rows of nothing but negative infinity, which else become NaN
};
// kConvert to a value quantised per row, with the parameters that quantized_decomposed::choose_qparams finds: of the
// whole, for all rows, or of each row. Without: those XNNPACK finds for each row.
struct ChosenAttributes {
  float epsilon = 0.0f;  // the least scale
  bool by_row = false;
};
struct ReduceAttributes {
  kernels::Reduce op = kernels::Reduce::kSum;
  uint32_t dims = 0;  // bit d: dim d
};
struct NormAttributes {
  double epsilon = 0.0;
  uint32_t groups = 1;  // kGroupNorm
};
using Attributes = std::variant<std::monostate, WindowAttributes, MatmulAttributes, BinaryAttributes, UnaryAttributes,
                                ConcatAttributes, SliceAttributes, ReshapeAttributes, TransposeAttributes,
                                PadAttributes, ResizeAttributes, GlobalAverageAttributes, SoftmaxAttributes,
                                NormAttributes, ChosenAttributes, ReduceAttributes>;

// What is done to a node's result: residual added, then clamped, then the activation. Every node can have a clamp and
// an activation, only convolutions and fully connected nodes a residual.
struct Post {
  ValueId residual = kNoValue;
  float residual_scale = 1.0f;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
  std::optional<UnaryAttributes> activation;

  bool clamps() const noexcept {
    return min != -std::numeric_limits<float>::infinity() || max != std::numeric_limits<float>::infinity();
  }
  bool is_empty() const noexcept { return residual == kNoValue && !clamps() && !activation; }
};

inline constexpr size_t kMaxConvParts = 8;

struct Node {
  Op op = Op::kCopy;
  std::vector<ValueId> inputs;  // kNoValue for an absent bias
  std::vector<ValueId> outputs;
  Attributes attributes;
  Post post;
  uint32_t origin = 0;  // index in the source, for messages
  // Computes what this node would read, a few rows at a time; inputs[0] is then the producer's own input.
  std::shared_ptr<const Node> producer;
  // Where a convolution reads several images instead of their concatenation, or resizes what it reads: the parts of its
  // input's channels, from inputs[0] and those behind the bias.
  struct Part {
    int64_t channels = 0;
    std::shared_ptr<const Node> resize;  // null: the image is read as it is
  };
  std::vector<Part> parts;
  ValueId part_input(size_t part) const { return inputs[part == 0 ? 0 : 2 + part]; }

  template <class T>
  const T& as() const {
    return std::get<T>(attributes);
  }
  template <class T>
  T& as() {
    return std::get<T>(attributes);
  }
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;  // in an order to run them in
  // Values of the call's arguments, in order; each is an input or an output.
  std::vector<ValueId> arguments;
  // Keeps derived constants, so that the graphs of one program for inputs of other sizes share them and what is packed
  // of them; null where there is one graph.
  WeightCache* derived = nullptr;

  ValueId add_value(Value value);
  ValueId add_constant(DType dtype, const Shape& shape, std::shared_ptr<const void> owner, const void* data);
  // A constant that `fill` makes of the one at `source`; `how` names what it does and all that depends on but dtype and
  // shape of the result.
  ValueId derive(DType dtype, const Shape& shape, const void* source, const std::string& how,
                 FunctionRef<void(std::byte*)> fill);
};

// For each value the nodes that read it (residuals count), in order; a node that reads it twice is there twice.
std::vector<std::vector<uint32_t>> find_readers(const Graph& graph);
// For each value the node that writes it, or kNoValue.
std::vector<uint32_t> find_writers(const Graph& graph);

}  // namespace enr::graph
