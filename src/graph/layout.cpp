#include "graph/layout.h"

#include <algorithm>
#include <numeric>

#include "base/aligned_buffer.h"

namespace enr::graph {

namespace {

bool is_movement_only(const Graph& graph, const Node& node) {
  return node.post.is_empty() && (node.op == Op::kReshape || node.op == Op::kCopy) &&
         same_quantization(graph.values[node.inputs[0]], graph.values[node.outputs[0]]);
}

// Kernels that write rows of the last dim at any distance, and read them so.
bool writes_strided_rows(const Graph& graph, const Node& node) {
  const bool is_float32 = graph.values[node.inputs[0]].dtype == DType::kFloat32;
  switch (node.op) {
    case Op::kBinary:
      return is_float32;
    case Op::kConv:
    case Op::kDepthwise:
    case Op::kConvTranspose:
    case Op::kFullyConnected:
    case Op::kUnary:
    case Op::kAveragePool:
    case Op::kMaxPool:
    case Op::kResizeBilinear:
    case Op::kResizeNearest:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kCopy:
    case Op::kReshape:
      return true;
    default:
      return false;
  }
}

bool reads_strided_rows(const Graph& graph, const Node& node) {
  const bool is_float32 = graph.values[node.inputs[0]].dtype == DType::kFloat32;
  switch (node.op) {
    case Op::kBinary:
    case Op::kConcat:
      return is_float32;
    case Op::kConv:
    case Op::kDepthwise:
    case Op::kConvTranspose:
    case Op::kFullyConnected:
    case Op::kUnary:
    case Op::kAveragePool:
    case Op::kMaxPool:
    case Op::kGlobalAverage:
    case Op::kResizeBilinear:
    case Op::kResizeNearest:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kCopy:
      return true;
    default:
      return false;
  }
}

class LayoutChoice {
 public:
  explicit LayoutChoice(const Graph& g)
      : graph(g), readers(find_readers(g)), writers(find_writers(g)), views(layouts.views) {
    views.resize(graph.values.size());
    layouts.is_alias.resize(graph.values.size(), false);
    for (ValueId v = 0; v < views.size(); ++v) views[v].root = v;
  }

  Layouts choose() {
    for (size_t n = graph.nodes.size(); n-- > 0;) place_inputs(graph.nodes[n]);
    for (const Node& node : graph.nodes) place_output(node);
    reuse_operands();
    return std::move(layouts);
  }

 private:
  bool is_free(ValueId id) const { return views[id].root == id && !graph.values[id].is_external(); }
  bool is_anchored(ValueId id) const { return views[id].root != id || graph.values[id].is_output; }

  // Whether a value that some node computes may be computed somewhere else.
  bool can_move(ValueId id) const {
    return is_free(id) && !graph.values[id].is_constant() && writers[id] != kNoValue &&
           value_bytes(graph.values[id]) != 0 && graph.values[id].quantization.kind != Quantization::Kind::kPerRow;
  }

  // Backwards: results whose place is given pull their inputs there.
  void place_inputs(const Node& node) {
    const ValueId out = node.outputs[0];
    if (is_movement_only(graph, node)) {
      const ValueId in = node.inputs[0];
      if (!is_anchored(out) || views[out].row_stride != 0 || !can_move(in)) return;
      views[in] = views[out];
      layouts.is_alias[out] = true;
    } else if (node.op == Op::kConcat && node.post.is_empty()) {
      place_concat_inputs(node);
    }
  }

  void place_concat_inputs(const Node& node) {
    const ValueId out = node.outputs[0];
    const Shape& shape = graph.values[out].shape;
    const size_t axis = node.as<ConcatAttributes>().axis;
    const bool whole = shape.product(0, axis) == 1 && views[out].row_stride == 0;
    const bool columns = axis + 1 == shape.rank();
    const size_t element = dtype_size(graph.values[out].dtype);
    size_t offset = views[out].offset_bytes;
    for (const ValueId in : node.inputs) {
      const Value& value = graph.values[in];
      const size_t extent_bytes = static_cast<size_t>(value.shape.product(axis, value.shape.rank())) * element;
      const bool fits = whole || (columns && can_be_strided(in, node));
      if (fits && can_move(in) && same_quantization(value, graph.values[out])) {
        const size_t stride = views[out].row_stride != 0 ? views[out].row_stride : static_cast<size_t>(shape.back());
        views[in] = {views[out].root, offset, whole ? 0 : stride};
      }
      offset += extent_bytes;
    }
  }

