// etnp::lstm.out, the operator of this package's versions 1.x that runs a layer of long short-term memory over a whole
// sequence.

#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "kernels/recurrent/lstm_cell.h"
#include "ops/families.h"
#include "ops/shapes.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// Weights of the four gates, one below the other, packed for products with rows of `inputs` numbers.
class GateWeights {
 public:
  GateWeights(OpContext& context, const Tensor& weight)
      : gates_(static_cast<size_t>(weight.size(0))), inputs_(static_cast<size_t>(weight.size(1))) {
    if (!weight.is_constant) {
      std::byte* packed = context.scratch(kernels::gemm_packed_bytes(gates_, inputs_));
      pack(context, weight, packed);
      packed_ = packed;
      return;
    }
    const std::string packing =
        concat("gemm nk ", gates_, "x", inputs_, " ", weight.dim_order(), " ", dtype_name(weight.dtype));
    shared_ = context.weights().get(weight.data, packing, [&] {
      AlignedBuffer packed(kernels::gemm_packed_bytes(gates_, inputs_));
      pack(context, weight, packed.data());
      return packed;
    });
    packed_ = shared_->data();
  }

  // to[rows, gates] = from[rows, inputs] * weights + addend, whose rows lie `addend_stride` apart.
  void multiply(size_t rows, const float* from, const float* addend, size_t addend_stride, float* to) const noexcept {
    kernels::GemmEpilogue epilogue;
    epilogue.residual = addend;
    epilogue.residual_stride = addend_stride;
    kernels::gemm(rows, gates_, inputs_, from, inputs_, packed_, to, gates_, epilogue);
  }

 private:
  void pack(OpContext& context, const Tensor& weight, std::byte* packed) const {
    kernels::gemm_pack(kernels::WeightLayout::kOutputMajor, gates_, inputs_, row_major_as<float>(context, weight),
                       inputs_, nullptr, packed);
  }

  size_t gates_, inputs_;
  std::shared_ptr<const AlignedBuffer> shared_;
  const std::byte* packed_ = nullptr;
};

void require_shape(const Tensor& tensor, std::initializer_list<int64_t> sizes, const char* what) {
  require_sizes(tensor, Sizes(sizes.begin(), sizes.size()), what);
}

// The sum of both biases; null where there is none.
const float* gate_biases(OpContext& context, const Tensor* b_ih, const Tensor* b_hh, size_t gates) {
  if (b_ih == nullptr && b_hh == nullptr) return nullptr;
  auto* sum = context.scratch_of<float>(gates);
  std::fill(sum, sum + gates, 0.0f);
  for (const Tensor* bias : {b_ih, b_hh}) {
    if (bias == nullptr) continue;
    const auto* numbers = row_major_as<float>(context, *bias);
    for (size_t i = 0; i < gates; ++i) sum[i] += numbers[i];
  }
  return sum;
}

void lstm_out(OpContext& context, const Tensor& input, const Tensor& h0, const Tensor& c0, const Tensor& w_ih,
              const Tensor& w_hh, const Tensor* b_ih, const Tensor* b_hh, Tensor& output, Tensor& hn, Tensor& cn) {
  const DType dtype = input.dtype;
  if (dtype != DType::kFloat32 && !is_half_kind(dtype)) {
    fail_execution("input: expected float32, float16 or bfloat16, got ", dtype_name(dtype));
  }
  for (const auto& [tensor, name] : {std::pair{&h0, "h0"},
                                     {&c0, "c0"},
                                     {&w_ih, "w_ih"},
                                     {&w_hh, "w_hh"},
                                     {b_ih, "b_ih"},
                                     {b_hh, "b_hh"},
                                     {&output, "output"},
                                     {&hn, "hn"},
                                     {&cn, "cn"}}) {
    if (tensor != nullptr) require_same_dtype(*tensor, dtype, name);
  }
  require_rank(input, 3, "input");
  require_rank(h0, 2, "h0");
  const int64_t steps = input.size(0), batch = input.size(1), hidden = h0.size(1);
  require_shape(h0, {batch, hidden}, "h0");
  require_shape(c0, {batch, hidden}, "c0");
  require_shape(w_ih, {4 * hidden, input.size(2)}, "w_ih");
  require_shape(w_hh, {4 * hidden, hidden}, "w_hh");
  if (b_ih != nullptr) require_shape(*b_ih, {4 * hidden}, "b_ih");
  if (b_hh != nullptr) require_shape(*b_hh, {4 * hidden}, "b_hh");
  context.resize(output, {steps, batch, hidden}, "output");
  context.resize(hn, {batch, hidden}, "hn");
  context.resize(cn, {batch, hidden}, "cn");

  const auto rows = static_cast<size_t>(batch), width = static_cast<size_t>(hidden), gates = 4 * width;
  const size_t count = static_cast<size_t>(steps) * rows;
  const GateWeights input_weights(context, w_ih), state_weights(context, w_hh);
  // What the inputs of all steps add, in one product.
  auto* from_inputs = context.scratch_of<float>(count * gates);
  input_weights.multiply(count, row_major_as<float>(context, input), gate_biases(context, b_ih, b_hh, gates), 0,
                         from_inputs);

  RowMajorOut states(context, output, DType::kFloat32), last_state(context, hn, DType::kFloat32),
      last_cell(context, cn, DType::kFloat32);
  auto* cell = last_cell.as<float>();
  std::copy_n(row_major_as<float>(context, c0), rows * width, cell);
  auto* sums = context.scratch_of<float>(rows * gates);
  const auto* state = row_major_as<float>(context, h0);
  for (size_t step = 0; rows * width > 0 && step < static_cast<size_t>(steps); ++step) {
    state_weights.multiply(rows, state, from_inputs + step * rows * gates, gates, sums);
    auto* next = states.as<float>() + step * rows * width;
    kernels::lstm_cell(rows, width, sums, cell, next);
    state = next;
  }
  std::copy_n(state, rows * width, last_state.as<float>());
  states.commit();
  last_state.commit();
  last_cell.commit();
}

}  // namespace

void register_lstm(OperatorTable& table) {
  table.add<lstm_out>("etnp::lstm.out", "input, h0, c0, w_ih, w_hh, b_ih, b_hh, output, hn, cn");
}

}  // namespace enr::ops
