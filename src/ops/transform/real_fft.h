#pragma once

// Transforms of real numbers, and to real numbers. A real line of even length is half as many complex numbers; of
// others two make one complex line.

#include <array>

#include "ops/transform/fft_lines.h"

namespace enr::ops {

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

// Whether n numbers, `stride` apart, hold no NaN and no infinity.
template <class T>
bool all_finite(const T* x, size_t n, size_t stride) noexcept {
  constexpr size_t kSums = 16;  // that do not wait for each other
  T sums[kSums] = {};           // of zeros, unless a number is not finite
  size_t i = 0;
  if (stride == 1) {
    for (; i + kSums <= n; i += kSums) {
      for (size_t k = 0; k < kSums; ++k) sums[k] += 0 * x[i + k];
    }
  }
  for (; i < n; ++i) sums[i % kSums] += 0 * x[i * stride];
  T total = 0;
  for (const T sum : sums) total += sum;
  return total == 0;
}

// Real and complex lines, which lie along one dim of two arrays, in pairs.
struct PairedLines {
  const Lines& real;
  size_t coefficients;  // of a complex line
  const std::vector<Pair>& pairs;

  // Whether the pairs from `first` on are lines as they follow each other in memory.
  bool is_plain(size_t first, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      const size_t a = pairs[first].a + 2 * i;
      if (real.inner != 1 || pairs[first + i].a != a || pairs[first + i].b != a + 1) return false;
    }
    return true;
  }
  size_t real_start(size_t line) const { return real.start(line, real.n); }
  size_t complex_start(size_t line) const { return real.start(line, coefficients); }

  // rows[k * 2 * lanes + i] = element `begin` + k, less than kStretch of them, of complex line a (or b) of pair i, its
  // imaginary part `lanes` behind; and back.
  template <class T>
  void gather(const std::complex<T>* from, size_t first, size_t count, size_t lanes, bool second, size_t begin,
              size_t end, T* rows) const {
    if (is_plain(first, count)) {
      const std::complex<T>* line = from + complex_start(pairs[first].a + (second ? 1 : 0)) + begin;
      return transpose(rows, lanes, parts(line), 4 * coefficients, count, 2 * (end - begin));
    }
    for (size_t i = 0; i < count; ++i) {
      const Pair pair = pairs[first + i];
      const std::complex<T>* line = from + complex_start(second ? pair.b : pair.a) + begin * real.inner;
      for (size_t k = 0; k < end - begin; ++k) {
        rows[2 * k * lanes + i] = line[k * real.inner].real();
        rows[(2 * k + 1) * lanes + i] = line[k * real.inner].imag();
      }
    }
  }
  template <class T>
  void scatter(std::complex<T>* to, size_t first, size_t count, size_t lanes, bool second, size_t begin, size_t end,
               const T* rows) const {
    if (is_plain(first, count)) {
      std::complex<T>* line = to + complex_start(pairs[first].a + (second ? 1 : 0)) + begin;
      return transpose(parts(line), 4 * coefficients, rows, lanes, 2 * (end - begin), count);
    }
    for (size_t i = 0; i < count; ++i) {
      const Pair pair = pairs[first + i];
      if (second && pair.a == pair.b) continue;
      std::complex<T>* line = to + complex_start(second ? pair.b : pair.a) + begin * real.inner;
      for (size_t k = 0; k < end - begin; ++k) {
        line[k * real.inner] = {rows[2 * k * lanes + i], rows[(2 * k + 1) * lanes + i]};
      }
    }
  }
};

// Rows of one stretch of all lanes.
template <class T>
using Stretch = std::array<T, 2 * kStretch * kMaxLanes>;

// A single real line of even length is half as many complex numbers, x[2j] + i x[2j + 1]: half a transform.
inline bool is_halved(const Lines& lines) { return lines.count == 1 && lines.n >= 4 && lines.n % 2 == 0; }

