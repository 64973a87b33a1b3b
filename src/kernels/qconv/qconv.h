#pragma once

// 8-bit convolution, NHWC, on the packed core of qgemm. Sizes and strides count elements; padding has the value of the
// input's zero point. ConvShape and ConvTransposeShape are the float convolution's (kernels/conv/conv.h).

#include "kernels/conv/conv.h"
#include "kernels/qgemm/qgemm.h"

namespace enr::kernels {

// Weights of a convolution: [output_channels, kernel_height, kernel_width, input_channels / groups], 8-bit, contiguous.
struct QConvWeights {
  QWeightType type = QWeightType::kInt8;  // kInt8 or kUInt8
  const void* data = nullptr;
  int32_t zero_point = 0;
};

// The arguments of a run.
struct QConvCall {
  QKind kind = QKind::kStatic;
  const void* input = nullptr;
  const void* packed = nullptr;
  void* output = nullptr;  // must not overlap the input
  // Static: the zero point as packed.
  int32_t input_zero_point = 0;
  QOutput output_range{};
  // Dynamic: the parameters of each image of the batch (XNNPACK's num_nonbatch_dims = 3).
  const Quantization* images = nullptr;
  QClamp clamp{};
};

// The format of the packed weights. kGemm serves everything, the others static images: Winograd's of 2x2 and 4x4
// outputs kernels of 3x3, the last one with weights of int8; kLines neighbouring pixels or several groups, with weights
// of int8.
enum class QConvFormat : uint8_t { kGemm, kWinograd2, kWinograd4, kLines };

// The one that is fastest for static images.
QConvFormat choose_static_format(const ConvShape& shape, QWeightType type) noexcept;

// How many neighbouring groups are fastest computed as one; see conv_groups_at_once.
size_t qconv_groups_at_once(const ConvShape& shape, QWeightType type, QKind kind) noexcept;

struct QWinogradPlan {
  size_t tile = 2;                        // outputs along the sides of a window
  size_t tiles_high = 0, tiles_wide = 0;  // windows along the sides of an image
  size_t blocks = 1;                      // of windows
  size_t panel_pieces = 1;                // of a block
  size_t lanes = 1;                       // that work at the same time, with scratch of their own
  size_t lane_bytes = 0;
};

struct QLinesPlan {
  size_t blocks = 1;      // of the output's lines
  size_t lines = 1;       // of the input, that a block sees
  size_t line_bytes = 0;  // of a line between its padding
  size_t lanes = 1, lane_bytes = 0;
};

class QConvPlan {
 public:
  // Throws (fail_execution) where the shape is inconsistent, or no kernel of the format.
  explicit QConvPlan(const ConvShape& shape, QConvFormat format = QConvFormat::kGemm);

  const ConvShape& shape() const noexcept { return shape_; }
  QConvFormat format() const noexcept { return format_; }
  // Depends on filter and format only, not on the input's size.
  size_t packed_bytes() const noexcept;
  // scale_count is 1 or output_channels.
  // May throw std::bad_alloc.
  void pack_static(const QConvWeights& weights, const int32_t* bias, const QStatic& quantization, void* packed) const;
  void pack_dynamic(const QConvWeights& weights, const QDynamic& quantization, void* packed) const noexcept;

  // Depends on num_threads() at the plan's construction; a run with more threads stays right.
  size_t workspace_bytes() const noexcept { return workspace_bytes_; }

  void run(const QConvCall& call, void* workspace) const noexcept;

 private:
  void run_gemm(const QConvCall& call, void* workspace) const noexcept;

  ConvShape shape_;
  QConvFormat format_;
  QWinogradPlan winograd_;
  QLinesPlan lines_;
  size_t lanes_ = 1, lane_bytes_ = 0;  // kGemm: groups that are computed at the same time, and the scratch of one
  size_t workspace_bytes_ = 0;
};

// The bias and zero point of an output pixel count whatever input pixels reach it.
class QConvTransposePlan {
 public:
  // Throws (fail_execution) where the shape is inconsistent.
  explicit QConvTransposePlan(const ConvTransposeShape& shape);

  const ConvTransposeShape& shape() const noexcept { return shape_; }
  size_t packed_bytes() const noexcept;
  // These two may throw std::bad_alloc.
  void pack_static(const QConvWeights& weights, const int32_t* bias, const QStatic& quantization, void* packed) const;
  void pack_dynamic(const QConvWeights& weights, const QDynamic& quantization, void* packed) const;
  size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  void run(const QConvCall& call, void* workspace) const noexcept;

 private:
  ConvTransposeShape shape_;
  size_t workspace_bytes_ = 0;
};

}  // namespace enr::kernels
