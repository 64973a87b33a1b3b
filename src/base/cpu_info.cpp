#include "base/cpu_info.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.h"

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace enr {

std::string_view isa_name(Isa isa) noexcept {
  switch (isa) {
    case Isa::kBaseline:
      return "baseline";
    case Isa::kX86Avx2:
      return "x86_avx2";
    case Isa::kX86AvxVnni:
      return "x86_avxvnni";
    case Isa::kX86Avx512:
      return "x86_avx512";
    case Isa::kX86Avx512Vnni:
      return "x86_avx512vnni";
    case Isa::kX86Amx:
      return "x86_amx";
    case Isa::kArm64DotProd:
      return "arm64_dotprod";
  }
  return "unknown";
}

namespace {

#if defined(__x86_64__) && !defined(ENR_BASELINE_ONLY)
// gcc before 13 has no name for AVX-VNNI in __builtin_cpu_supports: leaf 7, subleaf 1, EAX bit 4.
bool has_avx_vnni() {
  unsigned a = 7, b = 0, c = 1, d = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (a & (1u << 4)) != 0;
}

// Products of tiles of 8-bit integers. Linux saves tile registers only for processes that asked for them.
bool may_use_amx() {
#if defined(__linux__)
  unsigned a = 7, b = 0, c = 0, d = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  constexpr unsigned kTiles = 1u << 24, kInt8 = 1u << 25;
  if ((d & kTiles) == 0 || (d & kInt8) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#endif

std::vector<Isa> detect() {
  std::vector<Isa> isas{Isa::kBaseline};
#if defined(ENR_BASELINE_ONLY)
  return isas;
#elif defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (!avx2) return isas;
  isas.push_back(Isa::kX86Avx2);
  if (has_avx_vnni()) isas.push_back(Isa::kX86AvxVnni);
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!avx512) return isas;
  isas.push_back(Isa::kX86Avx512);
  if (!__builtin_cpu_supports("avx512vnni")) return isas;
  isas.push_back(Isa::kX86Avx512Vnni);
  if (may_use_amx()) isas.push_back(Isa::kX86Amx);
#elif defined(__aarch64__) && defined(__linux__)
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) isas.push_back(Isa::kArm64DotProd);
#endif
  return isas;
}

Isa choose() {
  const std::vector<Isa>& isas = available_isas();
  const char* forced = std::getenv("ENR_ISA");
  if (forced == nullptr || *forced == '\0') return isas.back();
  std::string names;
  for (const Isa isa : isas) {
    if (isa_name(isa) == forced) return isa;
    names += (names.empty() ? "" : ", ") + std::string(isa_name(isa));
  }
  fail_execution("ENR_ISA=", forced, ": this machine and build have ", names);
}

#if defined(__linux__)
// CPU quota of the process's cgroup in processors, or 0 where none is set; both cgroup versions, as mounted in
// containers.
double cgroup_quota() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::strtod(quota.c_str(), nullptr) / period;
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double limit = 0;
  if (v1_quota >> limit && v1_period >> period && limit > 0 && period > 0) return limit / period;
  return 0;
}
#endif

}  // namespace

const std::vector<Isa>& available_isas() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

Isa active_isa() {
  static const Isa isa = choose();
  return isa;
}

bool is_amd() noexcept {
#if defined(__x86_64__)
  static const bool is_amd = (__builtin_cpu_init(), __builtin_cpu_is("amd") != 0);
  return is_amd;
#else
  return false;
#endif
}

size_t usable_processors() {
  size_t count = std::max(1u, std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = static_cast<size_t>(std::max(1, CPU_COUNT(&set)));
  const double quota = cgroup_quota();
  if (quota > 0) count = std::min(count, static_cast<size_t>(std::max(1.0, std::ceil(quota))));
#endif
  return count;
}

}  // namespace enr
