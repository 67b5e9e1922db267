// CUPTI as a source of records: its steps in, and out again in the reverse order.
//
// The order matters: records are told of before they are switched on; calls before what they launch, so that every
// kernel has its call; and kernels last. See pp_gpu_step.
#include "attach/intarget/cupti_library.h"

enum { PP_PROBE_BYTES = 4096, PP_GRACE_TURN_MILLIS = 50 };

static void* subscriber;               // null: we are none
static uint8_t enabled[PP_GPU_KINDS];  // kinds that are switched on
static uint8_t by_call[PP_GPU_KINDS];  // of RUNTIME and DRIVER: single calls are
static uint8_t registered;
static int is_per_thread;  // each thread has buffers of its own
static int stride_result;  // of the last record that could not be measured

static pp_gpu_report fine(void) { return (pp_gpu_report){PP_GPU_ERROR_NONE, PP_GPU_STEP_NONE, 0}; }

// Names come from another tool: what is no plain letter is left out.
static void keep_other_name(const char* name) {
  unsigned length = 0;
  for (unsigned i = 0; i < PP_GPU_NAME_BYTES - 1 && name[i]; ++i) {
    if (name[i] >= ' ' && name[i] <= '~') pp_gpu.arena->other_tool[length++] = name[i];
  }
  pp_gpu.arena->other_tool[length] = 0;
}

// Its parameters got longer with 13.3, and each version takes its own length only.
static int subscribe(void) {
  static const size_t kSizes[] = {PP_CUPTI_SUBSCRIBER_PARAMS_13_0, sizeof(pp_cupti_subscriber_params)};
  int result = PP_CUPTI_INVALID_PARAMETER;
  for (unsigned i = 0; pp_cupti.cuptiSubscribe_v2 && result == PP_CUPTI_INVALID_PARAMETER && i < 2; ++i) {
    const size_t size = kSizes[pp_cupti.version >= PP_CUPTI_13_3 ? 1 - i : i];
    char other[PP_GPU_NAME_BYTES] = {0};
    pp_cupti_subscriber_params params = {size, "ptrace-prof", other, sizeof other, 0, {0}};
    result = pp_cupti.cuptiSubscribe_v2(&subscriber, pp_cupti_on_callback, 0, &params);
    other[sizeof other - 1] = 0;
    if (result == PP_CUPTI_MULTIPLE_SUBSCRIBERS) keep_other_name(other);
  }
  if (result != PP_CUPTI_INVALID_PARAMETER) return result;
  return pp_cupti.cuptiSubscribe(&subscriber, pp_cupti_on_callback, 0);
}

// Ours of an earlier capture, where CUPTI stayed switched off, or another tool's. The attributes of buffers can be set
// only before there are any, and then stay; a flush is refused until there are some.
static int has_callbacks(void) {
  return PP_CUPTI_CALL(PP_GPU_STEP_ATTRIBUTES, pp_cupti.cuptiActivityFlushAll(0)) == PP_CUPTI_SUCCESS;
}

// 1: it was set.
static int set_attribute(uint32_t attribute, void* value, size_t size) {
  return pp_cupti.cuptiActivitySetAttribute &&
         PP_CUPTI_CALL(PP_GPU_STEP_ATTRIBUTES, pp_cupti.cuptiActivitySetAttribute(attribute, &size, value)) == 0;
}

// What of this a version does not have it does without.
static void set_up(void) {
  if (pp_cupti.version >= PP_CUPTI_12_2) {
    (void)PP_CUPTI_CALL(PP_GPU_STEP_CALLBACKS,
                        pp_cupti.cuptiEnableCallback(1, subscriber, PP_CUPTI_DOMAIN_STATE, PP_CUPTI_STATE_FATAL_ERROR));
  }
  if (pp_gpu_boot_block.flags & PP_GPU_BOOT_FINALIZE && pp_cupti.version >= PP_CUPTI_12_6) {
    pp_cupti_watch_captures(subscriber);
  }
  if (pp_cupti.cuptiSetThreadIdType) {
    pp_gpu.arena->thread_ids =
        PP_CUPTI_CALL(PP_GPU_STEP_THREAD_ID, pp_cupti.cuptiSetThreadIdType(PP_CUPTI_THREAD_ID_SYSTEM)) == 0;
  }
  is_per_thread |= pp_cupti.version >= PP_CUPTI_13_0;  // so they are if nobody says otherwise
  size_t limit = pp_gpu_boot_block.device_pool_limit;
  if (limit) (void)set_attribute(PP_CUPTI_DEVICE_BUFFER_POOL_LIMIT, &limit, sizeof limit);
  if (has_callbacks()) return;
  uint8_t yes = 1;
  (void)set_attribute(PP_CUPTI_ZEROED_OUT_BUFFER, &yes, sizeof yes);
  if (pp_cupti.version >= PP_CUPTI_12_3) is_per_thread |= set_attribute(PP_CUPTI_PER_THREAD_BUFFER, &yes, sizeof yes);
}

