// Kernels that a job has as text. The double reads from the text how long a kernel runs, where the text compares a time
// with a number (tests/targets/cuda_on_gpu.py). Without such a number the kernel never ends. Also host memory that a
// GPU could see.
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/cuda/seam.h"

static const uint64_t kForever = 1000000000000;  // ns

extern const struct double_kernel* double_kernel(const char* name, uint64_t duration);

DOUBLE_EXPORT int32_t cudaLibraryLoadData(char** library, const char* code, void* options, void* values, unsigned count,
                                          void* library_options, void* library_values, unsigned library_count) {
  (void)options, (void)values, (void)count, (void)library_options, (void)library_values, (void)library_count;
  *library = strdup(code);
  return 0;
}

DOUBLE_EXPORT int32_t cudaLibraryGetKernel(const struct double_kernel** kernel, const char* library, const char* name) {
  static const char kCompares[] = "setp.lt.u64 %goes_on, %since, ";
  const char* number = strstr(library, kCompares);
  *kernel = double_kernel(name, number ? strtoull(number + strlen(kCompares), NULL, 10) : kForever);
  return 0;
}

DOUBLE_EXPORT int32_t cudaHostAlloc(void** memory, size_t bytes, unsigned flags) {
  (void)flags;
  *memory = calloc(1, bytes);
  return *memory ? 0 : 2;
}
