#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/thread_pool.h"
#include "graph/lower/epilogue.h"
#include "graph/lower/geometry.h"
#include "graph/lower/pointwise.h"
#include "graph/lowering.h"
#include "kernels/depthwise/depthwise.h"

namespace enr::graph {

namespace {

// What a band of both intermediate images should fit into.
constexpr size_t kBandBytes = 384 * 1024;

// [pointwise] -> depthwise -> [pointwise] on bands of rows.
struct BandStep : Step {
  bool expands = false, projects = false;
  PackedPointwise expand, project;
  kernels::DepthwiseShape depthwise;
  std::shared_ptr<const AlignedBuffer> depthwise_packed;
  Epilogue depthwise_epilogue;
  size_t output_stride = 0;
  size_t band_rows = 1;  // of the depthwise convolution's output
  size_t chunks = 1;     // of an image's rows
  size_t lanes = 1;      // that work at the same time, with scratch of their own
  size_t expanded_floats = 0, lane_floats = 0;
  uint32_t in = 0, out = 0, scratch = 0;

  void run(const Frame& frame) const noexcept override {
    const size_t tasks = depthwise.batch * chunks, height = depthwise.output_height;
    parallel_for(lanes, [&](size_t lane) {
      for (size_t task = tasks * lane / lanes; task < tasks * (lane + 1) / lanes; ++task) {
        const size_t chunk = task % chunks;
        run_rows(frame, task / chunks, height * chunk / chunks, height * (chunk + 1) / chunks,
                 frame.out<float>(scratch) + lane * lane_floats);
      }
    });
  }

  void run_rows(const Frame& frame, size_t image, size_t row_begin, size_t row_end, float* memory) const noexcept {
    const size_t in_width = depthwise.input_width, out_width = depthwise.output_width;
    const size_t in_row = in_width * depthwise.input_pixel_stride, out_row = out_width * depthwise.output_pixel_stride;
    float* const expanded = memory;
    float* const filtered = memory + expanded_floats;
    size_t have_begin = 0, have_end = 0;  // rows of the expanded image that are there
    for (size_t row = row_begin; row < row_end; row += band_rows) {
      const size_t end = std::min(row + band_rows, row_end);
      const float* source = frame.in<float>(in) + image * depthwise.input_height * in_row;
      if (expands) {
        const size_t first = first_input_row(row), last = std::max(last_input_row(end), first);
        size_t next = first;
        if (first < have_end && have_begin <= first) {  // the last rows of the band before
          std::memmove(expanded, expanded + (first - have_begin) * in_row, (have_end - first) * in_row * sizeof(float));
          next = have_end;
        }
        if (next < last) {
          const float* from =
              frame.in<float>(in) + (image * depthwise.input_height + next) * in_width * expand.a_stride;
          expand.run(frame, (last - next) * in_width, from, expanded + (next - first) * in_row, in_row / in_width, 0);
        }
        have_begin = first;
        have_end = last;
        source = shifted(expanded, first * in_row);
      }
      const size_t out_image_row = image * depthwise.output_height + row;
      float* target = frame.out<float>(out) + image * depthwise.output_height * out_row;
      if (projects) target = shifted(filtered, row * out_row);
      kernels::depthwise_rows(depthwise, depthwise_packed->data(), source, target, row, end,
                              depthwise_epilogue.bind(frame));
      if (projects) {
        project.run(frame, (end - row) * out_width, filtered,
                    frame.out<float>(out) + out_image_row * out_width * output_stride, output_stride,
                    out_image_row * out_width);
      }
    }
  }

  // Where an image would start whose row `distance / row` lies at `rows`: kernels address rows as if the image were
  // whole.
  static float* shifted(float* rows, size_t distance) noexcept {
    return reinterpret_cast<float*>(reinterpret_cast<uintptr_t>(rows) - distance * sizeof(float));
  }

  size_t first_input_row(size_t row) const noexcept {
    const size_t at = row * depthwise.stride_height;
    return std::min(at > depthwise.pad_top ? at - depthwise.pad_top : 0, depthwise.input_height);
  }
  size_t last_input_row(size_t end) const noexcept {
    const size_t reach =
        (end - 1) * depthwise.stride_height + (depthwise.kernel_height - 1) * depthwise.dilation_height + 1;
    return std::min(reach > depthwise.pad_top ? reach - depthwise.pad_top : 0, depthwise.input_height);
  }
};

void place_scratch(Lowering& lowering, BandStep& step) {
  const kernels::DepthwiseShape& s = step.depthwise;
  const size_t in_row = step.expands ? s.input_width * s.input_pixel_stride : 0;
  const size_t out_row = step.projects ? s.output_width * s.output_pixel_stride : 0;
  const size_t reach = (s.kernel_height - 1) * s.dilation_height + 1;
  const size_t row_bytes = (in_row * s.stride_height + out_row) * sizeof(float);
  step.band_rows = std::clamp<size_t>(kBandBytes / std::max<size_t>(row_bytes, 1), 1, s.output_height);
  const size_t threads = num_threads();
  // A chunk computes rows again that its neighbour has: few rows are not cut more often than there are threads.
  const size_t wanted = s.output_height < 32 * threads ? threads : 2 * threads;
  step.chunks = threads == 1 ? 1 : std::min(s.output_height, std::max<size_t>(1, wanted / s.batch));
  step.lanes = threads == 1 ? 1 : std::min(s.batch * step.chunks, 2 * threads);
  const auto align = [](size_t floats) { return (floats + 15) / 16 * 16; };
  step.expanded_floats = align(((step.band_rows - 1) * s.stride_height + reach) * in_row);
  step.lane_floats = step.expanded_floats + align(step.band_rows * out_row);
  step.scratch = lowering.scratch(step.lanes * step.lane_floats * sizeof(float));
}

}  // namespace

void lower_bands(Lowering& lowering, const Node& node) {
  const bool projects = node.op == Op::kConv;
  const Node& depthwise = projects ? *node.producer : node;
  const Node* expand = depthwise.producer.get();
  auto& step = lowering.add<BandStep>(node, projects && expand != nullptr ? "expand depthwise project"
                                            : projects                    ? "depthwise project"
                                                                          : "expand depthwise");
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.output_stride = lowering.row_stride(step.out);
  step.projects = projects;
  step.expands = expand != nullptr;

  // The images in between exist in bands only, without gaps between pixels.
  step.depthwise = depthwise_shape(lowering, depthwise, step.expands ? expand->outputs[0] : step.in);
  if (step.expands) {
    step.depthwise.input_pixel_stride = step.depthwise.channels;
    step.expand = pack_pointwise(lowering, *expand);
    step.operations += convolution_operations(lowering, *expand);
  }
  step.depthwise.output_pixel_stride = projects ? step.depthwise.output_channels() : step.output_stride;
  step.depthwise_packed = pack_depthwise(lowering, depthwise, step.depthwise);
  step.depthwise_epilogue = Epilogue(lowering, depthwise);
  step.operations += convolution_operations(lowering, depthwise);
  if (projects) {
    step.project = pack_pointwise(lowering, node);
    step.project.a_stride = step.depthwise.output_channels();
    step.operations += convolution_operations(lowering, node);
  }
  place_scratch(lowering, step);
}

}  // namespace enr::graph
