// Times the products of real models, on one thread and on all.
//   ENR_ISA=x86_avx2 bench_gemm [part of a layer's name]

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "fma_peak.h"
#include "kernels/gemm/gemm.h"

namespace {

using namespace enr;
using namespace enr::kernels;

struct Layer {
  const char* model;
  size_t m, n, k, repeats;
};

constexpr Layer kLayers[] = {
    {"mobilenet_v2", 12544, 16, 32, 1}, {"mobilenet_v2", 12544, 96, 16, 1}, {"mobilenet_v2", 3136, 24, 96, 1},
    {"mobilenet_v2", 3136, 144, 24, 2}, {"mobilenet_v2", 3136, 24, 144, 1}, {"mobilenet_v2", 784, 32, 144, 1},
    {"mobilenet_v2", 784, 192, 32, 3},  {"mobilenet_v2", 784, 32, 192, 2},  {"mobilenet_v2", 196, 64, 192, 1},
    {"mobilenet_v2", 196, 384, 64, 4},  {"mobilenet_v2", 196, 64, 384, 3},  {"mobilenet_v2", 196, 96, 384, 1},
    {"mobilenet_v2", 196, 576, 96, 3},  {"mobilenet_v2", 196, 96, 576, 2},  {"mobilenet_v2", 49, 160, 576, 1},
    {"mobilenet_v2", 49, 960, 160, 3},  {"mobilenet_v2", 49, 160, 960, 2},  {"mobilenet_v2", 49, 320, 960, 1},
    {"mobilenet_v2", 49, 1280, 320, 1}, {"mobilenet_v2", 1, 1000, 1280, 1}, {"vit_tiny", 197, 576, 192, 12},
    {"vit_tiny", 197, 192, 192, 12},    {"vit_tiny", 197, 768, 192, 12},    {"vit_tiny", 197, 192, 768, 12},
    {"vit_tiny", 196, 192, 768, 1},     {"bert_mini", 128, 256, 256, 16},   {"bert_mini", 128, 1024, 256, 4},
    {"bert_mini", 128, 256, 1024, 4},   {"square", 1024, 1024, 1024, 1},    {"square", 512, 512, 4096, 1},
    {"gemv", 1, 4096, 4096, 1},         {"gemv", 1, 1000, 512, 1},          {"gemv", 2, 4096, 4096, 1},
    {"gemv", 8, 4096, 4096, 1},         {"gemv", 14, 4096, 4096, 1},        {"gemv", 4, 4096, 4096, 1},
};

double time_layer(const Layer& l) {
  AlignedBuffer packed(gemm_packed_bytes(l.n, l.k));
  const std::vector<float> weights(l.n * l.k, 0.01f), bias(l.n, 0.5f);
  AlignedBuffer a(l.m * l.k * sizeof(float)), c(l.m * l.n * sizeof(float));
  std::fill_n(a.as<float>(), l.m * l.k, 1.0f);
  gemm_pack(WeightLayout::kOutputMajor, l.n, l.k, weights.data(), l.k, bias.data(), packed.data());
  GemmEpilogue epilogue;
  epilogue.min = 0.0f;
  epilogue.max = 6.0f;
  return bench::median_seconds(
      [&] { gemm(l.m, l.n, l.k, a.as<float>(), l.k, packed.data(), c.as<float>(), l.n, epilogue); });
}

double time_attention(size_t heads, size_t length, size_t depth, bool scores) {
  const std::vector<float> q(length * heads * depth, 1.0f), k(length * heads * depth, 1.0f);
  std::vector<float> s(heads * length * length, 0.01f), out(length * heads * depth);
  BatchMatmul call;
  call.batch_inner = heads;
  call.m = length;
  call.n = scores ? length : depth;
  call.k = scores ? depth : length;
  call.b_transposed = scores;
  call.a = scores ? q.data() : s.data();
  call.a_stride = scores ? heads * depth : length;
  call.a_inner_stride = scores ? depth : length * length;
  call.b = k.data();
  call.b_stride = heads * depth;
  call.b_inner_stride = depth;
  call.c = scores ? s.data() : out.data();
  call.c_stride = scores ? length : heads * depth;
  call.c_inner_stride = scores ? length * length : depth;
  call.alpha = 0.125f;
  AlignedBuffer workspace(batch_matmul_workspace_bytes(heads, call.m, call.n, call.k));
  return bench::median_seconds([&] { batch_matmul(call, workspace.data()); });
}

}  // namespace

int main(int argc, char** argv) {
  const size_t all = num_threads();
  set_num_threads(1);
  const double peak = bench::fma_peak_gflops();
  std::printf("isa %s, peak of a core %.1f GFLOP/s\n%13s %18s | %9s %8s %6s | %9s %6s (%zu threads)\n",
              std::string(isa_name(active_isa())).c_str(), peak, "model", "m,n,k", "us", "GFLOP/s", "peak", "us",
              "peak", all);
  double total_flop = 0, total_one = 0, total_all = 0;
  const char* model = "";
  const auto print_total = [&] {
    if (total_flop == 0) return;
    std::printf("%13s %18s | %9.1f %8.1f %5.1f%% | %9.1f %5.1f%%\n", model, "all", total_one * 1e6,
                total_flop / total_one * 1e-9, total_flop / total_one * 1e-7 / peak, total_all * 1e6,
                total_flop / total_all * 1e-7 / peak / static_cast<double>(all));
    total_flop = total_one = total_all = 0;
  };
  const auto print = [&](const char* name, size_t m, size_t n, size_t k, size_t repeats, double flop, auto&& time) {
    if (argc > 1 && std::strstr(name, argv[1]) == nullptr) return;
    if (std::strcmp(model, name) != 0) print_total();
    model = name;
    set_num_threads(1);
    const double one = time();
    set_num_threads(all);
    const double many = time();
    char sizes[32];
    std::snprintf(sizes, sizeof sizes, "%zu,%zu,%zu", m, n, k);
    std::printf("%13s %18s | %9.1f %8.1f %5.1f%% | %9.1f %5.1f%%\n", name, sizes, one * 1e6, flop / one * 1e-9,
                flop / one * 1e-7 / peak, many * 1e6, flop / many * 1e-7 / peak / static_cast<double>(all));
    total_flop += flop * static_cast<double>(repeats);
    total_one += one * static_cast<double>(repeats);
    total_all += many * static_cast<double>(repeats);
  };
  for (const Layer& l : kLayers) {
    print(l.model, l.m, l.n, l.k, l.repeats, 2.0 * static_cast<double>(l.m * l.n * l.k), [&] { return time_layer(l); });
  }
  print("vit scores", 197, 197, 64, 12, 2.0 * 3 * 197 * 197 * 64, [] { return time_attention(3, 197, 64, true); });
  print("vit context", 197, 64, 197, 12, 2.0 * 3 * 197 * 197 * 64, [] { return time_attention(3, 197, 64, false); });
  print_total();
  return 0;
}
