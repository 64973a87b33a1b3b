#include "ops/pointwise/complex_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ops/reduction/reduced_dims.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// The view's numbers in row-major order.
const Complex* numbers_of(OpContext& context, const StridedView& view) {
  const auto count = static_cast<size_t>(product(view.sizes()));
  auto* numbers = context.scratch_of<Complex>(count);
  copy_view(context, StridedView(reinterpret_cast<std::byte*>(numbers), DType::kComplex128, view.sizes()), view);
  return numbers;
}

// Where results are written in row-major order.
class Results {
 public:
  Results(OpContext& context, Tensor& out)
      : is_complex_(is_complex(out.dtype)), out_(context, out, is_complex_ ? DType::kComplex128 : DType::kFloat64) {}

  void set(size_t i, Complex value) noexcept {
    if (is_complex_) {
      out_.as<Complex>()[i] = value;
    } else {
      out_.as<double>()[i] = value.real();
    }
  }
  void commit() { out_.commit(); }

 private:
  bool is_complex_;
  RowMajorOut out_;
};

}  // namespace

void map_complex(OpContext& context, std::initializer_list<const Tensor*> in, Tensor& out,
                 FunctionRef<Complex(const Complex*)> function) {
  constexpr size_t kMaxInputs = 3;
  Shape shape;
  for (const Tensor* tensor : in) shape = broadcast(shape, tensor->sizes());
  std::array<const Complex*, kMaxInputs> numbers{};
  std::ranges::transform(in, numbers.begin(),
                         [&](const Tensor* tensor) { return numbers_of(context, expanded(*tensor, shape)); });
  context.resize(out, shape);
  Results results(context, out);
  const auto count = static_cast<size_t>(product(shape));
  for (size_t i = 0; i < count; ++i) {
    std::array<Complex, kMaxInputs> at;
    for (size_t k = 0; k < in.size(); ++k) at[k] = numbers[k][i];
    results.set(i, function(at.data()));
  }
  results.commit();
}

void reduce_complex(OpContext& context, const Tensor& self, uint32_t mask, bool keepdim, Tensor& out,
                    FunctionRef<Complex(std::span<const Complex>)> function, const char* what) {
  const StridedView given(self);
  StridedView view = given;
  view.rank = 0;
  for (const bool reduced : {false, true}) {
    for (size_t d = 0; d < self.rank; ++d) {
      if (((mask >> d & 1) != 0) == reduced) view.push_back(given.size(d), given.stride(d));
    }
  }
  const Complex* numbers = numbers_of(context, view);
  const auto length = static_cast<size_t>(reduced_count(self, mask));
  context.resize(out, reduced_shape(self, mask, keepdim), what);
  Results results(context, out);
  const auto count = static_cast<size_t>(out.numel());
  for (size_t i = 0; i < count; ++i) results.set(i, function({numbers + i * length, length}));
  results.commit();
}

void scan_complex(OpContext& context, const Tensor& self, size_t dim, Tensor& out,
                  FunctionRef<Complex(Complex, Complex)> function) {
  const Complex* numbers = numbers_of(context, StridedView(self));
  context.resize(out, self.sizes());
  Results results(context, out);
  const auto length = static_cast<size_t>(self.rank == 0 ? 1 : self.size(dim));
  const auto inner = static_cast<size_t>(self.rank == 0 ? 1 : product(self.sizes(), dim + 1, self.rank));
  const size_t lines = length == 0 ? 0 : static_cast<size_t>(self.numel()) / length;
  for (size_t line = 0; line < lines; ++line) {
    const size_t start = line / inner * inner * length + line % inner;
    Complex last;
    for (size_t k = 0; k < length; ++k) {
      const Complex next = numbers[start + k * inner];
      last = k == 0 ? next : function(last, next);
      results.set(start + k * inner, last);
    }
  }
  results.commit();
}

Complex log_add_exp(Complex x, Complex y) noexcept {
  if (x.real() > y.real()) std::swap(x, y);
  const bool is_nan = std::isnan(x.real()) || std::isnan(x.imag()) || std::isnan(y.real()) || std::isnan(y.imag());
  if (is_nan) return {NAN, NAN};
  if (std::isinf(x.real()) && x.real() == y.real()) return x.real() < 0 ? x : std::log(std::exp(x) + std::exp(y));
  return y + std::log(1.0 + std::exp(x - y));
}

}  // namespace enr::ops
