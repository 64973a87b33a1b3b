#include <doctest/doctest.h>

#include <complex>
#include <string>

#include "base/dtype.h"
#include "kernels/convert/convert.h"
#include "numbers.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace enr::test;

struct Bool {
  uint8_t value;
};

// What one element converts to, written out plainly.
template <class To>
To integer_of(double x) {
  // As x86 does: out of range gives the smallest number of the type in between.
  const auto as64 = [](double v) {
    return v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : std::numeric_limits<int64_t>::min();
  };
  const auto as32 = [](double v) {
    return v > -2147483649.0 && v < 2147483648.0 ? static_cast<int32_t>(v) : std::numeric_limits<int32_t>::min();
  };
  if constexpr (std::is_same_v<To, uint64_t>) {
    return x >= 0x1p63 ? static_cast<uint64_t>(as64(x - 0x1p63)) ^ (uint64_t{1} << 63) : static_cast<uint64_t>(as64(x));
  } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t> || std::is_same_v<To, uint8_t>) {
    return static_cast<To>(as64(x));
  } else {
    return static_cast<To>(as32(x));
  }
}

template <class To, class From>
To expected_of(From x) {
  if constexpr (std::is_same_v<From, Bool>) {
    if constexpr (std::is_same_v<To, Bool>) {
      return x;
    } else {
      return expected_of<To>(static_cast<float>(x.value != 0));
    }
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {x != From(0.0f)};
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return expected_of<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return integer_of<To>(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class T>
constexpr DType dtype_code() {
  if constexpr (std::is_same_v<T, Bool>) {
    return DType::kBool;
  } else {
    return dtype_of<T>;
  }
}

template <class T>
std::vector<T> inputs() {
  std::vector<T> result;
  if constexpr (std::is_same_v<T, Bool>) {
    for (int i = 0; i < 100; ++i) result.push_back({static_cast<uint8_t>(i % 3 == 0)});
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    for (uint32_t bits = 0; bits < 0x10000; bits += 7) {
      T value;
      value.bits = static_cast<uint16_t>(bits);
      result.push_back(value);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    result = hard_values<T>(3000, 5);
    // Ties and limits of half and bfloat16, and of the integers.
    for (double v : {65504.0,      65519.9, 65520.0, 2049.0, 2051.0, 6.1e-5,       5.96e-8,
                     2.98e-8,      255.9,   -0.9,    256.0,  300.5,  2147483647.0, 4294967295.0,
                     4294967296.0, 9.3e18,  1.8e19,  -1e19,  1e30,   1.00390625,   1.01171875}) {
      result.push_back(static_cast<T>(v));
      result.push_back(static_cast<T>(-v));
    }
  } else {
    std::mt19937_64 engine(6);
    for (int i = 0; i < 300; ++i) result.push_back(static_cast<T>(engine() >> (i % 64)));
    result.push_back(std::numeric_limits<T>::min());
    result.push_back(std::numeric_limits<T>::max());
  }
  return result;
}

// Out of the range of the integers in between, the result is the processor's own.
template <class To, class From>
bool is_defined([[maybe_unused]] const From& v) {
#if !defined(__x86_64__)
  if constexpr (std::is_integral_v<To> && !std::is_same_v<From, Bool> && !std::is_integral_v<From>) {
    const auto x = static_cast<double>(v);
    return x > -2147483649.0 && x < 2147483648.0;
  }
#endif
  return true;
}

template <class T>
bool equal(const T& x, const T& y) {
  if constexpr (std::is_floating_point_v<T>) return same_value(x, y);
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    const float a = x, b = y;
    return same_value(a, b);
  }
  return same_bits(x, y);
}

template <class From, class To>
void check_pair() {
  const std::vector<From> x = inputs<From>();
  const ConvertFn fn = convert_fn(dtype_code<From>(), dtype_code<To>());
  REQUIRE((fn != nullptr));
  std::vector<To> expected;
  for (const From& v : x) expected.push_back(expected_of<To>(v));
  std::vector<size_t> lengths = kLengths;
  lengths.push_back(x.size() - 1);
  for (size_t n : lengths) {
    n = std::min(n, x.size() - 1);
    std::vector<To> y(n + 2, To{});
    fn(x.data() + 1, y.data() + 1, n);
    size_t wrong = 0, at = 0;
    for (size_t i = 0; i < n; ++i) {
      if (is_defined<To>(x[i + 1]) && !equal(y[i + 1], expected[i + 1])) ++wrong, at = i + 1;
    }
    CHECK_MESSAGE(wrong == 0, std::string(dtype_name(dtype_code<From>())), " to ",
                  std::string(dtype_name(dtype_code<To>())), " length ", n, " index ", at);
    CHECK((same_bits(y[0], To{}) && same_bits(y[n + 1], To{})));
  }
}

template <class From, class... To>
void check_row() {
  (check_pair<From, To>(), ...);
}
template <class... From>
void check_all() {
  (check_row<From, Bool, uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, float, double, Half,
             BFloat16>(),
   ...);
}

TEST_CASE("conversions between real dtypes, every pair") {
  check_all<Bool, uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, float, double, Half,
            BFloat16>();
}

TEST_CASE("any byte but zero is a true bool") {
  const uint8_t bytes[] = {0, 1, 2, 255};
  float values[4];
  convert_fn(DType::kBool, DType::kFloat32)(bytes, values, 4);
  CHECK(std::vector<float>(values, values + 4) == std::vector<float>{0, 1, 1, 1});
}

TEST_CASE("complex conversions") {
  using C = std::complex<float>;
  const std::vector<C> x = {{1.5f, 2.0f}, {0, 0}, {0, -1}, {-3.7f, 0}};
  std::vector<float> real(4);
  std::vector<int32_t> whole(4);
  std::vector<uint8_t> truth(4);
  std::vector<std::complex<double>> wide(4);
  convert_fn(DType::kComplex64, DType::kFloat32)(x.data(), real.data(), 4);
  convert_fn(DType::kComplex64, DType::kInt32)(x.data(), whole.data(), 4);
  convert_fn(DType::kComplex64, DType::kBool)(x.data(), truth.data(), 4);
  convert_fn(DType::kComplex64, DType::kComplex128)(x.data(), wide.data(), 4);
  CHECK(real == std::vector<float>{1.5f, 0, 0, -3.7f});
  CHECK(whole == std::vector<int32_t>{1, 0, 0, -3});
  CHECK(truth == std::vector<uint8_t>{1, 0, 1, 1});
  CHECK(wide[0] == std::complex<double>(1.5, 2.0));
  std::vector<C> back(4);
  convert_fn(DType::kInt32, DType::kComplex64)(whole.data(), back.data(), 4);
  CHECK(back == std::vector<C>{{1, 0}, {0, 0}, {0, 0}, {-3, 0}});
  CHECK((convert_fn(DType::kFloat8E5M2, DType::kFloat32) == nullptr));
  CHECK((convert_fn(DType::kComplex64, DType::kComplex64) != nullptr));
}

TEST_CASE("conversion with threads equals conversion without") {
  const std::vector<double> x = hard_values<double>(200000, 7);
  std::vector<uint16_t> threaded(x.size()), plain(x.size());
  convert(DType::kFloat64, x.data(), DType::kFloat16, threaded.data(), x.size());
  convert_fn(DType::kFloat64, DType::kFloat16)(x.data(), plain.data(), x.size());
  CHECK(threaded == plain);
}

}  // namespace
