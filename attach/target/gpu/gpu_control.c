// The control thread: it runs from the start of a capture until nothing of it is left.
#include "attach/target/gpu/gpu_shim.h"

pp_gpu_self pp_gpu = {.file = {.descriptor = -1}};

static const pp_gpu_backend* const kBackends[] = {&pp_gpu_null_backend, &pp_gpu_cupti_backend};

enum {
  PP_SIG_SETMASK = 2,
  PP_PR_SET_NAME = 15,
  PP_FUTEX_WAIT = 0,
  PP_SEEN_TURN_MILLIS = 100,
  PP_FIRST_FLUSH = 8,  // the first flush comes so many times earlier than the later ones
  PP_IDLE_TURNS = 4,   // while nothing is expected, only every so many turns are flushed
};
// All signals except those that libc itself sends to every thread (setuid, pthread_cancel).
#define PP_BLOCKED_SIGNALS (~(1ull << 31 | 1ull << 32))

static int64_t own_pid(void) { return pp_system_call(PP_SYS_getpid, 0, 0, 0, 0, 0, 0); }

void pp_gpu_set_step(enum pp_gpu_step step) {
  pp_gpu.arena->step_since = pp_gpu_now(PP_MONOTONIC);
  __atomic_store_n(&pp_gpu.arena->step, step, __ATOMIC_RELEASE);
}

static void set_state(enum pp_gpu_state state) { __atomic_store_n(&pp_gpu.arena->state, state, __ATOMIC_RELEASE); }

static uint32_t wanted(void) { return __atomic_load_n(&pp_gpu.arena->wanted, __ATOMIC_ACQUIRE); }

static int lease_is_over(void) {
  const uint64_t beat = __atomic_load_n(&pp_gpu.arena->beat, __ATOMIC_ACQUIRE);
  const uint64_t now = pp_gpu_now(PP_MONOTONIC);
  if (beat != pp_gpu.last_beat || !pp_gpu.beat_seen) {
    pp_gpu.last_beat = beat;
    pp_gpu.beat_seen = now;
  }
  return now - pp_gpu.beat_seen > pp_gpu_boot_block.lease;
}

static uint32_t leave_cause(void) {
  if (__atomic_load_n(&pp_gpu.exiting, __ATOMIC_ACQUIRE)) return PP_GPU_LEAVE_EXIT;
  if (__atomic_load_n(&pp_gpu.fatal, __ATOMIC_ACQUIRE)) return PP_GPU_LEAVE_FATAL;
  if (pp_gpu.trouble) return pp_gpu.trouble;
  if (wanted() != PP_GPU_WANT_RECORDS) return PP_GPU_LEAVE_ASKED;
  return lease_is_over() ? PP_GPU_LEAVE_LEASE : PP_GPU_LEAVE_NOT;
}

int pp_gpu_is_called_off(void) { return leave_cause() != PP_GPU_LEAVE_NOT; }

void pp_gpu_wait(uint64_t millis) {
  static uint32_t heard;
  const uint64_t time[2] = {millis / 1000, millis % 1000 * 1000000};
  const uint64_t bell = (uint64_t)&pp_gpu.arena->bell;
  pp_system_call(PP_SYS_futex, bell, PP_FUTEX_WAIT, heard, (uint64_t)time, 0, 0);
  heard = __atomic_load_n(&pp_gpu.arena->bell, __ATOMIC_ACQUIRE);
}

// Flushing is expensive. If the library has no buffer and gave none back, hardly any record is waiting. The first
// flushes come early, because a user waits to see whether there are any records.
static void record_until_called_off(void) {
  uint64_t completed = 0;
  uint32_t millis = pp_gpu_boot_block.flush_millis / PP_FIRST_FLUSH + 1;
  for (unsigned idle = 0; !pp_gpu_is_called_off();) {
    pp_gpu_wait(millis);
    millis = millis * 2 < pp_gpu_boot_block.flush_millis ? millis * 2 : pp_gpu_boot_block.flush_millis;
    if (pp_gpu_is_called_off()) return;
    const uint64_t now = __atomic_load_n(&pp_gpu.arena->completed, __ATOMIC_RELAXED);
    const int expected = now != completed || pp_gpu_buffers_out() > 0;
    idle = expected ? 0 : idle + 1;
    completed = now;
    if (idle % PP_IDLE_TURNS == 0) {
      pp_gpu_set_step(PP_GPU_STEP_FLUSH);
      pp_gpu.backend->flush();
    }
    pp_gpu_pair_clocks();
    pp_gpu_set_step(PP_GPU_STEP_RECORDING);
  }
}

