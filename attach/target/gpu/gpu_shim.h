// The GPU shim in its target, and its life cycle. Everything happens on a thread of its own, the control thread, except
// the callbacks that the vendor's library makes on threads of the job: for buffers and launches.
//
//         pp_gpu_enter: a thread       its steps             asked, lease, fatal error, exit of the process
//   idle ──────────────────────► attaching ────► recording ────────────────────────────────► detaching ──► idle
//                                    └────────► failed ─► idle                                   (resident)
//
// The control thread makes every call of the vendor's library, so a call that blocks there blocks no thread of the job:
// the collector watches `step` and its own deadline. The callbacks take no lock, allocate nothing and make no system
// call. A forked child has no control thread and no arena, and `alive` is wiped there: it uses neither arena nor
// library. Memory that was mapped for the library stays mapped as long as the library may write to it. The shim itself
// is never unloaded.
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

// A source of records: one vendor's library. The functions are called on the control thread; only the library's
// callbacks for buffers (gpu_buffers.c) and launches come on other threads. A call that was skipped because the process
// is ending counts as made.
typedef struct pp_gpu_backend {
  uint32_t id;  // pp_gpu_backend_id
  // Finds the library and checks whether it can be used; switches nothing on.
  pp_gpu_report (*probe)(void);
  // Switches records on. If it fails, or `pp_gpu_is_called_off` meanwhile, detach undoes what was done.
  pp_gpu_report (*attach)(void);
  // Makes the library give complete records back.
  void (*flush)(void);
  // Switches off everything that attach has switched on; returns how the library was left (pp_gpu_leave_how).
  uint32_t (*detach)(void);
  // pp_gpu_time of records.
  uint32_t (*clock)(void);
  // The current value of the records' clock; 0: unknown. Called if that clock is PP_GPU_TIME_OTHER.
  uint64_t (*read_clock)(void);
  // In a forked child: forgets what is switched on, because that is so in the parent only. Calls no function of the
  // library, whose threads do not exist here.
  void (*forget)(void);
} pp_gpu_backend;

typedef struct pp_gpu_self {
  // A cache line with the fields that callbacks use first.
  uint64_t users;                // threads in a callback that uses the arena
  pp_gpu_private* private_page;  // kept from the first capture on
  uint8_t* spares;               // buffers whose content is thrown away; null: not needed so far. Kept
  uint64_t pad[5];

  // The active capture: another cache line, and what follows it.
  pp_gpu_arena* arena;  // null: none
  pp_gpu_slot* slots;
  uint8_t* buffers;
  uint64_t slot_count, slot_bytes;
  uint64_t must_give;  // the library crashes if it gets no buffer
  uint64_t arena_size;
  pp_gpu_clock* clocks;
  pp_gpu_launch* launches;  // null: launches are not recorded
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
  uint64_t fatal;    // 1 + the library's fatal result; 0: none
  uint32_t trouble;  // pp_gpu_leave_cause found in `flush`; control thread
  int32_t trouble_number;
} __attribute__((aligned(PP_CACHE_LINE))) pp_gpu_self;

#pragma GCC visibility push(hidden)
extern pp_gpu_boot pp_gpu_boot_block;
extern pp_gpu_self pp_gpu;

extern const pp_gpu_backend pp_gpu_null_backend;   // gpu_null.c
extern const pp_gpu_backend pp_gpu_cupti_backend;  // cupti_backend.c

// gpu_control.c
int pp_gpu_enter(void* unused);  // for the pending-call queue and the module's exec slot: always 0
int pp_gpu_is_called_off(void);  // whether the collector wants no (more) records, or is gone
void pp_gpu_set_step(enum pp_gpu_step step);
void pp_gpu_wait(uint64_t millis);  // until then, or until the collector wakes us

// gpu_memory.c
pp_gpu_report pp_gpu_map_memory(void);
void pp_gpu_unmap_memory(void);   // except memory that the library may still write to
int pp_gpu_may_use_memory(void);  // false in a forked child, and while there is no capture
pp_gpu_report pp_gpu_map_spares(void);

// gpu_buffers.c: for callbacks on any thread.
uint8_t* pp_gpu_take_buffer(uint64_t* size);  // null: none is free
void pp_gpu_give_buffer(uint8_t* buffer, uint64_t valid);
uint64_t pp_gpu_buffers_out(void);
enum { PP_GPU_SPARES = 64, PP_GPU_SPARE_BYTES = 64 << 10 };

// gpu_launches.c
void pp_gpu_on_launch(enum pp_gpu_launch_class class, uint32_t correlation);  // for callbacks on any thread
void pp_gpu_begin_launches(void);                                             // call it before the first launch of a
                                                                              // capture
void pp_gpu_count_launches(void);                                             // stores the counts in the arena

// gpu_clock.c
enum { PP_REALTIME = 0, PP_MONOTONIC = 1, PP_MONOTONIC_RAW = 4, PP_MONOTONIC_COARSE = 6 };
uint64_t pp_gpu_now(int clock);  // ns
void pp_gpu_pair_clocks(void);   // stores a pair in the ring

// gpu_exit.c: the end of the process, and forks.
void pp_gpu_watch_forks(void);
void pp_gpu_watch_exit(void);
int pp_gpu_begin_call(void);  // 0: the process is ending, make no call
void pp_gpu_end_call(void);
#pragma GCC visibility pop

// Surrounds every use of the arena by a callback. The end of a capture first clears `alive` and then waits until
// `users` is 0. So a callback that has found `alive` set never finds the memory unmapped.
static inline void pp_gpu_begin_use(void) { __atomic_add_fetch(&pp_gpu.users, 1, __ATOMIC_SEQ_CST); }
static inline void pp_gpu_end_use(void) { __atomic_sub_fetch(&pp_gpu.users, 1, __ATOMIC_SEQ_CST); }

#endif  // PTRACE_PROF_ATTACH_TARGET_GPU_GPU_SHIM_H_
