// Random graphs against the plain interpreter: what no one thought of combining.

#include <doctest/doctest.h>

#include <random>

#include "graph_reference.h"

using namespace enr::graph;
using namespace enr::graph::test;
using enr::kernels::Binary;
using enr::kernels::Unary;

namespace {

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : builder_(seed), random_(seed) {}

  Graph make() {
    for (int i = 0; i < 2; ++i) add(builder_.input({1 + pick(2), 4 + pick(3), 4 + pick(3), 2 + pick(6)}));
    const int64_t nodes = 3 + pick(14);
    for (int64_t n = 0; n < nodes; ++n) add_node();
    // Everything nobody reads is an output, and some others.
    const auto readers = find_readers(builder_.graph);
    for (const ValueId id : values_) {
      if (!builder_.graph.values[id].is_input && (readers[id].empty() || pick(5) == 0)) builder_.output(id);
    }
    return builder_.finish();
  }

 private:
  int64_t pick(int64_t count) { return std::uniform_int_distribution<int64_t>(0, count - 1)(random_); }
  ValueId any() { return values_[static_cast<size_t>(pick(static_cast<int64_t>(values_.size())))]; }
  const Shape& shape(ValueId id) const { return builder_.graph.values[id].shape; }
  void add(ValueId id) { values_.push_back(id); }

  // A value of the same shape, if there is one.
  ValueId like(ValueId id) {
    for (int tries = 0; tries < 8; ++tries) {
      const ValueId other = any();
      if (other != id && shape(other) == shape(id)) return other;
    }
    return id;
  }

  WindowAttributes window() {
    WindowAttributes w;
    w.kernel_height = w.kernel_width = static_cast<uint32_t>(1 + 2 * pick(2));
    w.stride_height = w.stride_width = static_cast<uint32_t>(1 + pick(2));
    w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = w.kernel_height / 2;
    return w;
  }

  void add_node() {
    static constexpr Unary kUnary[] = {Unary::kNeg, Unary::kAbs, Unary::kSigmoid, Unary::kTanh, Unary::kHardSwish};
    const ValueId x = any();
    const Shape s = shape(x);
    switch (pick(18)) {
      case 0:
        return add(builder_.unary(kUnary[pick(5)], x));
      case 1:
        return add(builder_.unary(Unary::kClamp, x, -0.5, 0.5 + static_cast<double>(pick(2))));
      case 2:
        return add(builder_.binary(Binary::kAdd, x, like(x)));
      case 3:
        return add(builder_.binary(pick(2) == 0 ? Binary::kMul : Binary::kMaximum, x, like(x)));
      case 4:
        return add(builder_.binary(Binary::kMul, x, builder_.unary(Unary::kSigmoid, x)));
      case 5:
        return s.rank() == 4 ? add(builder_.conv(x, 2 + pick(6), window())) : add(builder_.linear(x, 2 + pick(6)));
      case 6:
        return s.rank() == 4 ? add(builder_.conv(x, s[3], unit_window())) : add(builder_.linear(x, s.back()));
      case 7:
        return s.rank() == 4 ? add(builder_.depthwise(x, window())) : add(builder_.linear(x, s.back()));
      case 8:
        return add(builder_.concat({x, like(x), x}, static_cast<uint32_t>(pick(static_cast<int64_t>(s.rank())))));
      case 9:
        return add_slice(x);
      case 10:
        return add_transpose(x);
      case 11:
        return add(builder_.reshape(x, s.rank() == 4 ? Shape{s[0] * s[1], s[2] * s[3]} : Shape{1, s[0], 1, s[1]}));
      case 12:
        return add(builder_.node(Op::kSoftmax, {x}));
      case 13:
        return add(builder_.node(Op::kCopy, {x}));
      case 14:
        return add_product(x, pick(2) == 0 ? s.back() : 2 + pick(6));
      case 15:
        return add(builder_.binary(Binary::kAdd, x, builder_.unary(kUnary[pick(5)], like(x))));
      case 16: {
        const auto op = pick(2) == 0 ? enr::kernels::Reduce::kMax : enr::kernels::Reduce::kMean;
        const auto dims = static_cast<uint32_t>(1 + pick((1 << s.rank()) - 1));
        return add(builder_.node(Op::kReduce, {x}, ReduceAttributes{op, dims}));
      }
      default:
        if (s.rank() == 4) return add(builder_.node(Op::kMaxPool, {x}, window()));
        return add(builder_.concat({x, like(x)}, static_cast<uint32_t>(pick(static_cast<int64_t>(s.rank())))));
    }
  }

  static WindowAttributes unit_window() {
    WindowAttributes w;
    w.kernel_height = w.kernel_width = 1;
    return w;
  }

  // Weights, bias or both are computed.
  void add_product(ValueId x, int64_t channels) {
    ValueId filter = builder_.constant(Shape{channels, shape(x).back()});
    ValueId bias = pick(3) == 0 ? kNoValue : builder_.constant(Shape{channels});
    const int64_t computed = pick(3);
    if (computed != 0) filter = builder_.unary(Unary::kNeg, filter);
    if (computed != 1 && bias != kNoValue) bias = builder_.unary(Unary::kAbs, bias);
    add(builder_.node(Op::kFullyConnected, {x, filter, bias}, MatmulAttributes{}));
  }

  void add_slice(ValueId x) {
    Shape offsets = shape(x), sizes = shape(x);
    for (size_t d = 0; d < sizes.rank(); ++d) {
      const bool cut = pick(2) == 0;
      offsets[d] = cut ? pick(sizes[d]) : 0;
      sizes[d] = cut ? 1 + pick(sizes[d] - offsets[d]) : sizes[d];
    }
    add(builder_.slice(x, offsets, sizes));
  }

  void add_transpose(ValueId x) {
    Shape permutation = shape(x);
    for (size_t d = 0; d < permutation.rank(); ++d) permutation[d] = static_cast<int64_t>(d);
    for (size_t d = permutation.rank(); d-- > 1;) {
      std::swap(permutation[d], permutation[static_cast<size_t>(pick(static_cast<int64_t>(d) + 1))]);
    }
    add(builder_.transpose(x, permutation));
  }

  Builder builder_;
  std::mt19937 random_;
  std::vector<ValueId> values_;
};

}  // namespace

TEST_CASE("graph: random graphs") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    check_graph(RandomGraph(seed).make(), 2e-4f);
  }
}
