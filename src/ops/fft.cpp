// Fourier transforms: _fft_r2c, _fft_c2r, _fft_c2c. Any length: powers of two directly, the others through Bluestein's
// identity jk = (j^2 + k^2 - (j - k)^2) / 2, which makes the transform a convolution. Computed in float64.

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

using Complex = std::complex<double>;

// Plain products: std::complex's own operator checks for infinities on every call.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Complex root(size_t numerator, size_t denominator, double sign) {
  const double angle = sign * 2 * std::numbers::pi * static_cast<double>(numerator) / static_cast<double>(denominator);
  return {std::cos(angle), std::sin(angle)};
}

// A transform of one length and direction (sign -1 forward, +1 inverse, neither scaled), with its tables.
class Transform {
 public:
  Transform(size_t n, double sign) : n_(n), size_(n) {
    if ((n & (n - 1)) != 0) {
      size_ = 1;
      while (size_ < 2 * n - 1) size_ *= 2;
    }
    for (size_t i = 0; i < size_ / 2; ++i) roots_.push_back(root(i, size_, is_direct() ? sign : -1));
    if (is_direct()) return;
    filter_.assign(size_, Complex{});
    for (size_t i = 0; i < n; ++i) {
      chirp_.push_back(root(i * i % (2 * n), 2 * n, sign));
      filter_[i] = std::conj(chirp_[i]);
      if (i != 0) filter_[size_ - i] = filter_[i];
    }
    butterflies(filter_);
  }

  void run(std::vector<Complex>& line) const {
    if (is_direct()) return butterflies(line);
    std::vector<Complex> work(size_);
    for (size_t i = 0; i < n_; ++i) work[i] = times(line[i], chirp_[i]);
    butterflies(work);
    // The inverse transform is the forward one of the conjugate.
    for (size_t i = 0; i < size_; ++i) work[i] = std::conj(times(work[i], filter_[i]));
    butterflies(work);
    const double scale = 1.0 / static_cast<double>(size_);
    for (size_t i = 0; i < n_; ++i) line[i] = times(std::conj(work[i]) * scale, chirp_[i]);
  }

 private:
  bool is_direct() const { return size_ == n_; }

  void butterflies(std::vector<Complex>& data) const {
    for (size_t i = 1, j = 0; i < size_; ++i) {
      size_t bit = size_ / 2;
      for (; (j & bit) != 0; bit /= 2) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(data[i], data[j]);
    }
    for (size_t half = 1; half < size_; half *= 2) {
      const size_t step = size_ / (2 * half);
      for (size_t start = 0; start < size_; start += 2 * half) {
        for (size_t k = 0; k < half; ++k) {
          const Complex low = data[start + k];
          const Complex high = times(data[start + k + half], roots_[k * step]);
          data[start + k] = low + high;
          data[start + k + half] = low - high;
        }
      }
    }
  }

  size_t n_;
  size_t size_;  // of the butterflies
  std::vector<Complex> roots_, chirp_, filter_;
};

// Transforms every line of `data` (row-major, of `sizes`) along `dim`.
void transform_dim(std::vector<Complex>& data, Sizes sizes, size_t dim, double sign) {
  const auto n = static_cast<size_t>(sizes[dim]);
  if (n < 2) return;
  const Transform transform(n, sign);
  const auto inner = static_cast<size_t>(product(sizes, dim + 1, sizes.size()));
  const auto outer = static_cast<size_t>(product(sizes, 0, dim));
  std::vector<Complex> line(n);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) {
      Complex* start = data.data() + o * n * inner + i;
      for (size_t k = 0; k < n; ++k) line[k] = start[k * inner];
      transform.run(line);
      for (size_t k = 0; k < n; ++k) start[k * inner] = line[k];
    }
  }
}

double scale_of(int64_t normalization, double count) {
  switch (normalization) {
    case 0:
      return 1;
    case 1:
      return 1 / std::sqrt(count);
    case 2:
      return 1 / count;
    default:
      fail_execution("normalization: expected 0, 1 or 2, got ", normalization);
  }
}

std::vector<size_t> dims_of(const Tensor& self, Sizes dim) {
  if (dim.empty()) fail_execution("dim: expected at least one dim");
  std::vector<size_t> dims;
  for (const int64_t d : dim) {
    const size_t at = normalize_dim(d, self.rank);
    if (std::find(dims.begin(), dims.end(), at) != dims.end()) fail_execution("dim: ", dim, " names a dim twice");
    dims.push_back(at);
  }
  return dims;
}

std::vector<Complex> read(OpContext& context, const Tensor& self) {
  const auto* data = row_major_as<Complex>(context, self);
  return {data, data + self.numel()};
}

void write(OpContext& context, const std::vector<Complex>& data, double scale, Tensor& out) {
  RowMajorOut result(context, out, DType::kComplex128);
  auto* to = result.as<Complex>();
  for (size_t i = 0; i < data.size(); ++i) to[i] = data[i] * scale;
  result.commit();
}

