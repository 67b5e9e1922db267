// Launches through the GPU shim without CUPTI and without an interpreter: the arena is memory of the test, the test
// builds the frames, and time advances only when the test says so.
#pragma once

#include <stdint.h>

#include "attach/abi/gpu_boot.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "attach/target/gpu/gpu_walk.h"

// `arena`: zeroed, with one slot of the smallest size and room for `stack_bytes` of stacks. The calling thread is the
// one that launches.
void gpu_target_prepare(void* arena, uint32_t stack_bytes);
pp_gpu_python* gpu_target_python(void);
void gpu_target_set_thread_state(uint64_t state);
void gpu_target_pace(enum pp_gpu_launch_class of, uint64_t gap, uint64_t burst);
void gpu_target_pass_time(uint64_t nanoseconds);
void gpu_target_launch(enum pp_gpu_launch_class of, uint32_t correlation);
void gpu_target_count(void);              // into the arena
void gpu_target_set_alive(int is_alive);  // 0: as in a forked child, or after the capture
uint64_t gpu_target_self(void);
// Reports a call of the driver (1) or the runtime (2), by its number, its first parameter and its result.
void gpu_target_call(uint32_t domain, uint32_t call, uint64_t stream, int32_t result);
uint64_t gpu_target_captures(void);
void gpu_target_subscribe(void);
void gpu_target_leave(void);

#ifdef __cplusplus
}
#endif
