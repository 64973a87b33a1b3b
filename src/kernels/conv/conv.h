#pragma once

// float32 convolution, NHWC. One ConvPlan per filter and input shape: it chooses the algorithm; weights are packed once
// and may be shared by all plans that have the same ConvWeights format. Sizes and strides count floats.

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/gemm/gemm.h"

namespace enr::kernels {

// A 1-D convolution has input_height = kernel_height = 1.
struct ConvShape {
  size_t batch = 1;
  size_t input_height = 1, input_width = 1;
  size_t input_channels = 1, output_channels = 1;  // of all groups together
  size_t groups = 1;
  size_t kernel_height = 1, kernel_width = 1;
  size_t stride_height = 1, stride_width = 1;
  size_t dilation_height = 1, dilation_width = 1;
  size_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  // From pixel to pixel; 0 means input_channels and output_channels. A larger one reads from or writes into a slice of
  // the channels of a wider tensor.
  size_t input_pixel_stride = 0, output_pixel_stride = 0;
  // The input is [batch, channels, height, width]: few channels, of one group, whose bands are turned into pixels where
  // they are copied. Direct convolutions only.
  bool is_planar = false;

  // 0 where the padded input is smaller than the dilated kernel.
  size_t output_height() const noexcept;
  size_t output_width() const noexcept;
};

// The format of the packed weights. kGemm serves every shape; Winograd's, named for the outputs along a side of a
// window, serve 3x3 kernels of stride 1 (2 and 4) and of stride 2 kernels of 5x5 and 6x6 (2 and 4), 7x7 and 8x8 (3), of
// dilation 1 and one group. kWinogradHalf, for windows of 2x4 outputs of 3x3 kernels of stride 1, keeps half of the
// transformed weights and makes the others while it multiplies: for small images whose weights come from memory.
enum class ConvWeights { kGemm, kWinograd2, kWinograd3, kWinograd4, kWinogradHalf };

// How many neighbouring groups are fastest computed as one, whose filter has zeros where an output does not see an
// input.
size_t conv_groups_at_once(const ConvShape& shape) noexcept;

// Where a run finds its weights: those of a large model pass through the caches and come from memory every time, which
// counts against the formats that have more of them.
enum class WeightsPlace { kCache, kMemory };

// The format that is fastest for the shape and keeps float32's accuracy.
ConvWeights choose_conv_weights(const ConvShape& shape, WeightsPlace place = WeightsPlace::kCache) noexcept;

// Neighbouring channels of the input that come from an image of their own: what a concatenation, or a resize in front
// of it, would have to write into memory first.
struct ConvPart {
  enum class Resize { kNone, kBilinear, kNearest };
  size_t channels = 0;
  size_t pixel_stride = 0;
  Resize resize = Resize::kNone;
  bool align_corners = false;
  size_t height = 0, width = 0;  // of the image that is resized to the input's size
};

// Whether plans of this format may be given parts.
bool reads_parts(const ConvShape& shape, ConvWeights format) noexcept;

// How the plan's format works; see direct.h.
struct DirectPlan {
  // Pixels of a group are multiplied where they lie, from the first to the last, in one product.
  bool is_pointwise = false;
  bool copies_band = false;     // the input between zeros
  bool copies_windows = false;  // a row of the product for each window
  size_t band_rows = 1;         // output rows of a task
  size_t band_columns = 1;      // output columns of a task
  size_t panel_pieces = 1;
  size_t depth_pieces = 1;  // of the kernel's rows
  size_t row_pieces = 1;    // of each of them
  size_t lanes = 1;
  size_t band_floats = 0;  // scratch of each lane: the band, then the windows
  size_t lane_floats = 0;
};

// See winograd.h.
struct WinogradPlan {
  size_t tiles_high = 0, tiles_wide = 0;  // windows along the sides of an image
  size_t blocks = 1;                      // of windows
  size_t panel_pieces = 1;
  size_t lanes = 1;
  size_t lane_floats = 0;
  size_t resized_floats = 0;  // of them, the last: a window of a part that is resized
  size_t image_floats = 0;    // behind the lanes' scratch: the image of a convolution of stride 2, space to depth
};

class ConvPlan {
 public:
  // With `weights`, a plan for weights that were packed for another input size; without, the fastest format.
  // Throws (fail_execution) where the shape is inconsistent: a zero stride, channels not divisible by groups, a kernel
  // of 0. With parts, in Winograd's formats of stride 1, the input's channels are theirs, one part after the other.
  explicit ConvPlan(const ConvShape& shape, std::optional<ConvWeights> weights = std::nullopt,
                    std::vector<ConvPart> parts = {});