template <class T>
void transform_real_line(Plans& plans, const T* in, size_t n, size_t kept, double scale, std::complex<T>* out) {
  const size_t half = n / 2;
  const kernels::Fft<T>& transform = plans.get<T>(half, false);
  const std::vector<std::complex<T>>& roots = plans.roots<T>(n);
  const auto memory = std::make_unique_for_overwrite<T[]>(transform.memory_size(1));
  std::copy_n(in, n, memory.get());
  const T* z = transform.run(memory.get(), 1);
  const T factor = static_cast<T>(0.5 * scale);
  const auto coefficient = [&](size_t k) {
    const size_t low = k % half, high = (half - k % half) % half;
    const T re = z[2 * low], im = z[2 * low + 1], mirror_re = z[2 * high], mirror_im = z[2 * high + 1];
    // The transforms of the even elements, and of the odd ones.
    const T even_re = re + mirror_re, even_im = im - mirror_im, odd_re = im + mirror_im, odd_im = mirror_re - re;
    const T w_re = roots[k].real(), w_im = roots[k].imag();
    return std::complex<T>(factor * (even_re + odd_re * w_re - odd_im * w_im),
                           factor * (even_im + odd_re * w_im + odd_im * w_re));
  };
  for (size_t k = 0; k <= half; ++k) {
    const std::complex<T> value = coefficient(k);
    out[k] = value;
    if (k != 0 && k != half && kept == n) out[n - k] = std::conj(value);
  }
}

template <class T>
void transform_line_to_real(Plans& plans, const std::complex<T>* in, size_t n, double scale, T* out) {
  const size_t half = n / 2;
  const kernels::Fft<T>& transform = plans.get<T>(half, true);
  const std::vector<std::complex<T>>& roots = plans.roots<T>(n);
  const auto memory = std::make_unique_for_overwrite<T[]>(transform.memory_size(1));
  const T factor = static_cast<T>(scale);
  const auto given = [&](size_t k) { return k == 0 || k == half ? std::complex<T>(in[k].real()) : in[k]; };
  for (size_t k = 0; k < half; ++k) {
    const std::complex<T> x = given(k), mirror = given(half - k);
    const T even_re = x.real() + mirror.real(), even_im = x.imag() - mirror.imag();
    const T turned_re = x.real() - mirror.real(), turned_im = x.imag() + mirror.imag();
    const T w_re = roots[k].real(), w_im = -roots[k].imag();
    const T odd_re = turned_re * w_re - turned_im * w_im, odd_im = turned_re * w_im + turned_im * w_re;
    memory[2 * k] = factor * (even_re - odd_im);
    memory[2 * k + 1] = factor * (even_im + odd_re);
  }
  std::copy_n(transform.run(memory.get(), 1), n, out);
}

// Several lines of even length.
template <class T>
void transform_real_halves(OpContext& context, Plans& plans, const T* in, const Lines& lines, size_t kept, double scale,
                           std::complex<T>* out) {
  const size_t n = lines.n, half = n / 2, inner = lines.inner;
  const kernels::Fft<T>& transform = plans.get<T>(half, false);
  const std::vector<std::complex<T>>& roots = plans.roots<T>(n);
  const auto load = [&](size_t first, size_t count, size_t lanes, T* to) {
    if (inner == 1) return transpose(to, lanes, in + lines.start(first, n), n, count, n);
    for (size_t i = 0; i < count; ++i) {
      const T* x = in + lines.start(first + i, n);
      for (size_t k = 0; k < n; ++k) to[k * lanes + i] = x[k * inner];
    }
  };
  // Coefficients [begin, end) of `count` lines, as the kernels lay them out, to their places.
  const auto scatter = [&](size_t first, size_t count, size_t lanes, size_t begin, size_t end, const T* rows) {
    if (inner == 1) {
      T* to = parts(out + lines.start(first, kept) + begin);
      transpose(to, 2 * kept, rows, lanes, 2 * (end - begin), count);
      if (kept != n) return;
    }
    for (size_t i = 0; i < count; ++i) {
      std::complex<T>* line = out + lines.start(first + i, kept);
      for (size_t k = begin; k < end; ++k) {
        const T* row = rows + 2 * (k - begin) * lanes + i;
        line[k * inner] = {row[0], row[lanes]};
        if (kept == n && k != 0) line[(n - k) * inner] = {row[0], -row[lanes]};
      }
    }
  };
  const auto store = [&](size_t first, size_t count, size_t lanes, const T* z) {
    alignas(64) Stretch<T> low, high;
    const size_t used = half / 2 + 1;
    for (size_t begin = 0; begin < used; begin += kStretch) {
      const size_t end = std::min(begin + kStretch, used);
      transform.separate(z, parts(roots.data()), 0.5 * scale, begin, end, low.data(), high.data());
      scatter(first, count, lanes, begin, end, low.data());
      scatter(first, count, lanes, half - end + 1, half - begin + 1, high.data());
    }
  };
  each_group(context, transform, lines.count, load, store);
}

