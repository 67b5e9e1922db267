// The state of the stub in its target, and its life cycle. It traces only the interpreter in which pp_enter runs.
//
//        pp_enter            collector: armed = 1        pp_leave, a lost lease
//   idle ────────► installed ─────────────────► tracing ────────────────────────► idle (resident)
//
// `private_page` is set last at the start and cleared first at the end: a callback that finds it null does nothing. In
// a forked child the page exists, but is empty: the child removes the hooks in itself at its first event and touches
// none of the shared memory, which it does not have. Only pp_enter, pp_leave and pp_leave_from_hook change
// `private_page`; they exclude each other by `busy` and `leaving`.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_STUB_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_STUB_H_

#include "attach/abi/boot.h"
#include "attach/abi/channel.h"
#include "attach/target/python/python.h"
#include "attach/target/shared/sealed_file.h"
#include PP_ARCHITECTURE /* arch_x86_64.h, arch_aarch64.h */

#define pp_likely(condition) __builtin_expect(!!(condition), 1)
#define pp_unlikely(condition) __builtin_expect(!!(condition), 0)
#define PP_COLD __attribute__((noinline, cold))

// The records that one event may take: a gap before it, itself, and three additional ones.
enum { PP_GAP_RECORDS = 2, PP_GROUP_RECORDS = PP_GAP_RECORDS + 4 };
PP_STATIC_ASSERT(PP_GROUP_RECORDS + PP_CALL_UNITS <= PP_MIN_RING_RECORDS / 2, "an extended one fits into any ring");
PP_STATIC_ASSERT(PP_LAP_UNUSED(PP_LAP(0, PP_GROUP_RECORDS + PP_CALL_UNITS)) == PP_GROUP_RECORDS + PP_CALL_UNITS,
                 "fits");

// An entry of an open hash table in private memory: the ring that a thread writes to. An entry is found by its key and
// then belongs to its thread; other threads change only keys.
enum { PP_NO_RING = 0xffff };
typedef struct pp_slot {
  uint64_t thread_state;  // 0: never used; 1: used before
  uint64_t root;          // switches.c: the outermost frame of the current stack; 0: unknown
  uint64_t top;           // the innermost frame after the last event
  int32_t tid;
  int32_t native_id;    // of the thread state; differs from the tid if C code has forked
  uint32_t ring_index;  // PP_NO_RING: the thread waits for a ring
  pp_ring* ring;
  pp_record* records;  // of the current chunk
  uint64_t* owned;     // methods whose class was recorded in this ring
  uint64_t thrown;     // the frame of the last recorded THROW
} pp_slot;

// Private memory, wiped in children. Mapped at the first capture and then kept, so that a late write of the collector
// (`armed`) never hits memory of the job.
enum { PP_OWNED = 256 };     // number of methods that a ring remembers
enum { PP_SLOT_BITS = 12 };  // so many slots that at most a quarter of them is ever in use
typedef struct pp_tables {
  union {
    pp_private page;
    char whole_page[PP_PAGE];
  };
  uint64_t seen_stacks[1 << PP_SLOT_BITS];  // switches.c: stacks whose frames were recorded
  int32_t ring_tids[PP_MAX_RINGS];          // of each ring; 0: none
  uint16_t ring_mapped[PP_MAX_RINGS];       // number of its chunks that are mapped, from the first on
  pp_slot* ring_slots[PP_MAX_RINGS];
  uint64_t owned[PP_MAX_RINGS][PP_OWNED];  // see pp_slot
  pp_slot slots[1 << PP_SLOT_BITS];
  pp_ring waiting[1 << PP_SLOT_BITS];  // one per slot, used while no ring is free for its thread: always full
} pp_tables;
PP_STATIC_ASSERT((1 << PP_SLOT_BITS) >= 4 * PP_MAX_RINGS, "room to hash in");
PP_STATIC_ASSERT(PP_NO_RING >= PP_MAX_RINGS, "is no ring");

typedef struct pp_error_report {
  uint32_t error, step;
  int32_t number;
} pp_error_report;

// A way to be called by the interpreter: monitoring.c or profile.c.
typedef struct pp_hooks {
  pp_error_report (*install)(void);
  void (*remove)(void);
} pp_hooks;

typedef void* (*pp_switch)(void*, void*, void*, void*);  // a switching function of greenlets; at most four parameters

typedef struct pp_stub {
  pp_private* private_page;  // in `tables`, while a capture is active
  pp_tables* tables;
  pp_channel* channel;
  uint64_t record_mask;    // records of a chunk - 1
  uint64_t room;           // number of records from which on a ring is full
  uint64_t chunks;         // per ring; 1: the ring is used as one circular buffer
  uint64_t clock;          // pp_clock
  uint64_t follows;        // switches between stacks are recorded
  uint64_t greenlet_code;  // of the module that imports greenlets, while it runs
  uint64_t is_special;     // events need more than being written with the time of the counter
  uint64_t longest_hold;
  uint64_t c_calls;  // whether calls of C functions are recorded
  pp_mute* mutes;    // the table in the channel; null: there is none

  uint32_t sweep;  // the ring at which the next search for ended threads begins
  uint32_t tool_id;
  uint64_t channel_size;
  pp_sealed_file file;
  const pp_hooks* hooks;
  const pp_switch* switches;  // the functions put in front of those of greenlet_module.h
  uint64_t leaving;
  uint32_t hooks_displaced;
  int32_t code_watcher;   // its id; negative: there is none
  uint64_t freeing_code;  // a thread is writing the next pp_freed
} pp_stub;
#pragma GCC visibility push(hidden)
extern pp_stub pp_self;

extern const pp_hooks pp_monitoring_hooks;  // monitoring.c
extern const pp_hooks pp_profile_hooks;     // profile.c

// freed_code.c: starts and stops recording of freed code objects, if the interpreter reports them.
void pp_watch_code(void);
void pp_unwatch_code(void);

// For the pending-call queue, and for the module's exec slot: always returns 0, never leaves an exception.
int pp_enter(void* text);  // the code object of the text that loads the stub; null: it was resident
int pp_leave(void* unused);

// shared_memory.c: the memfd and the private tables. They do not know Python.
pp_error_report pp_map_memory(void);
void pp_unmap_memory(void);
void pp_unmap_in_child(void);  // removes what a fork left of them
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_STUB_H_
