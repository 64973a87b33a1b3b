// Window functions of signal processing.

#include <cmath>

#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

constexpr double kPi = 3.14159265358979323846;

// Writes value(position), where positions run over [0, 1] (short of 1 in periodic windows).
template <class Value>
void window(OpContext& context, int64_t length, bool periodic, Tensor& out, const Value& value) {
  if (length < 0) fail_execution("window_length: expected at least 0, got ", length);
  require_floating(out.dtype, "out");
  context.resize(out, {length});
  RowMajorOut result(context, out, DType::kFloat64);
  const auto last = static_cast<double>(periodic ? length : length - 1);
  for (int64_t i = 0; i < length; ++i) {
    result.as<double>()[i] = length == 1 ? 1 : value(static_cast<double>(i) / last);
  }
  result.commit();
}

void bartlett_periodic_out(OpContext& context, int64_t window_length, bool periodic, Tensor& out) {
  window(context, window_length, periodic, out, [](double x) { return 1 - std::abs(2 * x - 1); });
}
void bartlett_out(OpContext& context, int64_t window_length, Tensor& out) {
  bartlett_periodic_out(context, window_length, true, out);
}

void blackman_periodic_out(OpContext& context, int64_t window_length, bool periodic, Tensor& out) {
  window(context, window_length, periodic, out,
         [](double x) { return 0.42 - 0.5 * std::cos(2 * kPi * x) + 0.08 * std::cos(4 * kPi * x); });
}
void blackman_out(OpContext& context, int64_t window_length, Tensor& out) {
  blackman_periodic_out(context, window_length, true, out);
}

void hamming_alpha_beta_out(OpContext& context, int64_t window_length, bool periodic, double alpha, double beta,
                            Tensor& out) {
  window(context, window_length, periodic, out, [=](double x) { return alpha - beta * std::cos(2 * kPi * x); });
}
void hamming_alpha_out(OpContext& context, int64_t window_length, bool periodic, double alpha, Tensor& out) {
  hamming_alpha_beta_out(context, window_length, periodic, alpha, 0.46, out);
}
void hamming_periodic_out(OpContext& context, int64_t window_length, bool periodic, Tensor& out) {
  hamming_alpha_out(context, window_length, periodic, 0.54, out);
}
void hamming_out(OpContext& context, int64_t window_length, Tensor& out) {
  hamming_periodic_out(context, window_length, true, out);
}

void hann_periodic_out(OpContext& context, int64_t window_length, bool periodic, Tensor& out) {
  hamming_alpha_beta_out(context, window_length, periodic, 0.5, 0.5, out);
}
void hann_out(OpContext& context, int64_t window_length, Tensor& out) {
  hann_periodic_out(context, window_length, true, out);
}

// The modified Bessel function of the first kind, order 0, by its series.
double bessel_i0(double x) noexcept {
  double term = 1, sum = 1;
  for (int k = 1; term > sum * 1e-17 && k < 1000; ++k) sum += term *= x * x / (4.0 * k * k);
  return sum;
}

void kaiser_beta_out(OpContext& context, int64_t window_length, bool periodic, double beta, Tensor& out) {
  window(context, window_length, periodic, out, [=](double x) {
    const double centred = 2 * x - 1;
    return bessel_i0(beta * std::sqrt(std::fmax(0, 1 - centred * centred))) / bessel_i0(beta);
  });
}
void kaiser_periodic_out(OpContext& context, int64_t window_length, bool periodic, Tensor& out) {
  kaiser_beta_out(context, window_length, periodic, 12, out);
}
void kaiser_out(OpContext& context, int64_t window_length, Tensor& out) {
  kaiser_periodic_out(context, window_length, true, out);
}

}  // namespace

void register_windows(OperatorTable& table) {
  table.add<bartlett_out>("aten::bartlett_window.out", "window_length, out");
  table.add<bartlett_periodic_out>("aten::bartlett_window.periodic_out", "window_length, periodic, out");
  table.add<blackman_out>("aten::blackman_window.out", "window_length, out");
  table.add<blackman_periodic_out>("aten::blackman_window.periodic_out", "window_length, periodic, out");
  table.add<hamming_out>("aten::hamming_window.out", "window_length, out");
  table.add<hamming_periodic_out>("aten::hamming_window.periodic_out", "window_length, periodic, out");
  table.add<hamming_alpha_out>("aten::hamming_window.periodic_alpha_out", "window_length, periodic, alpha, out");
  table.add<hamming_alpha_beta_out>("aten::hamming_window.periodic_alpha_beta_out",
                                    "window_length, periodic, alpha, beta, out");
  table.add<hann_out>("aten::hann_window.out", "window_length, out");
  table.add<hann_periodic_out>("aten::hann_window.periodic_out", "window_length, periodic, out");
  table.add<kaiser_out>("aten::kaiser_window.out", "window_length, out");
  table.add<kaiser_periodic_out>("aten::kaiser_window.periodic_out", "window_length, periodic, out");
  table.add<kaiser_beta_out>("aten::kaiser_window.beta_out", "window_length, periodic, beta, out");
}

}  // namespace enr::ops
