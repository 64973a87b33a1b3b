#include <algorithm>

#include "base/thread_pool.h"
#include "graph/lower/band_rows.h"
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

struct QBandStep : Step {
  BandRows rows;
  QPointwise expand, project;
  StaticFilter depthwise_filter;
  size_t chunks = 1;  // of an image's rows; each has scratch of its own
  size_t expanded_bytes = 0, filtered_bytes = 0, product_bytes = 0;
  uint32_t in = 0, out = 0, scratch = 0;

  size_t lane_bytes() const noexcept { return expanded_bytes + filtered_bytes + product_bytes; }

  void run(const Frame& frame) const noexcept override {
    const size_t height = rows.depthwise.output_height;
    parallel_for(chunks, [&](size_t chunk) {
      for (size_t image = 0; image < rows.depthwise.batch; ++image) {
        run_rows(frame, image, height * chunk / chunks, height * (chunk + 1) / chunks,
                 frame.out<uint8_t>(scratch) + chunk * lane_bytes());
      }
    });
  }

  void run_rows(const Frame& frame, size_t image, size_t row_begin, size_t row_end, uint8_t* memory) const noexcept {
    const auto* input = frame.in<uint8_t>(in);
    auto* output = frame.out<uint8_t>(out);
    uint8_t* const filtered = memory + expanded_bytes;
    const kernels::QWorkspace workspace{filtered + filtered_bytes, product_bytes};
    // One image at a time, so that rows of scratch have the same distance from every image's start.
    kernels::DepthwiseShape one = rows.depthwise;
    one.batch = 1;
    rows.run(
        input, output, image, row_begin, row_end, memory, filtered,
        [&](size_t pixel, size_t count, uint8_t* to, size_t stride) {
          expand.run(count, input + pixel * expand.a_stride, to, stride, workspace);
        },
        [&](const uint8_t* source, uint8_t* target, size_t row, size_t end) {
          kernels::qdepthwise_rows(one, depthwise_filter.packed->data(), source, depthwise_filter.input_zero_point,
                                   depthwise_filter.output, target, row, end);
        },
        [&](size_t pixel, size_t count, const uint8_t* from) {
          project.run(count, from, output + pixel * rows.output_stride, rows.output_stride, workspace);
        });
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
  BandRows& rows = step.rows;
  const kernels::DepthwiseShape& s = rows.depthwise;
  rows.fit(kBandBytes, sizeof(uint8_t));
  step.chunks = std::clamp<size_t>(num_threads(), 1, s.output_height);
  const auto align = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
  step.expanded_bytes = align(rows.input_rows() * rows.expanded_row());
  step.filtered_bytes = align(rows.band_rows * rows.filtered_row());
  // Fewer rows may want more.
  const auto place_product = [&](const QPointwise& p, size_t most_rows, size_t width) {
    for (size_t i = 1; i <= most_rows; ++i) {
      step.product_bytes = std::max(step.product_bytes, align(kernels::qgemm_workspace_bytes(i * width, p.n, p.k, 1)));
    }
  };
  if (rows.expands) place_product(step.expand, rows.input_rows(), s.input_width);
  if (rows.projects) place_product(step.project, rows.band_rows, s.output_width);
  step.scratch = lowering.scratch(step.chunks * step.lane_bytes());
}

}  // namespace

void lower_quantized_bands(Lowering& lowering, const Node& node) {
  const BandNodes nodes(node);
  auto& step = lowering.add<QBandStep>(
      node, nodes.name({"expand depthwise project int8", "depthwise project int8", "expand depthwise int8"}));
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.rows = BandRows(lowering, nodes);
  step.operations = nodes.operations(lowering);
  if (nodes.expand != nullptr) {
    step.expand = pack_pointwise(lowering, *nodes.expand, step.in, lowering.row_stride(step.in));
  }
  step.depthwise_filter =
      pack_static_depthwise(lowering, nodes.depthwise, nodes.depthwise_input(), step.rows.depthwise);
  if (nodes.projects()) {
    step.project = pack_pointwise(lowering, node, nodes.depthwise.outputs[0], step.rows.depthwise.output_channels());
  }
  place_scratch(lowering, step);
}

}  // namespace enr::graph
