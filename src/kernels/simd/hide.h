#pragma once

// Values the compiler is to know nothing about: it neither derives others from them ahead of a loop, nor loads them
// again for every use, nor reorders what they are added up from. Any of these can take more registers than there are.

#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

// An integer or a pointer.
template <class T>
ENR_INLINE void hide(T& value) {
  __asm__("" : "+r"(value));
}

template <class V>
ENR_INLINE void hide_vector(V& value) {
#if defined(__x86_64__)
  __asm__("" : "+v"(value));
#elif defined(__aarch64__)
  __asm__("" : "+w"(value));
#else
  (void)value;
#endif
}
ENR_INLINE void hide(F32& value) { hide_vector(value); }

}  // namespace enr::kernels::ENR_ISA