// Several lines, two at a time.
template <class T>
void transform_real_pairs(OpContext& context, const kernels::Fft<T>& transform, const T* in, const Lines& lines,
                          size_t kept, double scale, std::complex<T>* out) {
  const std::vector<Pair> pairs = pairs_of(
      lines.count, [&](size_t line) { return all_finite(in + lines.start(line, lines.n), lines.n, lines.inner); });
  const PairedLines paired{lines, kept, pairs};
  const auto load = [&](size_t first, size_t count, size_t lanes, T* to) {
    if (paired.is_plain(first, count)) {
      const T* x = in + paired.real_start(pairs[first].a);
      transpose(to, 2 * lanes, x, 2 * lines.n, count, lines.n);
      return transpose(to + lanes, 2 * lanes, x + lines.n, 2 * lines.n, count, lines.n);
    }
    for (size_t i = 0; i < count; ++i) {
      const T *x = in + paired.real_start(pairs[first + i].a), *y = in + paired.real_start(pairs[first + i].b);
      for (size_t k = 0; k < lines.n; ++k) {
        to[2 * k * lanes + i] = x[k * lines.inner];
        to[(2 * k + 1) * lanes + i] = y[k * lines.inner];
      }
    }
  };
  const T half = static_cast<T>(0.5 * scale);
  const auto store = [&](size_t first, size_t count, size_t lanes, const T* from) {
    alignas(64) Stretch<T> x, y;
    for (size_t begin = 0; begin < kept; begin += kStretch) {
      const size_t end = std::min(begin + kStretch, kept);
      for (size_t k = begin; k < end; ++k) {
        const T* z = from + 2 * k * lanes;
        const T* mirror = from + 2 * (k == 0 ? 0 : lines.n - k) * lanes;
        T *to_x = x.data() + 2 * (k - begin) * lanes, *to_y = y.data() + 2 * (k - begin) * lanes;
        for (size_t i = 0; i < lanes; ++i) {
          const T re = z[i], im = z[lanes + i], mirror_re = mirror[i], mirror_im = mirror[lanes + i];
          to_x[i] = half * (re + mirror_re);
          to_x[lanes + i] = half * (im - mirror_im);
          to_y[i] = half * (im + mirror_im);
          to_y[lanes + i] = half * (mirror_re - re);
        }
      }
      paired.scatter(out, first, count, lanes, false, begin, end, x.data());
      paired.scatter(out, first, count, lanes, true, begin, end, y.data());
    }
  };
  each_group(context, transform, pairs.size(), load, store);
}

// The first `kept` coefficients of each real line, scaled.
template <class T>
void transform_real(OpContext& context, Plans& plans, const T* in, const Lines& lines, size_t kept, double scale,
                    std::complex<T>* out) {
  if (is_halved(lines)) return transform_real_line(plans, in, lines.n, kept, scale, out);
  if (lines.n >= 4 && lines.n % 2 == 0) return transform_real_halves(context, plans, in, lines, kept, scale, out);
  transform_real_pairs(context, plans.get<T>(lines.n, false), in, lines, kept, scale, out);
}

