#include "graph_reference.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/weight_cache.h"
#include "graph/compiled_graph.h"
#include "graph/infer.h"

namespace enr::graph::test {

namespace {

using kernels::Binary;
using kernels::Unary;

float apply_unary(const UnaryAttributes& unary, float x) {
  const auto a = static_cast<float>(unary.params.a), b = static_cast<float>(unary.params.b);
  switch (unary.op) {
    case Unary::kAbs:
      return std::abs(x);
    case Unary::kNeg:
      return -x;
    case Unary::kFloor:
      return std::floor(x);
    case Unary::kCeil:
      return std::ceil(x);
    case Unary::kSquare:
      return x * x;
    case Unary::kSqrt:
      return std::sqrt(x);
    case Unary::kRsqrt:
      return 1.0f / std::sqrt(x);
    case Unary::kExp:
      return std::exp(x);
    case Unary::kLog:
      return std::log(x);
    case Unary::kSin:
      return std::sin(x);
    case Unary::kCos:
      return std::cos(x);
    case Unary::kTanh:
      return std::tanh(x);
    case Unary::kRelu:
      return x < 0 ? 0 : x;
    case Unary::kClamp:
      return x < a ? a : x > b ? b : x;
    case Unary::kLeakyRelu:
      return x < 0 ? a * x : x;
    case Unary::kElu:
      return x < 0 ? a * std::expm1(x) : x;
    case Unary::kSigmoid:
      return 1.0f / (1.0f + std::exp(-x));
    case Unary::kSilu:
      return x / (1.0f + std::exp(-x));
    case Unary::kGelu:
      return 0.5f * x * (1.0f + std::erf(x * 0.70710678f));
    case Unary::kHardSwish:
      return x * std::min(std::max(x + 3.0f, 0.0f), 6.0f) / 6.0f;
    case Unary::kHardSigmoid:
      return std::min(std::max(x + 3.0f, 0.0f), 6.0f) / 6.0f;
    case Unary::kScale:
      return a * x + b;
    default:
      FAIL("the reference has no such function");
      return 0;
  }
}

float apply_binary(Binary op, float x, float y) {
  switch (op) {
    case Binary::kAdd:
      return x + y;
    case Binary::kSub:
      return x - y;
    case Binary::kMul:
      return x * y;
    case Binary::kDiv:
      return x / y;
    case Binary::kMaximum:
      return std::max(x, y);
    case Binary::kMinimum:
      return std::min(x, y);
    case Binary::kPrelu:
      return x > 0 ? x : x * y;
    default:
      FAIL("the reference has no such function");
      return 0;
  }
}

// Visits all indices of a shape.
template <class F>
void for_each_index(const Shape& shape, F visit) {
  if (shape.numel() == 0) return;
  Shape index = shape;
  for (size_t d = 0; d < shape.rank(); ++d) index[d] = 0;
  for (;;) {
    visit(index);
    size_t d = shape.rank();
    for (;;) {
      if (d-- == 0) return;
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// Position of an index in a dense tensor of this shape, broadcast from the right.
size_t position(const Shape& shape, const Shape& index) {
  size_t at = 0;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const int64_t i = shape[d] == 1 ? 0 : index[index.rank() - shape.rank() + d];
    at = at * static_cast<size_t>(shape[d]) + static_cast<size_t>(i);
  }
  return at;
}

struct Interpreter {
  Graph& graph;
  std::map<ValueId, Floats> values;

  const Shape& shape(ValueId id) const { return graph.values[id].shape; }
  const Floats& get(ValueId id) {
    const Value& value = graph.values[id];
    if (value.is_constant() && values.count(id) == 0) {
      const auto* data = reinterpret_cast<const float*>(value.data);
      values[id] = Floats(data, data + value.shape.numel());
    }
    return values.at(id);
  }

  Floats convolution(const Node& node) {
    const auto& w = node.as<WindowAttributes>();
    const Shape &in = shape(node.inputs[0]), &out = shape(node.outputs[0]), &f = shape(node.inputs[1]);
    const Floats &x = get(node.inputs[0]), &weights = get(node.inputs[1]);
    const bool depthwise = node.op == Op::kDepthwise;
    const int64_t group_in = depthwise ? 1 : f[3], group_out = out[3] / w.groups;
    std::vector<double> sums(static_cast<size_t>(out.numel()), 0.0);
    for_each_index(out, [&](const Shape& o) {
      double& sum = sums[position(out, o)];
      if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) sum = get(node.inputs[2])[static_cast<size_t>(o[3])];
      for (int64_t ky = 0; ky < w.kernel_height; ++ky) {
        for (int64_t kx = 0; kx < w.kernel_width; ++kx) {
          int64_t y = o[1] * w.stride_height + ky * w.dilation_height - w.pad_top;
          int64_t x0 = o[2] * w.stride_width + kx * w.dilation_width - w.pad_left;
          if (node.op == Op::kConvTranspose) {
            y = o[1] + w.pad_top - ky * w.dilation_height;
            x0 = o[2] + w.pad_left - kx * w.dilation_width;
            if (y % w.stride_height != 0 || x0 % w.stride_width != 0) continue;
            y /= w.stride_height;
            x0 /= w.stride_width;
          }
          if (y < 0 || x0 < 0 || y >= in[1] || x0 >= in[2]) continue;
          for (int64_t c = 0; c < group_in; ++c) {
            const int64_t channel = o[3] / group_out * group_in + c;
            const size_t weight = depthwise ? position(f, Shape{0, ky, kx, o[3]}) : position(f, Shape{o[3], ky, kx, c});
            sum += double{x[position(in, Shape{o[0], y, x0, channel})]} * double{weights[weight]};
          }
        }
      }
    });
    return Floats(sums.begin(), sums.end());
  }

  Floats pool(const Node& node) {
    const auto& w = node.as<WindowAttributes>();
    const Shape &in = shape(node.inputs[0]), &out = shape(node.outputs[0]);
    const Floats& x = get(node.inputs[0]);
    Floats result(static_cast<size_t>(out.numel()));
    const int64_t sy = node.op == Op::kArgMaxPool ? w.kernel_height : w.stride_height;
    const int64_t sx = node.op == Op::kArgMaxPool ? w.kernel_width : w.stride_width;
    for_each_index(out, [&](const Shape& o) {
      float best = -INFINITY, sum = 0;
      int count = 0;
      for (int64_t ky = 0; ky < w.kernel_height; ++ky) {
        for (int64_t kx = 0; kx < w.kernel_width; ++kx) {
          const int64_t y = o[1] * sy + ky * w.dilation_height - w.pad_top;
          const int64_t x0 = o[2] * sx + kx * w.dilation_width - w.pad_left;
          if (y < 0 || x0 < 0 || y >= in[1] || x0 >= in[2]) continue;
          const float element = x[position(in, Shape{o[0], y, x0, o[3]})];
          best = std::max(best, element);
          sum += element;
          ++count;
        }
      }
      result[position(out, o)] = node.op == Op::kAveragePool ? sum / static_cast<float>(count) : best;
    });
    return result;
  }

  Floats matmul(const Node& node) {
    const bool connected = node.op == Op::kFullyConnected;
    const bool transposed = node.as<MatmulAttributes>().transposed != connected;  // b is [n, k]
    const Shape &a = shape(node.inputs[0]), &b = shape(node.inputs[1]), &out = shape(node.outputs[0]);
    Floats result(static_cast<size_t>(out.numel()));
    for_each_index(out, [&](const Shape& o) {
      double sum = 0;
      if (node.inputs.size() > 2 && node.inputs[2] != kNoValue)
        sum = get(node.inputs[2])[static_cast<size_t>(o.back())];
      for (int64_t k = 0; k < a.back(); ++k) {
        Shape ai = o, bi = o;
        ai.back() = k;
        if (b.rank() >= 2 && bi.rank() < 2) bi = Shape{0, o.back()};
        if (transposed) {
          bi[bi.rank() - 2] = o.back();
          bi.back() = k;
        } else {
          bi[bi.rank() - 2] = k;
        }
        sum += double{get(node.inputs[0])[position(a, ai)]} * double{get(node.inputs[1])[position(b, bi)]};
      }
      result[position(out, o)] = static_cast<float>(sum);
    });
    return result;
  }

  // Over rows of the last dim, or over groups of channels of [batch, channels, pixels].
  Floats norm(const Node& node) {
    const auto& attributes = node.as<NormAttributes>();
    const bool groups = node.op == Op::kGroupNorm;
    const Shape& in = shape(node.inputs[0]);
    const Floats& x = get(node.inputs[0]);
    const auto count = static_cast<size_t>(groups ? in[1] / attributes.groups * in[2] : in.back());
    Floats result(x.size());
    for (size_t start = 0; start < x.size(); start += count) {
      double sum = 0, squares = 0;
      for (size_t i = start; i < start + count; ++i) sum += x[i];
      const double mean = sum / double(count);
      for (size_t i = start; i < start + count; ++i) squares += (x[i] - mean) * (x[i] - mean);
      const double scale = 1 / std::sqrt(squares / double(count) + attributes.epsilon);
      for (size_t i = start; i < start + count; ++i) {
        const size_t c = groups ? i / static_cast<size_t>(in[2]) % static_cast<size_t>(in[1]) : i - start;
        const double weight = node.inputs.size() > 1 ? get(node.inputs[1])[c] : 1.0f;
        const double bias = node.inputs.size() > 2 ? get(node.inputs[2])[c] : 0.0f;
        result[i] = static_cast<float>((x[i] - mean) * scale * weight + bias);
      }
    }
    return result;
  }

  Floats resize(const Node& node) {
    const bool corners = node.as<ResizeAttributes>().align_corners;
    const Shape &in = shape(node.inputs[0]), &out = shape(node.outputs[0]);
    const Floats& x = get(node.inputs[0]);
    const auto source = [&](int64_t o, int64_t from, int64_t to) {
      if (corners) return to == 1 ? 0.0 : double(o) * double(from - 1) / double(to - 1);
      return std::max(0.0, (double(o) + 0.5) * double(from) / double(to) - 0.5);
    };
    Floats result(static_cast<size_t>(out.numel()));
    for_each_index(out, [&](const Shape& o) {
      const double y = source(o[1], in[1], out[1]), x0 = source(o[2], in[2], out[2]);
      const auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x0);
      const double fy = y - double(top), fx = x0 - double(left);
      const auto at = [&](int64_t dy, int64_t dx) {
        return double{
            x[position(in, Shape{o[0], std::min(top + dy, in[1] - 1), std::min(left + dx, in[2] - 1), o[3]})]};
      };
      result[position(out, o)] = static_cast<float>((1 - fy) * ((1 - fx) * at(0, 0) + fx * at(0, 1)) +
                                                    fy * ((1 - fx) * at(1, 0) + fx * at(1, 1)));
    });
    return result;
  }

  // Copies of one element each: where does an element of the result come from?
  Floats movement(const Node& node) {
    const Shape &in = shape(node.inputs[0]), &out = shape(node.outputs[0]);
    Floats result(static_cast<size_t>(out.numel()));
    int64_t joined = 0;
    if (node.op == Op::kConcat) {
      const size_t axis = node.as<ConcatAttributes>().axis;
      for (const ValueId id : node.inputs) {
        for_each_index(shape(id), [&](const Shape& i) {
          Shape o = i;
          o[axis] += joined;
          result[position(out, o)] = get(id)[position(shape(id), i)];
        });
        joined += shape(id)[axis];
      }
      return result;
    }
    for_each_index(out, [&](const Shape& o) {
      Shape i = o;
      for (size_t d = 0; d < out.rank(); ++d) {
        if (node.op == Op::kTranspose) i[static_cast<size_t>(node.as<TransposeAttributes>().permutation[d])] = o[d];
        if (node.op == Op::kSlice) i[d] = o[d] + node.as<SliceAttributes>().offsets[d];
        if (node.op == Op::kPad) i[d] = o[d] - node.as<PadAttributes>().before[d];
      }
      bool inside = true;
      for (size_t d = 0; d < in.rank() && node.op == Op::kPad; ++d) inside = inside && i[d] >= 0 && i[d] < in[d];
      result[position(out, o)] = inside ? get(node.inputs[0])[position(in, i)] : node.as<PadAttributes>().value;
    });
    return result;
  }

  Floats evaluate(const Node& node) {
    const Shape& out = shape(node.outputs[0]);
    const Floats& x = get(node.inputs[0]);
    Floats result(static_cast<size_t>(out.numel()));
    switch (node.op) {
      case Op::kConv:
      case Op::kDepthwise:
      case Op::kConvTranspose:
        return convolution(node);
      case Op::kFullyConnected:
      case Op::kBatchMatmul:
        return matmul(node);
      case Op::kAveragePool:
      case Op::kMaxPool:
      case Op::kArgMaxPool:
        return pool(node);
      case Op::kResizeBilinear:
        return resize(node);
      case Op::kResizeNearest: {
        const Shape& in = shape(node.inputs[0]);
        for_each_index(out, [&](const Shape& o) {
          result[position(out, o)] = x[position(in, Shape{o[0], o[1] * in[1] / out[1], o[2] * in[2] / out[2], o[3]})];
        });
        return result;
      }
      case Op::kLayerNorm:
      case Op::kGroupNorm:
        return norm(node);
      case Op::kConcat:
      case Op::kSlice:
      case Op::kTranspose:
      case Op::kPad:
        return movement(node);
      case Op::kReshape:
      case Op::kConvert:
      case Op::kCopy:
        return x;
      case Op::kUnary:
        for (size_t i = 0; i < result.size(); ++i) result[i] = apply_unary(node.as<UnaryAttributes>(), x[i]);
        return result;
      case Op::kBinary:
        for_each_index(out, [&](const Shape& o) {
          result[position(out, o)] = apply_binary(node.as<BinaryAttributes>().op, x[position(shape(node.inputs[0]), o)],
                                                  get(node.inputs[1])[position(shape(node.inputs[1]), o)]);
        });
        return result;
      case Op::kSoftmax:
        for (size_t r = 0; r < static_cast<size_t>(out.rows()); ++r) {
          const auto n = static_cast<size_t>(out.back());
          double sum = 0, top = -INFINITY;
          for (size_t i = 0; i < n; ++i) top = std::max(top, double{x[r * n + i]});
          for (size_t i = 0; i < n; ++i) sum += std::exp(double{x[r * n + i]} - top);
          const auto* attributes = std::get_if<SoftmaxAttributes>(&node.attributes);
          const bool logarithm = attributes != nullptr && attributes->logarithm;
          for (size_t i = 0; i < n; ++i) {
            const double power = double{x[r * n + i]} - top;
            result[r * n + i] = static_cast<float>(logarithm ? power - std::log(sum) : std::exp(power) / sum);
          }
        }
        return result;
      case Op::kReduce: {
        const auto& [op, dims] = node.as<ReduceAttributes>();
        const Shape& in = shape(node.inputs[0]);
        const auto count = static_cast<float>(in.numel() / out.numel());
        std::vector<bool> seen(result.size(), false);
        for_each_index(in, [&](const Shape& i) {
          float& total = result[position(out, i)];
          const float number = x[position(in, i)];
          const bool is_first = !seen[position(out, i)];
          seen[position(out, i)] = true;
          if (op == enr::kernels::Reduce::kMin) total = is_first ? number : std::min(total, number);
          if (op == enr::kernels::Reduce::kMax) total = is_first ? number : std::max(total, number);
          if (op == enr::kernels::Reduce::kSum) total += number;
          if (op == enr::kernels::Reduce::kMean) total += number / count;
        });
        return result;
      }
      case Op::kGlobalAverage: {
        const Shape& in = shape(node.inputs[0]);
        for_each_index(in, [&](const Shape& i) {
          result[static_cast<size_t>(i[0] * in[3] + i[3])] += x[position(in, i)] / static_cast<float>(in[1] * in[2]);
        });
        return result;
      }
    }
    return result;
  }

  void run(const Node& node) {
    Floats result = evaluate(node);
    const Post& post = node.post;
    for (size_t i = 0; i < result.size(); ++i) {
      float& x = result[i];
      if (post.residual != kNoValue) x += post.residual_scale * get(post.residual)[i];
      x = x < post.min ? post.min : x > post.max ? post.max : x;
      if (post.activation) x = apply_unary(*post.activation, x);
    }
    values[node.outputs[0]] = std::move(result);
  }
};

}  // namespace

ValueId Builder::input(const Shape& shape) {
  Value value;
  value.shape = shape;
  value.is_input = true;
  value.argument = static_cast<uint32_t>(graph.arguments.size());
  const ValueId id = graph.add_value(value);
  graph.arguments.push_back(id);
  return id;
}

ValueId Builder::constant(const Shape& shape, float low, float high) {
  return constant_of(shape,
                     random_floats(static_cast<size_t>(shape.numel()), static_cast<uint32_t>(random_()), low, high));
}

ValueId Builder::constant_of(const Shape& shape, Floats elements) {
  auto owner = std::make_shared<const Floats>(std::move(elements));
  return graph.add_constant(DType::kFloat32, shape, owner, owner->data());
}

ValueId Builder::node(Op op, std::vector<ValueId> inputs, Attributes attributes) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.origin = static_cast<uint32_t>(graph.nodes.size());
  node.outputs = {graph.add_value({})};
  if (op == Op::kArgMaxPool) node.outputs.push_back(graph.add_value({}));
  graph.nodes.push_back(node);
  infer_shapes(graph, node);
  return node.outputs[0];
}

