// Which clock the times in CUPTI's records come from: the clock whose readings enclose CUPTI's.
//
// It is CLOCK_REALTIME, unless a tool has replaced it (cuptiActivityRegisterTimestampCallback; PyTorch's profiler: the
// processor's counter). The replacement applies to the process and outlives that tool.
#include "attach/target/gpu/cupti_library.h"

enum { PP_CLOCK_ATTEMPTS = 8 };

static const struct {
  int clock;
  uint32_t time;
} kClocks[] = {{PP_REALTIME, PP_GPU_TIME_REALTIME}, {PP_MONOTONIC, PP_GPU_TIME_MONOTONIC}};

enum seen { PP_CLOCK_IS_OTHER, PP_CLOCK_IS_THIS, PP_CLOCK_NOT_SEEN };

static enum seen look_at(int clock) {
  uint64_t said = 0;
  const uint64_t before = pp_gpu_now(clock);
  const int result = PP_CUPTI_CALL(PP_GPU_STEP_CLOCK, pp_cupti_timestamp(&said));
  if (result == PP_CUPTI_NOT_MADE) return PP_CLOCK_NOT_SEEN;
  return result == 0 && before <= said && said <= pp_gpu_now(clock) ? PP_CLOCK_IS_THIS : PP_CLOCK_IS_OTHER;
}

// Several attempts, because the clock may be set between two readings. If no clock can be read, recording soon ends.
static int encloses(int clock) {
  for (int attempt = 0; attempt < PP_CLOCK_ATTEMPTS; ++attempt) {
    if (look_at(clock) != PP_CLOCK_IS_OTHER) return 1;
  }
  return 0;
}

static int is_ours(void) {
  for (unsigned row = 0; row < sizeof kClocks / sizeof *kClocks; ++row) {
    if (look_at(kClocks[row].clock) == PP_CLOCK_IS_THIS) return 1;
  }
  return 0;
}

uint32_t pp_cupti_clock(void) {
  for (unsigned row = 0; row < sizeof kClocks / sizeof *kClocks; ++row) {
    if (encloses(kClocks[row].clock)) return kClocks[row].time;
  }
  return pp_cupti_read_clock() ? PP_GPU_TIME_OTHER : PP_GPU_TIME_UNKNOWN;
}

uint64_t pp_cupti_read_clock(void) {
  uint64_t said = 0;
  return PP_CUPTI_CALL(PP_GPU_STEP_CLOCK, pp_cupti_timestamp(&said)) == 0 ? said : 0;
}

int pp_cupti_clock_is(uint32_t gpu_time) {
  for (unsigned row = 0; row < sizeof kClocks / sizeof *kClocks; ++row) {
    if (kClocks[row].time == gpu_time) return encloses(kClocks[row].clock);
  }
  return !is_ours();  // readers of the pairs detect whether it is still the same clock
}
