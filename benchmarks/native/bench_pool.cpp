// Speed of pooling and resizing next to memcpy of the larger side.
//   ENR_ISA=x86_avx2 ENR_NUM_THREADS=1 bench_pool

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/resize/resize.h"

namespace {

using namespace enr;
using namespace enr::kernels;

template <class Body>
double median_us(const Body& body) {
  std::vector<double> times;
  const auto stop = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
  while (times.size() < 10 || std::chrono::steady_clock::now() < stop) {
    const auto start = std::chrono::steady_clock::now();
    body();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <class Body>
void report(const std::string& name, size_t input, size_t output, const Body& body) {
  AlignedBuffer in(input), out(std::max(input, output)), index(2 * output);
  std::memset(in.data(), 0, input);
  std::memset(out.data(), 0, std::max(input, output));
  std::memset(index.data(), 0, 2 * output);
  const size_t size_bytes = std::max(input, output);
  const double copy = median_us([&] { std::memcpy(out.data(), in.data(), input); }) * static_cast<double>(size_bytes) /
                      static_cast<double>(input);
  const size_t all = num_threads();
  set_num_threads(1);
  const double one = median_us([&] { body(in.as<float>(), out.as<float>(), index.as<int64_t>()); });
  set_num_threads(all);
  const double many = all > 1 ? median_us([&] { body(in.as<float>(), out.as<float>(), index.as<int64_t>()); }) : one;
  std::printf("%-44s %7.2f MB | %9.1f us  %5.2f of memcpy | %9.1f us on %zu threads\n", name.c_str(),
              static_cast<double>(size_bytes) * 1e-6, one, copy / one, many, all);
}

PoolShape pool_shape(size_t size, size_t channels, size_t kernel, size_t stride, size_t pad) {
  PoolShape s;
  s.channels = channels;
  s.input_height = s.input_width = size;
  s.output_height = s.output_width = (size + 2 * pad - kernel) / stride + 1;
  s.kernel_height = s.kernel_width = kernel;
  s.stride_height = s.stride_width = stride;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
  return s;
}

size_t input_bytes(const PoolShape& s) { return s.channels * s.input_height * s.input_width * 4; }
size_t output_bytes(const PoolShape& s) { return s.channels * s.output_height * s.output_width * 4; }

}  // namespace

int main() {
  std::printf("isa %s\n", std::string(isa_name(active_isa())).c_str());
  const PoolShape shapes[] = {pool_shape(112, 64, 3, 2, 1), pool_shape(128, 16, 2, 2, 0), pool_shape(64, 32, 2, 2, 0),
                              pool_shape(35, 288, 3, 1, 1)};
  for (const PoolShape& s : shapes) {
    const std::string name = std::to_string(s.channels) + "x" + std::to_string(s.input_height) + ", " +
                             std::to_string(s.kernel_height) + "x" + std::to_string(s.kernel_width) + " stride " +
                             std::to_string(s.stride_height);
    const auto both = [&](const std::string& what, const auto& body) {
      report(what + " " + name, input_bytes(s), output_bytes(s), body);
    };
    both("NHWC max", [&](const float* in, float* out, int64_t*) { max_pool_nhwc(s, in, out); });
    both("NHWC average", [&](const float* in, float* out, int64_t*) {
      average_pool_nhwc(s, AverageDivisor::kExcludePadding, 0, in, out);
    });
    both("NHWC argmax", [&](const float* in, float* out, int64_t* index) {
      argmax_pool_nhwc(s, in, out, reinterpret_cast<uint32_t*>(index));
    });
    both("NCHW max", [&](const float* in, float* out, int64_t*) { max_pool_nchw<float>(s, in, out, nullptr); });
    both("NCHW max, indices", [&](const float* in, float* out, int64_t* index) { max_pool_nchw(s, in, out, index); });
    both("NCHW average", [&](const float* in, float* out, int64_t*) {
      average_pool_nchw(s, AverageDivisor::kIncludePadding, 0, in, out);
    });
  }
  report("global average 1280x7x7", 1280 * 49 * 4, 1280 * 4,
         [&](const float* in, float* out, int64_t*) { global_average_nhwc(1, 49, 1280, 0, in, out); });
  report("global average 32x112x112", 32 * 12544 * 4, 32 * 4,
         [&](const float* in, float* out, int64_t*) { global_average_nhwc(1, 12544, 32, 0, in, out); });
  report("adaptive average 512x7x7 to 1x1", 512 * 49 * 4, 512 * 4,
         [&](const float* in, float* out, int64_t*) { adaptive_average_pool_nchw(512, 7, 7, 1, 1, in, out); });
  ResizeShape r;
  for (const size_t channels : {3, 32, 64}) {
    r.channels = channels;
    r.input_height = r.input_width = 64;
    r.output_height = r.output_width = 128;
    const size_t in_bytes = channels * 64 * 64 * 4, out_bytes = 4 * in_bytes;
    const std::string name = std::to_string(channels) + "x64 to 128";
    report("NHWC bilinear " + name, in_bytes, out_bytes,
           [&](const float* in, float* out, int64_t*) { resize_bilinear_nhwc(r, false, in, out); });
    report("NCHW bilinear " + name, in_bytes, out_bytes,
           [&](const float* in, float* out, int64_t*) { resize_bilinear_nchw(r, false, in, out); });
    report("NCHW nearest " + name, in_bytes, out_bytes,
           [&](const float* in, float* out, int64_t*) { resize_nearest_nchw(r, in, out, 4); });
    report("NHWC nearest " + name, in_bytes, out_bytes,
           [&](const float* in, float* out, int64_t*) { resize_nearest_nhwc(r, in, out, 4); });
    std::swap(r.input_height, r.output_height);
    std::swap(r.input_width, r.output_width);
    report("NCHW antialiased " + std::to_string(channels) + "x128 to 64", out_bytes, in_bytes,
           [&](const float* in, float* out, int64_t*) { resize_bilinear_antialias_nchw(r, false, in, out); });
  }
}
