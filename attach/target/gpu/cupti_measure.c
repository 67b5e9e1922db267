// Measures the size of CUPTI's records: its own iterator returns it, on made-up bytes, once for each kind.
#include "attach/target/gpu/cupti_library.h"

enum { PP_PROBE_BYTES = 4096 };

static int measure(uint32_t kind) {
  uint32_t words[PP_PROBE_BYTES / sizeof(uint32_t)] __attribute__((aligned(16)));
  for (unsigned i = 0; i < sizeof words / sizeof *words; ++i) words[i] = kind;
  uint8_t *bytes = (uint8_t*)words, *first = 0, *second = 0;
  pp_gpu.arena->strides[kind] = 0;
  const int result =
      PP_CUPTI_CALL(PP_GPU_STEP_STRIDES, pp_cupti.cuptiActivityGetNextRecord(bytes, sizeof words, &first));
  if (result) return result;
  second = first;
  if (PP_CUPTI_CALL(PP_GPU_STEP_STRIDES, pp_cupti.cuptiActivityGetNextRecord(bytes, sizeof words, &second))) return 0;
  if (second > first && second - first < PP_PROBE_BYTES) pp_gpu.arena->strides[kind] = (uint16_t)(second - first);
  return 0;
}

// Without the size of kernel records nothing can be read.
int pp_cupti_measure_all(void) {
  int result = 0;
  for (uint32_t kind = 1; kind < PP_GPU_KINDS; ++kind) {
    const int failure = measure(kind);
    result = failure ? failure : result;
  }
  return pp_gpu.arena->strides[PP_CUPTI_KIND_CONCURRENT_KERNEL] ? PP_CUPTI_SUCCESS : result;
}
