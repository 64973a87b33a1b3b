#pragma once

// Inputs that are hard on numeric kernels, and distances between results.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace enr::test {

// Lengths around every vector width there is.
inline const std::vector<size_t> kLengths = {0,  1,  2,  3,  4,  5,  7,  8,   9,   15,  16,
                                             17, 31, 32, 33, 63, 64, 65, 127, 129, 1000};

inline std::vector<float> random_floats(size_t count, unsigned seed, float low = -1.0f, float high = 1.0f) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> values(low, high);
  std::vector<float> result(count);
  for (float& v : result) v = values(engine);
  return result;
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {T(0),
                           T(1),
                           T(0.5),
                           T(2),
                           T(3),
                           T(0.1),
                           T(10),
                           T(88),
                           T(89),
                           T(104),
                           T(700),
                           T(710),
                           T(746),
                           T(1.5),
                           T(2.5),
                           T(1e-3),
                           T(1e-10),
                           T(1e10),
                           T(8388608.5),
                           T(2147483648.0),
                           T(3.14159265358979),
                           L::min(),
                           L::denorm_min(),
                           L::max(),
                           L::infinity(),
                           L::min() / 2,
                           L::epsilon(),
                           T(0.999999)};
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(L::quiet_NaN());
  return values;
}

// Specials, then values of every magnitude, then a dense cloud around what functions do between -20 and 20.
template <class T>
std::vector<T> hard_values(size_t count, unsigned seed) {
  std::vector<T> values = special_values<T>();
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> exponent(-std::numeric_limits<T>::max_exponent10 - 6,
                                                  std::numeric_limits<T>::max_exponent10);
  std::uniform_real_distribution<double> near(-20, 20), tiny(-1, 1);
  while (values.size() < count) {
    const double sign = engine() % 2 == 0 ? 1 : -1;
    switch (engine() % 4) {
      case 0:
        values.push_back(static_cast<T>(sign * std::pow(10.0, exponent(engine))));
        break;
      case 1:
        values.push_back(static_cast<T>(tiny(engine)));
        break;
      default:
        values.push_back(static_cast<T>(near(engine)));
    }
  }
  return values;
}

template <class T>
std::vector<T> random_values(size_t count, unsigned seed, double low = -1, double high = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> values(low, high);
  std::vector<T> result(count);
  for (T& v : result) v = static_cast<T>(values(engine));
  return result;
}

// The gap between neighbouring values of T at `value`.
template <class T>
double ulp_at(double value) {
  using L = std::numeric_limits<T>;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent, L::min_exponent) - L::digits);
}

// How far `got` is from the exact result, in ulps of T. 0 where both are NaN or the same infinity; an exact result
// beyond T's range counts as infinity.
template <class T>
double ulps_off(T got, long double exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : HUGE_VAL;
  const T rounded = static_cast<T>(exact);
  if (got == rounded) return 0;
  if (std::isinf(got) || std::isinf(rounded)) {
    const T finite = std::isinf(got) ? rounded : got;
    return !std::isinf(finite) && std::fabs(finite) > std::numeric_limits<T>::max() * T(0.999999) ? 1 : HUGE_VAL;
  }
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact)) / ulp_at<T>(static_cast<double>(exact));
}

template <class T>
bool same_bits(const T& x, const T& y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}
// NaN equals NaN, whatever its bits.
template <class T>
bool same_value(T x, T y) {
  return same_bits(x, y) || (x != x && y != y);
}

}  // namespace enr::test
