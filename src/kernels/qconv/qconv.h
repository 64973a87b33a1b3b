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

struct QConvCall;

class QConvPlan {
 public:
  // Throws (fail_execution) where the shape is inconsistent.
  explicit QConvPlan(const ConvShape& shape);

  const ConvShape& shape() const noexcept { return shape_; }
  // Depends on the filter only, not on the input's size.
  size_t packed_bytes() const noexcept;
  // scale_count is 1 or output_channels.
  void pack_static(const QConvWeights& weights, const int32_t* bias, const QStatic& quantization,
                   void* packed) const noexcept;
  void pack_dynamic(const QConvWeights& weights, const QDynamic& quantization, void* packed) const noexcept;

  // Depends on num_threads() at the plan's construction; a run with more threads stays right.
  size_t workspace_bytes() const noexcept { return workspace_bytes_; }

  // input_zero_point: as packed. Input and output must not overlap.
  void run_static(const void* input, int32_t input_zero_point, const void* packed, const QOutput& output_range,
                  void* output, void* workspace) const noexcept;
  // images: the parameters of each image of the batch (XNNPACK's num_nonbatch_dims = 3).
  void run_dynamic(const int8_t* input, const Quantization* images, const void* packed, QClamp clamp, float* output,
                   void* workspace) const noexcept;
  void run_dynamic_f16(const int8_t* input, const Quantization* images, const void* packed, QClamp clamp,
                       uint16_t* output, void* workspace) const noexcept;

 private:
  void run(const QConvCall& call, void* workspace) const noexcept;

  ConvShape shape_;
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
  void run_static(const void* input, int32_t input_zero_point, const void* packed, const QOutput& output_range,
                  void* output, void* workspace) const noexcept;
  void run_dynamic(const int8_t* input, const Quantization* images, const void* packed, QClamp clamp, float* output,
                   void* workspace) const noexcept;
  void run_dynamic_f16(const int8_t* input, const Quantization* images, const void* packed, QClamp clamp,
                       uint16_t* output, void* workspace) const noexcept;

 private:
  void run(const QConvCall& call, void* workspace) const noexcept;

  ConvTransposeShape shape_;
  size_t workspace_bytes_ = 0;
};

}  // namespace enr::kernels
