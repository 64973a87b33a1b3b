#include "ops/pointwise/elementwise.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/complex/complex.h"
#include "kernels/convert/convert.h"
#include "kernels/elementwise/driver.h"
#include "kernels/elementwise/line_start.h"
#include "kernels/reduce/reduce.h"
#include "ops/strided_view.h"

namespace enr::ops {

Number::Number(const Scalar& value, DType dtype) noexcept : dtype_(dtype) {
  const auto store = [&](auto number, DType from) {
    const kernels::ConvertFn convert = kernels::convert_fn(from, dtype);
    if (convert != nullptr) convert(&number, bytes_, 1);
  };
  if (value.is_double()) {
    store(value.to<double>(), DType::kFloat64);
  } else {
    store(value.to<int64_t>(), DType::kInt64);
  }
}

namespace {

// Whether every value of `from` is one of the half kind `to`.
bool converts_exactly_to_half(DType from, DType to) noexcept {
  return from == to || is_bool(from) || from == DType::kInt8 || from == DType::kUInt8;
}

constexpr size_t kMaxInputs = kernels::kMaxLoopInputs;

// Work, in additions, below which waking threads does not pay.
constexpr size_t kThreadGrain = 32768;

// Whether the operand lays its elements out like `out`.
bool lies_like(const Operand& operand, const Tensor& out) noexcept {
  if (operand.sizes.size() != out.rank) return false;
  for (size_t d = 0; d < out.rank; ++d) {
    if (operand.sizes[d] != out.size(d)) return false;
    if (operand.strides[d] != out.stride(d) && out.size(d) != 1) return false;
  }
  return true;
}

// Whether the operand's rows are out's columns: elements that lie behind each other in out are far apart in it.
bool lies_across(const Operand& operand, const Tensor& out) noexcept {
  constexpr int64_t kPays = 4096, kShortRow = 8;
  if (out.numel() < kPays || !std::ranges::equal(operand.sizes, out.sizes())) return false;
  bool has_rows = false;
  for (size_t d = 0; d < out.rank; ++d) {
    if (out.size(d) < kShortRow) continue;
    if (out.stride(d) == 1 && operand.strides[d] == 1) return false;
    has_rows = has_rows || operand.strides[d] == 1;
  }
  return has_rows;
}

// The shape all operands broadcast to. Often all but rank-0 ones have out's shape already.
Shape common_shape(std::span<const Operand> in) {
  static constexpr const char* kNames[] = {"self", "other", "third tensor"};
  Shape shape(in[0].sizes);
  for (size_t k = 1; k < in.size(); ++k) {
    if (!std::ranges::equal(in[k].sizes, Sizes(shape))) shape = broadcast(shape, in[k].sizes, kNames[k]);
  }
  return shape;
}

void run_flat(const Loop& loop, const LoopParams& params, const void* const* data, const uint8_t* step, size_t count,
              std::byte* out) {
  const size_t grain = std::max<size_t>(kThreadGrain / std::max<size_t>(loop.cost, 1), 1024);
  if (count <= std::min(grain, kernels::kShortOutput)) return loop.run(out, data, step, count, params);
  const size_t out_size = dtype_size(loop.out);
  const auto run = [&](size_t begin, size_t end) {
    const void* in[kMaxInputs] = {};
    for (size_t k = 0; k < loop.inputs; ++k) {
      in[k] = static_cast<const std::byte*>(data[k]) + begin * step[k] * dtype_size(loop.in[k]);
    }
    loop.run(out + begin * out_size, in, step, end - begin, params);
  };
  parallel_ranges(count, grain, [&](size_t begin, size_t end) {
    const size_t head = kernels::elements_before_line(out + begin * out_size, out_size, end - begin);
    if (head != 0) run(begin, begin + head);
    run(begin + head, end);
  });
}

}  // namespace

Operand as_dtype(OpContext& context, const Tensor& tensor, DType common) {
  if (tensor.dtype == common) return tensor;
  if (tensor.rank != 0 && (!is_half_kind(common) || converts_exactly_to_half(tensor.dtype, common))) return tensor;
  const kernels::ConvertFn convert = kernels::convert_fn(tensor.dtype, common);
  if (convert == nullptr)
    fail_execution("self: expected a dtype that converts to ", dtype_name(common), ", got ", dtype_name(tensor.dtype));
  const auto count = static_cast<size_t>(tensor.numel());
  Operand converted = tensor;
  std::byte* data = context.scratch(count * dtype_size(common));
  kernels::convert(tensor.dtype, tensor.data, common, data, count);
  converted.data = data;
  converted.dtype = common;
  return converted;
}

namespace {

// Copies operands that lie across out so that they lie like it: to turn them block by block costs less than to gather
// their elements one by one. Empty where there are none.
std::vector<Operand> turned_operands(OpContext& context, std::span<const Operand> in, const Tensor& out) {
  std::vector<Operand> turned;
  for (size_t k = 0; k < in.size(); ++k) {
    if (!lies_across(in[k], out)) continue;
    if (turned.empty()) turned.assign(in.begin(), in.end());
    StridedView to(out), from(out);
    to.dtype = from.dtype = in[k].dtype;
    to.data = context.scratch(static_cast<size_t>(out.numel()) * dtype_size(in[k].dtype));
    from.data = static_cast<std::byte*>(const_cast<void*>(in[k].data));
    std::ranges::copy(in[k].strides, from.stride_array.begin());
    copy_view(context, to, from);
    turned[k].data = to.data;
    turned[k].strides = out.strides();
  }
  return turned;
}

void run_operands(OpContext& context, const Loop& loop, const LoopParams& params, std::span<const Operand> in,
                  Tensor& out, const char* what) {
  const bool has_out_shape =
      out.data != nullptr &&
      std::ranges::all_of(in,
                          [&](const Operand& operand) {
                            return operand.sizes.empty() || std::ranges::equal(operand.sizes, out.sizes());
                          }) &&
      (out.rank == 0 || std::ranges::any_of(in, [](const Operand& operand) { return !operand.sizes.empty(); }));
  if (!has_out_shape) context.resize(out, common_shape(in), what);

  bool is_flat = out.dtype == loop.out;
  const void* data[kMaxInputs] = {};
  uint8_t step[kMaxInputs] = {};
  alignas(16) std::byte converted[kMaxInputs][16];
  for (size_t k = 0; k < in.size(); ++k) {
    data[k] = in[k].data;
    if (in[k].is_one_element()) {
      step[k] = 0;
      if (in[k].dtype == loop.in[k]) continue;
      const kernels::ConvertFn convert = kernels::convert_fn(in[k].dtype, loop.in[k]);
      if (convert == nullptr) {
        fail_execution("self: expected a dtype that converts to ", dtype_name(loop.in[k]), ", got ",
                       dtype_name(in[k].dtype));
      }
      convert(in[k].data, converted[k], 1);
      data[k] = converted[k];
    } else {
      step[k] = 1;
      is_flat = is_flat && in[k].dtype == loop.in[k] && lies_like(in[k], out);
    }
  }
  if (is_flat) return run_flat(loop, params, data, step, static_cast<size_t>(out.numel()), out.data);
  if (const std::vector<Operand> turned = turned_operands(context, in, out); !turned.empty()) {
    return run_operands(context, loop, params, turned, out, what);
  }

  kernels::ConstStrided operands[kMaxInputs];
  int64_t strides[kMaxInputs][kMaxRank];
  for (size_t k = 0; k < in.size(); ++k) {
    kernels::broadcast_strides(out.sizes(), in[k].sizes, in[k].strides.data(), strides[k]);
    operands[k] = {data[k], step[k] == 0 ? loop.in[k] : in[k].dtype, strides[k]};
    if (kernels::convert_fn(operands[k].dtype, loop.in[k]) == nullptr) {
      fail_execution("self: expected a dtype that converts to ", dtype_name(loop.in[k]), ", got ",
                     dtype_name(operands[k].dtype));
    }
  }
  if (kernels::convert_fn(loop.out, out.dtype) == nullptr) {
    fail_execution(what, ": expected a dtype to convert ", dtype_name(loop.out), " to, got ", dtype_name(out.dtype));
  }
  kernels::run_elementwise(loop, params, out.sizes(), {out.data, out.dtype, out.strides().data()},
                           {operands, in.size()});
}

}  // namespace

void run_loop(OpContext& context, const Loop& loop, const LoopParams& params, std::initializer_list<Operand> in,
              Tensor& out, const char* what) {
  run_operands(context, loop, params, {in.begin(), in.size()}, out, what);
}

namespace {

template <class Get>
Loop find_loop(DType common, const char* name, Get get) {
  const DType dtype = computing_dtype(common);
  Loop loop = get(dtype);
  if (!loop && is_integral_or_bool(dtype)) loop = get(DType::kInt64);
  if (!loop) fail_execution("self: expected a dtype that has ", name, ", got ", dtype_name(common));
  return loop;
}

}  // namespace

Loop loop_for(kernels::Unary op, DType common) {
  // Halves have loops of their own where only bits change.
  if (is_half_kind(common)) {
    if (const Loop loop = kernels::unary_loop(op, common)) return loop;
  }
  return find_loop(common, kernels::unary_name(op), [op](DType dtype) {
    return is_complex(dtype) ? kernels::complex_unary_loop(op, dtype) : kernels::unary_loop(op, dtype);
  });
}
Loop loop_for(kernels::Predicate op, DType common) {
  return find_loop(common, "this test", [op](DType dtype) { return kernels::predicate_loop(op, dtype); });
}
Loop loop_for(kernels::Binary op, DType common) {
  return find_loop(common, kernels::binary_name(op), [op](DType dtype) {
    return is_complex(dtype) ? kernels::complex_binary_loop(op, dtype) : kernels::binary_loop(op, dtype);
  });
}
Loop loop_for(kernels::Comparison op, DType common) {
  return find_loop(common, kernels::comparison_name(op), [op](DType dtype) {
    return is_complex(dtype) ? kernels::complex_comparison_loop(op, dtype) : kernels::comparison_loop(op, dtype);
  });
}
Loop loop_for(kernels::Ternary op, DType common) {
  return find_loop(common, "this function", [op](DType dtype) { return kernels::ternary_loop(op, dtype); });
}

namespace {

template <size_t kSize>
void copy_run(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams&) noexcept {
  if (step[0] != 0) {
    std::memmove(out, in[0], n * kSize);
  } else {
    for (size_t i = 0; i < n; ++i) std::memcpy(static_cast<std::byte*>(out) + i * kSize, in[0], kSize);
  }
}

}  // namespace

Loop copy_loop(DType dtype) noexcept {
  Loop loop;
  switch (dtype_size(dtype)) {
    case 1:
      loop.run = copy_run<1>;
      break;
    case 2:
      loop.run = copy_run<2>;
      break;
    case 4:
      loop.run = copy_run<4>;
      break;
    case 8:
      loop.run = copy_run<8>;
      break;
    case 16:
      loop.run = copy_run<16>;
      break;
    default:
      break;
  }
  loop.out = loop.in[0] = dtype;
  loop.inputs = 1;
  return loop;
}

void copy_elements(OpContext& context, const Operand& in, Tensor& out, const char* what) {
  run_loop(context, copy_loop(in.dtype), {}, {in}, out, what);
}

void require_nonzero(const Operand& dividend, const Operand& divisor, DType common, const char* what) {
  if (!is_integral_or_bool(common) || std::ranges::find(dividend.sizes, 0) != dividend.sizes.end()) return;
  uint8_t all_nonzero = 1;
  const kernels::ConstStrided in{divisor.data, divisor.dtype, divisor.strides.data()};
  if (divisor.is_one_element()) {
    const kernels::ConvertFn convert = kernels::convert_fn(divisor.dtype, DType::kBool);
    if (convert != nullptr) convert(divisor.data, &all_nonzero, 1);
  } else {
    const auto every_dim = static_cast<uint32_t>((1u << divisor.sizes.size()) - 1);
    kernels::reduce(kernels::Reduce::kAll, {}, divisor.sizes, in, every_dim, DType::kBool, &all_nonzero);
  }
  if (all_nonzero == 0) fail_execution(what, ": expected divisors other than 0 of integers, got 0");
}

}  // namespace enr::ops
