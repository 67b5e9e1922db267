#include "tests/unit/attach/target/gpu/gpu_target.h"

#include <pthread.h>

#include "attach/target/gpu/cupti_library.h"

static pp_gpu_private private_page;
static uint64_t thread_state, now;

static uint64_t current_thread_state(void) { return thread_state; }

static int frozen_clock(int clock, int64_t* time) {
  (void)clock;
  time[0] = (int64_t)(now / 1000000000u);
  time[1] = (int64_t)(now % 1000000000u);
  return 0;
}

uint64_t gpu_target_self(void) { return (uint64_t)pthread_self(); }

void gpu_target_prepare(void* arena, uint32_t stack_bytes) {
  uint8_t* begin = arena;
  const uint64_t bytes = PP_GPU_MIN_SLOT_BYTES;
  pp_gpu_boot_block.functions[PP_GPU_FN_PyGILState_GetThisThreadState] = (uint64_t)&current_thread_state;
  pp_gpu_boot_block.functions[PP_GPU_FN_pthread_self] = (uint64_t)&pthread_self;
  pp_gpu_boot_block.functions[PP_GPU_FN_clock_gettime] = (uint64_t)&frozen_clock;
  now = 1000000000000u;
  pp_gpu.arena = arena;
  pp_gpu.arena->stacks_used = PP_GPU_STACK_UNIT;
  pp_gpu.launches = (pp_gpu_launch*)(begin + PP_GPU_LAUNCHES_OFFSET(1, bytes));
  pp_gpu.stack_index = (uint64_t*)(begin + PP_GPU_INDEX_OFFSET(1, bytes));
  pp_gpu.stacks = begin + PP_GPU_STACKS_OFFSET(1, bytes);
  pp_gpu.stack_bytes = stack_bytes;
  pp_gpu.private_page = &private_page;
  gpu_target_set_alive(1);
  gpu_target_pace(PP_GPU_LAUNCH_SINGLE, 0, 0);
  gpu_target_pace(PP_GPU_LAUNCH_GRAPH, 0, 0);
  pp_gpu_begin_launches();
}

pp_gpu_python* gpu_target_python(void) { return &pp_gpu_boot_block.python; }
void gpu_target_set_thread_state(uint64_t state) { thread_state = state; }

void gpu_target_pace(enum pp_gpu_launch_class of, uint64_t gap, uint64_t burst) {
  pp_gpu_boot_block.launch_gaps[of] = gap;
  pp_gpu_boot_block.launch_bursts[of] = burst;
}

void gpu_target_pass_time(uint64_t nanoseconds) { now += nanoseconds; }
void gpu_target_launch(enum pp_gpu_launch_class of, uint32_t correlation) { pp_gpu_on_launch(of, correlation); }
void gpu_target_count(void) { pp_gpu_count_launches(); }
void gpu_target_set_alive(int is_alive) { private_page.alive = (uint64_t)is_alive; }

void gpu_target_call(uint32_t domain, uint32_t call, uint64_t stream, int32_t result) {
  pp_cupti_call_data data = {.site = PP_CUPTI_API_EXIT, .parameters = &stream, .result = &result};
  pp_cupti_on_callback(0, domain, call, &data);
}

static int enable_callback(uint32_t on, void* subscriber, uint32_t domain, uint32_t call) {
  (void)on, (void)subscriber, (void)domain, (void)call;
  return PP_CUPTI_SUCCESS;
}

uint64_t gpu_target_captures(void) { return pp_cupti_captures(); }
void gpu_target_leave(void) { pp_cupti_forget_captures(); }

void gpu_target_subscribe(void) {
  pp_cupti.cuptiEnableCallback = enable_callback;
  pp_cupti_watch_captures();
}