static void set_error(pp_gpu_report report) {
  pp_gpu.arena->error = report.error;
  pp_gpu.arena->error_step = report.step;
  pp_gpu.arena->error_number = report.number;
}

// The collector has yet to read why a capture failed at once, so its memory stays until then.
static void await_being_seen(void) {
  while (wanted() == PP_GPU_WANT_RECORDS && !pp_gpu_is_called_off()) pp_gpu_wait(PP_SEEN_TURN_MILLIS);
}

static void leave(pp_gpu_report report) {
  pp_gpu_arena* arena = pp_gpu.arena;
  const uint32_t cause = leave_cause();
  if (!report.error) set_state(PP_GPU_STATE_DETACHING);
  arena->leave_how = pp_gpu.backend->detach();
  arena->leave_cause = leave_cause() == PP_GPU_LEAVE_EXIT ? PP_GPU_LEAVE_EXIT : cause;
  if (cause == PP_GPU_LEAVE_FATAL) {
    arena->error_number = (int32_t)(pp_gpu.fatal - 1);
    arena->leave_how = PP_GPU_LEFT_TAKEN_DOWN;
  }
  if (pp_gpu.trouble) {
    arena->error_number = pp_gpu.trouble_number;
    arena->error_step = PP_GPU_STEP_FLUSH;
  }
  if (arena->record_time != PP_GPU_TIME_OTHER) pp_gpu_pair_clocks();  // the library is not called any more
  pp_gpu_set_step(PP_GPU_STEP_DONE);
  const int failed = report.error && cause == PP_GPU_LEAVE_NOT;
  if (failed) set_error(report);
  set_state(failed ? PP_GPU_STATE_FAILED : PP_GPU_STATE_LEFT);
  if (failed) await_being_seen();
}

// Called only after the library has started its own threads, which would inherit the name and keep it.
static void name_thread(void) {
  pp_system_call(PP_SYS_prctl, PP_PR_SET_NAME, (uint64_t) "ptrace-prof-gpu", 0, 0, 0, 0);
}

static void capture(void) {
  pp_gpu.last_beat = 0;
  pp_gpu.beat_seen = 0;
  pp_gpu.fatal = 0;
  pp_gpu.trouble = 0;
  pp_gpu.trouble_number = 0;
  pp_gpu.must_give = 0;
  set_state(PP_GPU_STATE_ATTACHING);
  pp_gpu_report report = pp_gpu.backend->probe();
  if (!report.error && !pp_gpu_is_called_off()) {
    pp_gpu_watch_exit();
    report = pp_gpu.backend->attach();
  }
  if (!report.error && !pp_gpu_is_called_off()) {
    pp_gpu.arena->recording_since = pp_gpu_now(PP_MONOTONIC);
    pp_gpu_watch_exit();
    name_thread();
    pp_gpu.arena->record_time = pp_gpu.backend->clock();
    pp_gpu_pair_clocks();
    pp_gpu_set_step(PP_GPU_STEP_RECORDING);
    set_state(PP_GPU_STATE_RECORDING);
    record_until_called_off();
  }
  leave(report);
}

// The library's state in this thread would be destroyed with the thread, and there is no time for that any more.
static void stay_until_the_end(void) {
  for (;;) pp_gpu_wait(1000);
}

static void* control(void* unused) {
  (void)unused;
  pp_gpu_watch_forks();
  const pp_gpu_report report = pp_gpu_map_memory();
  if (report.error) {
    pp_gpu_boot_block.error_step = report.step;
    pp_gpu_boot_block.error_number = report.number;
    __atomic_store_n(&pp_gpu_boot_block.error, report.error, __ATOMIC_RELEASE);
  } else {
    capture();
    if (__atomic_load_n(&pp_gpu.exiting, __ATOMIC_ACQUIRE)) stay_until_the_end();
  }
  pp_gpu_unmap_memory();
  __atomic_store_n(&pp_gpu_boot_block.busy, 0, __ATOMIC_RELEASE);
  return 0;
}

