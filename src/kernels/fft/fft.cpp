#include "kernels/fft/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/fft/fft_table.h"
#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(FftTable, fft_table)

namespace {

const FftKernels<float>& kernels_of(float) { return fft_table().f32; }
const FftKernels<double>& kernels_of(double) { return fft_table().f64; }

// The larger the radix, the fewer times a line is read and written.
size_t radix_of(size_t length) noexcept {
  const int twos = std::countr_zero(length);
  if (twos >= 3 && twos != 4) return 8;  // 16 is 4 by 4
  if (twos >= 2) return 4;
  size_t radix = 2;
  while (length % radix != 0) ++radix;
  return radix;
}

template <class T>
void append_root(std::vector<T>& roots, size_t numerator, size_t denominator, double direction) {
  const double angle = direction * 2 * std::numbers::pi * static_cast<double>(numerator % denominator) /
                       static_cast<double>(denominator);
  roots.push_back(static_cast<T>(std::cos(angle)));
  roots.push_back(static_cast<T>(std::sin(angle)));
}

size_t direct_length(size_t n) noexcept {
  if (is_direct_length(n)) return n;
  size_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  return length;
}

}  // namespace

bool is_direct_length(size_t n) noexcept {
  for (size_t factor = 2; factor <= kMaxRadix; ++factor) {
    while (n != 0 && n % factor == 0) n /= factor;
  }
  return n == 1;
}

template <class T>
std::vector<typename Fft<T>::Stage> Fft<T>::plan(size_t n, bool inverse) {
  std::vector<Stage> stages;
  size_t stride = 1;
  for (size_t left = n; left > 1;) {
    const size_t radix = radix_of(left);
    Stage stage{radix, left / radix, stride, {}, {}};
    for (size_t k = 0; k < radix; ++k) append_root(stage.unit_roots, k, radix, inverse ? 1 : -1);
    stage.roots.reserve(2 * stage.span * (radix - 1));
    for (size_t p = 0; p < stage.span; ++p) {
      for (size_t u = 1; u < radix; ++u) append_root(stage.roots, p * u, left, inverse ? 1 : -1);
    }
    left /= radix;
    stride *= radix;
    stages.push_back(std::move(stage));
  }
  return stages;
}

template <class T>
Fft<T>::Fft(size_t n, bool inverse) : n_(n), direct_(direct_length(n)), inverse_(inverse) {
  if (direct_ == n_) {
    stages_ = plan(n, inverse);
    return;
  }
  stages_ = plan(direct_, false);
  std::vector<T> filter(2 * direct_);
  for (size_t i = 0; i < n; ++i) {
    append_root(chirp_, i * i % (2 * n), 2 * n, inverse ? 1 : -1);
    for (const size_t at : {i, (direct_ - i) % direct_}) {
      filter[2 * at] = chirp_[2 * i];
      filter[2 * at + 1] = -chirp_[2 * i + 1];
    }
  }
  // The filter is used transformed, with the inverse transform's scale.
  std::vector<T> work(2 * direct_);
  for (const Stage& stage : stages_) {
    kernels_of(T{}).stage_one({stage.radix, stage.span, stage.stride, stage.roots.data(), nullptr, false},
                              filter.data(), work.data());
    filter.swap(work);
  }
  for (T& value : filter) value /= static_cast<T>(direct_);
  filter_ = std::move(filter);
}

template <class T>
size_t Fft<T>::lanes() noexcept {
  return kernels_of(T{}).lanes;
}

template <class T>
const T* Fft<T>::run(T* memory, size_t lanes) const {
  const FftKernels<T>& table = kernels_of(T{});
  const bool is_single = lanes == 1;
  T* current = memory;
  T* other = memory + 2 * direct_ * lanes;
  const auto transform = [&] {
    const bool is_inverse = inverse_ && chirp_.empty();
    for (const Stage& stage : stages_) {
      const FftStage<T> s{stage.radix, stage.span, stage.stride, stage.roots.data(), stage.unit_roots.data(),
                          is_inverse};
      (is_single ? table.stage_one : table.stage)(s, current, other);
      std::swap(current, other);
    }
  };
  if (chirp_.empty()) {
    transform();
    return current;
  }
  const auto multiply = is_single ? table.multiply_one : table.multiply;
  multiply(current, chirp_.data(), n_, false);
  std::fill(current + 2 * n_ * lanes, current + 2 * direct_ * lanes, T{0});
  transform();
  // The inverse transform is the conjugate of the forward one of the conjugate.
  multiply(current, filter_.data(), direct_, true);
  transform();
  for (size_t k = 0; k < n_; ++k) {
    T* im = current + (2 * k + 1) * lanes;
    for (size_t i = 0; i < lanes; ++i) im[i] = -im[i];
  }
  multiply(current, chirp_.data(), n_, false);
  return current;
}

template <class T>
void Fft<T>::separate(const T* z, const T* roots, double factor, size_t begin, size_t end, T* low, T* high) const {
  kernels_of(T{}).separate(z, n_, roots, factor, begin, end, low, high);
}

template <class T>
void Fft<T>::join(const T* low, const T* high, const T* roots, double factor, size_t begin, size_t end, T* z) const {
  kernels_of(T{}).join(low, high, n_, roots, factor, begin, end, z);
}

template class Fft<float>;
template class Fft<double>;

}  // namespace enr::kernels