ValueId Builder::unary(kernels::Unary op, ValueId in, double a, double b) {
  UnaryAttributes unary{op, {}};
  unary.params.a = a;
  unary.params.b = b;
  return node(Op::kUnary, {in}, unary);
}

ValueId Builder::binary(kernels::Binary op, ValueId a, ValueId b) {
  return node(Op::kBinary, {a, b}, BinaryAttributes{op});
}

ValueId Builder::conv(ValueId in, int64_t channels, const WindowAttributes& w) {
  const int64_t group_in = graph.values[in].shape[3] / w.groups;
  const ValueId filter = constant(Shape{channels, w.kernel_height, w.kernel_width, group_in}),
                bias = constant(Shape{channels});
  return node(Op::kConv, {in, filter, bias}, w);
}

ValueId Builder::depthwise(ValueId in, const WindowAttributes& window, int64_t multiplier) {
  WindowAttributes w = window;
  w.groups = static_cast<uint32_t>(graph.values[in].shape[3]);
  const int64_t channels = w.groups * multiplier;
  const ValueId filter = constant(Shape{1, w.kernel_height, w.kernel_width, channels}),
                bias = constant(Shape{channels});
  return node(Op::kDepthwise, {in, filter, bias}, w);
}

ValueId Builder::linear(ValueId in, int64_t channels) {
  const ValueId filter = constant(Shape{channels, graph.values[in].shape.back()}), bias = constant(Shape{channels});
  return node(Op::kFullyConnected, {in, filter, bias}, MatmulAttributes{});
}

