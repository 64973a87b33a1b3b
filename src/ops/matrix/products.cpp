// Products of vectors, and of matrices of any rank.

#include <algorithm>
#include <array>
#include <complex>

#include "kernels/complex/complex.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/matrix/matmul.h"
#include "ops/memory_order.h"
#include "ops/pointwise/elementwise.h"
#include "ops/scratch_tensor.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

void require_same(const Tensor& a, const Tensor& b, const char* what) { require_same_dtype(b, a.dtype, what); }

void require_vector(const Tensor& tensor, const char* what) { require_rank(tensor, 1, what); }

size_t count(int64_t size) { return static_cast<size_t>(size); }

// One number: the sum of the products of two vectors.
void dot(OpContext& context, const Tensor& self, const Tensor& other, const char* other_name, Tensor& out) {
  require_vector(self, "self");
  require_vector(other, other_name);
  require_same(self, other, other_name);
  require_not_bool(self.dtype, "self");
  require_same_dtype(out, self.dtype, "out");
  if (self.size(0) != other.size(0)) {
    fail_execution(other_name, ": expected ", self.size(0), " elements as self has, got ", other.size(0));
  }
  context.resize(out, {});
  Product p;
  p.m = p.n = 1;
  p.k = count(self.size(0));
  p.a = &self;
  p.b = &other;
  p.b_transposed = true;
  multiply(context, p, out);
}
void dot_out(OpContext& context, const Tensor& self, const Tensor& tensor, Tensor& out) {
  dot(context, self, tensor, "tensor", out);
}
// The first vector is conjugated.
void vdot_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  if (!is_complex(self.dtype)) return dot(context, self, other, "other", out);
  Tensor conjugate = scratch_tensor(context, self.dtype, self.sizes());
  run_loop(context, kernels::conjugate_loop(computing_dtype(self.dtype)), {}, {self}, conjugate);
  dot(context, conjugate, other, "other", out);
}

// A matrix by a vector: dot products of its rows.
void multiply_vector(OpContext& context, const Tensor* addend, const Tensor& matrix, const Tensor& vector,
                     const char* matrix_name, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  require_rank(matrix, 2, matrix_name);
  require_vector(vector, "vec");
  require_same(matrix, vector, "vec");
  require_same_dtype(out, matrix.dtype, "out");
  if (matrix.size(1) != vector.size(0)) {
    fail_execution("vec: expected sizes to multiply with ", matrix.sizes(), ", got ", vector.sizes());
  }
  Product p;
  p.m = 1;
  p.n = count(matrix.size(0));
  p.k = count(matrix.size(1));
  p.a = &vector;
  p.b = &matrix;
  p.b_transposed = true;
  if (addend != nullptr) {
    require_same(matrix, *addend, "self");
    const int64_t rows = matrix.size(0);
    if (addend->rank > 1 || (addend->rank == 1 && addend->size(0) != 1 && addend->size(0) != rows)) {
      fail_execution("self: expected a shape that broadcasts to [", rows, "], got ", addend->sizes());
    }
    p.addend = addend;
    p.alpha = alpha;
    p.beta = beta;
  }
  context.resize(out, {matrix.size(0)});
  multiply(context, p, out);
}
void mv_out(OpContext& context, const Tensor& self, const Tensor& vec, Tensor& out) {
  multiply_vector(context, nullptr, self, vec, "self", Scalar(int64_t{0}), Scalar(int64_t{1}), out);
}
void addmv_out(OpContext& context, const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
               const Scalar& alpha, Tensor& out) {
  multiply_vector(context, &self, mat, vec, "mat", beta, alpha, out);
}

// A tensor's elements, row-major, with other sizes.
Tensor reshaped(OpContext& context, const Tensor& tensor, Sizes sizes) {
  Tensor result = row_major(context, tensor, tensor.dtype);
  result.rank = static_cast<uint8_t>(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) result.dim_order_array[d] = static_cast<uint8_t>(d);
  result.set_sizes(sizes);
  return result;
}

