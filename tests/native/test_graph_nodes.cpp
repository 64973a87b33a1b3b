// Each node of a float graph against the plain interpreter.

#include <doctest/doctest.h>

#include "base/error.h"
#include "graph_reference.h"

using namespace enr::graph;
using namespace enr::graph::test;
using enr::kernels::Binary;
using enr::kernels::Unary;

namespace {

WindowAttributes window(uint32_t kernel, uint32_t stride = 1, uint32_t pad = 0, uint32_t dilation = 1,
                        uint32_t groups = 1) {
  WindowAttributes w;
  w.kernel_height = w.kernel_width = kernel;
  w.stride_height = w.stride_width = stride;
  w.dilation_height = w.dilation_width = dilation;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = pad;
  w.groups = groups;
  return w;
}

}  // namespace

TEST_CASE("graph nodes: convolutions") {
  for (const uint32_t kernel : {1u, 3u}) {
    for (const uint32_t stride : {1u, 2u}) {
      for (const uint32_t groups : {1u, 2u}) {
        Builder b;
        b.output(b.conv(b.input({2, 7, 9, 6}), 10, window(kernel, stride, kernel / 2, 1, groups)));
        check_graph(b.finish());
      }
    }
  }
  Builder dilated;
  dilated.output(dilated.conv(dilated.input({1, 9, 8, 3}), 5, window(3, 1, 2, 2)));
  check_graph(dilated.finish());

  Builder uneven;
  WindowAttributes w = window(3, 2, 0);
  w.pad_bottom = w.pad_right = 1;
  uneven.output(uneven.conv(uneven.input({1, 8, 8, 4}), 5, w));
  check_graph(uneven.finish());

  Builder no_bias;
  const ValueId in = no_bias.input({1, 5, 5, 4});
  const ValueId filter = no_bias.constant({7, 1, 1, 4});
  no_bias.output(no_bias.node(Op::kConv, {in, filter, kNoValue}, window(1)));
  check_graph(no_bias.finish());
}

TEST_CASE("graph nodes: depthwise and transposed convolutions") {
  for (const uint32_t kernel : {3u, 5u}) {
    Builder b;
    b.output(b.depthwise(b.input({1, 9, 11, 18}), window(kernel, 2, kernel / 2)));
    check_graph(b.finish());
  }
  Builder multiplied;
  multiplied.output(multiplied.depthwise(multiplied.input({1, 6, 6, 5}), window(3, 1, 1), 2));
  check_graph(multiplied.finish());

  for (const uint32_t stride : {1u, 2u}) {
    Builder b;
    WindowAttributes w = window(3, stride, 1);
    w.adjustment_height = w.adjustment_width = stride - 1;
    const ValueId in = b.input({1, 4, 5, 6});
    const ValueId filter = b.constant({8, 3, 3, 6}), bias = b.constant({8});
    b.output(b.node(Op::kConvTranspose, {in, filter, bias}, w));
    check_graph(b.finish());
  }
}

TEST_CASE("graph nodes: products") {
  Builder linear;
  linear.output(linear.linear(linear.input({2, 3, 20}), 17));
  check_graph(linear.finish());

  Builder transposed;
  ValueId in = transposed.input({5, 12});
  ValueId filter = transposed.constant({12, 9}), bias = transposed.constant({9});
  transposed.output(transposed.node(Op::kFullyConnected, {in, filter, bias}, MatmulAttributes{true}));
  check_graph(transposed.finish());

  Builder dynamic;
  in = dynamic.input({5, 12});
  filter = dynamic.input({9, 12});
  bias = dynamic.input({9});
  dynamic.output(dynamic.node(Op::kFullyConnected, {in, filter, bias}, MatmulAttributes{}));
  check_graph(dynamic.finish());

  for (const bool b_transposed : {false, true}) {
    for (const Shape& batch : {Shape{}, Shape{4}, Shape{2, 3}, Shape{2, 1, 3}}) {
      for (const Shape& other : {Shape{}, Shape{1}, Shape{3}}) {
        if (other.numel() != 1 && (batch.rank() == 0 || batch.back() != other.numel())) continue;
        Builder b;
        Shape x = batch, y = other;
        x.push_back(5);
        x.push_back(7);
        y.push_back(b_transposed ? 6 : 7);
        y.push_back(b_transposed ? 7 : 6);
        b.output(b.node(Op::kBatchMatmul, {b.input(x), b.input(y)}, MatmulAttributes{b_transposed}));
        check_graph(b.finish());
        Builder c;
        const ValueId left = c.input(x);
        c.output(c.node(Op::kBatchMatmul, {left, c.constant(y)}, MatmulAttributes{b_transposed}));
        check_graph(c.finish());
      }
    }
  }
}

