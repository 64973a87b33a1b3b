#include <cmath>

#include "base/error.h"
#include "graph/lowering.h"
#include "kernels/convert/convert.h"

namespace enr::graph {

namespace {

struct ConvertStep : Step {
  DType from{}, to{};
  uint32_t in = 0, out = 0;
  size_t count = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::convert(from, frame.in<void>(in), to, frame.out<void>(out), count);
  }
};

}  // namespace

void lower_convert(Lowering& lowering, const Node& node) {
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  auto& step = lowering.add<ConvertStep>(node, "convert");
  step.from = in.dtype;
  step.to = out.dtype;
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.count = static_cast<size_t>(in.shape.numel());
}

}  // namespace enr::graph