ValueId Builder::reshape(ValueId in, const Shape& shape) {
  return node(Op::kReshape, {in}, ReshapeAttributes{shape, {}});
}

ValueId Builder::transpose(ValueId in, const Shape& permutation) {
  return node(Op::kTranspose, {in}, TransposeAttributes{permutation});
}

ValueId Builder::concat(std::vector<ValueId> inputs, uint32_t axis) {
  return node(Op::kConcat, std::move(inputs), ConcatAttributes{axis});
}

ValueId Builder::slice(ValueId in, const Shape& offsets, const Shape& sizes) {
  return node(Op::kSlice, {in}, SliceAttributes{offsets, sizes});
}

void Builder::output(ValueId id) { outputs_.push_back(id); }

Graph Builder::finish() {
  Graph finished = graph;
  for (const ValueId id : outputs_) {
    finished.values[id].is_output = true;
    finished.values[id].argument = static_cast<uint32_t>(finished.arguments.size());
    finished.arguments.push_back(id);
  }
  return finished;
}

std::vector<Floats> interpret(Graph graph, const std::vector<Shape>& shapes, const std::vector<Floats>& inputs) {
  Interpreter interpreter{graph, {}};
  size_t next = 0;
  for (const ValueId id : graph.arguments) {
    if (!graph.values[id].is_input) continue;
    graph.values[id].shape = shapes[next];
    interpreter.values[id] = inputs[next++];
  }
  infer_shapes(graph);
  for (const Node& node : graph.nodes) interpreter.run(node);
  std::vector<Floats> outputs;
  for (const ValueId id : graph.arguments) {
    if (graph.values[id].is_output) outputs.push_back(interpreter.get(id));
  }
  return outputs;
}

