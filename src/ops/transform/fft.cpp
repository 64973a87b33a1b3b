// Fourier transforms: _fft_r2c, _fft_c2r, _fft_c2c. Singles are computed in float32, as in eager, where all lengths are
// direct; Bluestein's detour would lose digits.

#include <utility>

#include "ops/element.h"
#include "ops/families.h"
#include "ops/transform/real_fft.h"

namespace enr::ops {

namespace {

// Transforms every line of `in` (row-major, of `sizes`) along `dim` to `out`, which may be `in`.
template <class T>
void transform_dim(OpContext& context, const std::complex<T>* in, std::complex<T>* out, Sizes sizes, size_t dim,
                   bool inverse) {
  const Lines lines(sizes, dim);
  if (lines.n == 0) return;
  const auto load = [&](size_t first, size_t count, size_t lanes, T* to) {
    if (lines.inner == 1) {
      return transpose(to, lanes, parts(in + first * lines.n), 2 * lines.n, count, 2 * lines.n);
    }
    if (first % lines.inner + count <= lines.inner) {  // neighbours
      const T* from = parts(in + lines.start(first, lines.n));
      for (size_t k = 0; k < lines.n; ++k)
        transpose(to + 2 * k * lanes, lanes, from + 2 * k * lines.inner, 2, count, 2);
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      const std::complex<T>* line = in + lines.start(first + i, lines.n);
      for (size_t k = 0; k < lines.n; ++k) {
        to[2 * k * lanes + i] = line[k * lines.inner].real();
        to[(2 * k + 1) * lanes + i] = line[k * lines.inner].imag();
      }
    }
  };
  const auto store = [&](size_t first, size_t count, size_t lanes, const T* from) {
    if (lines.inner == 1) {
      return transpose(parts(out + first * lines.n), 2 * lines.n, from, lanes, 2 * lines.n, count);
    }
    if (first % lines.inner + count <= lines.inner) {
      T* to = parts(out + lines.start(first, lines.n));
      for (size_t k = 0; k < lines.n; ++k)
        transpose(to + 2 * k * lines.inner, 2, from + 2 * k * lanes, lanes, 2, count);
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      std::complex<T>* line = out + lines.start(first + i, lines.n);
      for (size_t k = 0; k < lines.n; ++k) {
        line[k * lines.inner] = {from[2 * k * lanes + i], from[(2 * k + 1) * lanes + i]};
      }
    }
  };
  each_group(context, context.state<Plans>().get<T>(lines.n, inverse), lines.count, load, store);
}

double scale_of(int64_t normalization, double count) {
  switch (normalization) {
    case 0:
      return 1;
    case 1:
      return 1 / std::sqrt(count);
    default:  // 2; eager asks no further
      return 1 / count;
  }
}

std::vector<size_t> dims_of(const Tensor& self, Sizes dim) {
  std::vector<size_t> dims;
  for (const int64_t d : dim) {
    const size_t at = normalize_dim(d, self.rank);
    if (std::find(dims.begin(), dims.end(), at) != dims.end()) fail_execution("dim: expected each dim once, got ", dim);
    dims.push_back(at);
  }
  return dims;
}

// f(T{}), T what to compute in.
template <class F>
void in_computing_type(DType dtype, Sizes sizes, const std::vector<size_t>& dims, F f) {
  const bool is_single = dtype == DType::kFloat32 || dtype == DType::kComplex64;
  if (is_single && std::ranges::all_of(dims, [&](size_t d) {
        return sizes[d] > 0 && kernels::is_direct_length(static_cast<size_t>(sizes[d]));
      })) {
    f(float{});
  } else {
    f(double{});
  }
}

template <class T>
void scale_all(std::complex<T>* data, size_t n, double scale) {
  if (scale == 1) return;
  for (size_t i = 0; i < n; ++i) data[i] *= static_cast<T>(scale);
}

void require_dims(Sizes dim) {
  if (dim.empty()) fail_execution("dim: expected at least one dim, got []");
}

void fft_r2c_out(OpContext& context, const Tensor& self, Sizes dim, int64_t normalization, bool onesided, Tensor& out) {
  if (!is_floating(self.dtype)) fail_execution("self: expected a floating dtype, got ", describe(self));
  if (!is_complex(out.dtype)) fail_execution("out: expected a complex dtype, got ", dtype_name(out.dtype));
  require_dims(dim);
  const std::vector<size_t> dims = dims_of(self, dim);
  double count = 1;
  for (const size_t d : dims) {
    if (self.size(d) < 1) fail_execution("self: expected elements in dim ", d, ", got shape ", self.sizes());
    count *= static_cast<double>(self.size(d));
  }
  const double scale = scale_of(normalization, count);
  Shape shape(self.sizes());
  const size_t last = dims.back();
  if (onesided) shape[last] = shape[last] / 2 + 1;
  context.resize(out, shape);
  if (out.numel() == 0) return;
  const Lines lines(self.sizes(), last);
  const auto kept = static_cast<size_t>(shape[last]);
  in_computing_type(self.dtype, self.sizes(), dims, [&]<class T>(T) {
    Plans& plans = context.state<Plans>();
    const auto* in = row_major_as<T>(context, self);
    RowMajorOut result(context, out, dtype_of<std::complex<T>>);
    auto* data = result.as<std::complex<T>>();
    transform_real(context, plans, in, lines, kept, scale, data);
    for (const size_t d : dims) {
      if (d != last) transform_dim(context, data, data, shape, d, false);
    }
    result.commit();
  });
}

void fft_c2r_out(OpContext& context, const Tensor& self, Sizes dim, int64_t normalization, int64_t last_dim_size,
                 Tensor& out) {
  if (!is_complex(self.dtype)) fail_execution("self: expected a complex dtype, got ", describe(self));
  if (!is_floating(out.dtype)) fail_execution("out: expected a floating dtype, got ", dtype_name(out.dtype));
  require_dims(dim);
  const std::vector<size_t> dims = dims_of(self, dim);
  const size_t last = dims.back();
  if (last_dim_size < 1 || self.size(last) < last_dim_size / 2 + 1) {
    fail_execution("last_dim_size: expected 1 to ", 2 * self.size(last) - 1, ", got ", last_dim_size);
  }
  Shape shape(self.sizes());
  shape[last] = last_dim_size;
  double count = 1;
  for (const size_t d : dims) count *= static_cast<double>(shape[d]);
  const double scale = scale_of(normalization, count);
  context.resize(out, shape);
  if (out.numel() == 0) return;
  in_computing_type(self.dtype, shape, dims, [&]<class T>(T) {
    const auto* in = row_major_as<std::complex<T>>(context, self);
    if (dims.size() > 1) {
      auto* data = context.scratch_of<std::complex<T>>(static_cast<size_t>(self.numel()));
      for (const size_t d : dims) {
        if (d != last) transform_dim(context, std::exchange(in, data), data, self.sizes(), d, true);
      }
    }
    RowMajorOut result(context, out, dtype_of<T>);
    const Lines lines(shape, last);
    Plans& plans = context.state<Plans>();
    const auto given = static_cast<size_t>(self.size(last));
    if (is_halved(lines)) {
      transform_line_to_real(plans, in, lines.n, scale, result.as<T>());
    } else if (lines.n >= 4 && lines.n % 2 == 0) {
      transform_halves_to_real(context, plans, in, lines, given, scale, result.as<T>());
    } else {
      transform_to_real(context, plans.get<T>(lines.n, true), in, lines, given, scale, result.as<T>());
    }
    result.commit();
  });
}

void fft_c2c_out(OpContext& context, const Tensor& self, Sizes dim, int64_t normalization, bool forward, Tensor& out) {
  if (!is_complex(self.dtype)) fail_execution("self: expected a complex dtype, got ", describe(self));
  require_dtype(out, self.dtype, "out");
  const std::vector<size_t> dims = dims_of(self, dim);
  double count = 1;
  for (const size_t d : dims) count *= static_cast<double>(self.size(d));
  const double scale = scale_of(normalization, count);
  context.resize(out, self.sizes());
  if (out.numel() == 0) return;
  in_computing_type(self.dtype, self.sizes(), dims, [&]<class T>(T) {
    const auto* in = row_major_as<std::complex<T>>(context, self);
    RowMajorOut result(context, out, dtype_of<std::complex<T>>);
    auto* data = result.as<std::complex<T>>();
    if (dims.empty()) std::copy_n(in, self.numel(), data);
    for (const size_t d : dims) transform_dim(context, std::exchange(in, data), data, self.sizes(), d, !forward);
    scale_all(data, static_cast<size_t>(self.numel()), scale);
    result.commit();
  });
}

}  // namespace

void register_fft(OperatorTable& table) {
  table.add<fft_r2c_out>("aten::_fft_r2c.out", "self, dim, normalization, onesided, out");
  table.add<fft_c2r_out>("aten::_fft_c2r.out", "self, dim, normalization, last_dim_size, out");
  table.add<fft_c2c_out>("aten::_fft_c2c.out", "self, dim, normalization, forward, out");
}

}  // namespace enr::ops
