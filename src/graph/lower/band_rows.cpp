#include "graph/lower/band_rows.h"

#include "graph/lower/geometry.h"

namespace enr::graph {

BandNodes::BandNodes(const Node& node)
    : last(node), depthwise(node.op == Op::kConv ? *node.producer : node), expand(depthwise.producer.get()) {}

const char* BandNodes::name(const char* const (&names)[3]) const {
  return names[!projects() ? 2 : expand == nullptr ? 1 : 0];
}

double BandNodes::operations(const Lowering& lowering) const {
  double operations = convolution_operations(lowering, depthwise);
  if (expand != nullptr) operations += convolution_operations(lowering, *expand);
  if (projects()) operations += convolution_operations(lowering, last);
  return operations;
}

BandRows::BandRows(const Lowering& lowering, const BandNodes& nodes)
    : expands(nodes.expand != nullptr),
      projects(nodes.projects()),
      depthwise(depthwise_shape(lowering, nodes.depthwise, nodes.depthwise_input())),
      output_stride(lowering.row_stride(nodes.last.outputs[0])) {
  if (expands) depthwise.input_pixel_stride = depthwise.channels;
  depthwise.output_pixel_stride = projects ? depthwise.output_channels() : output_stride;
}

size_t BandRows::input_rows() const noexcept {
  return (band_rows - 1) * depthwise.stride_height + (depthwise.kernel_height - 1) * depthwise.dilation_height + 1;
}

void BandRows::fit(size_t band_bytes, size_t element_bytes) noexcept {
  const size_t row_bytes = (expanded_row() * depthwise.stride_height + filtered_row()) * element_bytes;
  band_rows = std::clamp<size_t>(band_bytes / std::max<size_t>(row_bytes, 1), 1, depthwise.output_height);
}

size_t BandRows::first_input_row(size_t row) const noexcept {
  const size_t at = row * depthwise.stride_height;
  return std::min(at > depthwise.pad_top ? at - depthwise.pad_top : 0, depthwise.input_height);
}

size_t BandRows::last_input_row(size_t end) const noexcept {
  const size_t reach =
      (end - 1) * depthwise.stride_height + (depthwise.kernel_height - 1) * depthwise.dilation_height + 1;
  return std::min(reach > depthwise.pad_top ? reach - depthwise.pad_top : 0, depthwise.input_height);
}

}  // namespace enr::graph