struct Runner::State {
  struct Names : TraceSink {
    std::vector<std::string> names;
    void record(const TraceEvent& event) override { names.emplace_back(event.name); }
  };
  WeightCache weights;
  std::shared_ptr<const CompiledGraph> compiled;
  std::unique_ptr<GraphRunner> runner;
};

Runner::Runner(const Graph& graph) : state_(std::make_unique<State>()) {
  state_->compiled = std::make_shared<const CompiledGraph>(graph, state_->weights);
  state_->runner = std::make_unique<GraphRunner>(state_->compiled);
}

Runner::~Runner() = default;

RunResult Runner::run(const std::vector<Shape>& shapes, const std::vector<Floats>& inputs) {
  const Plan& plan = state_->runner->prepare(shapes);
  RunResult result;
  // Addresses change from run to run, as they may between calls.
  std::vector<Floats> given = inputs;
  std::vector<std::byte*> addresses;
  for (Floats& input : given) addresses.push_back(reinterpret_cast<std::byte*>(input.data()));
  for (const Shape& shape : plan.outputs()) {
    result.outputs.emplace_back(static_cast<size_t>(shape.numel()), std::nanf(""));
    result.shapes.push_back(shape);
  }
  for (Floats& output : result.outputs) addresses.push_back(reinterpret_cast<std::byte*>(output.data()));
  State::Names names;
  enr::AlignedBuffer workspace(plan.workspace_bytes());
  if (workspace.size_bytes() != 0) std::memset(workspace.data(), 0xCC, workspace.size_bytes());
  state_->runner->run(addresses, workspace.data(), &names);
  result.steps = names.names;
  for (size_t i = 0; i < inputs.size(); ++i)
    CHECK((inputs[i].empty() || std::memcmp(inputs[i].data(), given[i].data(), inputs[i].size() * 4) == 0));
  return result;
}

