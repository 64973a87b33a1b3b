// Times 8-bit and 4-bit products and convolutions with the shapes of real models, on one thread and on all, beside the
// float product of the same shape.
//   ENR_ISA=x86_avx2 bench_qgemm [mobilenet|depthwise|resnet|bert|packing|int4]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qdepthwise/qdepthwise.h"
#include "kernels/qgemm/qgemm.h"

namespace {

using namespace enr;
using namespace enr::kernels;

template <class Run>
double median_us(Run run) {
  std::vector<double> times;
  const auto stop = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
  run();
  while (times.size() < 5 || std::chrono::steady_clock::now() < stop) {
    const auto start = std::chrono::steady_clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Totals {
  double one = 0, all = 0, operations = 0;
};

template <class Run>
void report(const char* name, double operations, double repeats, Totals& totals, Run run) {
  const size_t threads = num_threads();
  set_num_threads(1);
  const double one = median_us(run);
  set_num_threads(threads);
  const double all = median_us(run);
  std::printf("%-34s %9.1f us %8.1f GOP/s | %9.1f us (%zu threads)\n", name, one, 1e-3 * operations / one, all,
              threads);
  totals.one += one * repeats;
  totals.all += all * repeats;
  totals.operations += operations * repeats;
}

void print_totals(const Totals& t) {
  std::printf("%-34s %9.1f us %8.1f GOP/s | %9.1f us\n\n", "total", t.one, 1e-3 * t.operations / t.one, t.all);
}

void run_float() {
  constexpr size_t kSize = 1024;
  std::vector<float> a(kSize * kSize, 0.5f), c(kSize * kSize);
  AlignedBuffer packed(gemm_packed_bytes(kSize, kSize));
  gemm_pack(WeightLayout::kOutputMajor, kSize, kSize, a.data(), kSize, nullptr, packed.data());
  Totals totals;
  report("float32 1024 x 1024 x 1024", 2.0 * kSize * kSize * kSize, 1, totals,
         [&] { gemm(kSize, kSize, kSize, a.data(), kSize, packed.data(), c.data(), kSize); });
  std::printf("\n");
}

struct Layer {
  size_t size, inputs, outputs, kernel, stride, repeats;
};

void run_convolutions(const char* title, const std::vector<Layer>& layers) {
  std::printf("%s\n", title);
  Totals totals;
  for (const Layer& layer : layers) {
    ConvShape s;
    s.input_height = s.input_width = layer.size;
    s.input_channels = layer.inputs;
    s.output_channels = layer.outputs;
    s.kernel_height = s.kernel_width = layer.kernel;
    s.stride_height = s.stride_width = layer.stride;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = layer.kernel / 2;
    const QConvPlan plan(s, choose_static_format(s, QWeightType::kInt8));
    std::vector<int8_t> weights(layer.outputs * layer.kernel * layer.kernel * layer.inputs, 3);
    std::vector<int8_t> input(layer.size * layer.size * layer.inputs, 5);
    const size_t pixels = s.output_height() * s.output_width();
    std::vector<int8_t> output(pixels * layer.outputs);
    const float scale = 1e-3f;
    AlignedBuffer packed(plan.packed_bytes()), workspace(plan.workspace_bytes());
    plan.pack_static({.data = weights.data()}, nullptr, {.scales = &scale}, packed.data());
    char name[80];
    std::snprintf(name, sizeof name, "%zux%zu x%zu -> x%zu k%zu s%zu", layer.size, layer.size, layer.inputs,
                  layer.outputs, layer.kernel, layer.stride);
    const double operations = 2.0 * static_cast<double>(pixels * weights.size());
    report(name, operations, static_cast<double>(layer.repeats), totals, [&] {
      plan.run({.input = input.data(), .packed = packed.data(), .output = output.data()}, workspace.data());
    });
  }
  print_totals(totals);
}

void run_depthwise(const char* title, size_t kernel, const std::vector<Layer>& layers) {
  std::printf("%s\n", title);
  Totals totals;
  for (const Layer& layer : layers) {
    DepthwiseShape s;
    s.input_height = s.input_width = layer.size;
    s.channels = layer.inputs;
    s.kernel_height = s.kernel_width = kernel;
    s.stride_height = s.stride_width = layer.stride;
    s.pad_top = s.pad_left = kernel / 2;
    s.output_height = s.output_width = (layer.size - 1) / layer.stride + 1;
    const size_t taps = kernel * kernel, pixels = s.output_height * s.output_width;
    const std::vector<int8_t> weights(taps * s.channels, 3), input(layer.size * layer.size * s.channels, 5);
    std::vector<int8_t> output(pixels * s.channels);
    const float scale = 1e-3f;
    AlignedBuffer packed(qdepthwise_packed_bytes(s));
    qdepthwise_pack(s, QWeightType::kInt8, weights.data(), 0, s.channels, 1, nullptr, {.scales = &scale},
                    packed.data());
    char name[80];
    std::snprintf(name, sizeof name, "%zux%zu x%zu s%zu", layer.size, layer.size, s.channels, layer.stride);
    report(name, 2.0 * static_cast<double>(pixels * s.channels * taps), static_cast<double>(layer.repeats), totals,
           [&] { qdepthwise(s, packed.data(), input.data(), 0, {}, output.data()); });
  }
  print_totals(totals);
}

struct Linear {
  size_t m, n, k, repeats;
};

void run_dynamic(const char* title, QWeightType type, size_t block_size, const std::vector<Linear>& layers) {
  std::printf("%s\n", title);
  Totals totals;
  for (const Linear& layer : layers) {
    const auto [m, n, k, repeats] = layer;
    QWeights w{
        .type = type, .n = n, .k = k, .row_bytes = type == QWeightType::kInt4 ? k / 2 : k, .block_size = block_size};
    w.zero_point = type == QWeightType::kInt4 ? 8 : 0;
    const std::vector<uint8_t> weights(n * k, 0x35);
    w.data = weights.data();
    const std::vector<uint16_t> block_scales(block_size == 0 ? 0 : n * (k / block_size), 0x3c00);
    const float scale = 1e-2f;
    AlignedBuffer packed(qgemm_packed_bytes(w)), workspace(qgemm_workspace_bytes(m, n, k));
    qgemm_pack_dynamic(w, {.scales = &scale, .block_scales = block_scales.data()}, packed.data());
    std::vector<float> a(m * k, 0.5f), c(m * n);
    std::vector<int8_t> quantised(m * k);
    std::vector<Quantization> rows(m);
    char name[80];
    std::snprintf(name, sizeof name, "%zu rows %zu -> %zu", m, k, n);
    report(name, 2.0 * static_cast<double>(m * n * k), static_cast<double>(repeats), totals, [&] {
      quantize_rows(m, k, a.data(), k, quantised.data(), rows.data());
      qgemm_dynamic(m, w, quantised.data(), k, rows.data(), packed.data(), {}, c.data(), n,
                    {workspace.data(), workspace.size_bytes()});
    });
  }
  print_totals(totals);
}

void run_packing() {
  std::printf("packing, in weights (not operations)\n");
  Totals totals;
  const size_t n = 4096, k = 4096;
  const std::vector<uint8_t> weights(n * k, 0x35);
  const std::vector<uint16_t> block_scales(n * (k / 32), 0x3c00);
  const float scale = 1e-2f;
  for (const size_t block_size : {size_t{1}, size_t{0}, size_t{32}}) {  // 1: 8-bit weights
    const bool is_int8 = block_size == 1;
    QWeights w{.type = is_int8 ? QWeightType::kInt8 : QWeightType::kInt4, .n = n, .k = k, .data = weights.data()};
    w.row_bytes = is_int8 ? k : k / 2;
    w.zero_point = is_int8 ? 0 : 8;
    w.block_size = is_int8 ? 0 : block_size;
    AlignedBuffer packed(qgemm_packed_bytes(w));
    report(is_int8           ? "int8"
           : block_size == 0 ? "int4"
                             : "int4 in blocks of 32",
           static_cast<double>(n * k), 1, totals,
           [&] { qgemm_pack_dynamic(w, {.scales = &scale, .block_scales = block_scales.data()}, packed.data()); });
  }
  print_totals(totals);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  std::printf("isa %s\n", std::string(isa_name(active_isa())).c_str());
  run_float();
  if (only.empty() || only == "mobilenet") {
    run_convolutions("MobileNetV2 int8, without depthwise",
                     {{224, 3, 32, 3, 2, 1},   {112, 32, 16, 1, 1, 1}, {112, 16, 96, 1, 1, 1}, {56, 96, 24, 1, 1, 1},
                      {56, 24, 144, 1, 1, 2},  {56, 144, 24, 1, 1, 1}, {28, 144, 32, 1, 1, 1}, {28, 32, 192, 1, 1, 3},
                      {28, 192, 32, 1, 1, 2},  {14, 192, 64, 1, 1, 1}, {14, 64, 384, 1, 1, 4}, {14, 384, 64, 1, 1, 3},
                      {14, 384, 96, 1, 1, 1},  {14, 96, 576, 1, 1, 3}, {14, 576, 96, 1, 1, 2}, {7, 576, 160, 1, 1, 1},
                      {7, 160, 960, 1, 1, 3},  {7, 960, 160, 1, 1, 2}, {7, 960, 320, 1, 1, 1}, {7, 320, 1280, 1, 1, 1},
                      {1, 1280, 1000, 1, 1, 1}});
  }
  if (only.empty() || only == "depthwise") {
    const std::vector<Layer> layers{{112, 32, 0, 0, 1, 1}, {112, 96, 0, 0, 2, 1}, {56, 144, 0, 0, 1, 1},
                                    {56, 144, 0, 0, 2, 1}, {28, 192, 0, 0, 1, 2}, {28, 192, 0, 0, 2, 1},
                                    {14, 384, 0, 0, 1, 4}, {14, 576, 0, 0, 1, 2}, {14, 576, 0, 0, 2, 1},
                                    {7, 960, 0, 0, 1, 3}};
    run_depthwise("MobileNetV2's depthwise layers", 3, layers);
    run_depthwise("the same with kernels of 5", 5, layers);
  }
  if (only.empty() || only == "resnet") {
    run_convolutions("ResNet18 int8", {{224, 3, 64, 7, 2, 1},
                                       {56, 64, 64, 3, 1, 4},
                                       {56, 64, 128, 3, 2, 1},
                                       {56, 64, 128, 1, 2, 1},
                                       {28, 128, 128, 3, 1, 3},
                                       {28, 128, 256, 3, 2, 1},
                                       {28, 128, 256, 1, 2, 1},
                                       {14, 256, 256, 3, 1, 3},
                                       {14, 256, 512, 3, 2, 1},
                                       {14, 256, 512, 1, 2, 1},
                                       {7, 512, 512, 3, 1, 3},
                                       {1, 512, 1000, 1, 1, 1}});
  }
  if (only.empty() || only == "bert") {
    run_dynamic("BERT-mini, dynamic int8 with int8 weights", QWeightType::kInt8, 0,
                {{128, 256, 256, 16}, {128, 1024, 256, 4}, {128, 256, 1024, 4}, {1, 256, 256, 1}});
  }
  if (only.empty() || only == "packing") run_packing();
  if (only.empty() || only == "int4") {
    run_dynamic("int4 weights by channel", QWeightType::kInt4, 0, {{1, 4096, 4096, 1}, {32, 4096, 4096, 1}});
    run_dynamic("int4 weights in blocks of 32", QWeightType::kInt4, 32, {{1, 4096, 4096, 1}, {32, 4096, 4096, 1}});
    run_dynamic("int4 weights in blocks of 128", QWeightType::kInt4, 128, {{1, 4096, 4096, 1}, {32, 4096, 4096, 1}});
  }
}
