// Nanoseconds per 1000 elements of elementwise, reduction, softmax and normalisation kernels, one row each, on one
// thread.
//   ENR_ISA=x86_avx2 bench_elementwise [filter]
// benchmarks/elementwise.py compares the rows with numpy.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "kernels/binary/binary.h"
#include "kernels/convert/convert.h"
#include "kernels/elementwise/driver.h"
#include "kernels/norm/norm.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"
#include "kernels/ternary/ternary.h"
#include "kernels/unary/unary.h"

namespace {

using namespace enr;
using namespace enr::kernels;

const char* filter = "";

void time_row(const std::string& name, size_t elements, const std::function<void()>& body) {
  if (name.find(filter) == std::string::npos) return;
  using Clock = std::chrono::steady_clock;
  body();
  std::vector<double> times;
  const auto stop = Clock::now() + std::chrono::milliseconds(40);
  while (times.size() < 5 || Clock::now() < stop) {
    const auto start = Clock::now();
    size_t calls = 0;
    do {
      body();
      ++calls;
    } while (Clock::now() - start < std::chrono::microseconds(500));
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
                    static_cast<double>(calls));
  }
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  std::printf("%-34s %8zu %10.1f\n", name.c_str(), elements,
              times[times.size() / 2] / static_cast<double>(elements) * 1000);
}

struct Data {
  std::vector<std::byte> bytes;
  DType dtype;
  Data(DType type, size_t n, double low, double high) : bytes(n * 16 + 64), dtype(type) {
    std::vector<double> values(n);
    unsigned state = 1;
    for (double& v : values) {
      state = state * 1664525u + 1013904223u;
      v = low + (high - low) * (state >> 8) / 16777216.0;
    }
    convert_fn(DType::kFloat64, type)(values.data(), data(), n);
  }
  void* data() { return bytes.data(); }
};

constexpr int64_t kOne[] = {1};

