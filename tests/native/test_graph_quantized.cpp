// Quantised nodes: each graph is built twice, with integers and with the reals they stand for. What the integers give
// has to be within a quantum of what the plain interpreter makes of the reals.

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "base/thread_pool.h"
#include "graph/passes.h"
#include "graph_reference.h"
#include "kernels/qgemm/qgemm.h"

using namespace enr::graph;
using namespace enr::graph::test;
using enr::DType;
using enr::kernels::Binary;
using enr::kernels::Unary;

namespace {

struct Pair {
  ValueId integers, reals;
};

Quantization per_tensor(float scale, int32_t zero_point) {
  Quantization q;
  q.kind = Quantization::Kind::kPerTensor;
  q.scale = scale;
  q.zero_point = zero_point;
  return q;
}

class Both {
 public:
  explicit Both(DType type = DType::kInt8) : dtype(type) {}

  // Inputs are multiples of the scale, so that quantising them loses nothing.
  Pair input(const Shape& shape, float scale, int32_t zero_point) {
    const ValueId reals = real.input(shape);
    const ValueId quantized = quantized_node(Op::kConvert, {integer.input(shape)}, {}, per_tensor(scale, zero_point));
    Floats floats(static_cast<size_t>(shape.numel()));
    for (float& x : floats) x = scale * static_cast<float>(integer_in(-100, 100));
    shapes.push_back(shape);
    inputs.push_back(std::move(floats));
    return {quantized, reals};
  }

  // Weights with a scale for each of the channels along `channel_dim`.
  Pair weights(const Shape& shape, uint8_t channel_dim) {
    auto bytes = std::make_shared<std::vector<int8_t>>(static_cast<size_t>(shape.numel()));
    auto scales = std::make_shared<std::vector<float>>(static_cast<size_t>(shape[channel_dim]));
    for (int8_t& x : *bytes) x = static_cast<int8_t>(integer_in(-127, 127));
    for (float& x : *scales) x = 0.002f + 0.0001f * static_cast<float>(integer_in(0, 50));
    const auto inner = static_cast<size_t>(shape.product(size_t{channel_dim} + 1, shape.rank()));
    Floats floats(bytes->size());
    for (size_t i = 0; i < floats.size(); ++i) {
      floats[i] = static_cast<float>((*bytes)[i]) * (*scales)[i / inner % scales->size()];
    }
    const ValueId id = integer.graph.add_constant(DType::kInt8, shape, bytes, bytes->data());
    Quantization& q = integer.graph.values[id].quantization;
    q.kind = Quantization::Kind::kPerChannel;
    q.scales = scales;
    q.channel_dim = channel_dim;
    return {id, real.constant_of(shape, std::move(floats))};
  }

  Pair bias(Pair filter, Pair in) {
    const auto& scales = integer.graph.values[filter.integers].quantization.scales;
    const float input_scale = integer.graph.values[in.integers].quantization.scale;
    auto ints = std::make_shared<std::vector<int32_t>>(scales->size());
    Floats floats(scales->size());
    for (size_t i = 0; i < floats.size(); ++i) {
      (*ints)[i] = integer_in(-2000, 2000);
      floats[i] = static_cast<float>((*ints)[i]) * (*scales)[i] * input_scale;
    }
    const Shape shape{static_cast<int64_t>(floats.size())};
    return {integer.graph.add_constant(DType::kInt32, shape, ints, ints->data()),
            real.constant_of(shape, std::move(floats))};
  }

  Pair node(Op op, const std::vector<Pair>& in, const Attributes& attributes, const Quantization& q) {
    std::vector<ValueId> a, b;
    for (const Pair& pair : in) {
      a.push_back(pair.integers);
      b.push_back(pair.reals);
    }
    return {quantized_node(op, a, attributes, q), real.node(op, b, attributes)};
  }
  Pair same(Op op, Pair in, const Attributes& attributes) {
    const Quantization quantization = integer.graph.values[in.integers].quantization;  // node() adds values
    return node(op, {in}, attributes, quantization);
  }