  bool can_be_strided(ValueId id, const Node& concat) const {
    if (writers[id] == kNoValue || !writes_strided_rows(graph, graph.nodes[writers[id]])) return false;
    size_t seen = 0;
    for (const uint32_t reader : readers[id]) {
      if (&graph.nodes[reader] == &concat) {
        if (++seen > 1) return false;  // it cannot lie in two places
      } else if (!reads_strided_rows(graph, graph.nodes[reader]) || graph.nodes[reader].post.residual == id) {
        return false;
      }
    }
    return true;
  }

  // Forwards: results that only show other values become views of them.
  void place_output(const Node& node) {
    const ValueId out = node.outputs[0], in = node.inputs[0];
    if (!is_free(out) || graph.values[in].quantization.kind == Quantization::Kind::kPerRow) return;
    if (is_movement_only(graph, node)) {
      if (views[in].row_stride == 0) set_view(out, views[in]);
    } else if (node.op == Op::kSlice && node.post.is_empty()) {
      place_slice(node, in, out);
    }
  }

  void set_view(ValueId id, const Layouts::View& view) {
    views[id] = view;
    layouts.is_alias[id] = true;
  }

  void place_slice(const Node& node, ValueId in, ValueId out) {
    const auto& slice = node.as<SliceAttributes>();
    const Shape& from = graph.values[in].shape;
    const Shape& to = graph.values[out].shape;
    size_t axis = 0;  // the first dim that is cut; everything after it has to be whole
    while (axis < from.rank() && from[axis] == to[axis]) ++axis;
    for (size_t d = axis + 1; d < from.rank(); ++d) {
      if (from[d] != to[d]) return;
    }
    if (axis == from.rank()) axis = 0;
    const int64_t start = slice.offsets[axis] < 0 ? slice.offsets[axis] + from[axis] : slice.offsets[axis];
    const size_t element = dtype_size(graph.values[in].dtype);
    const size_t offset =
        views[in].offset_bytes + static_cast<size_t>(start * from.product(axis + 1, from.rank())) * element;
    if (to.product(0, axis) == 1 && views[in].row_stride == 0) {
      set_view(out, {views[in].root, offset, 0});
    } else if (axis + 1 == from.rank() && readers_take_strided_rows(out)) {
      const size_t stride = views[in].row_stride != 0 ? views[in].row_stride : static_cast<size_t>(from.back());
      set_view(out, {views[in].root, offset, stride});
    }
  }

  bool readers_take_strided_rows(ValueId id) const {
    return std::all_of(readers[id].begin(), readers[id].end(), [&](uint32_t reader) {
      return reads_strided_rows(graph, graph.nodes[reader]) && graph.nodes[reader].post.residual != id;
    });
  }

  // Elementwise results take the place of an operand that nobody needs afterwards.
  void reuse_operands() {
    std::vector<uint32_t> last(graph.values.size(), 0);
    for (ValueId v = 0; v < graph.values.size(); ++v) {
      for (const uint32_t reader : readers[v]) last[views[v].root] = std::max(last[views[v].root], reader);
    }
    for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      const ValueId out = node.outputs[0];
      if (!is_free(out) || layouts.is_view(node)) continue;
      for (const ValueId in : candidates(node)) {
        if (in == kNoValue || last[views[in].root] != n || !can_replace(in, out) || is_read_otherwise(node, in))
          continue;
        last[views[in].root] = last[out];
        const View target = views[in];
        for (View& view : views) {
          if (view.root == out) view = {target.root, target.offset_bytes + view.offset_bytes, view.row_stride};
        }
        break;
      }
    }
  }

  // Whether the node also reads the operand's memory at other places than those it is writing.
  bool is_read_otherwise(const Node& node, ValueId operand) const {
    const bool elementwise = node.op == Op::kUnary || node.op == Op::kBinary;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      if (id == kNoValue || views[id].root != views[operand].root) return false;
      const bool same = views[id].offset_bytes == views[operand].offset_bytes && views[id].row_stride == 0 &&
                        graph.values[id].shape == graph.values[operand].shape;
      return !same || (!elementwise && node.op != Op::kSoftmax && node.op != Op::kLayerNorm);
    });
  }

  static std::vector<ValueId> candidates(const Node& node) {
    switch (node.op) {
      case Op::kUnary:
      case Op::kBinary:
        return node.inputs;
      case Op::kSoftmax: {
        const auto* softmax = std::get_if<SoftmaxAttributes>(&node.attributes);
        if (softmax != nullptr && softmax->masked_rows_are_zero) return {};  // it reads its input once more
        return {node.inputs[0]};
      }
      case Op::kLayerNorm:
        return {node.inputs[0]};
      case Op::kConv:
      case Op::kDepthwise:
      case Op::kFullyConnected:
        return {node.post.residual};
      default:
        return {};
    }
  }

  bool can_replace(ValueId in, ValueId out) const {
    const Value &a = graph.values[in], &b = graph.values[out];
    const Value& root = graph.values[views[in].root];
    return a.dtype == b.dtype && a.shape == b.shape && !root.is_external() && !root.is_constant() &&
           views[in].row_stride == 0 && value_bytes(root) == value_bytes(b) &&
           b.quantization.kind != Quantization::Kind::kPerRow;
  }

  using View = Layouts::View;
  const Graph& graph;
  Layouts layouts;
  std::vector<std::vector<uint32_t>> readers;
  std::vector<uint32_t> writers;
  std::vector<View>& views;
};