std::vector<std::string> check_graph(const Graph& graph, const std::vector<Shape>& shapes, float tolerance) {
  std::vector<Floats> inputs;
  for (const Shape& shape : shapes) {
    inputs.push_back(
        random_floats(static_cast<size_t>(shape.numel()), static_cast<uint32_t>(inputs.size() + 7), -2, 2));
  }
  const std::vector<Floats> expected = interpret(graph, shapes, inputs);
  Runner runner(graph);
  runner.run(shapes, inputs);  // the second run meets a used workspace
  const RunResult got = runner.run(shapes, inputs);
  REQUIRE(got.outputs.size() == expected.size());
  for (size_t o = 0; o < expected.size(); ++o) {
    REQUIRE(got.outputs[o].size() == expected[o].size());
    size_t wrong = 0;
    for (size_t i = 0; i < expected[o].size(); ++i) {
      const float e = expected[o][i], g = got.outputs[o][i];
      if (!(std::abs(e - g) <= tolerance * (1.0f + std::abs(e))) && !(std::isnan(e) && std::isnan(g))) {
        if (wrong++ == 0) MESSAGE("output " << o << "[" << i << "] = " << g << ", expected " << e);
      }
    }
    CHECK(wrong == 0);
  }
  return got.steps;
}

std::vector<std::string> check_graph(const Graph& graph, float tolerance) {
  std::vector<Shape> shapes;
  for (const ValueId id : graph.arguments) {
    if (graph.values[id].is_input) shapes.push_back(graph.values[id].shape);
  }
  return check_graph(graph, shapes, tolerance);
}

}  // namespace enr::graph::test
