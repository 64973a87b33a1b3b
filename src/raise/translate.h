#pragma once

// From ATen operators to nodes of the graph. A translation reads its operands, appends nodes and defines the result; it
// throws where the call is not one it knows, and everything eager would refuse is left to the operator to refuse.

#include <string_view>

#include "raise/call.h"
#include "raise/region_builder.h"
#include "raise/regions.h"

namespace enr::raise {

using Translation = void (*)(RegionBuilder& region, const Call& call);

// Null where the operator has none.
Translation find_translation(std::string_view name) noexcept;

// Throws where the instruction has none, or does not fit.
void translate(RegionBuilder& region, const program::Method& method, Integers& integers,
               const Instruction& instruction);

// Whether the instruction computes a number: a region gains nothing from those alone.
bool computes_number(std::string_view name) noexcept;

// One for each file of translate/: null where the name is of another family.
Translation find_elementwise(std::string_view name) noexcept;
Translation find_convolution(std::string_view name) noexcept;
Translation find_masked_softmax(std::string_view name) noexcept;
Translation find_matmul(std::string_view name) noexcept;
Translation find_movement(std::string_view name) noexcept;
Translation find_norm(std::string_view name) noexcept;
Translation find_numbers(std::string_view name) noexcept;
Translation find_quantized(std::string_view name) noexcept;
Translation find_reduction(std::string_view name) noexcept;
Translation find_spatial(std::string_view name) noexcept;

// The averages of argument 0 over height and width, as the result at argument `out`.
void average_images(RegionBuilder& region, const Call& call, size_t out, bool keeps_dims);

struct NamedTranslation {
  std::string_view name;
  Translation translation;
};
template <size_t kCount>
Translation find_in(const NamedTranslation (&rows)[kCount], std::string_view name) noexcept {
  for (const NamedTranslation& row : rows) {
    if (row.name == name) return row.translation;
  }
  return nullptr;
}

}  // namespace enr::raise
