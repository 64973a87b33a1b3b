#pragma once

// A compiled graph runs as a flat list of steps: kernels with everything bound but the addresses.

#include <cstddef>
#include <cstdint>
#include <string>

#include "graph/shape.h"

namespace enr::graph {

// Where operands are during one run: an address for each value and each step's scratch.
struct Frame {
  std::byte* const* pointers;

  template <class T>
  const T* in(uint32_t operand) const noexcept {
    return reinterpret_cast<const T*>(pointers[operand]);
  }
  template <class T>
  T* out(uint32_t operand) const noexcept {
    return reinterpret_cast<T*>(pointers[operand]);
  }
};

class Step {
 public:
  virtual ~Step() = default;
  // Thread-safe: everything that changes is reached through the frame.
  virtual void run(const Frame& frame) const noexcept = 0;

  // For profiles: the node this came from, the kernel chosen, the work.
  std::string name;
  uint32_t origin = 0;
  Shape shape;            // of the result
  double operations = 0;  // additions and multiplications
};

}  // namespace enr::graph
