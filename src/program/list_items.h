#pragma once

// What an argument of an instruction stands for: itself, or the items of a list of tensors.

#include <cstddef>
#include <cstdint>

#include "program/program.h"

namespace enr::program {

// Calls visit(value) for each item of a list of tensors (but those that are None), or for the value itself.
template <class Visit>
void for_each_item(const Method& method, uint32_t value, const Visit& visit) {
  if (const auto* list = std::get_if<TensorList>(&method.values[value])) {
    for (const uint32_t item : list->items) visit(item);
  } else if (const auto* optional = std::get_if<OptionalTensorList>(&method.values[value])) {
    for (const uint32_t item : optional->items) {
      if (item != OptionalTensorList::kNone) visit(item);
    }
  } else {
    visit(value);
  }
}

// The most items that is for.
inline size_t count_items(const Method& method, uint32_t value) {
  if (const auto* list = std::get_if<TensorList>(&method.values[value])) return list->items.size();
  if (const auto* optional = std::get_if<OptionalTensorList>(&method.values[value])) return optional->items.size();
  return 1;
}

}  // namespace enr::program
