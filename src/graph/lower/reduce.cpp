#include "kernels/reduce/reduce.h"

#include "graph/lowering.h"

namespace enr::graph {

namespace {

struct ReduceStep : Step {
  kernels::Reduce op{};
  uint32_t dims = 0, in = 0, out = 0;
  Shape sizes;
  std::array<int64_t, kMaxRank> strides{};

  void run(const Frame& frame) const noexcept override {
    kernels::reduce(op, {}, sizes.dims(), {frame.in<float>(in), DType::kFloat32, strides.data()}, dims, DType::kFloat32,
                    frame.out<float>(out));
  }
};

}  // namespace

void lower_reduce(Lowering& lowering, const Node& node) {
  const auto& attributes = node.as<ReduceAttributes>();
  auto& step = lowering.add<ReduceStep>(node, "reduce");
  step.op = attributes.op;
  step.dims = attributes.dims;
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.sizes = lowering.shape(step.in);
  step.strides = lowering.strides(step.in);
}

}  // namespace enr::graph
