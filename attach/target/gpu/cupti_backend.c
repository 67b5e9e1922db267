// CUPTI as a source of records: the steps to switch it on, and to switch it off in the reverse order.
//
// The order matters: existing objects are reported before records are switched on; calls come before the work that they
// launch, so that every kernel has its call; and kernels come last. See pp_gpu_step.
#include "attach/target/gpu/cupti_library.h"

enum { PP_GRACE_TURN_MILLIS = 50, PP_AGAIN_MILLIS = 1000, PP_AGAIN_TURN_MILLIS = 20 };
enum {
  PP_CALLS = 2048,
  PP_UNKNOWN_CALLS = 64
};  // more than any API has; and after so many unknown ones in a row there are no more

static uint8_t enabled[PP_GPU_KINDS];  // kinds that are switched on
static uint8_t registered;

static pp_gpu_report fine(void) { return (pp_gpu_report){PP_GPU_ERROR_NONE, PP_GPU_STEP_NONE, 0}; }

// Optional settings: a version that lacks one works without it.
static void set_up(void) {
  if (pp_cupti.version >= PP_CUPTI_12_2) {
    (void)PP_CUPTI_CALL(
        PP_GPU_STEP_CALLBACKS,
        pp_cupti.cuptiEnableCallback(1, pp_cupti.subscriber, PP_CUPTI_DOMAIN_STATE, PP_CUPTI_STATE_FATAL_ERROR));
  }
  if (pp_gpu_boot_block.flags & PP_GPU_BOOT_FINALIZE && pp_cupti.version >= PP_CUPTI_12_6) {  // it will be shut down
    pp_cupti_watch_captures();
  }
  pp_gpu.arena->thread_ids = PP_CUPTI_CALL(PP_GPU_STEP_THREAD_ID, pp_cupti_name_threads()) == 0;
  // Attributes of buffers are left alone: they would outlast us and affect the next tool, which does not know of them.
  size_t limit = pp_gpu_boot_block.device_pool_limit;
  if (limit) {
    (void)PP_CUPTI_CALL(PP_GPU_STEP_ATTRIBUTES,
                        pp_cupti_set_attribute(PP_CUPTI_DEVICE_BUFFER_POOL_LIMIT, &limit, sizeof limit));
  }
}

static int enable(enum pp_gpu_step step, uint8_t kind, int (*how)(uint32_t)) {
  if (kind >= PP_GPU_KINDS) return 0;
  const int result = PP_CUPTI_CALL(step, how(kind));
  pp_gpu.arena->kind_results[kind] = (uint16_t)result;
  enabled[kind] = result == 0;
  return result;
}

// Only certain calls are wanted. A call that is switched on by itself records nothing once there is a context (seen
// with CUPTI 13.0 on an H200; without an error). So the kind is switched on, and all other calls are switched off if
// this version can; otherwise the collector drops them.
static void enable_calls(uint8_t kind, const uint16_t* calls) {
  if (!calls[0] || enable(PP_GPU_STEP_ENABLE_CALLS, kind, pp_cupti.cuptiActivityEnable)) return;
  const pp_cupti_single_call single = pp_cupti_single_call_of(kind);
  if (!single) return;
  uint64_t wanted[PP_CALLS / 64] = {0};
  for (unsigned i = 0; i < PP_GPU_MAX_CALLBACKS && calls[i]; ++i) {
    if (calls[i] < PP_CALLS) wanted[calls[i] / 64] |= 1ull << (calls[i] % 64);
  }
  for (uint32_t call = 1, unknown = 0; call < PP_CALLS && unknown < PP_UNKNOWN_CALLS && !pp_gpu_is_called_off();
       ++call) {
    if (wanted[call / 64] >> (call % 64) & 1) continue;
    unknown = PP_CUPTI_CALL(PP_GPU_STEP_ENABLE_CALLS, single(call, 0)) ? unknown + 1 : 0;
  }
}

static void disable_calls(uint8_t kind) {
  if (enabled[kind]) (void)PP_CUPTI_CALL(PP_GPU_STEP_DISABLE_CALLS, pp_cupti.cuptiActivityDisable(kind));
  enabled[kind] = 0;
}

