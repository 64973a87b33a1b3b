#pragma once

// What an instruction set offers for 8-bit depthwise convolution; qdepthwise.h is the family's public face.
//
// Channels are taken in blocks; the last one overlaps the one before where channels are no multiple of a block. Where
// half a block suffices for it, it holds the channels of two neighbouring outputs (a pair). Rows of the kernel are
// multiplied in groups; where a group has two rows, the last one of an odd number of rows is taken two columns at a
// time. Packed, of each block: the int32 each sum starts from, the scales, then for each group of rows and each column
// of the kernel the weights, then those of the pairs of columns, everything in the order of lane_channel.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// A row of the input as one row of the kernel sees it: of a pixel, the first channel of the block. Outside of the image
// the step is 0.
struct QDepthwiseRow {
  const uint8_t* pixels = nullptr;
  size_t step = 0;
};

// One row of the output, one block of channels.
struct QDepthwiseCall {
  const QDepthwiseRow* rows = nullptr;  // one for each row of the groups, then the last row
  const uint8_t* padding = nullptr;     // a block of it
  size_t groups = 0;
  bool has_last_row = false;
  size_t kernel_width = 1, stride = 1, dilation = 1;
  size_t input_width = 0, pad_left = 0;  // less than 0 (wrapped) where the row starts behind the image's first column
  size_t output_width = 0;
  const void* packed = nullptr;  // of the block
  size_t channels = 0;           // of the block
  bool is_paired = false;        // half a block of channels, packed twice
  uint8_t flip = 0;              // of input and output: 0 or 0x80, which makes them int8

  uint8_t* output = nullptr;
  size_t output_step = 0;
  // The clamp, less the zero point, and the zero point, as int8.
  float low = 0, high = 0;
  int32_t zero_point = 0;
  bool has_offsets = false;  // scaled sums
};

struct QDepthwiseTable {
  size_t block;           // channels
  size_t group_rows;      // of the kernel
  size_t weight_bytes;    // 1 or 2
  size_t lanes, vectors;  // int32 lanes of a vector, vectors of a block
  // What the kernel adds to activations, and to those that are stored as uint8, seen as int8.
  int32_t offset, unsigned_offset;
  bool pairs;  // there is a kernel for pairs
  void (*row)(const QDepthwiseCall& call) noexcept;

  // The channel of a block in lane i of its vector q: the order that interleaving within 128 bits gives.
  constexpr size_t lane_channel(size_t q, size_t i) const noexcept { return i / 4 * (4 * vectors) + 4 * q + i % 4; }
};

// The fastest one, and the fastest of those with weights of 16 bits.
const QDepthwiseTable& qdepthwise_table();
const QDepthwiseTable& qdepthwise_wide_table();

}  // namespace enr::kernels