TEST_CASE("graph nodes: unary functions") {
  for (const Unary op : {Unary::kAbs, Unary::kNeg, Unary::kFloor, Unary::kCeil, Unary::kSquare, Unary::kExp,
                         Unary::kSin, Unary::kCos, Unary::kTanh, Unary::kSigmoid, Unary::kGelu, Unary::kHardSwish}) {
    Builder b;
    b.output(b.unary(op, b.input({3, 37})));
    check_graph(b.finish(), 1e-5f);
  }
  for (const Unary op : {Unary::kSqrt, Unary::kRsqrt, Unary::kLog}) {
    Builder b;
    b.output(b.unary(op, b.unary(Unary::kExp, b.input({3, 37}))));
    check_graph(b.finish(), 1e-5f);
  }
  Builder b;
  const ValueId in = b.input({40});
  b.output(b.unary(Unary::kClamp, in, -0.5, 0.75));
  b.output(b.unary(Unary::kLeakyRelu, in, 0.1));
  b.output(b.unary(Unary::kElu, in, 1.5, 1.0));
  check_graph(b.finish(), 1e-5f);
}

TEST_CASE("graph nodes: binary functions broadcast") {
  const std::vector<std::pair<Shape, Shape>> shapes = {{{3, 4, 5}, {3, 4, 5}},       {{3, 4, 5}, {5}},
                                                       {{3, 1, 5}, {4, 1}},          {{1}, {2, 3}},
                                                       {{2, 6, 6, 8}, {2, 1, 1, 8}}, {{3}, {3}}};
  for (const auto& [x, y] : shapes) {
    for (const Binary op :
         {Binary::kAdd, Binary::kSub, Binary::kMul, Binary::kDiv, Binary::kMaximum, Binary::kMinimum, Binary::kPrelu}) {
      Builder b;
      b.output(b.binary(op, b.input(x), b.input(y)));
      check_graph(b.finish(), 1e-5f);
    }
  }
  Builder clamped;
  clamped.output(clamped.binary(Binary::kAdd, clamped.input({2, 9}), clamped.input({9})));
  clamped.post().min = 0.0f;
  clamped.post().max = 1.0f;
  check_graph(clamped.finish(), 1e-6f);
}

TEST_CASE("graph nodes: pools, softmax, resize") {
  for (const Op op : {Op::kMaxPool, Op::kAveragePool, Op::kArgMaxPool}) {
    Builder b;
    const ValueId in = b.input({2, 8, 6, 5});
    b.output(b.node(op, {in}, window(2, 2)));
    b.output(b.node(Op::kMaxPool, {in}, window(3, 2, 1)));
    check_graph(b.finish());
  }
  Builder average;
  average.output(average.node(Op::kGlobalAverage, {average.input({2, 5, 7, 9})}, GlobalAverageAttributes{true}));
  average.output(average.node(Op::kGlobalAverage, {average.input({2, 5, 7, 9})}, GlobalAverageAttributes{false}));
  check_graph(average.finish());
  Builder softmax;
  softmax.output(softmax.node(Op::kSoftmax, {softmax.input({2, 3, 19})}));
  softmax.output(softmax.node(Op::kSoftmax, {softmax.input({5, 7})}, SoftmaxAttributes{true}));
  check_graph(softmax.finish());
  for (const bool corners : {false, true}) {
    Builder b;
    b.output(b.node(Op::kResizeBilinear, {b.input({1, 4, 5, 3})}, ResizeAttributes{9, 7, corners}));
    check_graph(b.finish());
  }
  Builder nearest;
  nearest.output(nearest.node(Op::kResizeNearest, {nearest.input({2, 4, 5, 3})}, ResizeAttributes{8, 15, false}));
  check_graph(nearest.finish());
}

