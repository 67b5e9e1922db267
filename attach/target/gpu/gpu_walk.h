// Reads the Python stack of the calling thread in place: no call of Python, no lock, no system call.
//
// The thread is in C, so its own chain of frames does not change, with or without the GIL. Everything else may: every
// pointer is checked before it is followed, and the walk is bounded. Once the interpreter begins to end, the walk
// stops, because the interpreter frees frames of threads that are still in C. Knows neither CUDA nor the arena.
#ifndef PTRACE_PROF_ATTACH_TARGET_GPU_GPU_WALK_H_
#define PTRACE_PROF_ATTACH_TARGET_GPU_GPU_WALK_H_

#include "attach/abi/gpu_boot.h"

enum pp_gpu_walk_end {
  PP_GPU_WALK_WHOLE = 0,
  PP_GPU_WALK_DEEPER = 1,  // the stack has more frames than PP_GPU_STACK_FRAMES
  PP_GPU_WALK_BROKEN = 2,  // the stack is unknown
};

typedef struct pp_gpu_chain {
  uint64_t hash;   // of all its frames, and of `end`
  uint32_t count;  // number of frames; 0: no Python frame
  uint32_t end;    // pp_gpu_walk_end
} pp_gpu_chain;

#pragma GCC visibility push(hidden)
// `thread`: the thread state. `frames`: gets at most `room` frames, innermost first; null: only counts and hashes.
pp_gpu_chain pp_gpu_walk(const pp_gpu_python* python, uint64_t thread, pp_gpu_frame* frames, uint32_t room);
#pragma GCC visibility pop

// Whether the thread state and the frames of a thread in C may be freed at any time.
static inline int pp_gpu_is_ending(const pp_gpu_python* python) {
  return __atomic_load_n((const uint64_t*)python->finalizing, __ATOMIC_RELAXED) != 0;
}

#endif  // PTRACE_PROF_ATTACH_TARGET_GPU_GPU_WALK_H_