static pp_gpu_report enable_all(void) {
  const pp_gpu_boot* boot = &pp_gpu_boot_block;
  for (unsigned i = 0; i < PP_GPU_MAX_KINDS && boot->inventory_kinds[i]; ++i) {
    (void)enable(PP_GPU_STEP_INVENTORY, boot->inventory_kinds[i], pp_cupti_enable_and_dump);
  }
  (void)PP_CUPTI_CALL(PP_GPU_STEP_INVENTORY, pp_cupti.cuptiActivityFlushAll(0));
  if (pp_gpu_is_called_off()) return fine();
  pp_cupti_begin_watch(pp_cupti.version >= PP_CUPTI_13_0);
  enable_calls(PP_CUPTI_KIND_RUNTIME, boot->runtime_callbacks);
  enable_calls(PP_CUPTI_KIND_DRIVER, boot->driver_callbacks);
  int result = 0;  // of the last kind: kernels, without which nothing is recorded
  for (unsigned i = 0; i < PP_GPU_MAX_KINDS && boot->device_kinds[i] && !pp_gpu_is_called_off(); ++i) {
    result = enable(PP_GPU_STEP_ENABLE_DEVICE, boot->device_kinds[i], pp_cupti.cuptiActivityEnable);
  }
  if (!result && boot->stack_bytes) pp_cupti_watch_launches();
  return result ? pp_cupti_failed(PP_GPU_STEP_ENABLE_DEVICE, result) : fine();
}

// For a while after it was shut down, CUPTI reports that it is not initialised (seen with 13.0).
static int subscribe(void) {
  const uint64_t deadline = pp_gpu_now(PP_MONOTONIC) + PP_AGAIN_MILLIS * 1000000ull;
  for (;;) {
    const int result = PP_CUPTI_CALL(PP_GPU_STEP_SUBSCRIBE, pp_cupti_subscribe());
    if (result != PP_CUPTI_NOT_INITIALIZED || !pp_gpu_boot_block.sessions || pp_gpu_now(PP_MONOTONIC) > deadline ||
        pp_gpu_is_called_off()) {
      return result;
    }
    pp_gpu_wait(PP_AGAIN_TURN_MILLIS);
  }
}

static pp_gpu_report attach(void) {
  int result = subscribe();
  if (result) {
    pp_cupti.subscriber = 0;
    return pp_cupti_failed(PP_GPU_STEP_SUBSCRIBE, result);
  }
  if (pp_gpu_is_called_off()) return fine();
  set_up();
  result = PP_CUPTI_CALL(PP_GPU_STEP_REGISTER,
                         pp_cupti.cuptiActivityRegisterCallbacks(pp_cupti_request_buffer, pp_cupti_complete_buffer));
  if (result) return pp_cupti_failed(PP_GPU_STEP_REGISTER, result);
  registered = 1;
  result = pp_cupti_measure_all();
  if (pp_gpu_is_called_off()) return fine();
  if (result) return pp_cupti_failed(PP_GPU_STEP_STRIDES, result);
  ++pp_gpu_boot_block.sessions;
  return enable_all();
}

// Flushing synchronises nothing, so it is allowed while a stream is captured.
static int flush_as(enum pp_gpu_step step, uint32_t forced) {
  const int result = PP_CUPTI_CALL(step, pp_cupti.cuptiActivityFlushAll(forced));
  size_t dropped = 0;
  if (PP_CUPTI_CALL(step, pp_cupti.cuptiActivityGetNumDroppedRecords(0, 0, &dropped)) == 0) {
    __atomic_add_fetch(&pp_gpu.arena->dropped, dropped, __ATOMIC_RELAXED);
  }
  __atomic_add_fetch(&pp_gpu.arena->flushes, 1, __ATOMIC_RELAXED);
  pp_gpu.arena->captures = pp_cupti_captures();
  if (pp_gpu_boot_block.stack_bytes) pp_gpu_count_launches();
  return result;
}

static void flush(void) { pp_cupti_look(flush_as(PP_GPU_STEP_FLUSH, 0)); }