  // Runs both and compares; returns the steps of the integers.
  std::vector<std::string> check(Pair result, float tolerance_quanta = 1.01f) {
    const Quantization q = integer.graph.values[result.integers].quantization;
    integer.output(q.kind == Quantization::Kind::kPerTensor ? integer.node(Op::kConvert, {result.integers})
                                                            : result.integers);
    real.output(result.reals);
    const std::vector<Floats> expected = interpret(real.finish(), shapes, inputs);
    const RunResult got = Runner(integer.finish()).run(shapes, inputs);
    const float low = dtype == DType::kUInt8 ? 0.0f : -128.0f;
    size_t wrong = 0;
    for (size_t i = 0; i < expected[0].size(); ++i) {
      const float least = q.scale * (low - static_cast<float>(q.zero_point)), most = least + 255.0f * q.scale;
      const bool saturates = q.kind == Quantization::Kind::kPerTensor;
      const float e = saturates ? std::min(std::max(expected[0][i], least), most) : expected[0][i];
      if (!(std::abs(got.outputs[0][i] - e) <= tolerance_quanta * q.scale) && wrong++ == 0) {
        MESSAGE("[" << i << "] = " << got.outputs[0][i] << ", expected " << e << " in quanta of " << q.scale);
      }
    }
    CHECK(wrong == 0);
    return got.steps;
  }

