// The backend without a GPU: it has no records and never fails.
#include "attach/target/gpu/gpu_shim.h"

static pp_gpu_report fine(void) { return (pp_gpu_report){PP_GPU_ERROR_NONE, PP_GPU_STEP_NONE, 0}; }
static void flush(void) { __atomic_add_fetch(&pp_gpu.arena->flushes, 1, __ATOMIC_RELAXED); }
static uint32_t detach(void) { return PP_GPU_LEFT_UNTOUCHED; }
static uint32_t clock_of_records(void) { return PP_GPU_TIME_MONOTONIC; }
static uint64_t read_clock(void) { return pp_gpu_now(PP_MONOTONIC); }
static void forget(void) {}

const pp_gpu_backend pp_gpu_null_backend = {
    PP_GPU_BACKEND_NULL, fine, fine, flush, detach, clock_of_records, read_clock, forget,
};