// Every element of one vector by every element of another.
void outer_out(OpContext& context, const Tensor& self, const Tensor& vec2, Tensor& out) {
  require_vector(self, "self");
  require_vector(vec2, "vec2");
  const DType common = result_type(self, vec2);
  require_castable(common, out);
  const std::array<int64_t, 2> column{self.size(0), 1};
  run_loop(context, loop_for(kernels::Binary::kMul, common), {},
           {as_dtype(context, reshaped(context, self, column), common), as_dtype(context, vec2, common)}, out);
}

void addr_out(OpContext& context, const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
              const Scalar& alpha, Tensor& out) {
  require_vector(vec1, "vec1");
  require_vector(vec2, "vec2");
  const DType common = ResultType().add(self).add(vec1).add(vec2).get();
  require_same_dtype(out, common, "out");
  const std::array<int64_t, 2> sizes{vec1.size(0), vec2.size(0)};
  require_broadcasts(self, sizes, "self");
  Product p;
  p.m = count(sizes[0]);
  p.n = count(sizes[1]);
  p.k = 1;
  const Tensor a = row_major(context, vec1, common), b = row_major(context, vec2, common);
  const Tensor addend = row_major(context, self, common);
  p.a = &a;
  p.b = &b;
  p.addend = &addend;
  p.alpha = alpha;
  p.beta = beta;
  context.resize(out, Sizes(sizes));
  multiply(context, p, out);
}

// The sum over a batch of products is one product of the matrices side by side.
void addbmm_out(OpContext& context, const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                const Scalar& alpha, Tensor& out) {
  require_rank(batch1, 3, "batch1");
  require_rank(batch2, 3, "batch2");
  require_same(batch1, batch2, "batch2");
  require_same(batch1, self, "self");
  require_same_dtype(out, batch1.dtype, "out");
  if (batch1.size(0) != batch2.size(0) || batch1.size(2) != batch2.size(1)) {
    fail_execution("batch2: expected sizes to multiply with ", batch1.sizes(), ", got ", batch2.sizes());
  }
  const std::array<int64_t, 2> sizes{batch1.size(1), batch2.size(2)};
  require_broadcasts(self, sizes, "self");
  StridedView side_by_side(batch1);
  side_by_side.swap(0, 1);
  Tensor left = scratch_tensor(context, batch1.dtype, side_by_side.sizes());
  copy_view(context, StridedView(left), side_by_side);
  Product p;
  p.m = count(sizes[0]);
  p.n = count(sizes[1]);
  p.k = count(batch1.size(0) * batch1.size(2));
  p.a = &left;
  p.b = &batch2;
  p.addend = &self;
  p.alpha = alpha;
  p.beta = beta;
  context.resize(out, Sizes(sizes));
  multiply(context, p, out);
}

// Over the last dims of both.
void inner_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  require_same(self, other, "other");
  require_same_dtype(out, self.dtype, "out");
  if (self.rank == 0 || other.rank == 0) {
    require_not_bool(self.dtype, "self");
    return run_loop(context, loop_for(kernels::Binary::kMul, self.dtype), {}, {self, other}, out);
  }
  const size_t last = self.rank - 1u, other_last = other.rank - 1u;
  if (self.size(last) != other.size(other_last)) {
    fail_execution("other: expected the last size of self ", self.sizes(), ", got ", other.sizes());
  }
  Shape shape(self.sizes().first(last));
  for (size_t d = 0; d < other_last; ++d) shape.push_back(other.size(d));
  Product p;
  p.m = count(product(self.sizes(), 0, last));
  p.n = count(product(other.sizes(), 0, other_last));
  p.k = count(self.size(last));
  p.a = &self;
  p.b = &other;
  p.b_transposed = true;
  context.resize(out, shape);
  multiply(context, p, out);
}

// The operand with its batch dims repeated to `batch`.
Tensor repeated(OpContext& context, const Tensor& tensor, const Shape& batch) {
  Shape full = batch;
  full.push_back(tensor.size(tensor.rank - 2u));
  full.push_back(tensor.size(tensor.rank - 1u));
  if (std::ranges::equal(Sizes(full), tensor.sizes())) return tensor;
  StridedView view(tensor);
  view.expand(full);
  Tensor copy = scratch_tensor(context, tensor.dtype, full);
  copy_view(context, StridedView(copy), view);
  return copy;
}

