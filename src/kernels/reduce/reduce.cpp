#include "kernels/reduce/reduce.h"

#include <cmath>
#include <type_traits>

#include "kernels/isa.h"
#include "kernels/reduce/walk.h"

namespace enr::kernels {

ENR_SELECT_ISA(ReduceTable, reduce_table)

namespace {

struct Job {
  std::span<const int64_t> sizes;
  const ConstStrided& in;
  uint32_t reduced;
  DType out_dtype;
  std::byte* out;

  Walk walk(DType computing) const noexcept {
    InputConversion conversion;
    if (in.dtype != computing) conversion.first = convert_fn(in.dtype, computing);
    return {sizes, in.data, in.dtype, in.strides, reduced, conversion};
  }
  // Of truth values, as `computing`.
  Walk walk_truth(DType computing) const noexcept {
    InputConversion conversion;
    // A byte that is not zero is true as it stands.
    const bool is_byte = dtype_size(in.dtype) == 1 && computing == DType::kBool;
    if (!is_byte) conversion.first = convert_fn(in.dtype, DType::kBool);
    if (computing != DType::kBool) conversion.second = convert_fn(DType::kBool, computing);
    return {sizes, in.data, in.dtype, in.strides, reduced, conversion};
  }
  std::byte* at(size_t output) const noexcept { return out + output * dtype_size(out_dtype); }
};

// A type of its own, so that nothing is called for every output.
struct Keep {
  template <class A>
  A operator()(A value) const noexcept {
    return value;
  }
};

struct IsTrue {
  uint8_t operator()(uint8_t value) const noexcept { return value != 0; }
};

// Long rows, few of them, that need no conversion: whole stretches at once.
template <class T>
bool are_few_rows(const Walk& walk) noexcept {
  constexpr int64_t long_bytes = 256;
  return walk.by_columns && walk.conversion.first == nullptr && walk.reduced.rank == 1 && walk.reduced.count() != 0 &&
         walk.reduced.count() <= kFewRows && walk.kept.inner_stride() == 1 &&
         walk.kept.inner_size() * int64_t{sizeof(T)} >= long_bytes;
}

template <class T>
void run_few_rows(const Job& job, const Walk& walk, ReduceFewRows<T> reduce_rows) noexcept {
  constexpr size_t stretch = 16384 / sizeof(T), grain_elements = 32768;
  const DimList& kept = walk.kept;
  const size_t width = static_cast<size_t>(kept.inner_size()), rows = walk.reduced.count();
  const size_t stretches = std::max<size_t>(width / stretch, 1);
  parallel_ranges(kept.count(kept.rank - 1) * stretches,
                  std::max<size_t>(grain_elements / (std::min(width, stretch) * rows), 1), [&](size_t from, size_t to) {
                    for (size_t i = from; i < to; ++i) {
                      const size_t outer = i / stretches, part = i % stretches;
                      const size_t begin = width * part / stretches, count = width * (part + 1) / stretches - begin;
                      const T* x = reinterpret_cast<const T*>(walk.data) + kept.offset(outer, kept.rank - 1) + begin;
                      T* out = reinterpret_cast<T*>(job.at(outer * width + begin));
                      reduce_rows(x, walk.reduced.inner_stride(), rows, count, out);
                    }
                  });
}

// One pass; finish(A) gives the result, which has dtype `result`, as `few_rows` does where it is not null.
template <class T, class A, class Finish>
void run_single(const Job& job, const Walk& walk, const ReduceKernel<T, A>& kernel, Finish finish,
                ReduceFewRows<T> few_rows) noexcept {
  constexpr bool keeps = std::is_same_v<Finish, Keep>, tests = std::is_same_v<Finish, IsTrue>;
  if (few_rows != nullptr && job.out_dtype == (tests ? DType::kBool : dtype_of<T>) && are_few_rows<T>(walk)) {
    return run_few_rows(job, walk, few_rows);
  }
  const ConvertFn write = convert_fn(dtype_of<A>, job.out_dtype);
  for_each_block(walk, [&](Walk::Block block, bool threads) {
    if constexpr (keeps) {
      if (job.out_dtype == dtype_of<A>) {  // no other place is needed
        return reduce_block<T, A>(walk, kernel, block, threads, nullptr, reinterpret_cast<A*>(job.at(block.begin)));
      }
    }
    A acc[kReduceColumns];
    reduce_block<T, A>(walk, kernel, block, threads, nullptr, acc);
    for (size_t k = 0; k < block.count; ++k) acc[k] = finish(acc[k]);
    write(acc, job.at(block.begin), block.count);
  });
}

template <class T, class A>
void run_single(const Job& job, const Walk& walk, const ReduceKernel<T, A>& kernel) noexcept {
  run_single(job, walk, kernel, Keep{}, kernel.few_rows);
}

const ReduceKernel<float, double>* sums_of(float) { return reduce_table().sum_f32; }
const ReduceKernel<double, double>* sums_of(double) { return reduce_table().sum_f64; }
const ReduceKernel<float, float>* extremes_of(float) { return reduce_table().extreme_f32; }
const ReduceKernel<double, double>* extremes_of(double) { return reduce_table().extreme_f64; }
ReduceFewRows<float> mean_few_rows_of(float) { return reduce_table().mean_few_rows_f32; }
ReduceFewRows<double> mean_few_rows_of(double) { return reduce_table().mean_few_rows_f64; }
ReduceFewRows<float> norm_few_rows_of(float) { return reduce_table().norm_few_rows_f32; }
ReduceFewRows<double> norm_few_rows_of(double) { return reduce_table().norm_few_rows_f64; }

// Looks no further than the answer needs: a truth value for any, a zero for all.
template <bool kAny>
uint8_t truth_row(const uint8_t* x, size_t n, const uint8_t*, uint8_t acc) noexcept {
  constexpr size_t kStretch = 8192;
  const auto row = reduce_table().extreme_u8[kAny ? kLargest : kSmallest].row;
  for (size_t i = 0; i < n && (acc == 0) == kAny; i += kStretch) {
    acc = row(x + i, n - i < kStretch ? n - i : kStretch, nullptr, acc);
  }
  return acc;
}

template <bool kAny>
void run_truth(const Job& job) noexcept {
  ReduceKernel<uint8_t, uint8_t> kernel = reduce_table().extreme_u8[kAny ? kLargest : kSmallest];
  kernel.row = &truth_row<kAny>;
  run_single(job, job.walk_truth(DType::kBool), kernel, IsTrue{},
             kAny ? reduce_table().any_few_rows : reduce_table().all_few_rows);
}

// Everything whose steps compute in a floating type T.
template <class T>
void run_floating(Reduce op, const ReduceParams& params, const Job& job) noexcept {
  const Walk walk = job.walk(dtype_of<T>);
  const auto* sums = sums_of(T{});
  const auto* extremes = extremes_of(T{});
  const double count = static_cast<double>(walk.reduced.count());
  switch (op) {
    case Reduce::kSum:
      return run_single(job, walk, sums[kTermValue]);
    case Reduce::kMean:
      return run_single(
          job, walk, sums[kTermValue], [&](double total) { return total / count; }, mean_few_rows_of(T{}));
    case Reduce::kNorm0:
    case Reduce::kCountNonZero:
      return run_single(job, walk, sums[kTermNonZero]);
    case Reduce::kNorm1:
      return run_single(job, walk, sums[kTermAbs]);
    case Reduce::kNorm2:
      return run_single(
          job, walk, sums[kTermSquare], [](double total) { return std::sqrt(total); }, norm_few_rows_of(T{}));
    case Reduce::kNormInf:
      return run_single(job, walk, extremes[kLargestAbs]);
    case Reduce::kNormNegInf:
      return run_single(job, walk, extremes[kSmallestAbs]);
    case Reduce::kNormP: {
      const ConvertFn write = convert_fn(DType::kFloat64, job.out_dtype);
      for_each_block(walk, [&](Walk::Block block, bool threads) {
        double acc[kReduceColumns], exponents[kReduceColumns] = {};
        for (size_t k = 0; k < block.count; ++k) exponents[k] = params.p;
        reduce_block<T, double>(walk, sums[kTermPower], block, threads, exponents, acc);
        for (size_t k = 0; k < block.count; ++k) acc[k] = std::pow(acc[k], 1.0 / params.p);
        write(acc, job.at(block.begin), block.count);
      });
      return;
    }
    case Reduce::kLogSumExp: {
      const ConvertFn write = convert_fn(DType::kFloat64, job.out_dtype);
      for_each_block(walk, [&](Walk::Block block, bool threads) {
        T top[kReduceColumns];
        double centres[kReduceColumns] = {}, acc[kReduceColumns];
        reduce_block<T, T>(walk, extremes[kLargest], block, threads, nullptr, top);
        for (size_t k = 0; k < block.count; ++k) centres[k] = std::isfinite(top[k]) ? static_cast<double>(top[k]) : 0;
        reduce_block<T, double>(walk, sums[kTermExp], block, threads, centres, acc);
        for (size_t k = 0; k < block.count; ++k) acc[k] = std::log(acc[k]) + centres[k];
        write(acc, job.at(block.begin), block.count);
      });
      return;
    }
    case Reduce::kMin:
      return run_single(job, walk, extremes[kSmallest]);
    case Reduce::kMax:
      return run_single(job, walk, extremes[kLargest]);
    default:
      return;
  }
}

template <class T>
void run_integer_extreme(Reduce op, const Job& job, const ReduceKernel<T, T>* kernels, DType computing) noexcept {
  run_single(job, job.walk(computing), kernels[op == Reduce::kMax ? kLargest : kSmallest]);
}

void run_extreme(Reduce op, const ReduceParams& params, const Job& job) noexcept {
  const ReduceTable& table = reduce_table();
  switch (job.in.dtype) {
    case DType::kFloat64:
      return run_floating<double>(op, params, job);
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
      return run_floating<float>(op, params, job);
    case DType::kInt32:
      return run_integer_extreme(op, job, table.extreme_i32, DType::kInt32);
    case DType::kInt16:
      return run_integer_extreme(op, job, table.extreme_i16, DType::kInt16);
    case DType::kInt8:
      return run_integer_extreme(op, job, table.extreme_i8, DType::kInt8);
    case DType::kUInt8:
      return run_integer_extreme(op, job, table.extreme_u8, DType::kUInt8);
    case DType::kBool:
      return op == Reduce::kMax ? run_truth<true>(job) : run_truth<false>(job);
    case DType::kUInt64:
      return run_integer_extreme(op, job, table.extreme_u64, DType::kUInt64);
    default:
      return run_integer_extreme(op, job, table.extreme_i64, DType::kInt64);
  }
}

bool computes_in_double(DType in) noexcept { return in == DType::kFloat64 || !is_floating(in); }

void run_var(bool root, double correction, const Job& job, void* mean_out) noexcept {
  const auto typed = [&]<class T>(T) {
    const Walk walk = job.walk(dtype_of<T>);
    const auto* sums = sums_of(T{});
    const double count = static_cast<double>(walk.reduced.count());
    const double divisor = std::max(count - correction, 0.0);
    const ConvertFn write = convert_fn(DType::kFloat64, job.out_dtype);
    for_each_block(walk, [&](Walk::Block block, bool threads) {
      double means[kReduceColumns] = {}, acc[kReduceColumns];
      reduce_block<T, double>(walk, sums[kTermValue], block, threads, nullptr, means);
      for (size_t k = 0; k < block.count; ++k) means[k] /= count;
      reduce_block<T, double>(walk, sums[kTermDeviation], block, threads, means, acc);
      for (size_t k = 0; k < block.count; ++k) {
        acc[k] /= divisor;
        if (root) acc[k] = std::sqrt(acc[k]);
      }
      write(acc, job.at(block.begin), block.count);
      if (mean_out != nullptr) {
        write(means, static_cast<std::byte*>(mean_out) + block.begin * dtype_size(job.out_dtype), block.count);
      }
    });
  };
  if (computes_in_double(job.in.dtype)) {
    typed(double{});
  } else {
    typed(float{});
  }
}

}  // namespace

void reduce(Reduce op, const ReduceParams& params, std::span<const int64_t> sizes, const ConstStrided& in,
            uint32_t reduced, DType out_dtype, void* out) noexcept {
  const Job job{sizes, in, reduced, out_dtype, static_cast<std::byte*>(out)};
  const ReduceTable& table = reduce_table();
  switch (op) {
    case Reduce::kMin:
    case Reduce::kMax:
      return run_extreme(op, params, job);
    case Reduce::kAny:
      return run_truth<true>(job);
    case Reduce::kAll:
      return run_truth<false>(job);
    case Reduce::kCountNonZero:
      return run_single(job, job.walk_truth(DType::kInt64), table.sum_i64);
    case Reduce::kSum:
      if (!is_floating(out_dtype)) return run_single(job, job.walk(DType::kInt64), table.sum_i64);
      break;
    case Reduce::kProd:
      if (!is_floating(out_dtype)) return run_single(job, job.walk(DType::kInt64), table.prod_i64);
      if (in.dtype == DType::kFloat32) return run_single(job, job.walk(DType::kFloat32), table.prod_f32);
      return run_single(job, job.walk(DType::kFloat64), table.prod_f64);
    case Reduce::kVar:
    case Reduce::kStd:
      return run_var(op == Reduce::kStd, params.correction, job, nullptr);
    default:
      break;
  }
  if (computes_in_double(in.dtype)) {
    run_floating<double>(op, params, job);
  } else {
    run_floating<float>(op, params, job);
  }
}

void reduce_var_mean(bool root, double correction, std::span<const int64_t> sizes, const ConstStrided& in,
                     uint32_t reduced, DType out_dtype, void* var_out, void* mean_out) noexcept {
  run_var(root, correction, {sizes, in, reduced, out_dtype, static_cast<std::byte*>(var_out)}, mean_out);
}

}  // namespace enr::kernels