// Collects what was launched before calls were switched off, as long as the collector wants it.
static void await_launched(void) {
  const uint64_t deadline = pp_gpu_now(PP_MONOTONIC) + pp_gpu_boot_block.grace_millis * 1000000ull;
  const uint32_t wanted = __atomic_load_n(&pp_gpu.arena->wanted, __ATOMIC_ACQUIRE);
  const int has_time = wanted == PP_GPU_WANT_LEAVE || wanted == PP_GPU_WANT_LEAVE_UP;
  while (has_time && __atomic_load_n(&pp_gpu.arena->wanted, __ATOMIC_ACQUIRE) == wanted &&
         pp_gpu_now(PP_MONOTONIC) < deadline && !__atomic_load_n(&pp_gpu.exiting, __ATOMIC_ACQUIRE)) {
    (void)flush_as(PP_GPU_STEP_GRACE, 0);
    pp_gpu_wait(PP_GRACE_TURN_MILLIS);
  }
}

// Another tool has taken over, so what is switched on is left on for it. Exceptions are kinds that the tool we know of
// (PyTorch's profiler) never requests: it would never switch them off, and records of whole graphs would keep the
// records of their kernels from it.
static uint32_t abandon(void) {
  static const uint8_t kOurs[] = {PP_CUPTI_KIND_MARKER, PP_CUPTI_KIND_GRAPH, PP_CUPTI_KIND_JIT};
  pp_cupti_forget_launches();
  for (unsigned i = 0; i < sizeof kOurs; ++i) {
    if (enabled[kOurs[i]]) (void)PP_CUPTI_CALL(PP_GPU_STEP_DISABLE_DEVICE, pp_cupti.cuptiActivityDisable(kOurs[i]));
  }
  for (unsigned kind = 0; kind < PP_GPU_KINDS; ++kind) enabled[kind] = 0;
  registered = 0;
  (void)PP_CUPTI_CALL(PP_GPU_STEP_UNSUBSCRIBE, pp_cupti.cuptiUnsubscribe(pp_cupti.subscriber));
  pp_cupti_forget_captures();
  pp_cupti.subscriber = 0;
  return PP_GPU_LEFT_TAKEN_OVER;
}

// The tool that sets the clock may also have taken the buffers. Only if the buffers are surely ours, so is what is
// switched on.
static int is_taken_over(void) {
  return pp_gpu.trouble == PP_GPU_LEAVE_TAKEN_OVER || (pp_gpu.trouble == PP_GPU_LEAVE_CLOCK && !pp_cupti_has_buffers());
}

static uint32_t detach(void) {
  if (!pp_cupti.subscriber) return PP_GPU_LEFT_UNTOUCHED;
  if (is_taken_over()) return abandon();
  const int recorded = registered;
  pp_cupti_forget_launches();
  disable_calls(PP_CUPTI_KIND_RUNTIME);
  disable_calls(PP_CUPTI_KIND_DRIVER);
  if (recorded && pp_gpu.arena->state == PP_GPU_STATE_DETACHING) await_launched();
  for (uint8_t kind = PP_GPU_KINDS; kind-- > 0;) {
    if (enabled[kind]) (void)PP_CUPTI_CALL(PP_GPU_STEP_DISABLE_DEVICE, pp_cupti.cuptiActivityDisable(kind));
    enabled[kind] = 0;
  }
  if (recorded) (void)flush_as(PP_GPU_STEP_LAST_FLUSH, 1);
  registered = 0;
  int32_t number = 0;
  const uint32_t how = pp_cupti_take_down(&number);
  pp_cupti.subscriber = 0;
  if (number) pp_gpu.arena->error_number = number;
  return how;
}

static void forget(void) {
  pp_cupti.subscriber = 0;
  for (unsigned kind = 0; kind < PP_GPU_KINDS; ++kind) enabled[kind] = 0;
  registered = 0;
  pp_cupti_forget_launches();
  pp_cupti_forget_captures();
}

const pp_gpu_backend pp_gpu_cupti_backend = {
    PP_GPU_BACKEND_CUPTI, pp_cupti_find, attach, flush, detach, pp_cupti_clock, pp_cupti_read_clock, forget,
};