void bench_elementwise(size_t n) {
  const int64_t sizes[] = {static_cast<int64_t>(n)};
  const int64_t zero[] = {0};
  const auto run = [&](const std::string& name, const Loop& loop, std::vector<Data*> in, Data& out,
                       bool scalar = false) {
    std::vector<ConstStrided> operands;
    for (Data* d : in) operands.push_back({d->data(), d->dtype, kOne});
    if (scalar) operands.back().strides = zero;
    time_row(name, n, [&] { run_elementwise(loop, {}, sizes, {out.data(), out.dtype, kOne}, operands); });
  };
  Data f(DType::kFloat32, n, -4, 4), p(DType::kFloat32, n, 0.1, 4), g(DType::kFloat32, n, -1, 1),
      d(DType::kFloat64, n, -4, 4);
  Data dp(DType::kFloat64, n, 0.1, 4), i(DType::kInt32, n, 1, 100), l(DType::kInt64, n, 1, 100),
      u(DType::kUInt8, n, 1, 100);
  Data b(DType::kBool, n, -1, 1), h(DType::kFloat16, n, -4, 4), bf(DType::kBFloat16, n, -4, 4);
  Data fo(DType::kFloat32, n, 0, 1), dout(DType::kFloat64, n, 0, 1), io(DType::kInt32, n, 0, 1),
      lo(DType::kInt64, n, 0, 1), uo(DType::kUInt8, n, 0, 1), bo(DType::kBool, n, 0, 1), ho(DType::kFloat16, n, 0, 1),
      bfo(DType::kBFloat16, n, 0, 1);
  run("add f32", binary_loop(Binary::kAdd, DType::kFloat32), {&f, &p}, fo);
  run("add f32 scalar", binary_loop(Binary::kAdd, DType::kFloat32), {&f, &p}, fo, true);
  run("mul f32", binary_loop(Binary::kMul, DType::kFloat32), {&f, &p}, fo);
  run("div f32", binary_loop(Binary::kDiv, DType::kFloat32), {&f, &p}, fo);
  run("maximum f32", binary_loop(Binary::kMaximum, DType::kFloat32), {&f, &p}, fo);
  run("pow f32", binary_loop(Binary::kPow, DType::kFloat32), {&p, &f}, fo);
  run("floor_divide f32", binary_loop(Binary::kDivFloor, DType::kFloat32), {&f, &p}, fo);
  run("remainder f32", binary_loop(Binary::kRemainder, DType::kFloat32), {&f, &p}, fo);
  run("fmod f32", binary_loop(Binary::kFmod, DType::kFloat32), {&f, &p}, fo);
  run("arctan2 f32", binary_loop(Binary::kAtan2, DType::kFloat32), {&f, &p}, fo);
  run("hypot f32", binary_loop(Binary::kHypot, DType::kFloat32), {&f, &p}, fo);
  run("less f32", comparison_loop(Comparison::kLt, DType::kFloat32), {&f, &p}, bo);
  run("add f64", binary_loop(Binary::kAdd, DType::kFloat64), {&d, &dp}, dout);
  run("mul f64", binary_loop(Binary::kMul, DType::kFloat64), {&d, &dp}, dout);
  run("pow f64", binary_loop(Binary::kPow, DType::kFloat64), {&dp, &d}, dout);
  run("add i64", binary_loop(Binary::kAdd, DType::kInt64), {&l, &l}, lo);
  run("mul i64", binary_loop(Binary::kMul, DType::kInt64), {&l, &l}, lo);
  run("floor_divide i64", binary_loop(Binary::kDivFloor, DType::kInt64), {&l, &l}, lo);
  run("less i64", comparison_loop(Comparison::kLt, DType::kInt64), {&l, &l}, bo);
  run("add i32", binary_loop(Binary::kAdd, DType::kInt32), {&i, &i}, io);
  run("mul i32", binary_loop(Binary::kMul, DType::kInt32), {&i, &i}, io);
  run("floor_divide i32", binary_loop(Binary::kDivFloor, DType::kInt32), {&i, &i}, io);
  run("equal i32", comparison_loop(Comparison::kEq, DType::kInt32), {&i, &i}, bo);
  run("add u8", binary_loop(Binary::kAdd, DType::kUInt8), {&u, &u}, uo);
  run("mul u8", binary_loop(Binary::kMul, DType::kUInt8), {&u, &u}, uo);
  run("maximum u8", binary_loop(Binary::kMaximum, DType::kUInt8), {&u, &u}, uo);
  run("less u8", comparison_loop(Comparison::kLt, DType::kUInt8), {&u, &u}, bo);
  run("logical_and bool", comparison_loop(Comparison::kLogicalAnd, DType::kBool), {&b, &b}, bo);
  run("add f16", binary_loop(Binary::kAdd, DType::kFloat32), {&h, &h}, ho);
  run("add bf16", binary_loop(Binary::kAdd, DType::kFloat32), {&bf, &bf}, bfo);
  run("add f32+i32", binary_loop(Binary::kAdd, DType::kFloat32), {&f, &i}, fo);
  run("where f32", where_loop(DType::kFloat32), {&b, &f, &p}, fo);
  run("muladd f32", ternary_loop(Ternary::kMulAdd, DType::kFloat32), {&f, &p, &g}, fo);
  const std::vector<std::pair<const char*, Unary>> unary = {{"absolute", Unary::kAbs},
                                                            {"negative", Unary::kNeg},
                                                            {"floor", Unary::kFloor},
                                                            {"rint", Unary::kRound},
                                                            {"sign", Unary::kSign},
                                                            {"sqrt", Unary::kSqrt},
                                                            {"square", Unary::kSquare},
                                                            {"reciprocal", Unary::kReciprocal},
                                                            {"exp", Unary::kExp},
                                                            {"exp2", Unary::kExp2},
                                                            {"expm1", Unary::kExpm1},
                                                            {"log", Unary::kLog},
                                                            {"log2", Unary::kLog2},
                                                            {"log10", Unary::kLog10},
                                                            {"log1p", Unary::kLog1p},
                                                            {"sin", Unary::kSin},
                                                            {"cos", Unary::kCos},
                                                            {"tan", Unary::kTan},
                                                            {"arcsin", Unary::kAsin},
                                                            {"arccos", Unary::kAcos},
                                                            {"arctan", Unary::kAtan},
                                                            {"sinh", Unary::kSinh},
                                                            {"cosh", Unary::kCosh},
                                                            {"tanh", Unary::kTanh},
                                                            {"arcsinh", Unary::kAsinh},
                                                            {"arccosh", Unary::kAcosh},
                                                            {"arctanh", Unary::kAtanh},
                                                            {"erf", Unary::kErf},
                                                            {"erfc", Unary::kErfc},
                                                            {"relu", Unary::kRelu},
                                                            {"sigmoid", Unary::kSigmoid},
                                                            {"silu", Unary::kSilu},
                                                            {"gelu", Unary::kGelu},
                                                            {"gelu_tanh", Unary::kGeluTanh},
                                                            {"hardswish", Unary::kHardSwish},
                                                            {"softplus", Unary::kSoftplus},
                                                            {"mish", Unary::kMish},
                                                            {"elu", Unary::kElu}};
  for (const auto& [name, op] : unary) {
    const bool positive = op == Unary::kLog || op == Unary::kLog2 || op == Unary::kLog10 || op == Unary::kLog1p ||
                          op == Unary::kSqrt || op == Unary::kAcosh;
    const bool small = op == Unary::kAsin || op == Unary::kAcos || op == Unary::kAtanh;
    run(std::string(name) + " f32", unary_loop(op, DType::kFloat32), {positive ? &p : small ? &g : &f}, fo);
  }
  Data gd(DType::kFloat64, n, -1, 1);
  for (const auto& [name, op] : unary) {
    const bool positive = op == Unary::kLog || op == Unary::kLog2 || op == Unary::kLog10 || op == Unary::kLog1p ||
                          op == Unary::kSqrt || op == Unary::kAcosh;
    const bool small = op == Unary::kAsin || op == Unary::kAcos || op == Unary::kAtanh;
    run(std::string(name) + " f64", unary_loop(op, DType::kFloat64), {positive ? &dp : small ? &gd : &d}, dout);
  }
  run("isnan f32", predicate_loop(Predicate::kIsNan, DType::kFloat32), {&f}, bo);
  const std::vector<std::tuple<const char*, Data*, Data*>> conversions = {
      {"f32->f64", &f, &dout}, {"f64->f32", &d, &fo},   {"f32->i32", &f, &io},  {"f32->i64", &f, &lo},
      {"f32->u8", &p, &uo},    {"i32->f32", &i, &fo},   {"i64->f32", &l, &fo},  {"i64->i32", &l, &io},
      {"u8->f32", &u, &fo},    {"bool->f32", &b, &fo},  {"f32->bool", &f, &bo}, {"f32->f16", &f, &ho},
      {"f16->f32", &h, &fo},   {"f32->bf16", &f, &bfo}, {"i32->i64", &i, &lo}};
  for (const auto& [name, from, to] : conversions) {
    const ConvertFn fn = convert_fn(from->dtype, to->dtype);
    time_row(std::string("convert ") + name, n, [&, from = from, to = to] { fn(from->data(), to->data(), n); });
  }
}

