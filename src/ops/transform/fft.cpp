// Fourier transforms: _fft_r2c, _fft_c2r, _fft_c2c, computed in float64.

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/fft/fft.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

using Complex = std::complex<double>;

constexpr size_t kGrain = 1 << 14;  // elements that pay for a thread
constexpr size_t kStretch = 64;     // elements of a line moved at a time: those of all lanes fit in the nearest cache

// The transforms an instruction needed last.
class Plans : public CallSiteState {
 public:
  const kernels::Fft& get(size_t n, bool inverse) {
    constexpr size_t kMax = 8;
    for (const auto& plan : plans_) {
      if (plan->size() == n && plan->is_inverse() == inverse) return *plan;
    }
    if (plans_.size() == kMax) plans_.erase(plans_.begin());
    return *plans_.emplace_back(std::make_unique<const kernels::Fft>(n, inverse));
  }

 private:
  std::vector<std::unique_ptr<const kernels::Fft>> plans_;
};

// Lines of an array along one dim: element k of line i, in an array of n elements along it, is at start(i, n) +
// k * inner.
struct Lines {
  size_t count, n, inner;
  Lines(Sizes sizes, size_t dim)
      : count(static_cast<size_t>(product(sizes, 0, dim) * product(sizes, dim + 1, sizes.size()))),
        n(static_cast<size_t>(sizes[dim])),
        inner(static_cast<size_t>(product(sizes, dim + 1, sizes.size()))) {}
  size_t start(size_t line, size_t length) const { return line / inner * inner * length + line % inner; }
};

// Runs `transform` on `count` lines, as many side by side as the kernels take. load(first, lines, lanes, to) writes the
// elements of `lines` lines from `first` on as Fft::run wants them; store(first, lines, lanes, from) takes the results.
template <class Load, class Store>
void each_group(const kernels::Fft& transform, size_t count, Load load, Store store) {
  const size_t lanes = count == 1 ? 1 : kernels::Fft::lanes(), groups = (count + lanes - 1) / lanes;
  parallel_ranges(groups, kGrain / (transform.size() * lanes) + 1, [&](size_t begin, size_t end) {
    std::vector<double> memory(transform.memory_size(lanes));
    for (size_t group = begin; group < end; ++group) {
      const size_t first = group * lanes, lines = std::min(lanes, count - first);
      load(first, lines, lanes, memory.data());
      store(first, lines, lanes, transform.run(memory.data(), lanes));
    }
  });
}

// Transforms every line of `data` (row-major, of `sizes`) along `dim`.
void transform_dim(OpContext& context, std::vector<Complex>& data, Sizes sizes, size_t dim, bool inverse) {
  const Lines lines(sizes, dim);
  if (lines.n < 2) return;
  const auto load = [&](size_t first, size_t count, size_t lanes, double* to) {
    for (size_t i = 0; i < count; ++i) {
      const Complex* line = data.data() + lines.start(first + i, lines.n);
      for (size_t k = 0; k < lines.n; ++k) {
        to[2 * k * lanes + i] = line[k * lines.inner].real();
        to[(2 * k + 1) * lanes + i] = line[k * lines.inner].imag();
      }
    }
  };
  const auto store = [&](size_t first, size_t count, size_t lanes, const double* from) {
    for (size_t i = 0; i < count; ++i) {
      Complex* line = data.data() + lines.start(first + i, lines.n);
      for (size_t k = 0; k < lines.n; ++k) {
        line[k * lines.inner] = {from[2 * k * lanes + i], from[(2 * k + 1) * lanes + i]};
      }
    }
  };
  each_group(context.state<Plans>().get(lines.n, inverse), lines.count, load, store);
}

// Two real lines make one complex one.
struct Pair {
  size_t a, b;  // lines; equal where one has no partner
};

// Pairs of lines; those that are not finite stay alone, for a NaN must not spread to the line beside it.
template <class IsFinite>
std::vector<Pair> pairs_of(size_t count, IsFinite is_finite) {
  std::vector<Pair> pairs;
  size_t open = count;  // a line that wants a partner
  for (size_t line = 0; line < count; ++line) {
    if (!is_finite(line)) {
      pairs.push_back({line, line});
    } else if (open == count) {
      open = line;
    } else {
      pairs.push_back({open, line});
      open = count;
    }
  }
  if (open != count) pairs.push_back({open, open});
  return pairs;
}

