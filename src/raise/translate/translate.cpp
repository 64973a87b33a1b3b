#include "raise/translate.h"

#include "base/error.h"

namespace enr::raise {

Translation find_translation(std::string_view name) noexcept {
  for (const auto find : {find_elementwise, find_convolution, find_masked_softmax, find_matmul, find_movement,
                          find_norm, find_numbers, find_quantized, find_reduction, find_spatial}) {
    if (const Translation translation = find(name)) return translation;
  }
  return nullptr;
}

void translate(RegionBuilder& region, const program::Method& method, Integers& integers,
               const Instruction& instruction) {
  if (instruction.delegate != nullptr) return region.append(*instruction.delegate, instruction.delegate_args);
  const Translation translation = find_translation(instruction.op);
  if (translation == nullptr) fail_execution(instruction.op, ": has no translation");
  translation(region, Call(method, integers, instruction.op, instruction.args));
}

}  // namespace enr::raise
