// Tensors made from numbers: fills, ranges, identity matrices, indices of triangles.

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/convert/convert.h"
#include "kernels/transpose/pad.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

void fill_with(Tensor& out, const Element& element) {
  kernels::fill(out.data, element.bytes.data(), static_cast<size_t>(out.numel()), dtype_size(out.dtype));
}

void fill_resized(OpContext& context, Sizes size, const Scalar& value, const char* what, Tensor& out) {
  const Element element =
      product(size) == 1 ? saturated_element_of(value, out.dtype, what) : element_of(value, out.dtype, what);
  context.resize(out, size);
  fill_with(out, element);
}

void full_out(OpContext& context, Sizes size, const Scalar& fill_value, Tensor& out) {
  fill_resized(context, size, fill_value, "fill_value", out);
}
void full_like_out(OpContext& context, const Tensor& self, const Scalar& fill_value, Ignored, Tensor& out) {
  fill_resized(context, self.sizes(), fill_value, "fill_value", out);
}
void new_full_out(OpContext& context, const Tensor&, Sizes size, const Scalar& fill_value, Tensor& out) {
  fill_resized(context, size, fill_value, "fill_value", out);
}

template <int kValue>
void constant_out(OpContext& context, Sizes size, Tensor& out) {
  fill_resized(context, size, Scalar(int64_t{kValue}), "value", out);
}
template <int kValue>
void constant_like_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  fill_resized(context, self.sizes(), Scalar(int64_t{kValue}), "value", out);
}
template <int kValue>
void new_constant_out(OpContext& context, const Tensor&, Sizes size, Tensor& out) {
  fill_resized(context, size, Scalar(int64_t{kValue}), "value", out);
}

// Empty tensors keep whatever the memory held.
void empty_out(OpContext& context, Sizes size, Ignored, Tensor& out) { context.resize(out, size); }
void empty_strided_out(OpContext& context, Sizes size, Sizes stride, Tensor& out) {
  require_one_for_each_size(stride, size, "stride");
  for (const int64_t step : stride) {
    if (step < 0) fail_execution("stride: expected at least 0, got ", stride);
  }
  context.resize(out, size);
}
void empty_permuted_out(OpContext& context, Sizes size, Sizes physical_layout, Tensor& out) {
  require_one_for_each_size(physical_layout, size, "physical_layout");
  for (size_t d = 0; d < size.size(); ++d) {
    if (std::ranges::find(physical_layout, static_cast<int64_t>(d)) != physical_layout.end()) continue;
    fail_execution("physical_layout: expected each dim of size ", size, " once, got ", physical_layout);
  }
  context.resize(out, size);
}
void empty_like_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) { context.resize(out, self.sizes()); }
void new_empty_out(OpContext& context, const Tensor&, Sizes size, Tensor& out) { context.resize(out, size); }

void fill_scalar_out(OpContext& context, const Tensor& self, const Scalar& value, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  fill_resized(context, self.sizes(), value, "value", out);
}

Element element_of(OpContext& context, const Tensor& value, DType dtype) {
  if (value.rank != 0) fail_execution("value: expected rank 0, got shape ", value.sizes());
  require_convertible(value.dtype, dtype, "value");
  Element element;
  std::memcpy(element.bytes.data(), row_major_as(context, value, dtype), dtype_size(dtype));
  return element;
}

void fill_tensor_out(OpContext& context, const Tensor& self, const Tensor& value, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Element element = element_of(context, value, out.dtype);
  context.resize(out, self.sizes());
  fill_with(out, element);
}

void fill_scalar_in_place(OpContext&, Tensor& self, const Scalar& value) {
  fill_with(self, ops::element_of(value, self.dtype, "value"));
}
void fill_tensor_in_place(OpContext& context, Tensor& self, const Tensor& value) {
  fill_with(self, element_of(context, value, self.dtype));
}
void zero_in_place(OpContext&, Tensor& self) { fill_with(self, Element{}); }

void zero_out(OpContext& context, const Tensor& self, Tensor& out) {
  context.resize(out, self.sizes());
  fill_with(out, Element{});
}

void scalar_tensor_out(OpContext& context, const Scalar& value, Tensor& out) {
  const Element element = saturated_element_of(value, out.dtype, "s");
  context.resize(out, {});
  fill_with(out, element);
}

// Writes value(i) for i < out's size, computed as double or int64 and converted to out's dtype.
template <class T, class Value>
void generate(OpContext& context, Tensor& out, const Value& value) {
  require_convertible(dtype_of<T>, out.dtype, "out");
  RowMajorOut to(context, out, dtype_of<T>);
  const int64_t count = out.numel();
  for (int64_t i = 0; i < count; ++i) to.as<T>()[i] = value(i);
  to.commit();
}

