// What passes and layouts make of a graph: which steps are left, and that results stay the same.

#include <doctest/doctest.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "graph/layout.h"
#include "graph/passes.h"
#include "graph_reference.h"

using namespace enr::graph;
using namespace enr::graph::test;
using enr::kernels::Binary;
using enr::kernels::Unary;
using Names = std::vector<std::string>;

namespace {

WindowAttributes window(uint32_t kernel, uint32_t stride = 1) {
  WindowAttributes w;
  w.kernel_height = w.kernel_width = kernel;
  w.stride_height = w.stride_width = stride;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = kernel / 2;
  return w;
}

size_t count(const Names& names, const std::string& name) {
  return static_cast<size_t>(std::count(names.begin(), names.end(), name));
}

}  // namespace

TEST_CASE("graph passes: activations move into the node before them") {
  for (const Unary op : {Unary::kRelu, Unary::kHardSwish, Unary::kGelu, Unary::kSigmoid, Unary::kTanh}) {
    Builder b;
    const ValueId in = b.input({1, 6, 6, 8});
    b.output(b.unary(op, b.conv(in, 12, window(3))));
    b.output(b.unary(op, b.conv(in, 12, window(1))));
    b.output(b.unary(op, b.depthwise(in, window(3))));
    b.output(b.unary(op, b.linear(in, 9)));
    b.output(b.unary(op, b.binary(Binary::kAdd, in, in)));
    CHECK(check_graph(b.finish()).size() == 5);
  }
  Builder silu;
  const ValueId x = silu.conv(silu.input({1, 5, 5, 4}), 6, window(3));
  silu.output(silu.binary(Binary::kMul, x, silu.unary(Unary::kSigmoid, x)));
  CHECK(check_graph(silu.finish()).size() == 1);

  Builder both;  // an activation behind a clamp, and clamps of clamps
  ValueId y = both.linear(both.input({3, 8}), 16);
  y = both.unary(Unary::kClamp, both.unary(Unary::kClamp, y, -1, 0.5), -0.25, 3);
  both.output(both.unary(Unary::kExp, y));
  CHECK(check_graph(both.finish()).size() == 1);
}

TEST_CASE("graph passes: groups of few channels are computed together") {
  const auto run = [](uint32_t groups, int64_t inputs, int64_t outputs) {
    Builder b;
    WindowAttributes w = window(3);
    w.groups = groups;
    b.output(b.conv(b.input({2, 6, 5, groups * inputs}), groups * outputs, w));
    Graph graph = b.finish();
    check_graph(graph);
    optimize(graph);
    return graph.nodes[0].as<WindowAttributes>().groups;
  };
  CHECK(run(4, 1, 1) < 4);
  CHECK(run(12, 1, 2) < 12);
  CHECK(run(2, 64, 64) == 2);

  Builder several;  // outputs for each channel
  several.output(several.depthwise(several.input({1, 5, 6, 5}), window(3), 3));
  Graph graph = several.finish();
  check_graph(graph);
  optimize(graph);
  CHECK(graph.nodes[0].op == Op::kConv);
}