// Several lines of even length from the first n / 2 + 1 of their coefficients, as transform_to_real() has it.
template <class T>
void transform_halves_to_real(OpContext& context, Plans& plans, const std::complex<T>* in, const Lines& lines,
                              size_t given, double scale, T* out) {
  const size_t n = lines.n, half = n / 2, inner = lines.inner;
  const kernels::Fft<T>& transform = plans.get<T>(half, true);
  const std::vector<std::complex<T>>& roots = plans.roots<T>(n);
  // Coefficients [begin, end) of `count` lines as the kernels take them.
  const auto gather = [&](size_t first, size_t count, size_t lanes, size_t begin, size_t end, T* rows) {
    if (inner == 1) {
      const T* from = parts(in + lines.start(first, given) + begin);
      return transpose(rows, lanes, from, 2 * given, count, 2 * (end - begin));
    }
    for (size_t i = 0; i < count; ++i) {
      const std::complex<T>* line = in + lines.start(first + i, given);
      for (size_t k = begin; k < end; ++k) {
        T* row = rows + 2 * (k - begin) * lanes + i;
        row[0] = line[k * inner].real();
        row[lanes] = line[k * inner].imag();
      }
    }
  };
  const auto load = [&](size_t first, size_t count, size_t lanes, T* z) {
    alignas(64) Stretch<T> low{}, high{};
    const size_t used = half / 2 + 1;
    for (size_t begin = 0; begin < used; begin += kStretch) {
      const size_t end = std::min(begin + kStretch, used);
      gather(first, count, lanes, begin, end, low.data());
      gather(first, count, lanes, half - end + 1, half - begin + 1, high.data());
      transform.join(low.data(), high.data(), parts(roots.data()), scale, begin, end, z);
    }
  };
  const auto store = [&](size_t first, size_t count, size_t lanes, const T* z) {
    if (inner == 1) return transpose(out + lines.start(first, n), n, z, lanes, n, count);
    for (size_t i = 0; i < count; ++i) {
      T* x = out + lines.start(first + i, n);
      for (size_t k = 0; k < n; ++k) x[k * inner] = z[k * lanes + i];
    }
  };
  each_group(context, transform, lines.count, load, store);
}

// Real lines from the first n / 2 + 1 of their coefficients; `given` coefficients lie in each line of `in`. The
// constant and, for even n, the middle one count as real.
template <class T>
void transform_to_real(OpContext& context, const kernels::Fft<T>& transform, const std::complex<T>* in,
                       const Lines& lines, size_t given, double scale, T* out) {
  const size_t n = lines.n, used = n / 2 + 1;
  const auto is_real = [&](size_t k) { return k == 0 || 2 * k == n; };
  const std::vector<Pair> pairs = pairs_of(lines.count, [&](size_t line) {
    const T* from = parts(in + lines.start(line, given));
    if (lines.inner == 1) return all_finite(from, 1, 1) && all_finite(from + 2, 2 * used - 2 - (n % 2 == 0), 1);
    const size_t step = 2 * lines.inner;
    return all_finite(from, used, step) && all_finite(from + step + 1, used - 1 - (n % 2 == 0), step);
  });
  const PairedLines paired{lines, given, pairs};
  const T factor = static_cast<T>(scale);
  const auto load = [&](size_t first, size_t count, size_t lanes, T* to) {
    alignas(64) Stretch<T> x{}, y{};
    for (size_t begin = 0; begin < used; begin += kStretch) {
      const size_t end = std::min(begin + kStretch, used);
      paired.gather(in, first, count, lanes, false, begin, end, x.data());
      paired.gather(in, first, count, lanes, true, begin, end, y.data());
      for (size_t k = begin; k < end; ++k) {
        const T *from_x = x.data() + 2 * (k - begin) * lanes, *from_y = y.data() + 2 * (k - begin) * lanes;
        T *low = to + 2 * k * lanes, *high = to + 2 * (n - k) * lanes;
        for (size_t i = 0; i < lanes; ++i) {
          const T x_re = factor * from_x[i], y_re = factor * from_y[i];
          if (is_real(k)) {
            low[i] = x_re;
            low[lanes + i] = y_re;
            continue;
          }
          const T x_im = factor * from_x[lanes + i], y_im = factor * from_y[lanes + i];
          low[i] = x_re - y_im;
          low[lanes + i] = x_im + y_re;
          high[i] = x_re + y_im;
          high[lanes + i] = y_re - x_im;
        }
      }
    }
  };
  const auto store = [&](size_t first, size_t count, size_t lanes, const T* from) {
    if (paired.is_plain(first, count)) {
      T* x = out + paired.real_start(pairs[first].a);
      transpose(x, 2 * n, from, 2 * lanes, n, count);
      return transpose(x + n, 2 * n, from + lanes, 2 * lanes, n, count);
    }
    for (size_t i = 0; i < count; ++i) {
      const Pair pair = pairs[first + i];
      T *x = out + paired.real_start(pair.a), *y = out + paired.real_start(pair.b);
      for (size_t k = 0; k < n; ++k) {
        x[k * lines.inner] = from[2 * k * lanes + i];
        if (pair.a != pair.b) y[k * lines.inner] = from[(2 * k + 1) * lanes + i];
      }
    }
  };
  each_group(context, transform, pairs.size(), load, store);
}

}  // namespace enr::ops
