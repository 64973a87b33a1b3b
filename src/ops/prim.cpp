// The operators on symbolic numbers that exporters write between the tensor operators, and the two that alias or
// append.

#include <cmath>
#include <cstring>

#include "ops/families.h"
#include "ops/shapes.h"

namespace enr::ops {

namespace {

template <class IntFunction, class DoubleFunction>
void arithmetic(const Scalar& a, const Scalar& b, Value& out, IntFunction ints, DoubleFunction doubles) {
  if (a.is_double() || b.is_double()) {
    out.data = doubles(a.to<double>(), b.to<double>());
  } else {
    out.data = ints(a.to<int64_t>(), b.to<int64_t>());
  }
}

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

void add_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  arithmetic(
      a, b, out, [](int64_t x, int64_t y) { return wrap(uint64_t(x) + uint64_t(y)); },
      [](double x, double y) { return x + y; });
}
void sub_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  arithmetic(
      a, b, out, [](int64_t x, int64_t y) { return wrap(uint64_t(x) - uint64_t(y)); },
      [](double x, double y) { return x - y; });
}
void mul_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  arithmetic(
      a, b, out, [](int64_t x, int64_t y) { return wrap(uint64_t(x) * uint64_t(y)); },
      [](double x, double y) { return x * y; });
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) fail_execution("b: expected a number other than 0 to divide ", a, " by, got 0");
  if (b == -1) return wrap(0 - uint64_t(a));
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

void floordiv_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  arithmetic(a, b, out, floor_divide, [](double x, double y) { return std::floor(x / y); });
}
void mod_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  arithmetic(
      a, b, out, [](int64_t x, int64_t y) { return wrap(uint64_t(x) - uint64_t(floor_divide(x, y)) * uint64_t(y)); },
      [](double x, double y) {
        const double r = std::fmod(x, y);
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;
      });
}
void truediv_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  out.data = a.to<double>() / b.to<double>();
}
void sym_max(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  arithmetic(
      a, b, out, [](int64_t x, int64_t y) { return std::max(x, y); },
      [](double x, double y) { return std::max(x, y); });
}
void sym_min(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  arithmetic(
      a, b, out, [](int64_t x, int64_t y) { return std::min(x, y); },
      [](double x, double y) { return std::min(x, y); });
}

// Exact for ints, which doubles would round beyond 2^53.
template <class Compare>
void compare(const Scalar& a, const Scalar& b, Value& out, Compare holds) {
  out.data =
      a.is_double() || b.is_double() ? holds(a.to<double>(), b.to<double>()) : holds(a.to<int64_t>(), b.to<int64_t>());
}
void eq_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  compare(a, b, out, [](auto x, auto y) { return x == y; });
}
void gt_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  compare(a, b, out, [](auto x, auto y) { return x > y; });
}
void lt_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  compare(a, b, out, [](auto x, auto y) { return x < y; });
}
void ge_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  compare(a, b, out, [](auto x, auto y) { return x >= y; });
}
void le_scalar(OpContext&, const Scalar& a, const Scalar& b, Value& out) {
  compare(a, b, out, [](auto x, auto y) { return x <= y; });
}

void neg_scalar(OpContext&, const Scalar& a, Value& out) {
  if (a.is_double()) {
    out.data = -a.to<double>();
  } else {
    out.data = wrap(0 - uint64_t(a.to<int64_t>()));
  }
}
void sym_float(OpContext&, const Scalar& a, Value& out) { out.data = a.to<double>(); }
void sym_int(OpContext&, const Scalar& a, Value& out) { out.data = a.to<int64_t>(); }
void sym_not(OpContext&, const Scalar& a, Value& out) { out.data = !a.to<bool>(); }
void sym_ite(OpContext&, bool condition, const Scalar& yes, const Scalar& no, Value& out) {
  const Scalar& chosen = condition ? yes : no;
  if (chosen.is_double()) {
    out.data = chosen.to<double>();
  } else if (chosen.is_int()) {
    out.data = chosen.to<int64_t>();
  } else {
    out.data = chosen.to<bool>();
  }
}
void ceil_scalar(OpContext&, double a, Value& out) { out.data = Scalar(std::ceil(a)).to<int64_t>(); }
void round_scalar(OpContext&, double a, Value& out) { out.data = Scalar(std::nearbyint(a)).to<int64_t>(); }
void trunc_scalar(OpContext&, double a, Value& out) { out.data = Scalar(a).to<int64_t>(); }