static int enable(enum pp_gpu_step step, uint8_t kind, int (*how)(uint32_t)) {
  if (kind >= PP_GPU_KINDS) return 0;
  const int result = PP_CUPTI_CALL(step, how(kind));
  pp_gpu.arena->kind_results[kind] = (uint16_t)result;
  enabled[kind] = result == 0;
  return result;
}

// Only certain calls, where this version can; else all, of which the collector takes those.
static void enable_calls(uint8_t kind, const uint16_t* calls, int (*single)(uint32_t, uint8_t)) {
  if (!calls[0]) return;
  if (!single || pp_cupti.version < PP_CUPTI_12_5) {
    (void)enable(PP_GPU_STEP_ENABLE_CALLS, kind, pp_cupti.cuptiActivityEnable);
    return;
  }
  by_call[kind] = 1;
  pp_gpu.arena->kind_results[kind] = 0;
  for (unsigned i = 0; i < PP_GPU_MAX_CALLBACKS && calls[i]; ++i) {
    const int result = PP_CUPTI_CALL(PP_GPU_STEP_ENABLE_CALLS, single(calls[i], 1));
    if (i == 0) pp_gpu.arena->kind_results[kind] = (uint16_t)result;
  }
}

static void disable_calls(uint8_t kind, const uint16_t* calls, int (*single)(uint32_t, uint8_t)) {
  for (unsigned i = 0; by_call[kind] && i < PP_GPU_MAX_CALLBACKS && calls[i]; ++i) {
    (void)PP_CUPTI_CALL(PP_GPU_STEP_DISABLE_CALLS, single(calls[i], 0));
  }
  by_call[kind] = 0;
  if (enabled[kind]) (void)PP_CUPTI_CALL(PP_GPU_STEP_DISABLE_CALLS, pp_cupti.cuptiActivityDisable(kind));
  enabled[kind] = 0;
}

static void stride_table(uint16_t strides[PP_GPU_KINDS]) {
  uint32_t words[PP_PROBE_BYTES / sizeof(uint32_t)] __attribute__((aligned(16)));
  for (uint32_t kind = 1; kind < PP_GPU_KINDS; ++kind) {
    for (unsigned i = 0; i < sizeof words / sizeof *words; ++i) words[i] = kind;
    uint8_t *first = 0, *second = 0;
    strides[kind] = 0;
    const int result =
        PP_CUPTI_CALL(PP_GPU_STEP_STRIDES, pp_cupti.cuptiActivityGetNextRecord((uint8_t*)words, sizeof words, &first));
    if (result) {
      stride_result = result;
      continue;
    }
    second = first;
    if (PP_CUPTI_CALL(PP_GPU_STEP_STRIDES,
                      pp_cupti.cuptiActivityGetNextRecord((uint8_t*)words, sizeof words, &second))) {
      continue;
    }
    if (second > first && second - first < PP_PROBE_BYTES) strides[kind] = (uint16_t)(second - first);
  }
}

static pp_gpu_report enable_all(void) {
  const pp_gpu_boot* boot = &pp_gpu_boot_block;
  int (*dump)(uint32_t) = pp_cupti.cuptiActivityEnableAndDump;
  for (unsigned i = 0; i < PP_GPU_MAX_KINDS && boot->inventory_kinds[i]; ++i) {
    (void)enable(PP_GPU_STEP_INVENTORY, boot->inventory_kinds[i], dump ? dump : pp_cupti.cuptiActivityEnable);
  }
  (void)PP_CUPTI_CALL(PP_GPU_STEP_INVENTORY, pp_cupti.cuptiActivityFlushAll(0));
  if (pp_gpu_is_called_off()) return fine();
  pp_cupti_begin_watch(is_per_thread);
  enable_calls(PP_CUPTI_KIND_RUNTIME, boot->runtime_callbacks, pp_cupti.cuptiActivityEnableRuntimeApi);
  enable_calls(PP_CUPTI_KIND_DRIVER, boot->driver_callbacks, pp_cupti.cuptiActivityEnableDriverApi);
  int result = 0;  // of the last one: kernels, without which there is nothing to see
  for (unsigned i = 0; i < PP_GPU_MAX_KINDS && boot->device_kinds[i] && !pp_gpu_is_called_off(); ++i) {
    result = enable(PP_GPU_STEP_ENABLE_DEVICE, boot->device_kinds[i], pp_cupti.cuptiActivityEnable);
  }
  if (!result && boot->stack_bytes) pp_cupti_watch_launches(subscriber);
  return result ? pp_cupti_failed(PP_GPU_STEP_ENABLE_DEVICE, result) : fine();
}