void bench_broadcast() {
  const int64_t batch = 1, rows = 56 * 56, channels = 64;
  const size_t n = static_cast<size_t>(batch * rows * channels);
  Data x(DType::kFloat32, n, -1, 1), y(DType::kFloat32, n, -1, 1), out(DType::kFloat32, n, 0, 1);
  const Loop add = binary_loop(Binary::kAdd, DType::kFloat32);
  const auto run = [&](const char* name, std::vector<int64_t> sizes, std::vector<int64_t> xs, std::vector<int64_t> ys) {
    std::vector<int64_t> dense(sizes.size());
    broadcast_strides(sizes, sizes, nullptr, dense.data());
    const ConstStrided in[] = {{x.data(), x.dtype, xs.data()}, {y.data(), y.dtype, ys.data()}};
    time_row(name, n, [&] { run_elementwise(add, {}, sizes, {out.data(), out.dtype, dense.data()}, in); });
  };
  run("broadcast [HW,C]+[C]", {rows, channels}, {channels, 1}, {0, 1});
  run("broadcast [C,HW]+[C,1]", {channels, rows}, {rows, 1}, {1, 0});
  run("broadcast [N,3]+[3]", {rows * channels / 4, 4}, {4, 1}, {0, 1});
  run("broadcast [N,3]+[N,1]", {rows * channels / 4, 4}, {4, 1}, {1, 0});
  run("transposed [A,B]+[B,A].T", {448, 448}, {448, 1}, {1, 448});
}