void matmul_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  if (self.rank == 0) fail_execution("self: expected at least rank 1, got a tensor of rank 0");
  if (other.rank == 0) fail_execution("other: expected at least rank 1, got a tensor of rank 0");
  require_same(self, other, "other");
  require_same_dtype(out, self.dtype, "out");
  const bool is_row = self.rank == 1, is_column = other.rank == 1;
  Shape left_sizes(self.sizes()), right_sizes(other.sizes());
  if (is_row) left_sizes = Shape(std::array<int64_t, 2>{1, self.size(0)});
  if (is_column) right_sizes = Shape(std::array<int64_t, 2>{other.size(0), 1});
  const int64_t rows = left_sizes[left_sizes.rank - 2], inner = left_sizes[left_sizes.rank - 1];
  const int64_t columns = right_sizes[right_sizes.rank - 1];
  if (right_sizes[right_sizes.rank - 2] != inner) {
    fail_execution("other: expected sizes to multiply with ", self.sizes(), ", got ", other.sizes());
  }
  const Shape batch =
      broadcast(Sizes(left_sizes).first(left_sizes.rank - 2), Sizes(right_sizes).first(right_sizes.rank - 2), "other");
  Shape shape = batch;
  if (!is_row) shape.push_back(rows);
  if (!is_column) shape.push_back(columns);
  context.resize(out, shape);

  Product p;
  p.m = count(rows);
  p.n = count(columns);
  p.k = count(inner);
  Tensor left = self, right = other;
  if (right_sizes.rank == 2) {
    p.m *= count(product(batch));  // the left one's batch is more rows
    p.b_transposed = is_column;
  } else {
    p.batch = count(product(batch));
    left = repeated(context, reshaped(context, self, left_sizes), batch);
    right = repeated(context, reshaped(context, other, right_sizes), batch);
  }
  p.a = &left;
  p.b = &right;
  multiply(context, p, out);
}

// Dot products along a dim, with the first one conjugated.
void linalg_vecdot_out(OpContext& context, const Tensor& x, const Tensor& y, int64_t dim, Tensor& out) {
  require_same(x, y, "y");
  require_same_dtype(out, x.dtype, "out");
  const Shape shape = broadcast(x.sizes(), y.sizes(), "y");
  if (shape.rank == 0) fail_execution("x: expected at least rank 1, got a tensor of rank 0");
  const size_t along = normalize_dim(dim, shape.rank);
  // The dim comes last in copies of both, which then are a batch of rows and columns.
  Shape moved;
  for (size_t d = 0; d < shape.rank; ++d) {
    if (d != along) moved.push_back(shape[d]);
  }
  const auto gather = [&](const Tensor& tensor) {
    StridedView view(tensor);
    view.expand(shape);
    const int64_t size = view.size(along), stride = view.stride(along);
    view.erase(along);
    view.push_back(size, stride);
    Tensor copy = scratch_tensor(context, tensor.dtype, view.sizes());
    copy_view(context, StridedView(copy), view);
    return copy;
  };
  Tensor left = gather(x);
  const Tensor right = gather(y);
  if (is_complex(x.dtype)) {
    run_loop(context, kernels::conjugate_loop(computing_dtype(x.dtype)), {}, {left}, left);
  }
  Product p;
  p.batch = count(product(moved));
  p.m = p.n = 1;
  p.k = count(shape[along]);
  p.a = &left;
  p.b = &right;
  p.b_transposed = true;
  context.resize(out, moved);
  multiply(context, p, out);
}