void sym_size(OpContext&, const Tensor& self, int64_t dim, Value& out) {
  out.data = self.size(normalize_dim(dim, self.rank));
}
void sym_numel(OpContext&, const Tensor& self, Value& out) { out.data = self.numel(); }

void local_scalar_dense(OpContext&, const Tensor& self, Value& out) {
  if (self.numel() != 1) fail_execution("self: expected one element, got shape ", self.sizes());
  switch (self.dtype) {
    case DType::kBool:
      out.data = *self.as<uint8_t>() != 0;
      return;
    case DType::kUInt8:
      out.data = int64_t{*self.as<uint8_t>()};
      return;
    case DType::kInt8:
      out.data = int64_t{*self.as<int8_t>()};
      return;
    case DType::kInt16:
      out.data = int64_t{*self.as<int16_t>()};
      return;
    case DType::kUInt16:
      out.data = int64_t{*self.as<uint16_t>()};
      return;
    case DType::kInt32:
      out.data = int64_t{*self.as<int32_t>()};
      return;
    case DType::kUInt32:
      out.data = int64_t{*self.as<uint32_t>()};
      return;
    case DType::kInt64:
      out.data = *self.as<int64_t>();
      return;
    case DType::kUInt64:
      out.data = static_cast<int64_t>(*self.as<uint64_t>());
      return;
    case DType::kFloat16:
      out.data = double{float{*self.as<Half>()}};
      return;
    case DType::kBFloat16:
      out.data = double{float{*self.as<BFloat16>()}};
      return;
    case DType::kFloat32:
      out.data = double{*self.as<float>()};
      return;
    case DType::kFloat64:
      out.data = *self.as<double>();
      return;
    default:
      fail_execution("self: expected an element with a scalar form, got ", dtype_name(self.dtype));
  }
}

// Gives `self` another shape without moving it: out shares self's memory from now on.
void et_view(OpContext&, const Tensor& self, Sizes size, Tensor& out) {
  Shape shape(size);
  int64_t known = 1;
  std::optional<size_t> inferred;
  for (size_t d = 0; d < shape.rank; ++d) {
    if (shape[d] == -1) {
      if (inferred) fail_execution("size: expected at most one -1, got ", size);
      inferred = d;
    } else if (shape[d] < 0) {
      fail_execution("size: expected sizes of at least 0 or -1, got ", size);
    } else if (__builtin_mul_overflow(known, shape[d], &known)) {
      fail_execution("size: expected fewer elements, got ", size);
    }
  }
  if (inferred) {
    if (known == 0 || self.numel() % known != 0)
      fail_execution("size: expected as many elements as shape ", self.sizes(), " has, got ", size);
    shape[*inferred] = self.numel() / known;
  }
  int64_t total = 1;
  for (const int64_t s : shape) total *= s;
  if (total != self.numel())
    fail_execution("size: expected as many elements as shape ", self.sizes(), " has, got ", size);
  if (shape.rank != out.rank) fail_execution("out: expected rank ", shape.rank, ", got ", int{out.rank});
  if (out.dtype != self.dtype)
    fail_execution("out: expected ", dtype_name(self.dtype), ", got ", dtype_name(out.dtype));
  if (!is_countable(self.dtype, shape)) fail_execution("size: expected fewer elements, got ", size);
  out.set_sizes(shape);
  out.data = self.data;
  out.is_constant = self.is_constant;
  out.capacity_bytes = self.size_bytes();
  out.grown = self.grown;
}

