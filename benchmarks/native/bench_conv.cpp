// Times the convolutions of real models, on one thread and on all.
//   ENR_ISA=x86_avx2 bench_conv [part of a model's name [chosen | gemm | winograd2 | winograd3 | winograd4 | half
//   [cold]]]
// cold: every run has weights that are in no cache, as in a model whose weights are more than the caches hold.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "base/aligned_buffer.h"
#include "base/mapped_pages.h"
#include "base/thread_pool.h"
#include "fma_peak.h"
#include "kernels/conv/conv.h"

namespace {

using namespace enr;
using namespace enr::kernels;

struct Layer {
  const char* model;
  size_t size, inputs, outputs, kernel, stride, repeats;
};

constexpr Layer kLayers[] = {
    {"resnet18", 224, 3, 64, 7, 2, 1},    {"resnet18", 56, 64, 64, 3, 1, 4},   {"resnet18", 56, 64, 128, 3, 2, 1},
    {"resnet18", 56, 64, 128, 1, 2, 1},   {"resnet18", 28, 128, 128, 3, 1, 3}, {"resnet18", 28, 128, 256, 3, 2, 1},
    {"resnet18", 28, 128, 256, 1, 2, 1},  {"resnet18", 14, 256, 256, 3, 1, 3}, {"resnet18", 14, 256, 512, 3, 2, 1},
    {"resnet18", 14, 256, 512, 1, 2, 1},  {"resnet18", 7, 512, 512, 3, 1, 3},  {"mobilenet_v2", 224, 3, 32, 3, 2, 1},
    {"vit_tiny", 224, 3, 192, 16, 16, 1}, {"unet", 128, 3, 16, 3, 1, 1},       {"unet", 128, 16, 16, 3, 1, 1},
    {"unet", 64, 16, 32, 3, 1, 1},        {"unet", 64, 32, 32, 3, 1, 1},       {"unet", 32, 32, 64, 3, 1, 1},
    {"unet", 32, 64, 64, 3, 1, 1},        {"unet", 16, 64, 128, 3, 1, 1},      {"unet", 16, 128, 128, 3, 1, 1},
    {"unet", 32, 128, 64, 3, 1, 1},       {"unet", 64, 64, 32, 3, 1, 1},       {"unet", 128, 32, 16, 3, 1, 1},
};

double time_layer(const Layer& l, std::optional<ConvWeights> format, bool is_cold, const char*& chosen) {
  ConvShape s;
  s.input_height = s.input_width = l.size;
  s.input_channels = l.inputs;
  s.output_channels = l.outputs;
  s.kernel_height = s.kernel_width = l.kernel;
  s.stride_height = s.stride_width = l.stride;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = l.stride < l.kernel ? l.kernel / 2 : 0;
  const ConvPlan plan(s, format);
  const char* const names[] = {"gemm", "winograd2", "winograd3", "winograd4", "half"};
  chosen = names[static_cast<size_t>(plan.weights_format())];
  const size_t in_floats = l.size * l.size * l.inputs, weight_floats = l.outputs * l.kernel * l.kernel * l.inputs;
  AlignedBuffer in(in_floats * sizeof(float)), weights(weight_floats * sizeof(float));
  AlignedBuffer out(s.output_height() * s.output_width() * l.outputs * sizeof(float));
  const size_t copies = is_cold ? 1 + (size_t{128} << 20) / plan.packed_bytes() : 1;
  const size_t step = (plan.packed_bytes() + 63) / 64 * 64;
  AlignedBuffer packed(copies * step), workspace(plan.workspace_bytes());
  prefer_large_pages(packed.data(), packed.size_bytes());
  std::fill_n(in.as<float>(), in_floats, 0.5f);
  std::fill_n(weights.as<float>(), weight_floats, 0.01f);
  for (size_t i = 0; i < copies; ++i) plan.pack(weights.as<float>(), nullptr, packed.data() + i * step);
  size_t run = 0;
  GemmEpilogue epilogue;
  epilogue.min = 0.0f;
  return bench::median_seconds([&] {
    plan.run(in.as<float>(), packed.data() + run++ % copies * step, out.as<float>(), epilogue, workspace.data());
  });
}

}  // namespace

int main(int argc, char** argv) {
  const size_t all = num_threads();
  set_num_threads(1);
  const double peak = bench::fma_peak_gflops();
  std::optional<ConvWeights> format;
  const std::string wanted = argc > 2 ? argv[2] : "chosen";
  if (wanted == "gemm") format = ConvWeights::kGemm;
  if (wanted == "winograd2") format = ConvWeights::kWinograd2;
  if (wanted == "winograd3") format = ConvWeights::kWinograd3;
  if (wanted == "winograd4") format = ConvWeights::kWinograd4;
  if (wanted == "half") format = ConvWeights::kWinogradHalf;
  const bool is_cold = argc > 3;
  std::printf("isa %s, peak of a core %.1f GFLOP/s\n%13s %20s %10s | %9s %8s %6s | %9s %6s (%zu threads)\n",
              std::string(isa_name(active_isa())).c_str(), peak, "model", "layer", "weights", "us", "GFLOP/s", "peak",
              "us", "peak", all);
  double total_flop = 0, total_one = 0, total_all = 0;
  const auto print = [&](const char* name, const char* layer, const char* weights, double flop, double one,
                         double many) {
    std::printf("%13s %20s %10s | %9.1f %8.1f %5.1f%% | %9.1f %5.1f%%\n", name, layer, weights, one * 1e6,
                flop / one * 1e-9, flop / one * 1e-7 / peak, many * 1e6,
                flop / many * 1e-7 / peak / static_cast<double>(all));
  };
  const char* model = "";
  for (const Layer& l : kLayers) {
    if (argc > 1 && std::strstr(l.model, argv[1]) == nullptr) continue;
    if (std::strcmp(model, l.model) != 0) {
      if (total_flop != 0) print(model, "all", "", total_flop, total_one, total_all);
      total_flop = total_one = total_all = 0;
      model = l.model;
    }
    const bool is_stem = l.kernel == 7 && l.stride == 2, suits = (format == ConvWeights::kWinograd3) == is_stem;
    const bool can_choose = format == ConvWeights::kGemm || (suits && (is_stem || (l.kernel == 3 && l.stride == 1)));
    const char* chosen = "";
    set_num_threads(1);
    const double one = time_layer(l, can_choose ? format : std::nullopt, is_cold, chosen);
    set_num_threads(all);
    const double many = time_layer(l, can_choose ? format : std::nullopt, is_cold, chosen);
    const size_t out = l.stride < l.kernel ? (l.size - 1) / l.stride + 1 : (l.size - l.kernel) / l.stride + 1;
    const double flop = 2.0 * static_cast<double>(out * out * l.outputs * l.inputs * l.kernel * l.kernel);
    char layer[40];
    std::snprintf(layer, sizeof layer, "%zu,%zu->%zu,%zux%zu/%zu", l.size, l.inputs, l.outputs, l.kernel, l.kernel,
                  l.stride);
    print(l.model, layer, chosen, flop, one, many);
    total_flop += flop * static_cast<double>(l.repeats);
    total_one += one * static_cast<double>(l.repeats);
    total_all += many * static_cast<double>(l.repeats);
  }
  if (total_flop != 0) print(model, "all", "", total_flop, total_one, total_all);
  return 0;
}