void fft_r2c_out(OpContext& context, const Tensor& self, Sizes dim, int64_t normalization, bool onesided, Tensor& out) {
  if (!is_floating(self.dtype)) fail_execution("self: expected a floating dtype, got ", describe(self));
  if (!is_complex(out.dtype)) fail_execution("out: expected a complex dtype, got ", dtype_name(out.dtype));
  const std::vector<size_t> dims = dims_of(self, dim);
  double count = 1;
  for (const size_t d : dims) {
    if (self.size(d) < 1) fail_execution("self: dim ", d, " of shape ", self.sizes(), " is empty");
    count *= static_cast<double>(self.size(d));
  }
  const double scale = scale_of(normalization, count);
  Shape shape(self.sizes());
  const size_t last = dims.back();
  if (onesided) shape[last] = shape[last] / 2 + 1;
  context.resize(out, shape);
  std::vector<Complex> data = read(context, self);
  for (const size_t d : dims) transform_dim(data, self.sizes(), d, -1);
  if (onesided) {
    const auto inner = static_cast<size_t>(product(self.sizes(), last + 1, self.rank));
    const auto full = static_cast<size_t>(self.size(last)) * inner;
    const auto kept = static_cast<size_t>(shape[last]) * inner;
    std::vector<Complex> half;
    for (size_t start = 0; start < data.size(); start += full) {
      half.insert(half.end(), data.begin() + static_cast<ptrdiff_t>(start),
                  data.begin() + static_cast<ptrdiff_t>(start + kept));
    }
    data.swap(half);
  }
  write(context, data, scale, out);
}

void fft_c2r_out(OpContext& context, const Tensor& self, Sizes dim, int64_t normalization, int64_t last_dim_size,
                 Tensor& out) {
  if (!is_complex(self.dtype)) fail_execution("self: expected a complex dtype, got ", describe(self));
  if (!is_floating(out.dtype)) fail_execution("out: expected a floating dtype, got ", dtype_name(out.dtype));
  const std::vector<size_t> dims = dims_of(self, dim);
  const size_t last = dims.back();
  if (last_dim_size < 1 || self.size(last) < last_dim_size / 2 + 1) {
    fail_execution("last_dim_size: ", last_dim_size, " does not fit ", self.size(last), " coefficients");
  }
  Shape shape(self.sizes());
  shape[last] = last_dim_size;
  double count = 1;
  for (const size_t d : dims) count *= static_cast<double>(shape[d]);
  const double scale = scale_of(normalization, count);
  context.resize(out, shape);
  std::vector<Complex> data = read(context, self);
  for (const size_t d : dims) {
    if (d != last) transform_dim(data, self.sizes(), d, 1);
  }
  // The second half of the last dim follows from the first, since the result is real.
  const auto inner = static_cast<size_t>(product(shape, last + 1, shape.rank));
  const auto outer = static_cast<size_t>(product(shape, 0, last));
  const auto n = static_cast<size_t>(last_dim_size);
  const auto given = static_cast<size_t>(self.size(last));
  std::vector<Complex> full(outer * n * inner);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t k = 0; k < n; ++k) {
      for (size_t i = 0; i < inner; ++i) {
        const bool is_mirrored = k > n / 2;
        const Complex value = data[(o * given + (is_mirrored ? n - k : k)) * inner + i];
        full[(o * n + k) * inner + i] = is_mirrored ? std::conj(value) : value;
      }
    }
  }
  // The constant and the middle coefficient of a real signal are real: what they have besides does not count.
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) {
      full[o * n * inner + i].imag(0);
      if (n % 2 == 0) full[(o * n + n / 2) * inner + i].imag(0);
    }
  }
  transform_dim(full, shape, last, 1);
  write(context, full, scale, out);
}

void fft_c2c_out(OpContext& context, const Tensor& self, Sizes dim, int64_t normalization, bool forward, Tensor& out) {
  if (!is_complex(self.dtype)) fail_execution("self: expected a complex dtype, got ", describe(self));
  require_dtype(out, self.dtype, "out");
  const std::vector<size_t> dims = dims_of(self, dim);
  double count = 1;
  for (const size_t d : dims) count *= static_cast<double>(self.size(d));
  const double scale = scale_of(normalization, count);
  context.resize(out, self.sizes());
  std::vector<Complex> data = read(context, self);
  for (const size_t d : dims) transform_dim(data, self.sizes(), d, forward ? -1 : 1);
  write(context, data, scale, out);
}

}  // namespace

void register_fft(OperatorTable& table) {
  table.add<fft_r2c_out>("aten::_fft_r2c.out");
  table.add<fft_c2r_out>("aten::_fft_c2r.out");
  table.add<fft_c2c_out>("aten::_fft_c2c.out");
}

}  // namespace enr::ops