// Appends one slice: `to` grows along its first dim to index + 1 rows and the last one becomes `from`. The first slice
// gives the sizes of all.
void et_copy_index(OpContext& context, Tensor& to, const Tensor& from, int64_t index) {
  if (index < 0) fail_execution("index: expected at least 0, got ", index);
  if (to.rank != from.rank + 1) fail_execution("to: expected rank ", from.rank + 1, ", got ", int{to.rank});
  if (to.dtype != from.dtype) fail_execution("from: expected ", dtype_name(to.dtype), ", got ", dtype_name(from.dtype));
  Shape shape(to.sizes());
  shape[0] = index + 1;
  for (size_t d = 0; d < from.rank; ++d) {
    if (index != 0 && shape[d + 1] != from.size(d)) {
      fail_execution("from: expected a slice of ", to.sizes(), ", got ", from.sizes());
    }
    shape[d + 1] = from.size(d);
  }
  context.resize(to, shape, "to");
  if (!to.is_contiguous() || !from.is_contiguous())
    fail_execution("to: expected a row-major tensor, got another dim order");
  if (from.size_bytes() != 0) {
    std::memcpy(to.data + static_cast<size_t>(index) * from.size_bytes(), from.data, from.size_bytes());
  }
}

}  // namespace

void register_prim(OperatorTable& table) {
  table.add<sym_size>("aten::sym_size.int", "self, dim, out");
  table.add<sym_numel>("aten::sym_numel", "self, out");
  table.add<local_scalar_dense>("aten::_local_scalar_dense", "self, out");
  table.add<add_scalar>("executorch_prim::add.Scalar", "a, b, out");
  table.add<sub_scalar>("executorch_prim::sub.Scalar", "a, b, out");
  table.add<mul_scalar>("executorch_prim::mul.Scalar", "a, b, out");
  table.add<floordiv_scalar>("executorch_prim::floordiv.Scalar", "a, b, out");
  table.add<floordiv_scalar>("executorch_prim::floordiv.int", "a, b, out");
  table.add<truediv_scalar>("executorch_prim::truediv.Scalar", "a, b, out");
  table.add<mod_scalar>("executorch_prim::mod.Scalar", "a, b, out");
  table.add<mod_scalar>("executorch_prim::mod.int", "a, b, out");
  table.add<sym_max>("executorch_prim::sym_max.Scalar", "a, b, out");
  table.add<sym_min>("executorch_prim::sym_min.Scalar", "a, b, out");
  table.add<sym_float>("executorch_prim::sym_float.Scalar", "a, out");
  table.add<sym_int>("executorch_prim::sym_int.Scalar", "a, out");
  table.add<sym_not>("executorch_prim::sym_not.Scalar", "a, out");
  table.add<sym_ite>("executorch_prim::sym_ite.Scalar", "condition, yes, no, out");
  table.add<eq_scalar>("executorch_prim::eq.Scalar", "a, b, out");
  table.add<gt_scalar>("executorch_prim::gt.Scalar", "a, b, out");
  table.add<lt_scalar>("executorch_prim::lt.Scalar", "a, b, out");
  table.add<ge_scalar>("executorch_prim::ge.Scalar", "a, b, out");
  table.add<le_scalar>("executorch_prim::le.Scalar", "a, b, out");
  table.add<neg_scalar>("executorch_prim::neg.Scalar", "a, out");
  table.add<ceil_scalar>("executorch_prim::ceil.Scalar", "a, out");
  table.add<round_scalar>("executorch_prim::round.Scalar", "a, out");
  table.add<trunc_scalar>("executorch_prim::trunc.Scalar", "a, out");
  table.add<et_view>("executorch_prim::et_view.default", "self, size, out");
  table.add<et_copy_index>("executorch_prim::et_copy_index.tensor", "to, from, index");
}

}  // namespace enr::ops
