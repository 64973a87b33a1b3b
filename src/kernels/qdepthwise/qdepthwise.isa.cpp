#include "kernels/isa.h"
#include "kernels/qdepthwise/qdepthwise_kernels.h"