TEST_CASE("graph passes: hard activations in pieces become one function") {
  for (const int form : {0, 1, 2, 3}) {
    Builder b;
    const ValueId x = b.linear(b.input({3, 8}), 16), three = b.constant_of({1}, {3}), six = b.constant_of({1}, {6});
    const ValueId moved = form == 0 ? b.unary(Unary::kScale, x, 1, 3) : b.binary(Binary::kAdd, x, three);
    const ValueId gate =
        form == 2 ? b.unary(Unary::kClamp, b.unary(Unary::kRelu, moved), -1, 6) : b.unary(Unary::kClamp, moved, 0, 6);
    const ValueId sigmoid = b.binary(Binary::kDiv, gate, six);
    b.output(form == 3 ? sigmoid : b.binary(Binary::kMul, x, sigmoid));
    CHECK(check_graph(b.finish()).size() == 1);
  }
  Builder divided;
  const ValueId x = divided.linear(divided.input({3, 8}), 16);
  const ValueId gate = divided.unary(Unary::kClamp, divided.unary(Unary::kScale, x, 1, 3), 0, 6);
  divided.output(divided.binary(Binary::kDiv, divided.binary(Binary::kMul, gate, x), divided.constant_of({1}, {6})));
  CHECK(check_graph(divided.finish()).size() == 1);
  Builder others;  // other numbers, and what others need
  const ValueId y = others.linear(others.input({3, 8}), 16), six = others.constant_of({1}, {6});
  const ValueId wide = others.unary(Unary::kClamp, others.unary(Unary::kScale, y, 1, 3), 0, 7);
  others.output(others.binary(Binary::kDiv, wide, six));
  const ValueId needed = others.unary(Unary::kClamp, others.unary(Unary::kScale, y, 1, 3), 0, 6);
  others.output(needed);
  others.output(others.binary(Binary::kDiv, needed, six));
  CHECK(check_graph(others.finish()).size() == 5);
}

TEST_CASE("graph passes: constants of channels move into weights and bias") {
  Builder b;
  const ValueId in = b.input({1, 6, 6, 8});
  for (const bool has_bias : {false, true}) {
    for (const ValueId x : {b.conv(in, 12, window(3)), b.depthwise(in, window(3)), b.linear(in, 9)}) {
      const int64_t channels = b.graph.values[x].shape.back();
      if (!has_bias) b.graph.nodes.back().inputs.resize(2);
      const ValueId scaled = b.binary(Binary::kMul, b.constant({1, 1, 1, channels}), x);
      b.output(b.unary(Unary::kRelu, b.binary(Binary::kAdd, scaled, b.constant({channels}))));
    }
  }
  CHECK(check_graph(b.finish()).size() == 6);

  Builder others;  // constants of other shapes, values that others need, and what comes behind an activation
  const ValueId x = others.conv(others.input({1, 4, 8, 8}), 8, window(3));
  others.output(others.binary(Binary::kMul, x, others.constant({1, 1, 8, 1})));
  others.output(others.binary(Binary::kMul, x, others.constant({8})));
  const ValueId relu = others.unary(Unary::kRelu, others.conv(others.input({1, 4, 4, 8}), 8, window(1)));
  others.output(others.binary(Binary::kAdd, relu, others.constant({8})));
  CHECK(check_graph(others.finish()).size() == 5);
}

TEST_CASE("graph passes: values that others need stay") {
  Builder b;
  const ValueId x = b.linear(b.input({3, 8}), 16);
  b.output(b.unary(Unary::kRelu, x));
  b.output(b.unary(Unary::kExp, x));
  CHECK(check_graph(b.finish()).size() == 3);
  Builder c;
  const ValueId y = c.linear(c.input({3, 8}), 16);
  c.output(y);
  c.output(c.unary(Unary::kRelu, y));
  CHECK(check_graph(c.finish()).size() == 2);
}

TEST_CASE("graph passes: additions move into convolutions") {
  for (const bool swapped : {false, true}) {
    Builder b;
    const ValueId in = b.input({1, 6, 6, 8});
    const ValueId x = b.conv(in, 8, window(3));
    b.output(b.unary(Unary::kRelu, swapped ? b.binary(Binary::kAdd, in, x) : b.binary(Binary::kAdd, x, in)));
    CHECK(check_graph(b.finish()).size() == 1);
  }
  Builder two;  // a down-sampled shortcut, computed after the main path
  const ValueId in = two.input({1, 8, 8, 4});
  const ValueId main = two.conv(in, 6, window(3, 2)), shortcut = two.conv(in, 6, window(1, 2));
  two.output(two.unary(Unary::kRelu, two.binary(Binary::kAdd, main, shortcut)));
  CHECK(check_graph(two.finish()).size() == 2);

  Builder broadcast;
  broadcast.output(
      broadcast.binary(Binary::kAdd, broadcast.linear(broadcast.input({3, 8}), 8), broadcast.input({1, 8})));
  CHECK(check_graph(broadcast.finish()).size() == 2);

  Builder activated;  // the sum is not inside of the activation
  const ValueId y = activated.input({4, 8});
  activated.output(activated.binary(Binary::kAdd, activated.unary(Unary::kRelu, activated.linear(y, 8)), y));
  CHECK(check_graph(activated.finish()).size() == 2);
}

