#include "kernels/isa.h"
#include "kernels/qgemm/qtile_table.h"