void bench_reduce(int64_t rows, int64_t cols) {
  const size_t n = static_cast<size_t>(rows * cols);
  const int64_t sizes[] = {rows, cols}, strides[] = {cols, 1};
  std::vector<double> out(n);
  std::vector<int64_t> indices(n);
  const std::vector<std::tuple<const char*, Reduce, DType>> ops = {
      {"sum", Reduce::kSum, DType::kFloat32},  {"mean", Reduce::kMean, DType::kFloat32},
      {"amax", Reduce::kMax, DType::kFloat32}, {"prod", Reduce::kProd, DType::kFloat32},
      {"var", Reduce::kVar, DType::kFloat32},  {"norm", Reduce::kNorm2, DType::kFloat32},
      {"sum", Reduce::kSum, DType::kFloat64},  {"sum", Reduce::kSum, DType::kInt64},
      {"sum", Reduce::kSum, DType::kInt32},    {"sum", Reduce::kSum, DType::kUInt8},
      {"amax", Reduce::kMax, DType::kInt64},   {"amax", Reduce::kMax, DType::kInt32},
      {"amax", Reduce::kMax, DType::kUInt8},   {"any", Reduce::kAny, DType::kBool},
      {"sum", Reduce::kSum, DType::kFloat16}};
  const std::string shape = std::to_string(rows) + "x" + std::to_string(cols);
  for (const auto& [name, op, dtype] : ops) {
    Data x(dtype, n, op == Reduce::kAny ? 0 : 0.9, op == Reduce::kAny ? 0 : 1.1);
    const DType result = op == Reduce::kSum && !is_floating(dtype) ? DType::kInt64 : dtype;
    for (uint32_t mask : {3u, 2u, 1u}) {
      const char* axis = mask == 3 ? "all" : mask == 2 ? "1" : "0";
      time_row(std::string(name) + " " + dtype_name(dtype) + " " + shape + " axis " + axis, n,
               [&, op = op] { reduce(op, {}, sizes, {x.data(), x.dtype, strides}, mask, result, out.data()); });
    }
  }
  Data x(DType::kFloat32, n, -1, 1);
  for (size_t dim : {0, 1}) {
    const std::string axis = shape + " axis " + std::to_string(dim);
    time_row("argmax float32 " + axis, n, [&] {
      arg_reduce(ArgReduce::kArgMax, sizes, {x.data(), x.dtype, strides}, dim, nullptr, indices.data());
    });
    time_row("cumsum float32 " + axis, n, [&] {
      scan(Scan::kCumSum, sizes, {x.data(), x.dtype, strides}, dim, DType::kFloat32, out.data(), nullptr);
    });
  }
}

void bench_rows(size_t rows, size_t cols) {
  const size_t n = rows * cols;
  Data x(DType::kFloat32, n, -4, 4), y(DType::kFloat32, n, 0, 1), gamma(DType::kFloat32, n, 0, 1);
  const std::string shape = std::to_string(rows) + "x" + std::to_string(cols);
  time_row(std::string("softmax ") + shape, n,
           [&] { softmax(false, DType::kFloat32, x.data(), y.data(), rows, cols, 1); });
  time_row(std::string("log_softmax ") + shape, n,
           [&] { softmax(true, DType::kFloat32, x.data(), y.data(), rows, cols, 1); });
  time_row(std::string("softmax columns ") + shape, n,
           [&] { softmax(false, DType::kFloat32, x.data(), y.data(), 1, rows, cols); });
  time_row(std::string("layer_norm ") + shape, n, [&] {
    layer_norm(DType::kFloat32, x.data(), gamma.data(), gamma.data(), y.data(), nullptr, nullptr, rows, cols, 1e-5);
  });
  time_row(std::string("rms_norm ") + shape, n,
           [&] { rms_norm(DType::kFloat32, x.data(), gamma.data(), y.data(), rows, cols, 1e-5); });
  time_row(std::string("affine nhwc ") + shape, n,
           [&] { channel_affine(DType::kFloat32, x.data(), gamma.data(), gamma.data(), y.data(), rows, cols, 1); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter = argv[1];
  set_num_threads(1);
  std::printf("# %s, 1 thread, ns per 1000 elements\n", std::string(isa_name(active_isa())).c_str());
  for (size_t n : {1000, 30000, 1000000}) bench_elementwise(n);
  bench_broadcast();
  bench_reduce(1000, 1000);
  bench_reduce(100, 64);
  bench_reduce(50000, 3);
  bench_rows(197, 192);
  bench_rows(128, 1000);
}
