#include "kernels/reduce/reduce.h"
#include "kernels/reduce/walk.h"

namespace enr::kernels {

namespace {

template <class T>
void run(const ReduceKernel<T, Best<T>>* kernels, ArgReduce op, std::span<const int64_t> sizes, const ConstStrided& in,
         size_t dim, void* values, int64_t* indices) noexcept {
  InputConversion conversion;
  if (in.dtype != dtype_of<T>) conversion.first = convert_fn(in.dtype, dtype_of<T>);
  const Walk walk(sizes, in.data, in.dtype, in.strides, 1u << dim, conversion);
  const ConvertFn write = convert_fn(dtype_of<T>, in.dtype);
  const ReduceKernel<T, Best<T>>& kernel = kernels[op == ArgReduce::kArgMax ? kLargest : kSmallest];
  for_each_block(walk, [&](Walk::Block block, bool threads) {
    Best<T> best[kReduceColumns];
    T found[kReduceColumns];
    reduce_block<T, Best<T>>(walk, kernel, block, threads, nullptr, best);
    for (size_t k = 0; k < block.count; ++k) {
      found[k] = best[k].value;
      if (indices != nullptr) indices[block.begin + k] = best[k].index;
    }
    if (values != nullptr) {
      write(found, static_cast<std::byte*>(values) + block.begin * dtype_size(in.dtype), block.count);
    }
  });
}

}  // namespace

void arg_reduce(ArgReduce op, std::span<const int64_t> sizes, const ConstStrided& in, size_t dim, void* values,
                int64_t* indices) noexcept {
  const ReduceTable& table = reduce_table();
  if (in.dtype == DType::kFloat64) return run<double>(table.arg_f64, op, sizes, in, dim, values, indices);
  if (is_floating(in.dtype)) return run<float>(table.arg_f32, op, sizes, in, dim, values, indices);
  // Long rows are read as they are; of short ones several at a time are converted.
  constexpr int64_t long_row = 256;
  if (!sizes.empty() && in.strides[dim] == 1 && sizes[dim] >= long_row) {
    if (in.dtype == DType::kInt16) return run<int16_t>(table.arg_i16, op, sizes, in, dim, values, indices);
    if (in.dtype == DType::kInt8) return run<int8_t>(table.arg_i8, op, sizes, in, dim, values, indices);
    if (in.dtype == DType::kUInt8) return run<uint8_t>(table.arg_u8, op, sizes, in, dim, values, indices);
  }
  if (in.dtype != DType::kUInt32 && dtype_size(in.dtype) <= 4) {
    return run<int32_t>(table.arg_i32, op, sizes, in, dim, values, indices);
  }
  run<int64_t>(table.arg_i64, op, sizes, in, dim, values, indices);
}

}  // namespace enr::kernels
