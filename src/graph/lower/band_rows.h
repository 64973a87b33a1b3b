#pragma once

// [pointwise] -> depthwise -> [pointwise] on bands of rows, so that the images in between exist a band at a time: what
// bands of floats and of 8-bit numbers have in common.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/origin.h"
#include "graph/lowering.h"
#include "kernels/depthwise/depthwise.h"

namespace enr::graph {

// What float steps are called, by BandNodes::name.
inline constexpr const char* kFloatBandNames[3] = {"expand depthwise project", "depthwise project", "expand depthwise"};

// The nodes that one step computes.
struct BandNodes {
  explicit BandNodes(const Node& last);

  const Node& last;
  const Node& depthwise;
  const Node* expand;  // null where there is none

  // What the depthwise convolution reads.
  ValueId depthwise_input() const { return expand != nullptr ? expand->outputs[0] : last.inputs[0]; }
  bool projects() const { return &depthwise != &last; }
  // The step's name: one of "expand depthwise project", "depthwise project" and "expand depthwise".
  const char* name(const char* const (&names)[3]) const;
  double operations(const Lowering& lowering) const;
};

struct BandRows {
  bool expands = false, projects = false;
  kernels::DepthwiseShape depthwise;  // the images in between have no gaps between pixels
  size_t output_stride = 0;           // of the result's pixels
  size_t band_rows = 1;               // of the depthwise convolution's output

  BandRows() = default;
  BandRows(const Lowering& lowering, const BandNodes& nodes);

  // Elements of a row of the images in between; 0 where there is no such image.
  size_t expanded_row() const noexcept { return expands ? depthwise.input_width * depthwise.input_pixel_stride : 0; }
  size_t filtered_row() const noexcept { return projects ? depthwise.output_width * depthwise.output_pixel_stride : 0; }
  // Rows of the expanded image that a band reads.
  size_t input_rows() const noexcept;
  // Chooses band_rows so that a band of both images takes about so many bytes.
  void fit(size_t band_bytes, size_t element_bytes) noexcept;

  // Computes rows [row_begin, row_end) of an image. `expanded` and `filtered` hold a band of each image in between.
  //   expand(pixel, count, to, stride): the expansion of `count` pixels of the input from `pixel` on
  //   filter(source, target, row, end): rows of the depthwise convolution, of images that start at source and target
  //   project(pixel, count, from): the projection of `count` pixels, to the result's from `pixel` on
  template <class T, class Expand, class Filter, class Project>
  void run(const T* in, T* out, size_t image, size_t row_begin, size_t row_end, T* expanded, T* filtered,
           const Expand& expand, const Filter& filter, const Project& project) const noexcept {
    const size_t in_row = depthwise.input_width * depthwise.input_pixel_stride;
    const size_t out_row = depthwise.output_width * depthwise.output_pixel_stride;
    size_t have_begin = 0, have_end = 0;  // rows of the expanded image that are there
    for (size_t row = row_begin; row < row_end; row += band_rows) {
      const size_t end = std::min(row + band_rows, row_end);
      const T* source = in + image * depthwise.input_height * in_row;
      if (expands) {
        const size_t first = first_input_row(row), last = std::max(last_input_row(end), first);
        size_t next = first;
        if (first < have_end && have_begin <= first) {  // the last rows of the band before
          std::memmove(expanded, expanded + (first - have_begin) * in_row, (have_end - first) * in_row * sizeof(T));
          next = have_end;
        }
        if (next < last) {
          expand((image * depthwise.input_height + next) * depthwise.input_width, (last - next) * depthwise.input_width,
                 expanded + (next - first) * in_row, depthwise.input_pixel_stride);
        }
        have_begin = first;
        have_end = last;
        source = origin_of(expanded, first * in_row);
      }
      T* target = projects ? origin_of(filtered, row * out_row) : out + image * depthwise.output_height * out_row;
      filter(source, target, row, end);
      if (projects) {
        project((image * depthwise.output_height + row) * depthwise.output_width, (end - row) * depthwise.output_width,
                filtered);
      }
    }
  }

 private:
  size_t first_input_row(size_t row) const noexcept;
  size_t last_input_row(size_t end) const noexcept;
};

}  // namespace enr::graph