TEST_CASE("graph passes: an addition that broadcasts for one shape only") {
  Builder b;
  const ValueId x = b.input({4, 8}), y = b.input({4, 8});
  b.output(b.binary(Binary::kAdd, b.linear(x, 8), y));
  const Graph graph = b.finish();
  CHECK(check_graph(graph).size() == 1);
  CHECK(check_graph(graph, {{3, 8}, {1, 8}}).size() == 2);
  CHECK(check_graph(graph, {{1, 8}, {5, 8}}).size() == 2);
}

TEST_CASE("graph passes: transposes cancel and merge") {
  Builder b;
  const ValueId in = b.input({2, 3, 4, 5});
  b.output(b.unary(Unary::kNeg, b.transpose(b.transpose(in, {0, 2, 3, 1}), {0, 3, 1, 2})));
  CHECK(check_graph(b.finish()) == Names{"Neg"});
  Builder three;
  ValueId x = three.input({1, 3, 6, 4});
  for (const Shape& p : {Shape{2, 0, 1, 3}, Shape{1, 2, 0, 3}, Shape{0, 2, 1, 3}}) x = three.transpose(x, p);
  three.output(three.unary(Unary::kNeg, x));
  CHECK(count(check_graph(three.finish()), "transpose") <= 1);
  Builder ones;
  ones.output(ones.linear(
      ones.reshape(ones.transpose(ones.unary(Unary::kNeg, ones.input({1, 1, 1, 12})), {0, 3, 1, 2}), {1, 12}), 5));
  CHECK(check_graph(ones.finish()).size() == 2);
}

TEST_CASE("graph passes: zero padding moves into the convolution") {
  Builder b;
  const PadAttributes pad{{0, 1, 2, 0}, {0, 2, 1, 0}, 0.0f};
  b.output(b.conv(b.node(Op::kPad, {b.input({1, 6, 6, 4})}, pad), 5, window(3)));
  CHECK(check_graph(b.finish()).size() == 1);
  Builder other;
  const PadAttributes ones{{0, 1, 1, 0}, {0, 1, 1, 0}, 1.0f};
  other.output(other.conv(other.node(Op::kPad, {other.input({1, 6, 6, 4})}, ones), 5, window(3)));
  CHECK(check_graph(other.finish()).size() == 2);
}

TEST_CASE("graph passes: large depthwise convolutions run in bands with their neighbours") {
  for (const uint32_t stride : {1u, 2u}) {
    for (const uint32_t kernel : {3u, 5u}) {
      for (const int64_t batch : {1, 3}) {
        Builder b;
        const ValueId in = b.input({batch, 71, 64, 4});
        ValueId x = b.unary(Unary::kRelu, b.conv(in, 40, window(1)));
        x = b.unary(Unary::kHardSwish, b.depthwise(x, window(kernel, stride)));
        x = b.conv(x, 4, window(1));
        b.output(stride == 1 ? b.binary(Binary::kAdd, x, in) : x);
        CHECK(check_graph(b.finish()) == Names{"expand depthwise project"});
      }
    }
  }
  Builder parts;
  const ValueId in = parts.input({1, 66, 64, 40});
  parts.output(parts.conv(parts.depthwise(in, window(3)), 6, window(1)));
  parts.output(parts.depthwise(parts.conv(in, 36, window(1)), window(3, 2)));
  CHECK(check_graph(parts.finish()) == Names{"depthwise project", "expand depthwise"});

  Builder needed;  // somebody else reads the image in between
  const ValueId wide = needed.conv(needed.input({1, 66, 64, 3}), 40, window(1));
  needed.output(needed.depthwise(wide, window(3)));
  needed.output(needed.node(Op::kGlobalAverage, {wide}, GlobalAverageAttributes{true}));
  CHECK(check_graph(needed.finish()).size() == 3);
}