static pp_gpu_report attach(void) {
  int result = PP_CUPTI_CALL(PP_GPU_STEP_SUBSCRIBE, subscribe());
  if (result) {
    subscriber = 0;
    return pp_cupti_failed(PP_GPU_STEP_SUBSCRIBE, result);
  }
  if (pp_gpu_is_called_off()) return fine();
  set_up();
  result = PP_CUPTI_CALL(PP_GPU_STEP_REGISTER,
                         pp_cupti.cuptiActivityRegisterCallbacks(pp_cupti_request_buffer, pp_cupti_complete_buffer));
  if (result) return pp_cupti_failed(PP_GPU_STEP_REGISTER, result);
  registered = 1;
  stride_table(pp_gpu.arena->strides);
  if (pp_gpu_is_called_off()) return fine();
  if (!pp_gpu.arena->strides[PP_CUPTI_KIND_CONCURRENT_KERNEL]) {  // nothing could be read
    return pp_cupti_failed(PP_GPU_STEP_STRIDES, stride_result);
  }
  ++pp_gpu_boot_block.sessions;
  return enable_all();
}

// It synchronises nothing, so that it may be while a stream is captured.
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

// What was launched before calls were switched off, for as long as the collector cares.
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

// What is switched on is the business of whoever has taken it over: to switch it off would take it from them. But for
// kinds that the tool we know of (PyTorch's profiler) never asks for: nobody else would ever switch those off, and graphs
// as a whole would keep their kernels from it.
static uint32_t abandon(void) {
  static const uint8_t kOurs[] = {PP_CUPTI_KIND_MARKER, PP_CUPTI_KIND_GRAPH, PP_CUPTI_KIND_JIT};
  pp_cupti_forget_launches(subscriber);
  for (unsigned i = 0; i < sizeof kOurs; ++i) {
    if (enabled[kOurs[i]]) (void)PP_CUPTI_CALL(PP_GPU_STEP_DISABLE_DEVICE, pp_cupti.cuptiActivityDisable(kOurs[i]));
  }
  for (unsigned kind = 0; kind < PP_GPU_KINDS; ++kind) enabled[kind] = by_call[kind] = 0;
  registered = 0;
  (void)PP_CUPTI_CALL(PP_GPU_STEP_UNSUBSCRIBE, pp_cupti.cuptiUnsubscribe(subscriber));
  pp_cupti_forget_captures();
  subscriber = 0;
  return PP_GPU_LEFT_TAKEN_OVER;
}

// Who sets the clock may have taken the buffers, too: only where they surely are ours what is switched on is.
static int is_taken_over(void) {
  return pp_gpu.trouble == PP_GPU_LEAVE_TAKEN_OVER ||
         (pp_gpu.trouble == PP_GPU_LEAVE_CLOCK && !pp_cupti_has_buffers());
}

static uint32_t detach(void) {
  if (!subscriber) return PP_GPU_LEFT_UNTOUCHED;
  if (is_taken_over()) return abandon();
  const pp_gpu_boot* boot = &pp_gpu_boot_block;
  const int recorded = registered;
  pp_cupti_forget_launches(subscriber);
  disable_calls(PP_CUPTI_KIND_RUNTIME, boot->runtime_callbacks, pp_cupti.cuptiActivityEnableRuntimeApi);
  disable_calls(PP_CUPTI_KIND_DRIVER, boot->driver_callbacks, pp_cupti.cuptiActivityEnableDriverApi);
  if (recorded && pp_gpu.arena->state == PP_GPU_STATE_DETACHING) await_launched();
  for (uint8_t kind = PP_GPU_KINDS; kind-- > 0;) {
    if (enabled[kind]) (void)PP_CUPTI_CALL(PP_GPU_STEP_DISABLE_DEVICE, pp_cupti.cuptiActivityDisable(kind));
    enabled[kind] = 0;
  }
  if (recorded) (void)flush_as(PP_GPU_STEP_LAST_FLUSH, 1);
  registered = 0;
  int32_t number = 0;
  const uint32_t how = pp_cupti_take_down(subscriber, &number);
  subscriber = 0;
  if (how == PP_GPU_LEFT_FINALIZED) is_per_thread = 0;  // attributes went with the rest
  if (number) pp_gpu.arena->error_number = number;
  return how;
}

const pp_gpu_backend pp_gpu_cupti_backend = {
    PP_GPU_BACKEND_CUPTI, pp_cupti_find, attach, flush, detach, pp_cupti_clock, stride_table,
};