  const ConvShape& shape() const noexcept { return shape_; }
  ConvWeights weights_format() const noexcept { return weights_; }

  // weights: [output_channels, kernel_height, kernel_width, input_channels / groups]; bias: output_channels or null.
  // packed: packed_bytes() bytes, 64-byte aligned. Both depend on the format and the filter only, not on the input's
  // size.
  size_t packed_bytes() const noexcept;
  void pack(const float* weights, const float* bias, void* packed) const noexcept;

  // Scratch of one run, 64-byte aligned. Depends on the number of threads of the pool at the time of the plan's
  // construction; a run with more threads stays right.
  size_t workspace_bytes() const noexcept { return workspace_bytes_; }

  // The epilogue's residual has rows = output pixels. Input and output must not overlap.
  void run(const float* input, const void* packed, float* output, const GemmEpilogue& epilogue,
           void* workspace) const noexcept;
  // `inputs`: the images of the parts.
  void run_parts(const float* const* inputs, const void* packed, float* output, const GemmEpilogue& epilogue,
                 void* workspace) const noexcept;

  // Rows [row, row_end) of an image's output on the calling thread, for the format kGemm, one group and kernels wider
  // than a pixel; output points to where all images' outputs would start. Scratch: rows_workspace_bytes(), 64-byte
  // aligned.
  size_t rows_workspace_bytes() const noexcept { return direct_.lane_floats * sizeof(float); }
  void run_rows(const float* input, const void* packed, float* output, size_t image, size_t row, size_t row_end,
                const GemmEpilogue& epilogue, void* workspace) const noexcept;

 private:
  ConvShape shape_;
  ConvShape running_;  // shape_ with its pixel strides, an upright one-dimensional convolution laid down
  ConvWeights weights_ = ConvWeights::kGemm;
  std::vector<ConvPart> parts_;  // one, without any given
  DirectPlan direct_;
  WinogradPlan winograd_;
  size_t workspace_bytes_ = 0;
};

// Transposed convolution, NHWC: every input pixel adds its products into a window of the output.
struct ConvTransposeShape {
  size_t batch = 1;
  size_t input_height = 1, input_width = 1;
  size_t input_channels = 1, output_channels = 1;
  size_t groups = 1;
  size_t kernel_height = 1, kernel_width = 1;
  size_t stride_height = 1, stride_width = 1;
  size_t dilation_height = 1, dilation_width = 1;
  size_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  size_t adjustment_height = 0, adjustment_width = 0;  // eager's output_padding
  size_t input_pixel_stride = 0, output_pixel_stride = 0;

  size_t output_height() const noexcept;
  size_t output_width() const noexcept;
};

class ConvTransposePlan {
 public:
  // Throws (fail_execution) where the shape is inconsistent.
  explicit ConvTransposePlan(const ConvTransposeShape& shape);
  ~ConvTransposePlan();
  ConvTransposePlan(ConvTransposePlan&&) noexcept;
  ConvTransposePlan& operator=(ConvTransposePlan&&) noexcept;

  const ConvTransposeShape& shape() const noexcept { return shape_; }
  // weights: [output_channels, kernel_height, kernel_width, input_channels / groups]; packed does not depend on the
  // input's size. pack may throw std::bad_alloc.
  size_t packed_bytes() const noexcept { return packed_bytes_; }
  void pack(const float* weights, const float* bias, void* packed) const;
  size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  void run(const float* input, const void* packed, float* output, const GemmEpilogue& epilogue,
           void* workspace) const noexcept;

 private:
  struct Phase;

  ConvTransposeShape shape_;
  std::vector<Phase> phases_;
  std::vector<Phase> joined_phases_;  // the same with columns taken together, where that is faster
  size_t packed_bytes_ = 0;
  size_t workspace_bytes_ = 0;
};

}  // namespace enr::kernels
