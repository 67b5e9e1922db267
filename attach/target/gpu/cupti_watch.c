// Checks with every flush whether CUPTI still works for us.
//
// Buffers and the clock belong to the process. A tool that does not subscribe, such as the profiler of PyTorch since
// August 2026, takes both from us without notice. Then no more records would come, as if the GPU were idle. We do not
// take them back: we leave.
#include "attach/target/gpu/cupti_library.h"

enum {
  PP_FAILED_FLUSHES = 4,  // in a row
  PP_QUIET_FLUSHES = 4,   // after so many we make a record ourselves
  PP_SILENT_PROBES = 2,   // so many for which CUPTI asked us for no buffer
  PP_WRONG_CLOCKS = 2,
};

static unsigned failed, quiet, silent, wrong;
static uint64_t seen;
static int is_probe_sure, has_own_buffer;

// Every use that CUPTI makes of our buffers increments this sum.
static uint64_t traffic(void) {
  const pp_gpu_arena* arena = pp_gpu.arena;
  return __atomic_load_n(&arena->handed_out, __ATOMIC_RELAXED) + __atomic_load_n(&arena->declined, __ATOMIC_RELAXED) +
         __atomic_load_n(&arena->discarded, __ATOMIC_RELAXED) + __atomic_load_n(&arena->completed, __ATOMIC_RELAXED);
}

// Makes CUPTI record the existing contexts, for which it needs a buffer. Returns 1 if it asked us for one.
static int probe(void) {
  const uint64_t before = traffic();
  if (PP_CUPTI_CALL(PP_GPU_STEP_FLUSH, pp_cupti_enable_and_dump(PP_CUPTI_KIND_CONTEXT)) ||
      PP_CUPTI_CALL(PP_GPU_STEP_FLUSH, pp_cupti.cuptiActivityFlushAll(0))) {
    return 1;  // unknown
  }
  return traffic() != before;
}

// The first probe shows whether this version reacts to it at all, while no other user records anything.
void pp_cupti_begin_watch(int is_per_thread) {
  has_own_buffer = is_per_thread;
  failed = quiet = silent = wrong = 0;
  is_probe_sure = 0;
  if (pp_cupti.cuptiActivityEnableAndDump) {
    const uint64_t before = traffic();
    is_probe_sure = probe() && traffic() != before;
  }
  seen = traffic();
}

// A buffer shared by all threads may be one of ours that waits for a long kernel: then a probe proves nothing.
static int may_probe(void) { return is_probe_sure && (has_own_buffer || pp_gpu_buffers_out() == 0); }

static int has_buffers(void) {
  const uint64_t now = traffic();
  quiet = now == seen ? quiet + 1 : 0;
  if (!quiet) silent = 0;
  if (quiet >= PP_QUIET_FLUSHES && may_probe()) {
    silent = probe() ? 0 : silent + 1;
    quiet = 0;
  }
  seen = traffic();
  return silent < PP_SILENT_PROBES;
}

int pp_cupti_has_buffers(void) {
  const uint64_t before = traffic();
  return may_probe() && probe() && traffic() != before;
}

static int has_clock(void) {
  wrong = pp_cupti_clock_is(pp_gpu.arena->record_time) ? 0 : wrong + 1;
  return wrong < PP_WRONG_CLOCKS;
}

void pp_cupti_look(int flush_result) {
  if (flush_result == PP_CUPTI_NOT_MADE) return;
  failed = flush_result ? failed + 1 : 0;
  if (failed >= PP_FAILED_FLUSHES) {
    pp_gpu.trouble_number = flush_result;
    pp_gpu.trouble = PP_GPU_LEAVE_BROKEN;
  } else if (!failed && !has_clock()) {
    pp_gpu.trouble = PP_GPU_LEAVE_CLOCK;
  } else if (!failed && !has_buffers()) {
    pp_gpu.trouble = PP_GPU_LEAVE_TAKEN_OVER;
  }
}
