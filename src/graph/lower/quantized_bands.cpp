#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "graph/lower/geometry.h"
#include "graph/lower/quantized_filter.h"

namespace enr::graph {

namespace {

// What a band of both intermediate images should fit into.
constexpr size_t kBandBytes = 256 * 1024;

// A 1x1 convolution as a product of pixels.
struct QPointwise {
  size_t n = 0, k = 0, a_stride = 0;
  StaticFilter filter;

  void run(size_t pixels, const uint8_t* from, uint8_t* to, size_t to_stride,
           kernels::QWorkspace workspace) const noexcept {
    kernels::qgemm_static(pixels, n, k, from, a_stride, filter.packed->data(), filter.output, to, to_stride, workspace);
  }
};

// [pointwise] -> depthwise -> [pointwise] on bands of rows, as bands.cpp has it for floats.
struct QBandStep : Step {
  bool expands = false, projects = false;
  QPointwise expand, project;
  kernels::DepthwiseShape depthwise;
  StaticFilter depthwise_filter;
  size_t output_stride = 0;
  size_t band_rows = 1;  // of the depthwise convolution's output
  size_t chunks = 1;     // of an image's rows; each has scratch of its own
  size_t expanded_bytes = 0, filtered_bytes = 0, product_bytes = 0;
  uint32_t in = 0, out = 0, scratch = 0;

  size_t lane_bytes() const noexcept { return expanded_bytes + filtered_bytes + product_bytes; }

  void run(const Frame& frame) const noexcept override {
    const size_t height = depthwise.output_height;
    parallel_for(chunks, [&](size_t chunk) {
      for (size_t image = 0; image < depthwise.batch; ++image) {
        run_rows(frame, image, height * chunk / chunks, height * (chunk + 1) / chunks,
                 frame.out<uint8_t>(scratch) + chunk * lane_bytes());
      }
    });
  }

  void run_rows(const Frame& frame, size_t image, size_t row_begin, size_t row_end, uint8_t* memory) const noexcept {
    const size_t in_width = depthwise.input_width, out_width = depthwise.output_width;
    const size_t in_row = in_width * depthwise.input_pixel_stride, out_row = out_width * depthwise.output_pixel_stride;
    uint8_t *const expanded = memory, *const filtered = expanded + expanded_bytes;
    const kernels::QWorkspace workspace{filtered + filtered_bytes, product_bytes};
    // One image at a time, so that rows of scratch have the same distance from every image's start.
    kernels::DepthwiseShape one = depthwise;
    one.batch = 1;
    size_t have_begin = 0, have_end = 0;  // rows of the expanded image that are there
    for (size_t row = row_begin; row < row_end; row += band_rows) {
      const size_t end = std::min(row + band_rows, row_end);
      const uint8_t* source = frame.in<uint8_t>(in) + image * depthwise.input_height * in_row;
      if (expands) {
        const size_t first = first_input_row(row), last = std::max(last_input_row(end), first);
        size_t next = first;
        if (first < have_end && have_begin <= first) {  // the last rows of the band before
          std::memmove(expanded, expanded + (first - have_begin) * in_row, (have_end - first) * in_row);
          next = have_end;
        }
        if (next < last) {
          const uint8_t* from =
              frame.in<uint8_t>(in) + (image * depthwise.input_height + next) * in_width * expand.a_stride;
          expand.run((last - next) * in_width, from, expanded + (next - first) * in_row, in_row / in_width, workspace);
        }
        have_begin = first;
        have_end = last;
        source = shifted(expanded, first * in_row);
      }
      const size_t out_image_row = image * depthwise.output_height + row;
      uint8_t* target = projects ? shifted(filtered, row * out_row)
                                 : frame.out<uint8_t>(out) + image * depthwise.output_height * out_row;
      kernels::qdepthwise_rows(one, depthwise_filter.packed->data(), source, depthwise_filter.input_zero_point,
                               depthwise_filter.output, target, row, end);
      if (projects) {
        project.run((end - row) * out_width, filtered,
                    frame.out<uint8_t>(out) + out_image_row * out_width * output_stride, output_stride, workspace);
      }
    }
  }

