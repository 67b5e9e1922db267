// The Python stack of the thread that runs this, read where it lies: no call of Python, no lock, no system call.
//
// The thread is in C, so that its own chain of frames stands still, with the GIL or without it. Nothing else is sure:
// every pointer is looked at before it is followed, the way is bounded, and once the interpreter begins to end no step
// is made any more, as it frees the frames of threads that are still in C. Knows neither CUDA nor the arena.
#ifndef PTRACE_PROF_ATTACH_TARGET_GPU_GPU_WALK_H_
#define PTRACE_PROF_ATTACH_TARGET_GPU_GPU_WALK_H_

#include "attach/abi/gpu_boot.h"

enum pp_gpu_walk_end {
  PP_GPU_WALK_WHOLE = 0,
  PP_GPU_WALK_DEEPER = 1,  // there are more callers than PP_GPU_STACK_FRAMES
  PP_GPU_WALK_BROKEN = 2,  // nothing is known
};

typedef struct pp_gpu_chain {
  uint64_t hash;   // of all its frames, and of its end
  uint32_t count;  // of frames; 0: none of Python
  uint32_t end;    // pp_gpu_walk_end
} pp_gpu_chain;

#pragma GCC visibility push(hidden)
// `thread`: the thread state. `frames`: where they are written, at most `room` of them, the innermost first; null:
// nowhere.
pp_gpu_chain pp_gpu_walk(const pp_gpu_python* python, uint64_t thread, pp_gpu_frame* frames, uint32_t room);
#pragma GCC visibility pop

// Whether the thread state and the frames of a thread in C may be freed at any time.
static inline int pp_gpu_is_ending(const pp_gpu_python* python) {
  return __atomic_load_n((const uint64_t*)python->finalizing, __ATOMIC_RELAXED) != 0;
}

#endif  // PTRACE_PROF_ATTACH_TARGET_GPU_GPU_WALK_H_
