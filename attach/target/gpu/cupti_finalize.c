// Shuts CUPTI down. This is allowed only at the exit of a driver call, so we make such a call, and do it there.
//
// Shutting down waits for all contexts of the process, which is not allowed while a stream is being captured. If a
// stream is, or may be (a capture may have begun before us, and nothing rules it out), or if it does not succeed in
// time, CUPTI stays as it is, with nothing switched on.
#include "attach/target/gpu/cupti_library.h"

enum { PP_OUR_CALL = 2 /* cuDriverGetVersion */, PP_PATIENCE_MILLIS = 2000, PP_TURN_MILLIS = 20 };

static uint64_t waiting_thread;  // the control thread, while it makes its call; 0: none
static uint64_t is_down;         // 1 + the result

// Other threads of the job may make the same call, so the thread is checked.
void pp_cupti_at_our_call(void) {
  const uint64_t thread = __atomic_load_n(&waiting_thread, __ATOMIC_ACQUIRE);
  if (!thread || thread != (uint64_t)pp_system_call(PP_SYS_gettid, 0, 0, 0, 0, 0, 0) || is_down) return;
  pp_cupti.cuptiUnsubscribe(pp_cupti.subscriber);
  is_down = 1 + (uint64_t)(uint32_t)pp_cupti.cuptiFinalize();
}

static int await_no_capture(uint64_t deadline) {
  while (pp_cupti_captures() > 0) {
    if (pp_gpu_now(PP_MONOTONIC) > deadline) return 0;
    pp_gpu_wait(PP_TURN_MILLIS);
  }
  return 1;
}

static void call_until_down(uint64_t deadline) {
  if (PP_CUPTI_CALL(PP_GPU_STEP_FINALIZE,
                    pp_cupti.cuptiEnableCallback(1, pp_cupti.subscriber, PP_CUPTI_DOMAIN_DRIVER, PP_OUR_CALL))) {
    return;
  }
  const uint64_t self = (uint64_t)pp_system_call(PP_SYS_gettid, 0, 0, 0, 0, 0, 0);
  for (;;) {
    int version = 0;
    __atomic_store_n(&waiting_thread, self, __ATOMIC_RELEASE);
    const int result = PP_CUPTI_CALL(PP_GPU_STEP_FINALIZE, pp_cupti.cuDriverGetVersion(&version));
    __atomic_store_n(&waiting_thread, 0, __ATOMIC_RELEASE);
    if (is_down || result == PP_CUPTI_NOT_MADE || pp_gpu_now(PP_MONOTONIC) > deadline) break;
    pp_gpu_wait(PP_TURN_MILLIS);
  }
  if (!is_down) {
    (void)PP_CUPTI_CALL(PP_GPU_STEP_FINALIZE,
                        pp_cupti.cuptiEnableCallback(0, pp_cupti.subscriber, PP_CUPTI_DOMAIN_DRIVER, PP_OUR_CALL));
  }
}

static uint32_t take_down(int32_t* number) {
  if (pp_gpu.trouble) return PP_GPU_LEFT_DORMANT_BROKEN;
  const uint32_t wanted = __atomic_load_n(&pp_gpu.arena->wanted, __ATOMIC_ACQUIRE);
  if (wanted == PP_GPU_WANT_LEAVE_UP) return PP_GPU_LEFT_DORMANT_UP;
  if (!(pp_gpu_boot_block.flags & PP_GPU_BOOT_FINALIZE)) return PP_GPU_LEFT_DORMANT_ASKED;
  if (pp_cupti.version < PP_CUPTI_12_6 || !pp_cupti.cuptiFinalize) return PP_GPU_LEFT_DORMANT_VERSION;
  if (!pp_cupti.cuDriverGetVersion) return PP_GPU_LEFT_DORMANT_NO_CALL;
  if (wanted != PP_GPU_WANT_LEAVE) return PP_GPU_LEFT_DORMANT_UNSURE;
  const uint64_t deadline = pp_gpu_now(PP_MONOTONIC) + PP_PATIENCE_MILLIS * 1000000ull;
  pp_gpu_set_step(PP_GPU_STEP_FINALIZE);
  if (!await_no_capture(deadline)) return PP_GPU_LEFT_DORMANT_CAPTURE;
  is_down = 0;
  call_until_down(deadline);
  if (!is_down) return PP_GPU_LEFT_DORMANT_NO_CALL;
  *number = (int32_t)(is_down - 1);
  return *number == 0 ? PP_GPU_LEFT_FINALIZED : PP_GPU_LEFT_DORMANT_REFUSED;
}

uint32_t pp_cupti_take_down(int32_t* number) {
  const uint32_t how = take_down(number);
  if (how != PP_GPU_LEFT_FINALIZED && how != PP_GPU_LEFT_DORMANT_REFUSED) {
    (void)PP_CUPTI_CALL(PP_GPU_STEP_UNSUBSCRIBE, pp_cupti.cuptiUnsubscribe(pp_cupti.subscriber));
  }
  pp_cupti_forget_captures();
  return how;
}
