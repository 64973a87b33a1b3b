#pragma once

// Where a run reports what it did. Null by default: a run without a sink pays one branch an instruction.

#include <cstdint>
#include <string>
#include <string_view>

namespace enr {

struct TraceEvent {
  std::string_view kind;     // "operator", "delegate", "region" (of operators) or "step" (inside the last two)
  std::string_view name;     // "aten::add.out", "XnnpackBackend", "conv2d 3x3"
  int64_t instruction = -1;  // index in the method
  uint64_t start_ns = 0;     // steady clock
  uint64_t duration_ns = 0;
  std::string detail;  // shapes, kernel chosen
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const TraceEvent& event) = 0;
};

}  // namespace enr