  ValueId quantized_node(Op op, std::vector<ValueId> in, const Attributes& attributes, const Quantization& q) {
    const ValueId id = integer.node(op, std::move(in), attributes);
    integer.graph.values[id].dtype = dtype;
    integer.graph.values[id].quantization = q;
    return id;
  }
  int integer_in(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

  DType dtype;
  Builder integer{1}, real{2};
  std::vector<Shape> shapes;
  std::vector<Floats> inputs;
  std::mt19937 random{3};
};

WindowAttributes window(uint32_t kernel, uint32_t stride, uint32_t groups = 1) {
  WindowAttributes w;
  w.kernel_height = w.kernel_width = kernel;
  w.stride_height = w.stride_width = stride;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = kernel / 2;
  w.groups = groups;
  return w;
}

}  // namespace

TEST_CASE("graph quantised: convolutions with their clamps") {
  for (const bool is_unsigned : {false, true}) {
    for (const uint32_t groups : {1u, 2u, 4u}) {
      Both b(is_unsigned ? DType::kUInt8 : DType::kInt8);
      const int32_t zero_point = is_unsigned ? 120 : -5;
      const Pair in = b.input({1, 6, 7, 8}, 0.02f, zero_point);
      const Pair filter = b.weights({12, 3, 3, 8 / groups}, 0);
      const Pair conv =
          b.node(Op::kConv, {in, filter, b.bias(filter, in)}, window(3, 2, groups), per_tensor(0.05f, zero_point));
      UnaryAttributes relu6{Unary::kClamp, {}};
      relu6.params.a = 0;
      relu6.params.b = 3;
      CHECK(b.check(b.same(Op::kUnary, conv, relu6)).size() == 3);
    }
  }
  Both depthwise;
  const Pair in = depthwise.input({1, 6, 7, 9}, 0.02f, 3);
  const Pair filter = depthwise.weights({1, 3, 3, 9}, 3);
  depthwise.check(
      depthwise.node(Op::kDepthwise, {in, filter, depthwise.bias(filter, in)}, window(3, 1, 9), per_tensor(0.03f, -9)));

  for (const int64_t channels : {1, 3}) {  // several outputs for each channel
    Both several;
    const Pair image = several.input({2, 6, 7, channels}, 0.02f, 3);
    const Pair weights = several.weights({1, 3, 3, 5 * channels}, 3);
    several.check(several.node(Op::kDepthwise, {image, weights, several.bias(weights, image)},
                               window(3, 1, static_cast<uint32_t>(channels)), per_tensor(0.03f, -9)));
  }

  Both transposed;
  const Pair small = transposed.input({1, 4, 4, 6}, 0.02f, 3);
  const Pair kernel = transposed.weights({5, 3, 3, 6}, 0);
  transposed.check(transposed.node(Op::kConvTranspose, {small, kernel, transposed.bias(kernel, small)}, window(3, 2),
                                   per_tensor(0.03f, -9)));
}

// A pointwise, a depthwise and a pointwise convolution; where somebody reads what is between them, they cannot be
// bands.
RunResult run_chain(int64_t batch, uint32_t kernel, uint32_t stride, DType type, bool is_read) {
  Both b(type);
  const int32_t zero_point = type == DType::kUInt8 ? 120 : -5;
  const Pair in = b.input({batch, 71, 64, 4}, 0.02f, zero_point);
  const Pair wide = b.weights({72, 1, 1, 4}, 0), taps = b.weights({1, kernel, kernel, 72}, 3),
             narrow = b.weights({6, 1, 1, 72}, 0);
  const Pair expanded = b.node(Op::kConv, {in, wide, b.bias(wide, in)}, window(1, 1), per_tensor(0.03f, zero_point));
  const Pair filtered = b.node(Op::kDepthwise, {expanded, taps, b.bias(taps, expanded)}, window(kernel, stride, 72),
                               per_tensor(0.04f, 3));
  const Pair result =
      b.node(Op::kConv, {filtered, narrow, b.bias(narrow, filtered)}, window(1, 1), per_tensor(0.05f, 9));
  b.integer.output(b.integer.node(Op::kConvert, {result.integers}));
  if (is_read) {
    b.integer.output(b.integer.node(Op::kConvert, {expanded.integers}));
    b.integer.output(b.integer.node(Op::kConvert, {filtered.integers}));
  }
  return Runner(b.integer.finish()).run(b.shapes, b.inputs);
}

TEST_CASE("graph quantised: bands give what whole images give") {
  for (const size_t threads : {1, 3}) {
    enr::set_num_threads(threads);
    for (const int64_t batch : {1, 2}) {
      for (const uint32_t kernel : {3u, 5u}) {
        for (const uint32_t stride : {1u, 2u}) {
          const DType type = stride == 1 ? DType::kInt8 : DType::kUInt8;
          const RunResult bands = run_chain(batch, kernel, stride, type, false);
          const RunResult whole = run_chain(batch, kernel, stride, type, true);
          CHECK(bands.steps.size() == 3);
          CHECK(whole.steps.size() == 7);
          CHECK(bands.outputs[0] == whole.outputs[0]);
        }
      }
    }
  }
  enr::set_num_threads(0);
}

TEST_CASE("graph quantised: levels between nodes are unsigned where products read such as they lie") {
  const DType kept = enr::kernels::qgemm_reads_unsigned() ? DType::kUInt8 : DType::kInt8;
  for (const bool is_output : {false, true}) {
    Both b;
    const Pair in = b.input({1, 6, 6, 8}, 0.02f, 4), filter = b.weights({12, 3, 3, 8}, 0);
    const Pair x = b.node(Op::kConv, {in, filter, b.bias(filter, in)}, window(3, 1), per_tensor(0.3f, -7));
    auto bytes = std::make_shared<std::vector<int8_t>>(12);
    Floats reals(12);
    for (size_t i = 0; i < reals.size(); ++i) {
      (*bytes)[i] = static_cast<int8_t>(b.integer_in(-100, 100));
      reals[i] = 0.05f * static_cast<float>((*bytes)[i] - 3);
    }
    const ValueId addend = b.integer.graph.add_constant(DType::kInt8, {12}, bytes, bytes->data());
    b.integer.graph.values[addend].quantization = per_tensor(0.05f, 3);
    const Pair sum = b.node(Op::kBinary, {x, {addend, b.real.constant_of({12}, std::move(reals))}},
                            BinaryAttributes{Binary::kAdd}, per_tensor(0.4f, 2));
    if (!is_output) {
      b.check(sum, 2.01f);
      continue;
    }
    b.integer.output(sum.integers);
    Graph graph = b.integer.finish();
    optimize(graph);
    // What a caller sees stays, and what a node computes together with it.
    CHECK(graph.values[in.integers].dtype == DType::kInt8);
    CHECK(graph.values[x.integers].dtype == DType::kInt8);
    graph.values[sum.integers].is_output = false;
    store_levels_unsigned(graph);
    CHECK(graph.values[in.integers].dtype == kept);
    CHECK(graph.values[x.integers].dtype == kept);
    CHECK(graph.values[x.integers].quantization.zero_point == (kept == DType::kInt8 ? -7 : 121));
    CHECK(graph.values[graph.nodes.back().inputs[1]].dtype == kept);
    CHECK(graph.values[filter.integers].dtype == DType::kInt8);
  }
}

TEST_CASE("graph quantised: fully connected") {
  Both b;
  const Pair in = b.input({3, 40}, 0.02f, -7);
  const Pair filter = b.weights({21, 40}, 0);
  b.check(b.node(Op::kFullyConnected, {in, filter, b.bias(filter, in)}, MatmulAttributes{}, per_tensor(0.06f, 11)));

  Both dynamic;
  const Shape shape{5, 64};
  dynamic.shapes = {shape};
  dynamic.inputs = {random_floats(320, 4, -3, 2)};
  Quantization rows;
  rows.kind = Quantization::Kind::kPerRow;
  const ValueId quantized = dynamic.quantized_node(Op::kConvert, {dynamic.integer.input(shape)}, {}, rows);
  const Pair weights = dynamic.weights({18, 64}, 0);
  const ValueId real_in = dynamic.real.input(shape);
  const ValueId out =
      dynamic.integer.node(Op::kFullyConnected, {quantized, weights.integers, kNoValue}, MatmulAttributes{});
  const ValueId real_out =
      dynamic.real.node(Op::kFullyConnected, {real_in, weights.reals, kNoValue}, MatmulAttributes{});
  dynamic.integer.graph.values[out].quantization.scale = 0.1f;  // the tolerance
  CHECK(dynamic.check({out, real_out}).size() == 2);
}

TEST_CASE("graph quantised: binary functions broadcast") {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3, 3, 8}, {2, 3, 3, 8}}, {{2, 3, 3, 8}, {2, 1, 1, 8}}, {{2, 3, 3, 8}, {1}}, {{4, 1, 3}, {2, 1}}};
  for (const auto& [x, y] : shapes) {
    for (const Binary op : {Binary::kAdd, Binary::kSub, Binary::kMul}) {
      Both b;
      const Pair p = b.input(x, 0.02f, 4), q = b.input(y, 0.03f, -3);
      const Pair result = b.node(Op::kBinary, {p, q}, BinaryAttributes{op}, per_tensor(0.05f, 2));
      b.integer.graph.nodes.back().post.min = -1.0f;
      b.real.graph.nodes.back().post.min = -1.0f;
      b.check(result);
    }
  }
}

