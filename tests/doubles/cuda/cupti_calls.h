// What the double of libcupti produces for the driver's calls: enter and exit callbacks, correlation IDs, records of
// calls and of the operations that they submitted.
#ifndef TESTS_DOUBLES_CUDA_CUPTI_CALLS_H
#define TESTS_DOUBLES_CUDA_CUPTI_CALLS_H

#include "tests/doubles/cuda/seam.h"

extern const struct double_tracer calls_tracer;

#endif
