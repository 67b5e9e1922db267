// What the driver's double tells: enter and exit callbacks, correlation IDs, records of calls and of what they
// submitted.
#ifndef TESTS_DOUBLES_CUDA_CUPTI_CALLS_H
#define TESTS_DOUBLES_CUDA_CUPTI_CALLS_H

#include "tests/doubles/cuda/seam.h"

extern const struct double_tracer calls_tracer;

#endif