TEST_CASE("graph quantised: movement, pools and functions of one value") {
  Both b;
  const Pair in = b.input({1, 6, 6, 4}, 0.02f, -9);
  const Quantization q = per_tensor(0.02f, -9), coarse = per_tensor(0.04f, 5);
  const Pair pooled = b.same(Op::kMaxPool, in, window(3, 1));
  const Pair padded = b.same(Op::kPad, in, PadAttributes{{0, 1, 1, 0}, {0, 0, 0, 0}, 0.5f});
  const Pair cut = b.same(Op::kSlice, padded, SliceAttributes{{0, 1, 0, 0}, {1, 6, 6, 4}});
  const Pair turned = b.same(Op::kTranspose, cut, TransposeAttributes{{0, 2, 1, 3}});
  b.check(b.node(Op::kConcat, {pooled, turned, in}, ConcatAttributes{3}, coarse));

  Both joined;  // the same parameters: written in place
  const Pair x = joined.input({1, 6, 6, 4}, 0.02f, -9);
  joined.check(joined.node(Op::kConcat, {joined.same(Op::kMaxPool, x, window(3, 1)), x}, ConcatAttributes{3}, q));

  Both average;
  const Pair y = average.input({2, 6, 6, 4}, 0.02f, -9);
  average.check(average.node(Op::kAveragePool, {y}, window(3, 2), coarse));
  Both global;
  const Pair z = global.input({2, 6, 6, 4}, 0.02f, -9);
  global.check(global.node(Op::kGlobalAverage, {z}, GlobalAverageAttributes{true}, per_tensor(0.01f, 5)));
  Both resized;
  const Pair image = resized.input({1, 4, 5, 3}, 0.02f, -9);
  resized.check(resized.same(Op::kResizeBilinear, image, ResizeAttributes{9, 7, false}));

  for (const Unary op : {Unary::kSigmoid, Unary::kTanh, Unary::kHardSwish}) {
    Both unary;
    const Pair v = unary.input({3, 40}, 0.02f, 3);
    unary.check(unary.node(Op::kUnary, {v}, UnaryAttributes{op, {}}, per_tensor(0.01f, -3)));
  }
}

TEST_CASE("graph quantised: inputs from planes to pixels") {
  for (const DType dtype : {DType::kInt8, DType::kUInt8}) {
    for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 3, 150, 160}, Shape{1, 40, 3, 5}}) {
      Both b(dtype);
      const Pair in = b.input(shape, 0.05f, 3);
      b.check(b.same(Op::kTranspose, in, TransposeAttributes{{0, 2, 3, 1}}));
    }
  }
}