// Steps from start that stay before end.
int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  const double from = start.to<double>(), to = end.to<double>(), by = step.to<double>();
  if (!std::isfinite(from) || !std::isfinite(to))
    fail_execution("end: expected a finite range, got ", from, " to ", to);
  if (by == 0 || std::isnan(by)) fail_execution("step: expected a number other than 0, got ", by);
  if ((by > 0) != (to > from) && to != from) {
    fail_execution("step: expected one that leads from ", from, " to ", to, ", got ", by);
  }
  if (!start.is_double() && !end.is_double() && !step.is_double()) {
    const __int128 span = static_cast<__int128>(end.to<int64_t>()) - start.to<int64_t>();
    const __int128 stride = step.to<int64_t>();
    const __int128 length = (span + stride - (stride > 0 ? 1 : -1)) / stride;
    if (length > INT64_MAX) fail_execution("end: expected a shorter range from ", from, " by ", by, ", got ", to);
    return static_cast<int64_t>(length);
  }
  const double length = std::ceil((to - from) / by);
  if (!(length < 0x1p62)) fail_execution("end: expected a shorter range from ", from, " by ", by, ", got ", to);
  return static_cast<int64_t>(length);
}

void arange_start_out(OpContext& context, const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  context.resize(out, {range_length(start, end, step)});
  if (is_floating(out.dtype)) {
    const double from = start.to<double>(), by = step.to<double>();
    generate<double>(context, out, [=](int64_t i) { return from + by * static_cast<double>(i); });
  } else {
    const auto from = start.to<uint64_t>(), by = step.to<uint64_t>();
    generate<int64_t>(context, out, [=](int64_t i) { return static_cast<int64_t>(from + by * uint64_t(i)); });
  }
}

void arange_out(OpContext& context, const Scalar& end, Tensor& out) {
  arange_start_out(context, Scalar(int64_t{0}), end, Scalar(int64_t{1}), out);
}

// As arange, with the end included.
void range_out(OpContext& context, const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  range_length(start, end, step);  // refuses what leads nowhere
  const double from = start.to<double>(), by = step.to<double>();
  context.resize(out, {static_cast<int64_t>((end.to<double>() - from) / by + 1)});
  generate<double>(context, out, [=](int64_t i) { return from + by * static_cast<double>(i); });
}

// The number once it has been an element of the dtype.
double as_element(DType dtype, double value) {
  require_convertible(DType::kFloat64, dtype, "out");
  std::array<std::byte, 16> element;
  kernels::convert_fn(DType::kFloat64, dtype)(&value, element.data(), 1);
  kernels::convert_fn(dtype, DType::kFloat64)(element.data(), &value, 1);
  return value;
}

double rounded_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16:
      return Half(static_cast<float>(value));
    case DType::kBFloat16:
      return BFloat16(static_cast<float>(value));
    case DType::kFloat32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

// Evenly spaced from both ends, each step rounded to out's dtype, as eager does.
template <class Map>
void linspace_mapped(OpContext& context, double start, double end, int64_t steps, Tensor& out, const Map& map) {
  if (steps < 0) fail_execution("steps: expected at least 0, got ", steps);
  context.resize(out, {steps});
  const DType dtype = out.dtype;
  const auto round = [dtype](double value) { return rounded_to(dtype, value); };
  start = as_element(dtype, start);
  end = as_element(dtype, end);
  const double step = steps > 1 ? round(round(end - start) / round(static_cast<double>(steps - 1))) : 0;
  generate<double>(context, out, [&](int64_t i) {
    if (i < steps / 2 || steps == 1) return map(round(start + round(step * static_cast<double>(i))));
    return map(round(end - round(step * static_cast<double>(steps - i - 1))));
  });
}

void linspace_out(OpContext& context, const Scalar& start, const Scalar& end, int64_t steps, Tensor& out) {
  linspace_mapped(context, start.to<double>(), end.to<double>(), steps, out, [](double x) { return x; });
}

void logspace_out(OpContext& context, const Scalar& start, const Scalar& end, int64_t steps, double base, Tensor& out) {
  linspace_mapped(context, start.to<double>(), end.to<double>(), steps, out,
                  [base](double x) { return std::pow(base, x); });
}

// The frequencies of a signal's transform: numbers in units of 1 / (n * d).
template <class NumberOf>
void frequencies(OpContext& context, int64_t n, double d, int64_t count, Tensor& out, const NumberOf& number) {
  if (n < 0) fail_execution("n: expected at least 0, got ", n);
  if (!is_floating(out.dtype)) fail_execution("out: expected a floating dtype, got ", dtype_name(out.dtype));
  context.resize(out, {count});
  const double unit = rounded_to(out.dtype, 1.0 / (static_cast<double>(n) * d));
  generate<double>(context, out, [&](int64_t i) { return static_cast<double>(number(i)) * unit; });
}

void fft_fftfreq_out(OpContext& context, int64_t n, double d, Tensor& out) {
  frequencies(context, n, d, n, out, [n](int64_t i) { return i < (n + 1) / 2 ? i : i - n; });
}

void fft_rfftfreq_out(OpContext& context, int64_t n, double d, Tensor& out) {
  frequencies(context, n, d, n / 2 + 1, out, [](int64_t i) { return i; });
}