static int boot_makes_sense(void) {
  const pp_gpu_boot* boot = &pp_gpu_boot_block;
  return boot->abi_version == PP_GPU_ABI_VERSION && boot->slot_count > 0 && boot->slot_count <= PP_GPU_MAX_SLOTS &&
         boot->slot_bytes >= PP_GPU_MIN_SLOT_BYTES && boot->slot_bytes <= PP_GPU_MAX_SLOT_BYTES &&
         boot->slot_bytes % PP_PAGE == 0 && boot->stack_bytes % PP_PAGE == 0 &&
         boot->stack_bytes <= PP_GPU_MAX_STACK_BYTES && boot->backend < sizeof kBackends / sizeof *kBackends &&
         PP_GPU_HAS_FUNCTION(pthread_create) && PP_GPU_HAS_FUNCTION(pthread_detach) &&
         (!boot->stack_bytes || (PP_GPU_HAS_FUNCTION(PyGILState_GetThisThreadState) &&
                                 PP_GPU_HAS_FUNCTION(pthread_self) && boot->python.finalizing));
}

// The new thread inherits the signal mask of the starting thread.
static pp_gpu_report start_thread(void) {
  typedef int (*create)(uint64_t*, const void*, void* (*)(void*), void*);
  pp_gpu_report report = {PP_GPU_ERROR_BOOT, PP_GPU_STEP_NONE, 0};
  if (!boot_makes_sense()) return report;
  pp_gpu.backend = kBackends[pp_gpu_boot_block.backend];
  const uint64_t blocked = PP_BLOCKED_SIGNALS;
  uint64_t before = 0, thread = 0;
  pp_system_call(PP_SYS_rt_sigprocmask, PP_SIG_SETMASK, (uint64_t)&blocked, (uint64_t)&before, sizeof before, 0, 0);
  const int result = PP_GPU_FUNCTION(create, pthread_create)(&thread, 0, control, 0);
  pp_system_call(PP_SYS_rt_sigprocmask, PP_SIG_SETMASK, (uint64_t)&before, 0, sizeof before, 0, 0);
  if (result) return (pp_gpu_report){PP_GPU_ERROR_THREAD, PP_GPU_STEP_THREAD, result};
  PP_GPU_FUNCTION(int (*)(uint64_t), pthread_detach)(thread);
  return (pp_gpu_report){PP_GPU_ERROR_NONE, PP_GPU_STEP_NONE, 0};
}

// In a forked child: what the parent was doing continues there, not here.
static void forget_parent(void) {
  if (!pp_gpu.private_page || pp_gpu.private_page->magic == PP_GPU_PRIVATE_MAGIC) return;
  pp_gpu.arena = 0;
  pp_gpu.slots = 0;
  pp_gpu.launches = 0;
  pp_gpu.slot_count = pp_gpu.users = pp_gpu.calling = pp_gpu.exiting = 0;
  pp_close_sealed_file(&pp_gpu.file);
  if (pp_gpu.backend) pp_gpu.backend->forget();
  pp_gpu.private_page->magic = PP_GPU_PRIVATE_MAGIC;
  pp_gpu_boot_block.busy = 0;
}

int pp_gpu_enter(void* unused) {
  (void)unused;
  pp_gpu_boot* boot = &pp_gpu_boot_block;
  const int64_t pid = own_pid();
  if (pid != boot->target_pid) return 0;  // a forked copy of the queued call, or of the script that loads us
  forget_parent();
  uint64_t expected = 0;
  if (!__atomic_compare_exchange_n(&boot->busy, &expected, (uint64_t)pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return 0;
  }
  if (boot->served == boot->nonce) {
    __atomic_store_n(&boot->busy, 0, __ATOMIC_RELEASE);
    return 0;
  }
  boot->error = PP_GPU_ERROR_NONE;
  const uint64_t nonce = boot->nonce;
  const pp_gpu_report report = start_thread();
  if (report.error) {
    boot->error_step = report.step;
    boot->error_number = report.number;
    boot->error = report.error;
    __atomic_store_n(&boot->busy, 0, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&boot->served, nonce, __ATOMIC_RELEASE);
  return 0;
}