// The product of three tensors, each with dims of size 1 put in at its `expand` dims, summed over `sumdim`.
void trilinear_out(OpContext& context, const Tensor& i1, const Tensor& i2, const Tensor& i3, Sizes expand1,
                   Sizes expand2, Sizes expand3, Sizes sumdim, int64_t unroll_dim, Tensor& out) {
  Tensor as_first = i1;
  require_castable(ResultType().add(i1).add(i2).add(i3).get(), as_first, "i1");
  const std::array<const Tensor*, 3> factors{&i1, &i2, &i3};
  const std::array<Sizes, 3> expands{expand1, expand2, expand3};
  const size_t rank = i1.rank + expand1.size();
  std::array<StridedView, 3> views;
  Shape full;
  for (size_t f = 0; f < 3; ++f) {
    if (factors[f]->rank + expands[f].size() != rank || rank > kMaxRank) {
      fail_execution("expand", f + 1, ": expected dims that bring shape ", factors[f]->sizes(), " to rank ", rank,
                     ", got ", expands[f]);
    }
    views[f] = StridedView(*factors[f]);
    for (const int64_t dim : expands[f]) {
      if (dim < 0 || static_cast<size_t>(dim) > views[f].rank)
        fail_execution("expand", f + 1, ": expected ascending dims, got ", expands[f]);
      views[f].insert(static_cast<size_t>(dim), 1, 0);
    }
    full = f == 0 ? Shape(views[f].sizes()) : broadcast(full, views[f].sizes(), "i2");
  }
  std::array<bool, kMaxRank> is_summed{};
  for (const int64_t dim : sumdim) {
    bool& known = is_summed[normalize_dim(dim, rank, "sumdim")];
    if (known) fail_execution("sumdim: expected each dim once, got ", sumdim);
    known = true;
  }
  if (unroll_dim < 0 || unroll_dim >= static_cast<int64_t>(rank)) {
    fail_execution("unroll_dim: expected 0 to ", static_cast<int64_t>(rank) - 1, ", got ", unroll_dim);
  }
  Shape shape, kept(full);
  for (size_t d = 0; d < rank; ++d) {
    if (is_summed[d]) {
      kept[d] = 1;
    } else {
      shape.push_back(full[d]);
    }
  }
  context.resize(out, shape);
  // Integers are computed as such: they wrap.
  const auto run = [&]<class T>(T) {
    std::array<const T*, 3> data;
    for (size_t f = 0; f < 3; ++f) {
      views[f].expand(full);
      const Tensor copy = scratch_tensor(context, dtype_of<T>, full);
      copy_view(context, StridedView(copy), views[f]);
      data[f] = copy.as<T>();
    }
    RowMajorOut result(context, out, dtype_of<T>);
    T* sums = result.template as<T>();
    std::fill_n(sums, product(kept), T{0});
    for (int64_t i = 0; i < product(full); ++i) {
      int64_t rest = i, to = 0, step = 1;
      for (size_t d = rank; d-- > 0; rest /= full[d]) {
        if (is_summed[d]) continue;
        to += rest % full[d] * step;
        step *= full[d];
      }
      const T term = wrapping_multiply(wrapping_multiply(data[0][i], data[1][i]), data[2][i]);
      sums[to] = wrapping_add(sums[to], term);
    }
    result.commit();
  };
  const auto any_of = [&](auto test) { return std::ranges::any_of(factors, [&](auto* t) { return test(t->dtype); }); };
  if (any_of([](DType dtype) { return is_complex(dtype); })) return run(std::complex<double>{});
  if (any_of([](DType dtype) { return is_floating(dtype); })) return run(double{});
  run(int64_t{});
}

}  // namespace

void register_products(OperatorTable& table) {
  table.add<trilinear_out>("aten::_trilinear.out", "i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim, out");
  table.add<dot_out>("aten::dot.out", "self, tensor, out");
  table.add<vdot_out>("aten::vdot.out", "self, other, out");
  table.add<mv_out>("aten::mv.out", "self, vec, out");
  table.add<addmv_out>("aten::addmv.out", "self, mat, vec, beta, alpha, out");
  table.add<outer_out>("aten::outer.out", "self, vec2, out");
  table.add<outer_out>("aten::ger.out", "self, vec2, out");
  table.add<addr_out>("aten::addr.out", "self, vec1, vec2, beta, alpha, out");
  table.add<addbmm_out>("aten::addbmm.out", "self, batch1, batch2, beta, alpha, out");
  table.add<inner_out>("aten::inner.out", "self, other, out");
  table.add<matmul_out>("aten::matmul.out", "self, other, out");
  table.add<matmul_out>("aten::linalg_matmul.out", "self, other, out");
  table.add<linalg_vecdot_out>("aten::linalg_vecdot.out", "x, y, dim, out");
}

}  // namespace enr::ops