TEST_CASE("graph passes: the first convolution reads planes, and joins a depthwise one behind it") {
  const auto check_threads = [](const Graph& graph, const Shape& shape) {
    const Floats input = random_floats(static_cast<size_t>(shape.numel()), 5);
    Floats alone;
    for (const size_t threads : {1u, 2u, 3u}) {
      enr::set_num_threads(threads);
      const Floats got = Runner(graph).run({shape}, {input}).outputs[0];
      if (threads == 1) alone = got;
      CHECK(got == alone);
    }
    enr::set_num_threads(0);
  };
  for (const int64_t batch : {1, 2}) {
    for (const int64_t planes : {2, 3, 4}) {
      for (const uint32_t kernel : {3u, 7u}) {
        const Shape shape{batch, planes, 61, 50};
        Builder b;
        WindowAttributes w = window(kernel, 2);
        w.pad_right = 0;
        b.output(b.unary(Unary::kRelu, b.conv(b.transpose(b.input(shape), {0, 2, 3, 1}), 20, w)));
        const Graph graph = b.finish();
        const Names names = check_graph(graph);
        CHECK(names.size() == 1);
        CHECK((names.at(0) == "conv" || (kernel == 7 && names.at(0) == "conv winograd 3")));
        check_threads(graph, shape);
      }
    }
    const Shape shape{batch, 3, 129, 127};
    for (const bool projects : {false, true}) {
      Builder stem;
      ValueId x =
          stem.unary(Unary::kRelu, stem.conv(stem.transpose(stem.input(shape), {0, 2, 3, 1}), 40, window(3, 2)));
      x = stem.unary(Unary::kHardSwish, stem.depthwise(x, window(3)));
      if (projects) x = stem.conv(x, 12, window(1));
      stem.output(x);
      const Graph graph = stem.finish();
      CHECK(check_graph(graph) == Names{projects ? "conv depthwise project" : "conv depthwise"});
      // Threads cut images into bands of other sizes, and a product of few rows adds in another order.
      if (!projects) check_threads(graph, shape);
    }
  }
  Builder pixels;  // the input is in pixels already
  const ValueId wide = pixels.conv(pixels.input({1, 67, 64, 4}), 40, window(3));
  pixels.output(pixels.conv(pixels.depthwise(wide, window(3, 2)), 6, window(1)));
  CHECK(check_graph(pixels.finish()) == Names{"conv depthwise project"});
  Builder many;  // too many planes, a window that Winograd takes, another reader
  const ValueId in = many.transpose(many.input({1, 8, 20, 20}), {0, 2, 3, 1});
  many.output(many.conv(in, 6, window(3, 2)));
  CHECK(count(check_graph(many.finish()), "transpose") == 1);
  Builder winograd;
  winograd.output(winograd.conv(winograd.transpose(winograd.input({1, 3, 20, 20}), {0, 2, 3, 1}), 6, window(3)));
  CHECK(count(check_graph(winograd.finish()), "transpose") == 1);
  Builder shared;
  const ValueId both = shared.transpose(shared.input({1, 3, 20, 20}), {0, 2, 3, 1});
  shared.output(shared.conv(both, 6, window(3, 2)));
  shared.output(shared.unary(Unary::kNeg, both));
  CHECK(count(check_graph(shared.finish()), "transpose") == 1);
}