size_t align(size_t size) { return (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment; }

}  // namespace

size_t quantized_rows(const Value& value) noexcept {
  const size_t rank = value.shape.rank(), inner = value.quantization.nonbatch_dims;
  return static_cast<size_t>(value.shape.product(0, rank > inner ? rank - inner : 0));
}

size_t row_parameters_offset(const Value& value) noexcept {
  return align(static_cast<size_t>(value.shape.numel()) * dtype_size(value.dtype));
}

size_t value_bytes(const Value& value) noexcept {
  if (value.quantization.kind == Quantization::Kind::kPerRow) {
    return row_parameters_offset(value) + quantized_rows(value) * 2 * sizeof(float);
  }
  return static_cast<size_t>(value.shape.numel()) * dtype_size(value.dtype);
}

size_t Layouts::row_stride(const Graph& graph, ValueId id) const noexcept {
  if (views[id].row_stride != 0) return views[id].row_stride;
  const Shape& shape = graph.values[id].shape;
  return shape.rank() == 0 ? 1 : static_cast<size_t>(shape.back());
}

bool Layouts::is_dense(const Graph& graph, ValueId id) const noexcept {
  const Shape& shape = graph.values[id].shape;
  return views[id].row_stride == 0 || shape.rank() == 0 || views[id].row_stride == static_cast<size_t>(shape.back()) ||
         shape.rows() <= 1;
}

Layouts choose_layouts(const Graph& graph) { return LayoutChoice(graph).choose(); }

namespace {

// Each block as low as it fits beside those in front of it in `order`. Returns how much is needed.
size_t place_in_order(std::vector<Block>& blocks, const std::vector<uint32_t>& order) {
  std::vector<const Block*> placed;  // by offset
  size_t total = 0;
  for (const uint32_t index : order) {
    Block& block = blocks[index];
    const size_t size = align(block.size_bytes);
    size_t offset = 0;
    for (const Block* other : placed) {
      if (other->last < block.first || other->first > block.last) continue;
      if (other->offset >= offset + size) break;
      offset = std::max(offset, other->offset + align(other->size_bytes));
    }
    block.offset = offset;
    total = std::max(total, offset + size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &block,
                                   [](const Block* a, const Block* b) { return a->offset < b->offset; }),
                  &block);
  }
  return total;
}

// What lives at one time, at most: no placement needs less.
size_t most_alive(const std::vector<Block>& blocks) {
  size_t most = 0;
  for (const Block& at : blocks) {
    size_t alive = 0;
    for (const Block& block : blocks) {
      if (block.first <= at.first && at.first <= block.last) alive += align(block.size_bytes);
    }
    most = std::max(most, alive);
  }
  return most;
}

}  // namespace

size_t place_blocks(std::vector<Block>& blocks) {
  std::vector<uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].size_bytes > blocks[b].size_bytes; });
  size_t total = place_in_order(blocks, order);
  // The largest first leaves gaps. What came to lie highest is placed before the rest, as long as that helps.
  constexpr size_t kMaxComparisons = 4'000'000;
  const size_t tries = std::min<size_t>(64, kMaxComparisons / (blocks.size() * blocks.size() + 1));
  if (tries == 0) return total;
  const size_t least = most_alive(blocks);
  std::vector<Block> trial = blocks;
  for (size_t i = 0; i < tries && total > least; ++i) {
    const auto highest = std::max_element(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return trial[a].offset + trial[a].size_bytes < trial[b].offset + trial[b].size_bytes;
    });
    std::rotate(order.begin(), highest, highest + 1);
    const size_t needed = place_in_order(trial, order);
    if (needed >= total) continue;
    total = needed;
    blocks = trial;
  }
  return total;
}

}  // namespace enr::graph