void eye_m_out(OpContext& context, int64_t n, int64_t m, Tensor& out) {
  if (n < 0 || m < 0) fail_execution("n: expected sizes of at least 0, got ", n, " and ", m);
  context.resize(out, {n, m});
  fill_with(out, Element{});
  StridedView diagonal;
  diagonal.data = out.data;
  diagonal.dtype = out.dtype;
  diagonal.push_back(std::min(n, m), out.stride(0) + out.stride(1));
  Element one = ops::element_of(Scalar(int64_t{1}), out.dtype, "out");
  StridedView ones;
  ones.data = one.bytes.data();
  ones.dtype = out.dtype;
  ones.push_back(std::min(n, m), 0);
  copy_view(context, diagonal, ones);
}

void eye_out(OpContext& context, int64_t n, Tensor& out) { eye_m_out(context, n, n, out); }

// Row and column numbers of the elements of a triangle: those of each row from first(row) to last(row).
template <class Columns>
void triangle_indices(OpContext& context, int64_t rows, int64_t columns, Tensor& out, const Columns& kept) {
  if (rows < 0 || columns < 0) fail_execution("row: expected sizes of at least 0, got ", rows, " and ", columns);
  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const auto [first, last] = kept(r);
    count += last - first;
  }
  context.resize(out, {2, count});
  require_convertible(DType::kInt64, out.dtype, "out");
  RowMajorOut to(context, out, DType::kInt64);
  int64_t* row = to.as<int64_t>();
  int64_t* column = row + count;
  for (int64_t r = 0; r < rows; ++r) {
    const auto [first, last] = kept(r);
    for (int64_t c = first; c < last; ++c) {
      *row++ = r;
      *column++ = c;
    }
  }
  to.commit();
}

void tril_indices_out(OpContext& context, int64_t rows, int64_t columns, int64_t offset, Tensor& out) {
  triangle_indices(context, rows, columns, out, [=](int64_t r) {
    return std::pair(int64_t{0}, static_cast<int64_t>(std::clamp<__int128>(__int128{r} + offset + 1, 0, columns)));
  });
}

void triu_indices_out(OpContext& context, int64_t rows, int64_t columns, int64_t offset, Tensor& out) {
  triangle_indices(context, rows, columns, out, [=](int64_t r) {
    return std::pair(static_cast<int64_t>(std::clamp<__int128>(__int128{r} + offset, 0, columns)), columns);
  });
}

}  // namespace

void register_create(OperatorTable& table) {
  table.add<full_out>("aten::full.out", "size, fill_value, out");
  table.add<full_like_out>("aten::full_like.out", "self, fill_value, memory_format, out");
  table.add<new_full_out>("aten::new_full.out", "self, size, fill_value, out");
  table.add<constant_out<0>>("aten::zeros.out", "size, out");
  table.add<constant_out<1>>("aten::ones.out", "size, out");
  table.add<constant_like_out<0>>("aten::zeros_like.out", "self, memory_format, out");
  table.add<constant_like_out<1>>("aten::ones_like.out", "self, memory_format, out");
  table.add<new_constant_out<0>>("aten::new_zeros.out", "self, size, out");
  table.add<new_constant_out<1>>("aten::new_ones.out", "self, size, out");
  table.add<empty_out>("aten::empty.out", "size, memory_format, out");
  table.add<empty_out>("dim_order_ops::_empty_dim_order.out", "size, dim_order, out");
  table.add<empty_permuted_out>("aten::empty_permuted.out", "size, physical_layout, out");
  table.add<empty_strided_out>("aten::empty_strided.out", "size, stride, out");
  table.add<empty_like_out>("aten::empty_like.out", "self, memory_format, out");
  table.add<new_empty_out>("aten::new_empty.out", "self, size, out");
  table.add<fill_scalar_out>("aten::fill.Scalar_out", "self, value, out");
  table.add<fill_tensor_out>("aten::fill.Tensor_out", "self, value, out");
  table.add<fill_scalar_in_place>("aten::fill_.Scalar", "self, value");
  table.add<fill_tensor_in_place>("aten::fill_.Tensor", "self, value");
  table.add<zero_in_place>("aten::zero_", "self");
  table.add<zero_out>("aten::zero.out", "self, out");
  table.add<range_out>("aten::range.out", "start, end, step, out");
  table.add<scalar_tensor_out>("aten::scalar_tensor.out", "s, out");
  table.add<arange_out>("aten::arange.out", "end, out");
  table.add<arange_start_out>("aten::arange.start_out", "start, end, step, out");
  table.add<linspace_out>("aten::linspace.out", "start, end, steps, out");
  table.add<logspace_out>("aten::logspace.out", "start, end, steps, base, out");
  table.add<fft_fftfreq_out>("aten::fft_fftfreq.out", "n, d, out");
  table.add<fft_rfftfreq_out>("aten::fft_rfftfreq.out", "n, d, out");
  table.add<eye_out>("aten::eye.out", "n, out");
  table.add<eye_m_out>("aten::eye.m_out", "n, m, out");
  table.add<tril_indices_out>("aten::tril_indices.out", "row, col, offset, out");
  table.add<triu_indices_out>("aten::triu_indices.out", "row, col, offset, out");
}

}  // namespace enr::ops
