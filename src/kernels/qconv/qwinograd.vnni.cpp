#include "kernels/isa.h"
#include "kernels/qconv/qwinograd_kernels.h"
