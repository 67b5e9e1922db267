// The GPU shim in its target, and its life. All of it happens on one thread of its own, the control thread, but for
// the callbacks that the vendor's library makes on threads of the job: for buffers, and of launches.
//
//         pp_gpu_enter: a thread       its steps             asked, lease, fatal error, exit of the process
//   idle ──────────────────────► attaching ────► recording ────────────────────────────────► detaching ──► idle
//                                    └────────► failed ─► idle                                   (resident)
//
// The control thread makes every call of the vendor's library, so that what blocks there blocks nobody else: the
// collector watches `step` and its own deadline. These callbacks take no lock, allocate nothing and make no system
// call. A forked child has no control thread, no arena and finds `alive` wiped: it touches neither them nor the
// library. What was mapped for the library stays mapped as long as it may write there; the shim itself is never
// unloaded.
#ifndef PTRACE_PROF_ATTACH_TARGET_GPU_GPU_SHIM_H_
#define PTRACE_PROF_ATTACH_TARGET_GPU_GPU_SHIM_H_

#include "attach/abi/gpu_arena.h"
#include "attach/abi/gpu_boot.h"
#include "attach/target/shared/sealed_file.h"
#include PP_ARCHITECTURE /* arch_x86_64.h, arch_aarch64.h */

#define PP_GPU_HAS_FUNCTION(name) (pp_gpu_boot_block.functions[PP_GPU_FN_##name] != 0)
#define PP_GPU_FUNCTION(type, name) ((type)pp_gpu_boot_block.functions[PP_GPU_FN_##name])

typedef struct pp_gpu_report {
  uint32_t error, step;  // pp_gpu_error, pp_gpu_step
  int32_t number;
} pp_gpu_report;

// A source of records: one vendor's library. Everything but `take` and `give` in buffers.c is called on the control
// thread. A call that could not be made because the process is ending is as good as made.
typedef struct pp_gpu_backend {
  uint32_t id;  // pp_gpu_backend_id
  // Finds the library and looks whether it can be used; switches nothing on.
  pp_gpu_report (*probe)(void);
  // Switches records on. Where it fails, or `pp_gpu_is_called_off` meanwhile, it leaves the undoing to detach.
  pp_gpu_report (*attach)(void);
  // Has complete records given back.
  void (*flush)(void);
  // Switches everything off that attach has switched on; says how it was left (pp_gpu_leave_how).
  uint32_t (*detach)(void);
  // pp_gpu_time of records.
  uint32_t (*clock)(void);
  // What the clock of records says now; 0: nothing. Asked where that is PP_GPU_TIME_OTHER.
  uint64_t (*read_clock)(void);
  // In a forked child: what is switched on is so in the parent. Calls nothing of the library, whose threads are not
  // here.
  void (*forget)(void);
} pp_gpu_backend;

typedef struct pp_gpu_self {
  // A cache line, of what callbacks begin with.
  uint64_t users;                // threads in a callback that uses the arena
  pp_gpu_private* private_page;  // kept from the first capture on
  uint8_t* spares;               // buffers to be thrown away; null: none were needed yet. Kept
  uint64_t pad[5];

  // Of the capture that is on: another line, and what follows it.
  pp_gpu_arena* arena;  // null: none
  pp_gpu_slot* slots;
  uint8_t* buffers;
  uint64_t slot_count, slot_bytes;
  uint64_t must_give;  // the library does not survive it when it is given no buffer
  uint64_t arena_size;
  pp_gpu_clock* clocks;
  pp_gpu_launch* launches;  // null: none is told of
  uint64_t* stack_index;
  uint8_t* stacks;
  uint64_t stack_bytes;
  pp_sealed_file file;
  const pp_gpu_backend* backend;
  uint64_t last_beat, beat_seen;

  // Kept from the first capture on.
  uint64_t fork_handler, exit_handlers;

  uint64_t calling;  // the control thread is in the library
  uint64_t exiting;  // the process is ending
  uint64_t fatal;    // 1 + the result of the library's last words; 0: none
  uint32_t trouble;  // pp_gpu_leave_cause that the backend found out in `flush`; control thread
  int32_t trouble_number;
} __attribute__((aligned(PP_CACHE_LINE))) pp_gpu_self;

#pragma GCC visibility push(hidden)
extern pp_gpu_boot pp_gpu_boot_block;
extern pp_gpu_self pp_gpu;

extern const pp_gpu_backend pp_gpu_null_backend;   // gpu_null.c
extern const pp_gpu_backend pp_gpu_cupti_backend;  // cupti_backend.c

// gpu_control.c
int pp_gpu_enter(void* unused);  // for the pending-call queue and the module's exec slot: always 0
int pp_gpu_is_called_off(void);  // whether the collector wants no records (any more), or is gone
void pp_gpu_set_step(enum pp_gpu_step step);
void pp_gpu_wait(uint64_t millis);  // until then, or until the collector rings

// gpu_memory.c
pp_gpu_report pp_gpu_map_memory(void);
void pp_gpu_unmap_memory(void);   // as far as nobody writes there any more
int pp_gpu_may_use_memory(void);  // false in a forked child, and while there is no capture
pp_gpu_report pp_gpu_map_spares(void);

// gpu_buffers.c: for callbacks on any thread.
uint8_t* pp_gpu_take_buffer(uint64_t* size);  // null: none is free
void pp_gpu_give_buffer(uint8_t* buffer, uint64_t valid);
uint64_t pp_gpu_buffers_out(void);
enum { PP_GPU_SPARES = 64, PP_GPU_SPARE_BYTES = 64 << 10 };

// gpu_launches.c
void pp_gpu_on_launch(enum pp_gpu_launch_class class, uint32_t correlation);  // for callbacks on any thread
void pp_gpu_begin_launches(void);                                             // before the first of a capture
void pp_gpu_count_launches(void);                                             // into the arena

// gpu_clock.c
enum { PP_REALTIME = 0, PP_MONOTONIC = 1, PP_MONOTONIC_RAW = 4, PP_MONOTONIC_COARSE = 6 };
uint64_t pp_gpu_now(int clock);  // ns
void pp_gpu_pair_clocks(void);   // into the ring

// gpu_exit.c: the end of the process, and forks.
void pp_gpu_watch_forks(void);
void pp_gpu_watch_exit(void);
int pp_gpu_begin_call(void);  // 0: the process is ending, make none
void pp_gpu_end_call(void);
#pragma GCC visibility pop

// Around every use of the arena by a callback. Whoever ends the capture first clears `alive` and then waits for `users`
// to be gone, so that none that has found it set, in between, finds the memory unmapped.
static inline void pp_gpu_begin_use(void) { __atomic_add_fetch(&pp_gpu.users, 1, __ATOMIC_SEQ_CST); }
static inline void pp_gpu_end_use(void) { __atomic_sub_fetch(&pp_gpu.users, 1, __ATOMIC_SEQ_CST); }

#endif  // PTRACE_PROF_ATTACH_TARGET_GPU_GPU_SHIM_H_