TEST_CASE("graph passes: small depthwise convolutions run in groups of channels with their neighbours") {
  const auto block = [](int64_t size, int64_t channels, uint32_t kernel, uint32_t stride, bool projects) {
    Builder b;
    const ValueId in = b.input({1, size, size, 24});
    ValueId x = b.unary(Unary::kRelu, b.conv(in, channels, window(1)));
    x = b.unary(Unary::kHardSwish, b.depthwise(x, window(kernel, stride)));
    if (projects) {
      x = b.conv(x, 24, window(1));
      if (stride == 1) x = b.binary(Binary::kAdd, x, in);
      x = b.unary(Unary::kTanh, x);
    }
    // The result's pixels are apart.
    b.output(b.concat({x, b.node(Op::kMaxPool, {in}, window(1, stride))}, 3));
    return b.finish();
  };
  for (const int64_t size : {1, 7, 14}) {
    for (const int64_t channels : {64, 150, 304}) {
      for (const uint32_t kernel : {3u, 5u}) {
        for (const uint32_t stride : {1u, 2u}) {
          for (const bool projects : {false, true}) {
            const Graph graph = block(size, channels, kernel, stride, projects);
            const Names names = check_graph(graph);
            CHECK(count(names, projects ? "expand depthwise project" : "expand depthwise") == 1);
            const Floats input = random_floats(static_cast<size_t>(size * size * 24), 5);
            Floats alone;
            for (const size_t threads : {1u, 2u, 3u, 5u}) {
              CAPTURE(threads);
              enr::set_num_threads(threads);
              const Floats got = Runner(graph).run({{1, size, size, 24}}, {input}).outputs[0];
              if (threads == 1) alone = got;
              CHECK(got == alone);
            }
            enr::set_num_threads(0);
          }
        }
      }
    }
  }

  Builder wide;  // sums as many as what they are made of
  const ValueId x = wide.depthwise(wide.conv(wide.input({1, 7, 7, 24}), 64, window(1)), window(3));
  wide.output(wide.conv(x, 64, window(1)));
  CHECK(check_graph(wide.finish()) == Names{"expand depthwise", "conv"});
  Builder few;  // channels for one panel only
  few.output(few.conv(few.depthwise(few.conv(few.input({1, 7, 7, 4}), 8, window(1)), window(3)), 3, window(1)));
  CHECK(check_graph(few.finish()) == Names{"expand depthwise project"});
  Builder images;
  images.output(images.depthwise(images.conv(images.input({2, 7, 7, 24}), 64, window(1)), window(3)));
  CHECK(check_graph(images.finish()).size() == 2);
}

TEST_CASE("graph passes: convolutions read the parts of a concatenation") {
  const auto parts = [](const Names& names) {
    return count(names, "conv winograd 4 of parts") + count(names, "conv winograd 2 of parts") +
           count(names, "conv winograd 2x4 of parts");
  };
  for (const int64_t batch : {1, 2}) {
    for (const Shape& size : {Shape{20, 20}, Shape{13, 31}, Shape{14, 17}}) {
      Builder b;
      std::vector<ValueId> images;
      for (const int64_t channels : {8, 21, 3}) images.push_back(b.input({batch, size[0], size[1], channels}));
      const ValueId conv = b.conv(b.concat(images, 3), 24, window(3));
      b.output(b.unary(Unary::kRelu, b.binary(Binary::kAdd, conv, b.input({batch, size[0], size[1], 24}))));
      const Names names = check_graph(b.finish());
      CHECK(parts(names) == 1);
      CHECK(count(names, "concatenate") == 0);
    }
  }
  Builder few;  // a part in front of the last that leaves much of a vector empty
  const ValueId narrow = few.concat({few.input({1, 20, 20, 3}), few.input({1, 20, 20, 16})}, 3);
  few.output(few.conv(narrow, 24, window(3)));
  CHECK(parts(check_graph(few.finish())) == 0);
  Builder needed;  // by another node as well
  const ValueId both = needed.concat({needed.input({1, 20, 20, 8}), needed.input({1, 20, 20, 16})}, 3);
  needed.output(needed.conv(both, 24, window(3)));
  needed.output(needed.unary(Unary::kTanh, both));
  CHECK(parts(check_graph(needed.finish())) == 0);
  Builder rows;  // along another axis
  rows.output(rows.conv(rows.concat({rows.input({1, 8, 20, 16}), rows.input({1, 12, 20, 16})}, 1), 24, window(3)));
  CHECK(parts(check_graph(rows.finish())) == 0);
}

