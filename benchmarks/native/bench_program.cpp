// Time of a whole program on random inputs, and where it goes.
//   bench_program FILE.pte [METHOD] [--threads N] [--seconds S] [--profile]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/cpu_info.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "executor/method.h"
#include "executor/program.h"

namespace {

using namespace enr;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Options {
  std::string path, method;
  size_t threads = 0;
  double seconds = 2.0;
  bool profile = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc) {
      options.threads = std::strtoul(argv[++i], nullptr, 10);
    } else if (argument == "--seconds" && i + 1 < argc) {
      options.seconds = std::strtod(argv[++i], nullptr);
    } else if (argument == "--profile") {
      options.profile = true;
    } else {
      (options.path.empty() ? options.path : options.method) = argument;
    }
  }
  return options;
}

// Steps and operators in the order they ran; delegates as wholes are left out where their steps are listed.
struct Profile : TraceSink {
  struct Row {
    std::string name, detail;
    double total_ms = 0;
    size_t calls = 0;
  };
  std::vector<Row> rows;
  size_t next = 0;

  void record(const TraceEvent& event) override {
    if (event.kind == "delegate") return;
    if (next == rows.size()) rows.push_back({std::string(event.name), event.detail, 0, 0});
    Row& row = rows[next++];
    row.total_ms += static_cast<double>(event.duration_ns) * 1e-6;
    ++row.calls;
  }

  void print() const {
    std::map<std::string, std::pair<double, size_t>> by_name;
    double sum = 0;
    for (const Row& row : rows) {
      const double ms = row.total_ms / static_cast<double>(row.calls);
      std::printf("%9.4f ms  %-18s %s\n", ms, row.name.c_str(), row.detail.c_str());
      by_name[row.name].first += ms;
      ++by_name[row.name].second;
      sum += ms;
    }
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [name, total] : by_name) {
      sorted.emplace_back(total.first, name + " x" + std::to_string(total.second));
    }
    std::sort(sorted.rbegin(), sorted.rend());
    std::printf("--- by kind\n");
    for (const auto& [ms, name] : sorted) std::printf("%9.4f ms %5.1f%%  %s\n", ms, 100 * ms / sum, name.c_str());
    std::printf("%9.4f ms in all\n", sum);
  }
};

// Random contents for the bounds of a method's inputs.
struct Inputs {
  std::vector<std::vector<std::byte>> storage;
  std::vector<std::vector<int64_t>> strides;
  std::vector<executor::Input> inputs;

  explicit Inputs(const executor::MethodSpec& spec) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    storage.reserve(spec.inputs.size());
    strides.reserve(spec.inputs.size());
    for (const executor::ValueSpec& value : spec.inputs) {
      if (value.kind != executor::ValueKind::kTensor) {
        std::visit(
            [&](const auto& traced) {
              if constexpr (std::is_same_v<std::decay_t<decltype(traced)>, std::string>) {
                inputs.emplace_back(std::string_view(traced));
              } else {
                inputs.emplace_back(traced);
              }
            },
            value.traced);
        continue;
      }
      storage.emplace_back(value.size_bytes + 64);
      if (value.dtype == DType::kFloat32) {
        auto* floats = reinterpret_cast<float*>(storage.back().data());
        for (size_t i = 0; i < value.size_bytes / 4; ++i) floats[i] = normal(random);
      }
      strides.emplace_back(value.sizes.size());
      int64_t stride = static_cast<int64_t>(dtype_size(value.dtype));
      for (size_t d = value.sizes.size(); d-- > 0;) {
        strides.back()[d] = stride;
        stride *= value.sizes[d];
      }
      inputs.emplace_back(executor::TensorInput{storage.back().data(), value.dtype, value.sizes.size(),
                                                value.sizes.data(), strides.back().data()});
    }
  }
};

void bench(const Options& options) {
  if (options.threads != 0) set_num_threads(options.threads);
  const auto start = Clock::now();
  const auto program = executor::Program::load(program::FileData::open(options.path), {});
  const auto method = program->load_method(options.method.empty() ? program->method_names().front() : options.method);
  const double load_ms = milliseconds_since(start);
  const Inputs inputs(method->spec());
  const auto call = [&](TraceSink* trace = nullptr) {
    const auto begin = Clock::now();
    method->run(inputs.inputs, [](std::span<const Value* const>) {}, {}, trace);
    return milliseconds_since(begin);
  };
  const double first_ms = call();
  std::vector<double> times;
  for (const auto begin = Clock::now(); milliseconds_since(begin) < 1000 * options.seconds || times.size() < 3;) {
    times.push_back(call());
  }
  std::sort(times.begin(), times.end());
  const executor::MemoryReport memory = method->memory();
  std::printf(
      "%s %s threads %zu: median %.4f ms, min %.4f ms; load %.2f ms, first %.2f ms; packed %.2f MB, workspace %.2f "
      "MB\n",
      options.path.substr(options.path.rfind('/') + 1).c_str(), std::string(isa_name(active_isa())).c_str(),
      num_threads(), times[times.size() / 2], times.front(), load_ms, first_ms,
      static_cast<double>(memory.packed_bytes) * 1e-6, static_cast<double>(memory.workspace_bytes) * 1e-6);
  if (!options.profile) return;
  Profile profile;
  for (int i = 0; i < 20; ++i) {
    profile.next = 0;
    call(&profile);
  }
  profile.print();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.path.empty()) {
    std::fprintf(stderr, "usage: bench_program FILE.pte [METHOD] [--threads N] [--seconds S] [--profile]\n");
    return 2;
  }
  try {
    bench(options);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