  // Where an image would start whose row that is `distance` further lies at `rows`.
  static uint8_t* shifted(uint8_t* rows, size_t distance) noexcept {
    return reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(rows) - distance);
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

QPointwise pack_pointwise(Lowering& lowering, const Node& node, ValueId in, size_t a_stride) {
  kernels::ConvShape s = conv_shape(lowering, node);
  s.input_channels = lowering.dim(in, 3);
  const auto format = kernels::QConvFormat::kGemm;
  return {s.output_channels, s.input_channels, a_stride,
          pack_static_conv(lowering, node, in, kernels::QConvPlan(s, format), conv_packing(s, format))};
}

void place_scratch(Lowering& lowering, QBandStep& step) {
  const kernels::DepthwiseShape& s = step.depthwise;
  const size_t in_row = step.expands ? s.input_width * s.input_pixel_stride : 0;
  const size_t out_row = step.projects ? s.output_width * s.output_pixel_stride : 0;
  const size_t reach = (s.kernel_height - 1) * s.dilation_height + 1;
  const size_t row_bytes = in_row * s.stride_height + out_row;
  step.chunks = std::clamp<size_t>(num_threads(), 1, s.output_height);
  step.band_rows = std::clamp<size_t>(kBandBytes / std::max<size_t>(row_bytes, 1), 1, s.output_height);
  const auto align = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
  const size_t in_rows = (step.band_rows - 1) * s.stride_height + reach;
  step.expanded_bytes = align(in_rows * in_row);
  step.filtered_bytes = align(step.band_rows * out_row);
  // Fewer rows may want more.
  const auto place_product = [&](const QPointwise& p, size_t rows, size_t width) {
    for (size_t i = 1; i <= rows; ++i) {
      step.product_bytes = std::max(step.product_bytes, align(kernels::qgemm_workspace_bytes(i * width, p.n, p.k, 1)));
    }
  };
  if (step.expands) place_product(step.expand, in_rows, s.input_width);
  if (step.projects) place_product(step.project, step.band_rows, s.output_width);
  step.scratch = lowering.scratch(step.chunks * step.lane_bytes());
}

}  // namespace

void lower_quantized_bands(Lowering& lowering, const Node& node) {
  const bool projects = node.op == Op::kConv;
  const Node& depthwise = projects ? *node.producer : node;
  const Node* expand = depthwise.producer.get();
  auto& step = lowering.add<QBandStep>(node, projects && expand != nullptr ? "expand depthwise project int8"
                                             : projects                    ? "depthwise project int8"
                                                                           : "expand depthwise int8");
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.output_stride = lowering.row_stride(step.out);
  step.projects = projects;
  step.expands = expand != nullptr;

  // The images in between exist in bands only, without gaps between pixels.
  const ValueId depthwise_in = step.expands ? expand->outputs[0] : step.in;
  step.depthwise = depthwise_shape(lowering, depthwise, depthwise_in);
  if (step.expands) {
    step.depthwise.input_pixel_stride = step.depthwise.channels;
    step.expand = pack_pointwise(lowering, *expand, step.in, lowering.row_stride(step.in));
    step.operations += convolution_operations(lowering, *expand);
  }
  step.depthwise.output_pixel_stride = projects ? step.depthwise.output_channels() : step.output_stride;
  step.depthwise_filter = pack_static_depthwise(lowering, depthwise, depthwise_in, step.depthwise);
  step.operations += convolution_operations(lowering, depthwise);
  if (projects) {
    step.project = pack_pointwise(lowering, node, depthwise.outputs[0], step.depthwise.output_channels());
    step.operations += convolution_operations(lowering, node);
  }
  place_scratch(lowering, step);
}

}  // namespace enr::graph