TEST_CASE("graph quantised: a float convolution with an integer bias") {
  Both b;
  const Pair in = b.input({1, 5, 5, 4}, 0.02f, 0);
  const Pair filter = b.weights({6, 1, 1, 4}, 0);
  const Pair bias = b.bias(filter, in);
  // The bias as exporters leave it: an integer per channel, in quanta of input times weights.
  Quantization& q = b.integer.graph.values[bias.integers].quantization;
  auto scales = std::make_shared<std::vector<float>>(*b.integer.graph.values[filter.integers].quantization.scales);
  for (float& scale : *scales) scale *= 0.02f;
  q.kind = Quantization::Kind::kPerChannel;
  q.scales = scales;
  const ValueId floats = b.integer.node(Op::kConvert, {in.integers});
  const Floats& weights = *std::static_pointer_cast<const Floats>(b.real.graph.values[filter.reals].owner);
  const ValueId conv =
      b.integer.node(Op::kConv, {floats, b.integer.constant_of({6, 1, 1, 4}, weights), bias.integers}, window(1, 1));
  b.integer.graph.values[conv].quantization.scale = 0.01f;
  b.check({conv, b.real.node(Op::kConv, {in.reals, filter.reals, bias.reals}, window(1, 1))});
}

TEST_CASE("graph quantised: dequantising and quantising again is one look-up") {
  for (const bool same : {false, true}) {
    Both b;
    const Pair in = b.input({3, 40}, 0.02f, -7);
    const ValueId real = b.integer.node(Op::kConvert, {in.integers});
    const ValueId again =
        b.quantized_node(Op::kConvert, {real}, {}, same ? per_tensor(0.02f, -7) : per_tensor(0.03f, 5));
    CHECK(b.check({again, b.real.node(Op::kCopy, {in.reals})}).size() == (same ? 2 : 3));
  }
}

TEST_CASE("graph quantised: real functions of one value's levels are one look-up") {
  for (const DType dtype : {DType::kInt8, DType::kUInt8}) {
    Both b(dtype);
    const int32_t middle = dtype == DType::kInt8 ? 0 : 128;
    const Pair in = b.input({3, 40}, 0.02f, middle - 7);
    const auto function = [&](Builder& on, ValueId x) {
      const ValueId scaled = on.binary(Binary::kMul, on.unary(Unary::kTanh, x), on.constant_of({1}, {3.0f}));
      return on.unary(Unary::kClamp, on.binary(Binary::kAdd, scaled, x), -2.5, 2);
    };
    const ValueId result = function(b.integer, b.integer.node(Op::kConvert, {in.integers}));
    const ValueId levels = b.quantized_node(Op::kConvert, {result}, {}, per_tensor(0.03f, middle + 5));
    CHECK(b.check({levels, function(b.real, in.reals)}).size() == 3);
  }
  // Another value comes in.
  Both b;
  const Pair x = b.input({3, 40}, 0.02f, -7), y = b.input({3, 40}, 0.03f, 1);
  const ValueId sum =
      b.integer.binary(Binary::kAdd, b.integer.unary(Unary::kExp, b.integer.node(Op::kConvert, {x.integers})),
                       b.integer.node(Op::kConvert, {y.integers}));
  const ValueId levels = b.quantized_node(Op::kConvert, {sum}, {}, per_tensor(0.08f, 5));
  CHECK(b.check({levels, b.real.binary(Binary::kAdd, b.real.unary(Unary::kExp, x.reals), y.reals)}).size() > 3);
}

TEST_CASE("graph quantised: what has no kernel is computed in float") {
  Both b;
  const Pair in = b.input({3, 40}, 0.02f, -7);
  b.check(b.node(Op::kSoftmax, {in}, SoftmaxAttributes{}, per_tensor(0.01f, -100)));
}

TEST_CASE("graph quantised: mixtures that cannot be computed are refused by name") {
  Both b;
  const Pair in = b.input({3, 40}, 0.02f, -7);
  b.integer.output(b.quantized_node(Op::kConvert, {in.integers}, {}, per_tensor(10, 0)));
  CHECK_THROWS_WITH_AS(Runner(b.integer.finish()), doctest::Contains("scale 0.02 is too far from the result's 10"),
                       enr::Error);
}
