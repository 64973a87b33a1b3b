#pragma once

// How a kernel family is compiled for several instruction sets and picked at start-up.
//
// A family has a header FAMILY.h with a plain struct of function pointers (its table), e.g. `struct UnaryKernels`, and
// `const UnaryKernels& unary_kernels();`. FAMILY.isa.cpp defines, inside `namespace enr::kernels::ENR_ISA`, a function
// of the same name that returns the table of that instruction set; it is compiled once for each. FAMILY.cpp says
// `ENR_SELECT_ISA(UnaryKernels, unary_kernels)` to define the public function, which picks once.
//
// Code inside NAME.isa.cpp includes only kernels/simd/, its family's headers and C headers: an inline function of a C++
// library header compiled with AVX could be the copy the linker keeps for everybody.

#if defined(ENR_ISA)

namespace enr::kernels::ENR_ISA {}

#else

#include "base/cpu_info.h"

#if defined(__x86_64__) && !defined(ENR_BASELINE_ONLY)
#define ENR_DECLARE_ISAS(Table, function) \
  namespace baseline {                    \
  const Table& function();                \
  }                                       \
  namespace x86_avx2 {                    \
  const Table& function();                \
  }                                       \
  namespace x86_avx512 {                  \
  const Table& function();                \
  }
#define ENR_PICK_ISA(function)                                            \
  (::enr::active_isa() >= ::enr::Isa::kX86Avx512 ? x86_avx512::function() \
   : ::enr::active_isa() >= ::enr::Isa::kX86Avx2 ? x86_avx2::function()   \
                                                 : baseline::function())
#else
#define ENR_DECLARE_ISAS(Table, function) \
  namespace baseline {                    \
  const Table& function();                \
  }
#define ENR_PICK_ISA(function) (baseline::function())
#endif

// The same for a family that also has FAMILY.vnni.cpp, compiled for the instruction sets with 8-bit dot products.
#if defined(__x86_64__) && !defined(ENR_BASELINE_ONLY)
#define ENR_DECLARE_VNNI_ISAS(Table, function) \
  ENR_DECLARE_ISAS(Table, function)            \
  namespace x86_avxvnni {                      \
  const Table& function();                     \
  }                                            \
  namespace x86_avx512vnni {                   \
  const Table& function();                     \
  }                                            \
  namespace x86_amx {                          \
  const Table& function();                     \
  }
#define ENR_PICK_VNNI_ISA(function)                                                 \
  (::enr::active_isa() == ::enr::Isa::kX86Amx          ? x86_amx::function()        \
   : ::enr::active_isa() == ::enr::Isa::kX86Avx512Vnni ? x86_avx512vnni::function() \
   : ::enr::active_isa() == ::enr::Isa::kX86AvxVnni    ? x86_avxvnni::function()    \
                                                       : ENR_PICK_ISA(function))
#elif defined(__aarch64__) && !defined(ENR_BASELINE_ONLY)
#define ENR_DECLARE_VNNI_ISAS(Table, function) \
  ENR_DECLARE_ISAS(Table, function)            \
  namespace arm64_dotprod {                    \
  const Table& function();                     \
  }
#define ENR_PICK_VNNI_ISA(function) \
  (::enr::active_isa() == ::enr::Isa::kArm64DotProd ? arm64_dotprod::function() : ENR_PICK_ISA(function))
#else
#define ENR_DECLARE_VNNI_ISAS(Table, function) ENR_DECLARE_ISAS(Table, function)
#define ENR_PICK_VNNI_ISA(function) ENR_PICK_ISA(function)
#endif

// To be used inside namespace enr::kernels.
#define ENR_SELECT_ISA(Table, function)                  \
  ENR_DECLARE_ISAS(Table, function)                      \
  const Table& function() {                              \
    static const Table& chosen = ENR_PICK_ISA(function); \
    return chosen;                                       \
  }

#define ENR_SELECT_VNNI_ISA(Table, function)                  \
  ENR_DECLARE_VNNI_ISAS(Table, function)                      \
  const Table& function() {                                   \
    static const Table& chosen = ENR_PICK_VNNI_ISA(function); \
    return chosen;                                            \
  }

#endif
