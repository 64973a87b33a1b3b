#include "executor/overlaps.h"

#include <algorithm>

#include "base/error.h"

namespace enr::executor {

namespace {

bool overlap(const Tensor& written, const Tensor& other) {
  // What is written may grow up to what is planned for it.
  const std::byte* end = written.data + std::max(written.capacity_bytes, written.size_bytes());
  return written.data != nullptr && other.data != nullptr && written.data < other.data + other.size_bytes() &&
         other.data < end;
}

}  // namespace

std::vector<plan::OverlappedRead> find_overlapped_reads(const plan::MethodPlan& plan,
                                                        const plan::Instruction& instruction,
                                                        std::span<const plan::TensorUse> uses,
                                                        std::span<const Value> values) {
  std::vector<plan::OverlappedRead> reads;
  for (const plan::TensorUse& written : uses) {
    if (!written.is_written) continue;
    const auto* to = values[written.value].get<Tensor>();
    for (const plan::TensorUse& use : uses) {
      const auto* from = values[use.value].get<Tensor>();
      if (&use == &written || to == nullptr || from == nullptr || !overlap(*to, *from)) continue;
      if (use.is_written || (use.is_item && use.value == written.value)) {
        fail_execution(plan.argument_name(instruction, written.argument), " is written where ",
                       plan.argument_name(instruction, use.argument), " lies as well");
      }
      plan::OverlappedRead read{use.value, std::nullopt};
      if (use.value == written.value) read.own_argument = use.argument;
      const auto is_same = [&](const plan::OverlappedRead& other) {
        return other.value == read.value && other.own_argument == read.own_argument;
      };
      if (std::none_of(reads.begin(), reads.end(), is_same)) reads.push_back(read);
    }
  }
  return reads;
}

}  // namespace enr::executor