TEST_CASE("graph passes: convolutions resize what they read") {
  for (const Op op : {Op::kResizeBilinear, Op::kResizeNearest}) {
    for (const bool corners : {false, true}) {
      if (corners && op == Op::kResizeNearest) continue;
      for (const bool joined : {false, true}) {
        Builder b;
        const ValueId large = b.node(op, {b.input({1, 41, 37, 32})}, ResizeAttributes{83, 74, corners});
        const ValueId image = joined ? b.concat({b.input({1, 83, 74, 16}), large}, 3) : large;
        b.output(b.conv(image, 20, window(3)));
        CHECK(check_graph(b.finish()).size() == 1);
      }
      Builder small;  // stays in cache
      const ValueId image = small.node(op, {small.input({1, 9, 7, 16})}, ResizeAttributes{18, 14, corners});
      small.output(small.conv(image, 20, window(3)));
      CHECK(check_graph(small.finish()).size() == 2);
    }
  }
  Builder clamped;
  const ValueId in =
      clamped.node(Op::kResizeBilinear, {clamped.input({1, 41, 37, 32})}, ResizeAttributes{83, 74, false});
  clamped.output(clamped.conv(clamped.unary(Unary::kRelu, in), 20, window(3)));
  CHECK(check_graph(clamped.finish()).size() == 3);
}

TEST_CASE("graph layout: producers write into concatenations") {
  Builder b;
  const ValueId in = b.input({1, 6, 6, 4});
  const ValueId x = b.conv(in, 8, window(3)), y = b.conv(in, 4, window(1));
  const ValueId joined = b.concat({x, y}, 3);
  b.output(b.conv(joined, 5, window(3)));
  b.output(b.node(Op::kMaxPool, {x}, window(2, 2)));  // x is read where it lies
  CHECK(count(check_graph(b.finish()), "concatenate") == 0);

  Builder nested;
  const ValueId source = nested.input({1, 4, 4, 3});
  const ValueId inner = nested.concat({nested.conv(source, 4, window(1)), nested.conv(source, 5, window(1))}, 3);
  nested.output(nested.concat({inner, nested.conv(source, 2, window(3))}, 3));
  CHECK(count(check_graph(nested.finish()), "concatenate") <= 1);

  Builder twice;
  const ValueId once = twice.conv(twice.input({1, 4, 4, 3}), 4, window(1));
  twice.output(twice.concat({once, once}, 3));
  check_graph(twice.finish());

  Builder rows;  // along the outermost dim that is not 1, any producer fits
  const ValueId row = rows.input({1, 3, 8});
  rows.output(rows.concat({rows.node(Op::kSoftmax, {row}), row}, 1));
  CHECK(count(check_graph(rows.finish()), "concatenate") == 1);
}

TEST_CASE("graph layout: views of inputs, outputs and each other") {
  Builder b;
  const ValueId in = b.input({2, 12});
  const ValueId view = b.reshape(in, {2, 3, 4});
  b.output(view);
  b.output(b.reshape(view, {24}));
  b.output(b.reshape(b.unary(Unary::kNeg, view), {4, 6}));
  check_graph(b.finish(), 0.0f);

  Builder outputs;  // one value under two shapes, both outputs
  const ValueId x = outputs.unary(Unary::kNeg, outputs.input({6}));
  outputs.output(x);
  outputs.output(outputs.reshape(x, {2, 3}));
  outputs.output(outputs.reshape(x, {3, 2}));
  check_graph(outputs.finish(), 0.0f);

  Builder slices;
  const ValueId wide = slices.unary(Unary::kExp, slices.input({3, 4, 10}));
  const ValueId left = slices.slice(wide, {0, 0, 0}, {3, 4, 6}), right = slices.slice(wide, {0, 0, 6}, {3, 4, 4});
  slices.output(slices.unary(Unary::kNeg, left));
  slices.output(slices.linear(right, 3));
  slices.output(slices.concat({right, left}, 2));
  check_graph(slices.finish());
}

