#pragma once

// Which values share memory: reshapes and slices are views, producers write straight into concatenations, elementwise
// results replace their operands. Then where each of the rest lies in the workspace.

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace enr::graph {

// Bytes of a dense value, with its row parameters where it is quantised per row.
size_t value_bytes(const Value& value) noexcept;

// Rows that a value quantised per row has, and where their parameters start: after the elements.
size_t quantized_rows(const Value& value) noexcept;
size_t row_parameters_offset(const Value& value) noexcept;

struct Layouts {
  struct View {
    ValueId root = kNoValue;  // itself, unless it lies in another value
    size_t offset_bytes = 0;
    size_t row_stride = 0;  // elements from row to row of the last dim; 0: dense
  };
  std::vector<View> views;
  std::vector<bool> is_alias;  // of a value: writing it is the same as writing what it was made from

  size_t row_stride(const Graph& graph, ValueId id) const noexcept;
  bool is_dense(const Graph& graph, ValueId id) const noexcept;
  // Whether the node computes nothing: its result is a view of its input, or its input was written into its result.
  bool is_view(const Node& node) const noexcept { return is_alias[node.outputs[0]]; }
};

// The graph's shapes must be those of the plan.
Layouts choose_layouts(const Graph& graph);

// One block of memory needed during the steps [first, last].
struct Block {
  size_t size_bytes = 0;
  uint32_t first = 0, last = 0;
  size_t offset = 0;  // found by place_blocks
};

// Gives blocks that live at the same time different memory; returns how much is needed. Offsets are 64-byte aligned.
size_t place_blocks(std::vector<Block>& blocks);

}  // namespace enr::graph
