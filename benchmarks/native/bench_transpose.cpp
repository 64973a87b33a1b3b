// Speed of data movement next to memcpy of as many bytes.
//   ENR_ISA=x86_avx2 ENR_NUM_THREADS=1 bench_transpose

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "kernels/transpose/concat.h"
#include "kernels/transpose/gather.h"
#include "kernels/transpose/layout.h"
#include "kernels/transpose/pad.h"
#include "kernels/transpose/strided_copy.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using Shape = std::vector<int64_t>;

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

// Runs body(output, input) over `size_bytes` and prints it beside memcpy.
template <class Body>
void report(const std::string& name, size_t size_bytes, const Body& body) {
  AlignedBuffer in(size_bytes), out(size_bytes * 2);
  std::memset(in.data(), 1, size_bytes);
  std::memset(out.data(), 1, size_bytes * 2);
  const double copy = median_us([&] { std::memcpy(out.data(), in.data(), size_bytes); });
  const size_t all = num_threads();
  set_num_threads(1);
  const double one = median_us([&] { body(out.data(), in.data()); });
  set_num_threads(all);
  const double many = all > 1 ? median_us([&] { body(out.data(), in.data()); }) : one;
  std::printf("%-38s %8.2f MB | %9.1f us  %6.1f GB/s  %5.2f of memcpy | %9.1f us on %zu threads\n", name.c_str(),
              static_cast<double>(size_bytes) * 1e-6, one, 1e-3 * static_cast<double>(size_bytes) / one, copy / one,
              many, all);
}

void report_permute(const std::string& name, const Shape& sizes, const Shape& order, size_t element) {
  size_t bytes = element;
  for (const int64_t size : sizes) bytes *= static_cast<size_t>(size);
  report(name + " of " + std::to_string(element), bytes,
         [&](void* out, const void* in) { permute(out, in, sizes, order, element); });
}

}  // namespace

int main() {
  std::printf("isa %s\n", std::string(isa_name(active_isa())).c_str());
  for (const size_t element : {1, 2, 4, 8, 16}) report_permute("1024 x 768 transposed", {1024, 768}, {1, 0}, element);
  for (const size_t element : {1, 4}) {
    report_permute("3x224x224 to NHWC", {3, 50176}, {1, 0}, element);
    report_permute("3x224x224 to NCHW", {50176, 3}, {1, 0}, element);
    report_permute("32x112x112 to NHWC", {32, 12544}, {1, 0}, element);
    report_permute("32x112x112 to NCHW", {12544, 32}, {1, 0}, element);
    report_permute("512x28x28 to NHWC", {512, 784}, {1, 0}, element);
    report_permute("512x28x28 to NCHW", {784, 512}, {1, 0}, element);
    report_permute("1280x7x7 to NHWC", {1280, 49}, {1, 0}, element);
    report_permute("1280x7x7 to NCHW", {49, 1280}, {1, 0}, element);
  }
  report_permute("197x3x3x64, heads to front", {197, 3, 3, 64}, {1, 2, 0, 3}, 4);
  report_permute("12x128x64, heads to middle", {12, 128, 64}, {1, 0, 2}, 4);
  report_permute("12x128x64, last two swapped", {12, 128, 64}, {0, 2, 1}, 4);
  report_permute("pixel shuffle 16x2x2x64x64", {16, 2, 2, 64, 64}, {0, 3, 1, 4, 2}, 4);
  const Shape image = {1, 32, 112, 112};
  const size_t image_bytes = size_t{32} * 112 * 112 * 4;
  report("slice with step 2 of the columns", image_bytes / 2, [&](void* out, const void* in) {
    slice_copy(out, in, Shape{1, 32, 56, 112}, Shape{0, 0, 0, 0}, Shape{1, 1, 1, 2}, Shape{1, 32, 56, 56}, 4);
  });
  report("flip of the columns", image_bytes,
         [&](void* out, const void* in) { flip(out, in, image, std::array<bool, 4>{false, false, false, true}, 4); });
  report("pad 1 around each plane", image_bytes, [&](void* out, const void* in) {
    const float zero = 0;
    pad_constant(out, in, image, Shape{0, 0, 1, 1}, Shape{0, 0, 1, 1}, &zero, 4);
  });
  report("pad 1 around an NHWC image", image_bytes, [&](void* out, const void* in) {
    const float zero = 0;
    pad_constant(out, in, Shape{1, 112, 112, 32}, Shape{0, 1, 1, 0}, Shape{0, 1, 1, 0}, &zero, 4);
  });
  for (const size_t row : {12, 64, 128, 512}) {
    report("concat of 2 x 4096 rows of " + std::to_string(row) + " bytes", 2 * 4096 * row,
           [&](void* out, const void* in) {
             const ConcatSource parts[] = {{in, row}, {static_cast<const char*>(in) + 4096 * row, row}};
             concat(out, parts, 4096);
           });
  }
  report_permute("4096 runs of 3, crosswise", {64, 64, 3}, {1, 0, 2}, 4);
  report("expand a column 32x112x112", image_bytes, [&](void* out, const void* in) {
    strided_copy_to_contiguous(out, in, Shape{448, 4, 0}, Shape{32, 112, 112}, 4);
  });
  std::vector<int64_t> indices(4096);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i * 2654435761u % 4096);
  for (const size_t row : {4, 64, 1024}) {
    report("gather 4096 rows of " + std::to_string(row) + " bytes", 4096 * row,
           [&](void* out, const void* in) { gather_rows(out, in, 1, 4096, row, indices.data(), indices.size()); });
  }
}
