// Pointwise -> depthwise [-> pointwise] of small images, cut by channels: a channel of the images in between needs no
// other, so that no thread reads what another has just written but the block's input and sums of the projection.

#include "graph/lower/channel_groups.h"

#include <algorithm>
#include <memory>

#include "base/ranges.h"
#include "base/thread_pool.h"
#include "graph/lower/epilogue.h"
#include "graph/lower/geometry.h"
#include "graph/lower/pointwise.h"
#include "graph/passes.h"
#include "kernels/binary/binary.h"

namespace enr::graph {

namespace {

// The projection's sums over two groups of channels are added at the end, however many threads there are: results do
// not depend on their number.
constexpr size_t kGroups = 2;
// What the expanded channels of a chunk should fit into.
constexpr size_t kChunkBytes = 192 * 1024;
// Multiply-adds that are worth waking another thread.
constexpr double kParallelWork = 1 << 20;

// Channels of panels of the product and blocks of the depthwise convolution, both powers of two.
size_t channel_step() noexcept { return std::max(kernels::gemm_column_step(), kernels::depthwise_channel_step()); }

struct ChannelGroupsStep : Step {
  kernels::DepthwiseShape depthwise;
  PackedPointwise expand, project;
  std::shared_ptr<const AlignedBuffer> depthwise_packed;
  Epilogue depthwise_epilogue;
  kernels::Loop add;
  PostLoop post;
  bool projects = false;
  size_t chunks = 1;  // of a group
  size_t threads = 1;
  size_t input_pixels = 0, output_pixels = 0, output_stride = 0;
  uint32_t in = 0, out = 0, expanded = 0, filtered = 0, sums = 0;

  void run(const Frame& frame) const noexcept override {
    if (threads <= kGroups) {
      const auto run_group = [&](size_t group) {
        for (size_t chunk = 0; chunk < chunks; ++chunk) filter_chunk(frame, group, chunk);
        if (projects) project_group(frame, group, {0, output_pixels});
      };
      const auto join_part = [&](size_t i) { join_groups(frame, part_of(output_pixels, threads, i)); };
      each(kGroups, run_group);
      if (projects) each(threads, join_part);
      return;
    }
    parallel_for(kGroups * chunks, [&](size_t i) { filter_chunk(frame, i / chunks, i % chunks); });
    if (!projects) return;
    // Cut between tiles: a tile's number of rows decides in which order it adds.
    const size_t tile = kernels::gemm_row_step(), tiles = (output_pixels + tile - 1) / tile;
    const size_t parts = std::min(threads, tiles);
    parallel_for(parts, [&](size_t i) {
      const Range rows = part_of(tiles, parts, i);
      const Range pixels = {rows.begin * tile, std::min(rows.end * tile, output_pixels)};
      for (size_t group = 0; group < kGroups; ++group) project_group(frame, group, pixels);
      join_groups(frame, pixels);
    });
  }

 private:
  template <class Body>
  void each(size_t count, const Body& body) const noexcept {
    if (threads > 1) return parallel_for(count, body);
    for (size_t i = 0; i < count; ++i) body(i);
  }

  Range channels_of(size_t group, size_t chunk, size_t chunk_count) const noexcept {
    const size_t step = channel_step(), units = (depthwise.channels + step - 1) / step;
    const Range part = part_of(part_of(units, kGroups, group), chunk_count, chunk);
    return {part.begin * step, std::min(part.end * step, depthwise.channels)};
  }

  void filter_chunk(const Frame& frame, size_t group, size_t chunk) const noexcept {
    const Range channels = channels_of(group, chunk, chunks);
    const size_t count = channels.size();
    // Chunks that follow one another on a thread use the same memory.
    const size_t place = threads <= kGroups ? channels_of(group, 0, 1).begin : channels.begin;
    float* between = frame.out<float>(expanded) + input_pixels * place;
    kernels::gemm_part(input_pixels, expand.n, expand.k, {channels.begin, channels.end, 0, expand.k},
                       frame.in<float>(in), expand.a_stride, expand.packed->data(), between, count,
                       expand.epilogue.bind(frame));
    kernels::DepthwiseShape part = depthwise;
    part.input_pixel_stride = count;
    float* to = frame.out<float>(out) + channels.begin;
    if (projects) {
      const Range all = channels_of(group, 0, 1);
      part.output_pixel_stride = all.size();
      to = frame.out<float>(filtered) + output_pixels * all.begin + (channels.begin - all.begin);
    }
    kernels::depthwise_channels(part, depthwise_packed->data(), between, to, channels.begin, channels.end,
                                depthwise_epilogue.bind(frame));
  }

