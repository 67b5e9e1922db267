// Whether CUPTI still works for us: looked at with every flush.
//
// Buffers and the clock are the process's. A tool that does not subscribe, as the profiler of PyTorch since August
// 2026, takes both from us without a word, and then nothing would come any more as if the GPU did nothing. They are not
// taken back: we leave.
#include "attach/target/gpu/cupti_library.h"

enum {
  PP_FAILED_FLUSHES = 4,  // one after another
  PP_QUIET_FLUSHES = 4,   // then we make a record ourselves
  PP_SILENT_PROBES = 2,   // for which no buffer was asked of us
  PP_WRONG_CLOCKS = 2,
};

static unsigned failed, quiet, silent, wrong;
static uint64_t seen;
static int is_probe_sure, has_own_buffer;

// Whatever CUPTI ever did with our buffers counts this up.
static uint64_t traffic(void) {
  const pp_gpu_arena* arena = pp_gpu.arena;
  return __atomic_load_n(&arena->handed_out, __ATOMIC_RELAXED) + __atomic_load_n(&arena->declined, __ATOMIC_RELAXED) +
         __atomic_load_n(&arena->discarded, __ATOMIC_RELAXED) + __atomic_load_n(&arena->completed, __ATOMIC_RELAXED);
}

// Has CUPTI write down which contexts there are: a record for which it needs a buffer. 1: it asked us for one.
static int probe(void) {
  const uint64_t before = traffic();
  if (PP_CUPTI_CALL(PP_GPU_STEP_FLUSH, pp_cupti_enable_and_dump(PP_CUPTI_KIND_CONTEXT)) ||
      PP_CUPTI_CALL(PP_GPU_STEP_FLUSH, pp_cupti.cuptiActivityFlushAll(0))) {
    return 1;  // it does not say
  }
  return traffic() != before;
}

// The first probe tells whether this version answers to it at all, when nobody but us has anything recorded.
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

// A buffer that all threads share may be one of ours which waits for a kernel that runs long: then a probe says
// nothing.
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
