#include "attach/target/gpu/gpu_shim.h"

typedef struct pp_time {
  int64_t seconds, nanos;
} pp_time;

uint64_t pp_gpu_now(int clock) {
  pp_time time = {0, 0};
  if (!PP_GPU_HAS_FUNCTION(clock_gettime) || PP_GPU_FUNCTION(int (*)(int, pp_time*), clock_gettime)(clock, &time)) {
    pp_system_call(PP_SYS_clock_gettime, (uint64_t)clock, (uint64_t)&time, 0, 0, 0, 0);
  }
  return (uint64_t)time.seconds * 1000000000u + (uint64_t)time.nanos;
}

static uint64_t clock_of_records(void) {
  return pp_gpu.arena->record_time == PP_GPU_TIME_OTHER ? pp_gpu.backend->read_clock() : pp_gpu_now(PP_REALTIME);
}

// Takes the narrowest of a few attempts, because the thread may be interrupted between the two clock readings.
void pp_gpu_pair_clocks(void) {
  pp_gpu_clock best = {0, 0, 0, UINT64_MAX};
  for (int attempt = 0; attempt < 5; ++attempt) {
    const uint64_t before = pp_gpu_now(PP_MONOTONIC);
    const uint64_t realtime = clock_of_records();
    const uint64_t width = pp_gpu_now(PP_MONOTONIC) - before;
    if (realtime && width < best.width) best = (pp_gpu_clock){0, realtime, before + width / 2, width};
  }
  if (!best.realtime) return;
  const uint64_t sequence = pp_gpu.arena->clocks + 1;
  pp_gpu_clock* place = &pp_gpu.clocks[sequence % PP_GPU_CLOCKS];
  __atomic_store_n(&place->sequence, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  place->realtime = best.realtime;
  place->monotonic = best.monotonic;
  place->width = best.width;
  __atomic_store_n(&place->sequence, sequence, __ATOMIC_RELEASE);
  __atomic_store_n(&pp_gpu.arena->clocks, sequence, __ATOMIC_RELEASE);
}