  // The first group's sums go to the output, with bias and residual in them.
  void project_group(const Frame& frame, size_t group, Range pixels) const noexcept {
    const Range channels = channels_of(group, 0, 1);
    const kernels::GemmPart part{0, project.n, channels.begin, channels.end};
    const size_t count = channels.size();
    const float* from = frame.in<float>(filtered) + output_pixels * channels.begin + pixels.begin * count;
    const bool is_first = group == 0;
    const size_t stride = is_first ? output_stride : project.n;
    float* to = frame.out<float>(is_first ? out : sums) + pixels.begin * stride;
    kernels::GemmEpilogue epilogue;
    if (is_first) {
      epilogue = project.epilogue.bind(frame);
      if (epilogue.residual != nullptr) epilogue.residual += pixels.begin * epilogue.residual_stride;
    }
    kernels::gemm_part(pixels.size(), project.n, project.k, part, from, count, project.packed->data(), to, stride,
                       epilogue);
  }

  void join_groups(const Frame& frame, Range pixels) const noexcept {
    const bool is_dense = output_stride == project.n;
    const size_t rows = is_dense ? 1 : pixels.size();
    const size_t count = project.n * (is_dense ? pixels.size() : 1);
    float* to = frame.out<float>(out) + pixels.begin * output_stride;
    const float* more = frame.in<float>(sums) + pixels.begin * project.n;
    constexpr uint8_t kSteps[2] = {1, 1};
    for (size_t row = 0; row < rows; ++row, to += output_stride, more += project.n) {
      const void* operands[2] = {to, more};
      add.run(to, operands, kSteps, count, {});
      post.apply(to, count);
    }
  }
};

}  // namespace

bool suits_channel_groups(const Lowering& lowering, const BandNodes& nodes) {
  if (nodes.expand == nullptr || !is_pointwise(*nodes.expand)) return false;
  const Value& between = lowering.value(nodes.depthwise_input());
  const kernels::DepthwiseShape shape = depthwise_shape(lowering, nodes.depthwise, nodes.depthwise_input());
  return !is_worth_bands(between) && shape.batch == 1 && shape.multiplier == 1 &&
         shape.channels >= kGroups * channel_step();
}

void lower_channel_groups(Lowering& lowering, const Node& node, const BandNodes& nodes) {
  auto& step = lowering.add<ChannelGroupsStep>(node, nodes.name(kFloatBandNames));
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.operations = nodes.operations(lowering);
  step.projects = nodes.projects();
  step.output_stride = lowering.row_stride(step.out);
  step.depthwise = depthwise_shape(lowering, nodes.depthwise, nodes.depthwise_input());
  const kernels::DepthwiseShape& s = step.depthwise;
  step.depthwise.output_pixel_stride = step.output_stride;
  step.input_pixels = s.input_height * s.input_width;
  step.output_pixels = s.output_height * s.output_width;
  step.expand = pack_pointwise(lowering, *nodes.expand);
  step.depthwise_packed = pack_depthwise(lowering, nodes.depthwise, s);
  step.depthwise_epilogue = Epilogue(lowering, nodes.depthwise);
  step.expanded = lowering.scratch(step.input_pixels * s.channels * sizeof(float));
  if (step.projects) {
    step.project = pack_pointwise(lowering, node);
    step.add = kernels::binary_loop(kernels::Binary::kAdd, DType::kFloat32);
    step.post = PostLoop(node.post);
    step.filtered = lowering.scratch(step.output_pixels * s.channels * sizeof(float));
    step.sums = lowering.scratch(step.output_pixels * step.project.n * sizeof(float));
  }
  step.threads = step.operations < 2 * kParallelWork ? 1 : num_threads();
  const size_t step_bytes = step.input_pixels * channel_step() * sizeof(float);
  const size_t units = (s.channels + channel_step() - 1) / channel_step() / kGroups;
  const size_t chunk_units = std::max<size_t>(1, kChunkBytes / std::max<size_t>(step_bytes, 1));
  const size_t wanted = std::max((units + chunk_units - 1) / chunk_units, (step.threads + kGroups - 1) / kGroups);
  step.chunks = std::clamp<size_t>(wanted, 1, units);
}

}  // namespace enr::graph
