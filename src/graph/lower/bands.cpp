#include <algorithm>
#include <memory>
#include <optional>

#include "base/thread_pool.h"
#include "graph/lower/band_rows.h"
#include "graph/lower/channel_groups.h"
#include "graph/lower/epilogue.h"
#include "graph/lower/pointwise.h"
#include "graph/passes.h"

namespace enr::graph {

namespace {

// What a band of both intermediate images should fit into.
constexpr size_t kBandBytes = 384 * 1024;

struct BandStep : Step {
  BandRows rows;
  std::optional<PackedConv> conv;  // what makes the wide image, in place of expand
  PackedPointwise expand, project;
  std::shared_ptr<const AlignedBuffer> depthwise_packed;
  Epilogue depthwise_epilogue;
  size_t chunks = 1;  // of an image's rows
  size_t lanes = 1;   // that work at the same time, with scratch of their own
  size_t expanded_floats = 0, filtered_floats = 0, lane_floats = 0;
  uint32_t in = 0, out = 0, scratch = 0;

  void run(const Frame& frame) const noexcept override {
    const size_t tasks = rows.depthwise.batch * chunks, height = rows.depthwise.output_height;
    parallel_for(lanes, [&](size_t lane) {
      for (size_t task = tasks * lane / lanes; task < tasks * (lane + 1) / lanes; ++task) {
        const size_t chunk = task % chunks;
        run_rows(frame, task / chunks, height * chunk / chunks, height * (chunk + 1) / chunks,
                 frame.out<float>(scratch) + lane * lane_floats);
      }
    });
  }

  void run_rows(const Frame& frame, size_t image, size_t row_begin, size_t row_end, float* memory) const noexcept {
    const auto* input = frame.in<float>(in);
    auto* output = frame.out<float>(out);
    rows.run(
        input, output, image, row_begin, row_end, memory, memory + expanded_floats,
        [&](size_t pixel, size_t count, float* to, size_t stride) {
          if (conv) {
            const size_t width = rows.depthwise.input_width, row = pixel / width % rows.depthwise.input_height;
            return conv->plan.run_rows(input, conv->packed->data(), origin_of(to, pixel * stride), image, row,
                                       row + count / width, conv->epilogue.bind(frame),
                                       memory + expanded_floats + filtered_floats);
          }
          expand.run(frame, count, input + pixel * expand.a_stride, to, stride, 0);
        },
        [&](const float* source, float* target, size_t row, size_t end) {
          kernels::depthwise_rows(rows.depthwise, depthwise_packed->data(), source, target, row, end,
                                  depthwise_epilogue.bind(frame));
        },
        [&](size_t pixel, size_t count, const float* from) {
          project.run(frame, count, from, output + pixel * rows.output_stride, rows.output_stride, pixel);
        });
  }
};

constexpr const char* kConvNames[3] = {"conv depthwise project", "depthwise project", "conv depthwise"};

void place_scratch(Lowering& lowering, BandStep& step) {
  const kernels::DepthwiseShape& s = step.rows.depthwise;
  step.rows.fit(kBandBytes, sizeof(float));
  const size_t threads = num_threads();
  // A chunk computes rows again that its neighbour has: few rows are not cut more often than there are threads.
  const size_t wanted = s.output_height < 32 * threads ? threads : 2 * threads;
  step.chunks = threads == 1 ? 1 : std::min(s.output_height, std::max<size_t>(1, wanted / s.batch));
  step.lanes = threads == 1 ? 1 : std::min(s.batch * step.chunks, 2 * threads);
  const auto align = [](size_t floats) { return (floats + 15) / 16 * 16; };
  step.expanded_floats = align(step.rows.input_rows() * step.rows.expanded_row());
  step.filtered_floats = align(step.rows.band_rows * step.rows.filtered_row());
  step.lane_floats = step.expanded_floats + step.filtered_floats;
  if (step.conv) step.lane_floats += align(step.conv->plan.rows_workspace_bytes() / sizeof(float));
  step.scratch = lowering.scratch(step.lanes * step.lane_floats * sizeof(float));
}

}  // namespace

void lower_bands(Lowering& lowering, const Node& node) {
  const BandNodes nodes(node);
  if (suits_channel_groups(lowering, nodes)) return lower_channel_groups(lowering, node, nodes);
  const bool has_conv = nodes.expand != nullptr && !is_pointwise(*nodes.expand);
  auto& step = lowering.add<BandStep>(node, nodes.name(has_conv ? kConvNames : kFloatBandNames));
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.rows = BandRows(lowering, nodes);
  step.operations = nodes.operations(lowering);
  if (has_conv) {
    step.conv = pack_conv(lowering, *nodes.expand);
  } else if (nodes.expand != nullptr) {
    step.expand = pack_pointwise(lowering, *nodes.expand);
  }
  step.depthwise_packed = pack_depthwise(lowering, nodes.depthwise, step.rows.depthwise);
  step.depthwise_epilogue = Epilogue(lowering, nodes.depthwise);
  if (nodes.projects()) {
    step.project = pack_pointwise(lowering, node);
    step.project.a_stride = step.rows.depthwise.output_channels();
  }
  place_scratch(lowering, step);
}

}  // namespace enr::graph
