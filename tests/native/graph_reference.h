#pragma once

// Graphs built by hand, and a plain interpreter of them that knows nothing of passes, layouts or kernels.

#include <deque>
#include <map>
#include <random>
#include <vector>

#include "graph/graph.h"
#include "numbers.h"

namespace enr::graph::test {

using Floats = std::vector<float>;

// Makes float32 graphs; constants are random.
class Builder {
 public:
  explicit Builder(uint32_t seed = 1) : random_(seed) {}

  ValueId input(const Shape& shape);
  ValueId constant(const Shape& shape, float low = -1.0f, float high = 1.0f);
  ValueId constant_of(const Shape& shape, Floats elements);
  // Appends a node; the result's shape is inferred.
  ValueId node(Op op, std::vector<ValueId> inputs, Attributes attributes = {});
  ValueId unary(kernels::Unary op, ValueId in, double a = 0, double b = 0);
  ValueId binary(kernels::Binary op, ValueId a, ValueId b);
  ValueId conv(ValueId in, int64_t channels, const WindowAttributes& window);
  ValueId depthwise(ValueId in, const WindowAttributes& window, int64_t multiplier = 1);
  ValueId linear(ValueId in, int64_t channels);
  ValueId reshape(ValueId in, const Shape& shape);
  ValueId transpose(ValueId in, const Shape& permutation);
  ValueId concat(std::vector<ValueId> inputs, uint32_t axis);
  ValueId slice(ValueId in, const Shape& offsets, const Shape& sizes);
  void output(ValueId id);
  Post& post() { return graph.nodes.back().post; }

  // The arguments: inputs first.
  Graph finish();

  Graph graph;

 private:
  std::mt19937 random_;
  std::deque<Floats> constants_;
  std::vector<ValueId> outputs_;
};

using enr::test::random_floats;

// The outputs for these inputs, computed naively. `shapes` are the inputs' sizes.
std::vector<Floats> interpret(Graph graph, const std::vector<Shape>& shapes, const std::vector<Floats>& inputs);

struct RunResult {
  std::vector<Floats> outputs;
  std::vector<Shape> shapes;
  std::vector<std::string> steps;  // names
};
class Runner {
 public:
  explicit Runner(const Graph& graph);
  ~Runner();
  RunResult run(const std::vector<Shape>& shapes, const std::vector<Floats>& inputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Compiles and runs the graph on random inputs of its declared shapes and compares with interpret(). Returns the steps.
std::vector<std::string> check_graph(const Graph& graph, float tolerance = 1e-4f);
// The same for other input shapes.
std::vector<std::string> check_graph(const Graph& graph, const std::vector<Shape>& shapes, float tolerance = 1e-4f);

}  // namespace enr::graph::test