TEST_CASE("graph layout: results that replace operands spare the ones still needed") {
  Builder b;
  ValueId x = b.unary(Unary::kNeg, b.input({50}));
  ValueId y = b.unary(Unary::kExp, x);
  const ValueId view = b.reshape(x, {5, 10});
  y = b.binary(Binary::kMul, y, x);
  y = b.binary(Binary::kAdd, y, y);
  b.output(b.node(Op::kSoftmax, {view}));
  b.output(b.unary(Unary::kNeg, y));
  check_graph(b.finish());

  Builder parts;  // an operand is a part of the other's memory
  const ValueId whole = parts.unary(Unary::kNeg, parts.input({4, 6}));
  parts.output(parts.binary(Binary::kAdd, whole, parts.slice(whole, {2, 0}, {1, 6})));
  check_graph(parts.finish());

  Builder residual;  // the convolution may write over the residual only if it is its last use
  const ValueId in = residual.unary(Unary::kNeg, residual.input({1, 5, 5, 6}));
  const ValueId first = residual.binary(Binary::kAdd, residual.conv(in, 6, window(3)), in);
  residual.output(residual.binary(Binary::kAdd, residual.conv(first, 6, window(1)), first));
  residual.output(residual.unary(Unary::kExp, first));
  check_graph(residual.finish());
}

TEST_CASE("graph layout: blocks that live together do not overlap") {
  std::vector<Block> blocks;
  for (uint32_t i = 0; i < 60; ++i) blocks.push_back({100 + (i * 7919) % 5000, i % 17, i % 17 + (i * 31) % 9, 0});
  const size_t total = place_blocks(blocks);
  for (size_t a = 0; a < blocks.size(); ++a) {
    CHECK(blocks[a].offset % 64 == 0);
    CHECK(blocks[a].offset + blocks[a].size_bytes <= total);
    for (size_t b = 0; b < a; ++b) {
      if (blocks[a].last < blocks[b].first || blocks[b].last < blocks[a].first) continue;
      CHECK((blocks[a].offset + blocks[a].size_bytes <= blocks[b].offset ||
             blocks[b].offset + blocks[b].size_bytes <= blocks[a].offset));
    }
  }
}

TEST_CASE("graph plans: other shapes, small after large and large after small") {
  Builder b;
  const ValueId x = b.input({8, 6, 6, 3});
  const ValueId features = b.unary(Unary::kRelu, b.conv(x, 8, window(3, 2)));
  const ValueId mean = b.node(Op::kGlobalAverage, {features}, GlobalAverageAttributes{true});
  const ValueId flat = b.node(Op::kReshape, {b.binary(Binary::kMul, features, mean)}, ReshapeAttributes{{0, 72}, 0});
  b.output(b.linear(flat, 4));
  const Graph graph = b.finish();
  Runner runner(graph);
  for (const int64_t batch : {8, 1, 0, 7, 8, 2, 1}) {
    const Shape shape{batch, 6, 6, 3};
    const Floats input = random_floats(static_cast<size_t>(shape.numel()), static_cast<uint32_t>(batch));
    const RunResult got = runner.run({shape}, {input});
    const auto expected = interpret(graph, {shape}, {input});
    CHECK(got.shapes[0] == Shape{batch, 4});
    REQUIRE(got.outputs[0].size() == expected[0].size());
    for (size_t i = 0; i < expected[0].size(); ++i)
      CHECK(got.outputs[0][i] == doctest::Approx(expected[0][i]).epsilon(1e-4));
  }
  CHECK_THROWS(runner.run({{2, 6, 6, 4}}, {random_floats(288, 1)}));
  const Floats again = random_floats(108, 3);
  CHECK(runner.run({{1, 6, 6, 3}}, {again}).outputs[0][0] ==
        doctest::Approx(interpret(graph, {{1, 6, 6, 3}}, {again})[0][0]).epsilon(1e-4));
}