TEST_CASE("graph nodes: reductions") {
  using enr::kernels::Reduce;
  for (const Reduce op : {Reduce::kSum, Reduce::kMean, Reduce::kMin, Reduce::kMax}) {
    Builder b;
    const ValueId in = b.input({2, 3, 4, 21});
    for (const uint32_t dims : {0b1000u, 0b0100u, 0b0110u, 0b1111u, 0b0001u})
      b.output(b.node(Op::kReduce, {in}, ReduceAttributes{op, dims}));
    // Of a part, and read by a function that broadcasts it.
    const ValueId part = b.slice(in, {0, 1, 0, 3}, {2, 1, 4, 9});
    b.output(b.binary(Binary::kSub, part, b.node(Op::kReduce, {part}, ReduceAttributes{op, 0b1000u})));
    check_graph(b.finish(), 1e-5f);
  }
}

TEST_CASE("graph nodes: normalisations") {
  for (const size_t parameters : {size_t{0}, size_t{1}, size_t{2}}) {
    Builder b;
    const ValueId rows = b.input({3, 5, 37}), planes = b.input({2, 6, 11});
    std::vector<ValueId> of_rows{rows}, of_planes{planes};
    for (size_t i = 0; i < parameters; ++i) {
      of_rows.push_back(b.constant({37}));
      of_planes.push_back(b.constant({6}));
    }
    b.output(b.node(Op::kLayerNorm, of_rows, NormAttributes{1e-5, 1}));
    b.output(b.node(Op::kGroupNorm, of_planes, NormAttributes{1e-3, 3}));
    // In place of an operand that nobody needs afterwards.
    b.output(b.unary(Unary::kExp, b.node(Op::kLayerNorm, {b.unary(Unary::kNeg, rows)}, NormAttributes{1e-5, 1})));
    check_graph(b.finish(), 1e-5f);
  }
}

TEST_CASE("graph nodes: movement") {
  Builder b;
  const ValueId in = b.input({2, 3, 4, 5});
  b.output(b.transpose(in, {0, 3, 1, 2}));
  b.output(b.transpose(in, {3, 2, 1, 0}));
  b.output(b.slice(in, {0, 1, 0, 2}, {2, 2, 4, 3}));
  b.output(b.slice(in, {1, 0, 0, 0}, {1, 3, 4, 5}));
  b.output(b.reshape(in, {6, 20}));
  b.output(b.node(Op::kCopy, {in}));
  PadAttributes pad{{0, 1, 2, 0}, {1, 0, 1, 3}, 0.5f};
  b.output(b.node(Op::kPad, {in}, pad));
  for (uint32_t axis = 0; axis < 4; ++axis) b.output(b.concat({in, in, b.unary(Unary::kNeg, in)}, axis));
  check_graph(b.finish(), 0.0f);
}

TEST_CASE("graph nodes: shapes that do not fit are refused") {
  const auto refuses = [](auto&& build) {
    Builder b;
    CHECK_THROWS_AS(build(b), enr::Error);
  };
  refuses([](Builder& b) { b.binary(Binary::kAdd, b.input({3}), b.input({4})); });
  refuses([](Builder& b) { b.reshape(b.input({3}), {4}); });
  refuses([](Builder& b) { b.slice(b.input({3}), {2}, {2}); });
  refuses([](Builder& b) { b.concat({b.input({3, 2}), b.input({3, 3})}, 0); });
  refuses([](Builder& b) { b.concat({b.input({3})}, 1); });
  refuses([](Builder& b) { b.transpose(b.input({3, 2}), {0, 2, 1}); });
  refuses([](Builder& b) { b.node(Op::kSoftmax, {b.input({})}); });
  refuses([](Builder& b) { b.node(Op::kReduce, {b.input({3, 4})}, ReduceAttributes{{}, 0b100}); });
  refuses([](Builder& b) { b.node(Op::kMaxPool, {b.input({1, 2, 2, 1})}, window(3)); });
  refuses([](Builder& b) { b.node(Op::kBatchMatmul, {b.input({2, 3}), b.input({2, 3})}, MatmulAttributes{}); });
  refuses([](Builder& b) { b.node(Op::kFullyConnected, {b.input({2, 3}), b.constant({5, 4})}, MatmulAttributes{}); });
  refuses([](Builder& b) { b.node(Op::kConv, {b.input({1, 4, 4, 3}), b.constant({5, 1, 1, 4})}, window(1)); });
  refuses([](Builder& b) { b.node(Op::kPad, {b.input({3})}, PadAttributes{{int64_t{1} << 40}, {0}, 0.0f}); });
}
