// Times every depthwise layer of MobileNetV2 at 224 x 224, on one thread and on all; and on planes (NCHW), directly and
// by way of NHWC.
//   ENR_ISA=x86_avx2 bench_depthwise

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/depthwise/depthwise_nchw.h"
#include "kernels/transpose/layout.h"

namespace {

using namespace enr;
using namespace enr::kernels;

struct Layer {
  size_t size, channels, stride, repeats;
};

constexpr Layer kLayers[] = {{112, 32, 1, 1}, {112, 96, 2, 1}, {56, 144, 1, 1}, {56, 144, 2, 1}, {28, 192, 1, 2},
                             {28, 192, 2, 1}, {14, 384, 1, 4}, {14, 576, 1, 2}, {14, 576, 2, 1}, {7, 960, 1, 3}};

double median_us(const std::vector<double>& times) {
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

template <class Body>
double time_us(const Body& body) {
  std::vector<double> times;
  const auto stop = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
  while (times.size() < 10 || std::chrono::steady_clock::now() < stop) {
    const auto start = std::chrono::steady_clock::now();
    body();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  return median_us(times);
}

struct Times {
  double one, many, planes, transposed;
};

Times time_layer(const DepthwiseShape& s, size_t threads) {
  std::vector<float> weights(s.kernel_height * s.kernel_width * s.channels, 0.1f), bias(s.channels, 0.5f);
  std::vector<float> in(s.input_height * s.input_width * s.channels, 1.0f), in_nhwc(in);
  std::vector<float> out(s.output_height * s.output_width * s.channels), out_nhwc(out);
  AlignedBuffer packed(depthwise_packed_bytes(s));
  depthwise_pack(s, weights.data(), s.channels, 1, bias.data(), packed.data());
  GemmEpilogue epilogue;
  epilogue.min = 0.0f;
  epilogue.max = 6.0f;
  const auto run = [&] { depthwise(s, packed.data(), in_nhwc.data(), out_nhwc.data(), epilogue); };
  Times t{};
  set_num_threads(threads);
  t.many = time_us(run);
  set_num_threads(1);
  t.one = time_us(run);
  t.planes = time_us([&] { depthwise_nchw(s, weights.data(), bias.data(), in.data(), out.data(), 0.0f, 6.0f); });
  t.transposed = time_us([&] {
    nchw_to_nhwc(in_nhwc.data(), in.data(), 1, s.channels, s.input_height * s.input_width, sizeof(float));
    run();
    nhwc_to_nchw(out.data(), out_nhwc.data(), 1, s.channels, s.output_height * s.output_width, sizeof(float));
  });
  set_num_threads(threads);
  return t;
}

}  // namespace

int main() {
  const size_t all = num_threads();
  std::printf("isa %s\n", std::string(isa_name(active_isa())).c_str());
  for (const size_t kernel : {size_t{3}, size_t{5}}) {
    double total_one = 0, total_all = 0;
    std::printf("kernel %zu\n%14s %8s | %9s %9s %9s | %9s (%zu threads) | NCHW: %9s %9s\n", kernel, "layer", "stride",
                "us", "GFLOP/s", "GB/s", "us", all, "direct", "via NHWC");
    for (const Layer& layer : kLayers) {
      DepthwiseShape s;
      s.input_height = s.input_width = layer.size;
      s.output_height = s.output_width = layer.size / layer.stride + (layer.size % layer.stride != 0);
      s.channels = layer.channels;
      s.kernel_height = s.kernel_width = kernel;
      s.stride_height = s.stride_width = layer.stride;
      s.pad_top = s.pad_left = kernel / 2;
      const Times t = time_layer(s, all);
      const double outputs = static_cast<double>(s.output_height * s.output_width * s.channels);
      const double bytes = 4.0 * (outputs + static_cast<double>(s.input_height * s.input_width * s.channels));
      std::printf("%4zux%-4zu x%4zu %8zu | %9.1f %9.1f %9.1f | %9.1f             |       %9.1f %9.1f\n", layer.size,
                  layer.size, layer.channels, layer.stride, t.one,
                  2e-3 * outputs * static_cast<double>(kernel * kernel) / t.one, 1e-3 * bytes / t.one, t.many, t.planes,
                  t.transposed);
      total_one += t.one * static_cast<double>(layer.repeats);
      total_all += t.many * static_cast<double>(layer.repeats);
    }
    std::printf("MobileNetV2's %s layers: %.1f us, %.1f us\n\n", kernel == 3 ? "17" : "17 (5x5)", total_one, total_all);
  }
}
