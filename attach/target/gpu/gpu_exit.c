// Handles the end of the process and forks, outside of the shim's own thread.
#include "attach/target/gpu/gpu_shim.h"

enum {
  PP_FUTEX_WAIT = 0,
  PP_FUTEX_WAKE = 1,
  PP_FUTEX_PRIVATE = 128,
  PP_MAP_PLACE = 0x22 | 0x4000 | 0x100000,  // PRIVATE, ANONYMOUS, NORESERVE, FIXED_NOREPLACE
  PP_LONGEST_WAIT = 100,                    // turns of 10 ms each
};

// The arena is not mapped in a child. But the library may hold a buffer in it and record a call there, as far as it
// works after a fork. So the child gets memory of its own at that address.
static void in_child(void) {
  pp_close_sealed_file(&pp_gpu.file);
  if (!pp_gpu.arena) return;
  const uint64_t wanted = (uint64_t)pp_gpu.arena;
  const int64_t where = pp_system_call(PP_SYS_mmap, wanted, pp_gpu.arena_size, 3, PP_MAP_PLACE, ~0ull, 0);
  if (where > 0 && (uint64_t)where != wanted) {  // a kernel that takes the address for a hint (before 4.17)
    pp_system_call(PP_SYS_munmap, (uint64_t)where, pp_gpu.arena_size, 0, 0, 0, 0);
  }
}

void pp_gpu_watch_forks(void) {
  typedef int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void*);
  if (pp_gpu.fork_handler || !PP_GPU_HAS_FUNCTION(__register_atfork)) return;
  pp_gpu.fork_handler = PP_GPU_FUNCTION(register_atfork, __register_atfork)(0, 0, in_child, 0) == 0;
}

// From now on no call of the library begins; a running call has up to a second to end.
static void at_exit(void* unused) {
  (void)unused;
  if (!pp_gpu_may_use_memory()) return;  // no capture is active, or this is a forked child
  __atomic_store_n(&pp_gpu.exiting, 1, __ATOMIC_SEQ_CST);
  const uint64_t turn[2] = {0, 10000000};
  for (int i = 0; i < PP_LONGEST_WAIT && __atomic_load_n(&pp_gpu.calling, __ATOMIC_SEQ_CST); ++i) {
    pp_system_call(PP_SYS_futex, (uint64_t)&pp_gpu.calling, PP_FUTEX_WAIT | PP_FUTEX_PRIVATE, 1, (uint64_t)turn, 0, 0);
  }
}

// The handler that is registered last is called first. We register once when the library is loaded, and again after its
// first use, so that our handler runs before the library's own.
void pp_gpu_watch_exit(void) {
  typedef int (*register_exit)(void (*)(void*), void*, void*);
  if (pp_gpu.exit_handlers >= 2 || !PP_GPU_HAS_FUNCTION(__cxa_atexit)) return;
  pp_gpu.exit_handlers += PP_GPU_FUNCTION(register_exit, __cxa_atexit)(at_exit, 0, 0) == 0;
}

int pp_gpu_begin_call(void) {
  __atomic_store_n(&pp_gpu.calling, 1, __ATOMIC_SEQ_CST);
  if (!__atomic_load_n(&pp_gpu.exiting, __ATOMIC_SEQ_CST) && !__atomic_load_n(&pp_gpu.fatal, __ATOMIC_ACQUIRE))
    return 1;
  pp_gpu_end_call();
  return 0;
}

void pp_gpu_end_call(void) {
  __atomic_store_n(&pp_gpu.calling, 0, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pp_gpu.exiting, __ATOMIC_SEQ_CST)) {
    pp_system_call(PP_SYS_futex, (uint64_t)&pp_gpu.calling, PP_FUTEX_WAKE | PP_FUTEX_PRIVATE, 1, 0, 0, 0);
  }
}
