#include "ops/families.h"

namespace enr {

const OperatorTable& operator_table() {
  static const OperatorTable table = [] {
    OperatorTable built;
    ops::register_prim(built);
    return built;
  }();
  return table;
}

}  // namespace enr
