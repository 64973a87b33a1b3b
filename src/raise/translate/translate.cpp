#include "raise/translate.h"

namespace enr::raise {

Translation find_translation(std::string_view name) noexcept {
  for (const auto find :
       {find_elementwise, find_convolution, find_masked_softmax, find_matmul, find_movement, find_norm, find_spatial}) {
    if (const Translation translation = find(name)) return translation;
  }
  return nullptr;
}

}  // namespace enr::raise
