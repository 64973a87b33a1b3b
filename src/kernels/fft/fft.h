#pragma once

// Fourier transforms of several lines side by side, in float or double precision. Lengths of prime factors up to 31
// directly (Stockham's autosort form), others through Bluestein's identity jk = (j^2 + k^2 - (j - k)^2) / 2, which
// makes the transform a convolution.

#include <cstddef>
#include <vector>

namespace enr::kernels {

// Whether a length has no other factors.
bool is_direct_length(size_t n) noexcept;

template <class T>
class Fft {
 public:
  // `inverse` is not scaled either.
  Fft(size_t n, bool inverse);

  size_t size() const noexcept { return n_; }
  bool is_inverse() const noexcept { return inverse_; }

  // How many lines run() takes at a time: 1, or this many.
  static size_t lanes() noexcept;

  // Numbers that run() works on.
  size_t memory_size(size_t lanes) const noexcept { return 4 * direct_ * lanes; }

  // Transforms `lanes` lines (lanes() or 1): element k of line i is memory[2 * k * lanes + i], its imaginary part
  // `lanes` doubles behind. Returns where in `memory` the results lie, in the same order.
  const T* run(T* memory, size_t lanes) const;

  // Where element j of each of lanes() complex lines is x[2j] + i x[2j + 1] of a real line, and z the results of run():
  // coefficients k and size() - k of the real lines for begin <= k < end, times 2 * factor, in low[k - begin] and
  // high[end - 1 - k], laid out as z. k goes up to size() / 2; roots[k] is (re, im) of e^(-pi i k / size()).
  void separate(const T* z, const T* roots, double factor, size_t begin, size_t end, T* low, T* high) const;

  // The other way: z, for run(), from coefficients begin <= k < end in low[k - begin] and size() - k in
  // high[end - 1 - k], times `factor`. Coefficients 0 and size() count as real.
  void join(const T* low, const T* high, const T* roots, double factor, size_t begin, size_t end, T* z) const;

 private:
  struct Stage {
    size_t radix, span, stride;  // span: what is left of the length behind this stage
    std::vector<T> roots;        // (re, im) of w^(p * u) for p < span, 0 < u < radix
    std::vector<T> unit_roots;   // (re, im) of the radix-th roots of 1
  };

  static std::vector<Stage> plan(size_t n, bool inverse);

  size_t n_;
  size_t direct_;  // length of the stages: n, or that of Bluestein's convolution
  bool inverse_;
  std::vector<Stage> stages_;
  std::vector<T> chirp_, filter_;  // Bluestein's, (re, im); empty where the length is direct
};

}  // namespace enr::kernels