// The first `kept` coefficients of each real line, scaled.
template <class In, class Out>
void transform_real(const kernels::Fft& transform, const In* in, const Lines& lines, size_t kept, double scale,
                    std::complex<Out>* out) {
  const std::vector<Pair> pairs = pairs_of(lines.count, [&](size_t line) {
    const In* from = in + lines.start(line, lines.n);
    In sum = 0;  // of zeros, unless there is a NaN or an infinity
    for (size_t k = 0; k < lines.n; ++k) sum += 0 * from[k * lines.inner];
    return sum == 0;
  });
  const auto load = [&](size_t first, size_t count, size_t lanes, double* to) {
    for (size_t begin = 0; begin < lines.n; begin += kStretch) {
      const size_t end = std::min(begin + kStretch, lines.n);
      for (size_t i = 0; i < count; ++i) {
        const Pair pair = pairs[first + i];
        const In *x = in + lines.start(pair.a, lines.n), *y = in + lines.start(pair.b, lines.n);
        for (size_t k = begin; k < end; ++k) {
          to[2 * k * lanes + i] = x[k * lines.inner];
          to[(2 * k + 1) * lanes + i] = y[k * lines.inner];
        }
      }
    }
  };
  const double half = 0.5 * scale;
  const auto store = [&](size_t first, size_t count, size_t lanes, const double* from) {
    for (size_t begin = 0; begin < kept; begin += kStretch) {
      const size_t end = std::min(begin + kStretch, kept);
      for (size_t i = 0; i < count; ++i) {
        const Pair pair = pairs[first + i];
        std::complex<Out>*x = out + lines.start(pair.a, kept), *y = out + lines.start(pair.b, kept);
        for (size_t k = begin; k < end; ++k) {
          const double* z = from + 2 * k * lanes + i;
          const double* mirror = from + 2 * (k == 0 ? 0 : lines.n - k) * lanes + i;
          const double re = z[0], im = z[lanes], mirror_re = mirror[0], mirror_im = mirror[lanes];
          x[k * lines.inner] = {static_cast<Out>(half * (re + mirror_re)), static_cast<Out>(half * (im - mirror_im))};
          if (pair.a == pair.b) continue;
          y[k * lines.inner] = {static_cast<Out>(half * (im + mirror_im)), static_cast<Out>(half * (mirror_re - re))};
        }
      }
    }
  };
  each_group(transform, pairs.size(), load, store);
}

// Real lines from the first n / 2 + 1 of their coefficients; `given` coefficients lie in each line of `in`. The
// constant and, for even n, the middle one count as real.
void transform_to_real(const kernels::Fft& transform, const Complex* in, const Lines& lines, size_t given, double scale,
                       double* out) {
  const auto coefficient = [&](size_t start, size_t k) {
    const Complex value = in[start + k * lines.inner];
    return k == 0 || 2 * k == lines.n ? Complex(value.real()) : value;
  };
  const std::vector<Pair> pairs = pairs_of(lines.count, [&](size_t line) {
    const size_t start = lines.start(line, given);
    double sum = 0;
    for (size_t k = 0; k <= lines.n / 2; ++k) {
      const Complex value = coefficient(start, k);
      sum += 0 * value.real() + 0 * value.imag();
    }
    return sum == 0;
  });
  const auto load = [&](size_t first, size_t count, size_t lanes, double* to) {
    for (size_t i = 0; i < count; ++i) {
      const size_t a = lines.start(pairs[first + i].a, given), b = lines.start(pairs[first + i].b, given);
      for (size_t k = 0; k <= lines.n / 2; ++k) {
        const Complex x = coefficient(a, k), y = coefficient(b, k);
        double* low = to + 2 * k * lanes + i;
        low[0] = x.real() - y.imag();
        low[lanes] = x.imag() + y.real();
        if (k == 0 || 2 * k == lines.n) continue;
        double* high = to + 2 * (lines.n - k) * lanes + i;
        high[0] = x.real() + y.imag();
        high[lanes] = y.real() - x.imag();
      }
    }
  };
  const auto store = [&](size_t first, size_t count, size_t lanes, const double* from) {
    for (size_t i = 0; i < count; ++i) {
      const Pair pair = pairs[first + i];
      double *x = out + lines.start(pair.a, lines.n), *y = out + lines.start(pair.b, lines.n);
      for (size_t k = 0; k < lines.n; ++k) {
        x[k * lines.inner] = scale * from[2 * k * lanes + i];
        if (pair.a != pair.b) y[k * lines.inner] = scale * from[(2 * k + 1) * lanes + i];
      }
    }
  };
  each_group(transform, pairs.size(), load, store);
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
  const Lines lines(self.sizes(), last);
  const auto kept = static_cast<size_t>(shape[last]);
  const kernels::Fft& transform = context.state<Plans>().get(lines.n, false);
  if (dims.size() == 1 && self.dtype == DType::kFloat32 && out.dtype == DType::kComplex64) {
    RowMajorOut result(context, out);
    transform_real(transform, row_major_as<float>(context, self), lines, kept, scale, result.as<std::complex<float>>());
    return result.commit();
  }
  std::vector<Complex> data(static_cast<size_t>(product(shape)));
  transform_real(transform, row_major_as<double>(context, self), lines, kept, 1, data.data());
  for (const size_t d : dims) {
    if (d != last) transform_dim(context, data, shape, d, false);
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
    if (d != last) transform_dim(context, data, self.sizes(), d, true);
  }
  RowMajorOut result(context, out, DType::kFloat64);
  const Lines lines(shape, last);
  transform_to_real(context.state<Plans>().get(lines.n, true), data.data(), lines, static_cast<size_t>(self.size(last)),
                    scale, result.as<double>());
  result.commit();
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
  for (const size_t d : dims) transform_dim(context, data, self.sizes(), d, !forward);
  write(context, data, scale, out);
}

}  // namespace

void register_fft(OperatorTable& table) {
  table.add<fft_r2c_out>("aten::_fft_r2c.out");
  table.add<fft_c2r_out>("aten::_fft_c2r.out");
  table.add<fft_c2c_out>("aten::_fft_c2c.out");
}

}  // namespace enr::ops
