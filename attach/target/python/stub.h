// The state of the stub in its target, and its life. It traces the interpreter in which pp_enter runs, no other one.
//
//        pp_enter            collector: armed = 1        pp_leave, a lost lease
//   idle ────────► installed ─────────────────► tracing ────────────────────────► idle (resident)
//
// `private_page` is set last on the way in and cleared first on the way out: a callback that finds it null does
// nothing. In a forked child the page is there, but empty: the child takes the hooks off in itself at its first event
// and touches none of the shared memory, which it does not have. Who may change it: pp_enter, pp_leave and
// pp_leave_from_hook, which exclude each other by `busy` and `leaving`.
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

// Records that one event may take: a gap before it, itself, and three that say more of it.
enum { PP_GAP_RECORDS = 2, PP_GROUP_RECORDS = PP_GAP_RECORDS + 4 };
PP_STATIC_ASSERT(PP_GROUP_RECORDS + PP_MAX_UNITS <= PP_MIN_RING_RECORDS / 2, "an extended one fits into any ring");
PP_STATIC_ASSERT(PP_LAP_UNUSED(PP_LAP(0, PP_GROUP_RECORDS + PP_MAX_UNITS)) == PP_GROUP_RECORDS + PP_MAX_UNITS, "fits");

// Which ring a thread writes to: an entry of an open hash table in private memory. An entry is found by its key and
// then belongs to the thread that has it; only keys are changed by others.
enum { PP_NO_RING = 0xffff };
typedef struct pp_slot {
  uint64_t thread_state;  // 0: never used; 1: used before
  uint64_t root;          // switches.c: the outermost frame of the stack that it is on; 0: not known
  uint64_t top;           // and the innermost one after the last event
  int32_t tid;
  int32_t native_id;    // that the thread state had, which is not the tid where C code has forked
  uint32_t ring_index;  // PP_NO_RING: its thread waits for one
  pp_ring* ring;
  pp_record* records;  // of the chunk
  uint64_t* owned;     // methods whose class this ring has told
  uint64_t thrown;     // the frame that a THROW was last told of
} pp_slot;

// Private memory, wiped in children. Mapped at the first capture and then kept: a late word of the collector (`armed`)
// never meets memory of somebody else.
enum { PP_OWNED = 256 };     // methods that a ring remembers
enum { PP_SLOT_BITS = 12 };  // so many slots that at most a quarter of them is ever in use
typedef struct pp_tables {
  union {
    pp_private page;
    char whole_page[PP_PAGE];
  };
  uint64_t seen_stacks[1 << PP_SLOT_BITS];  // switches.c: of which it was told what is in them
  int32_t ring_tids[PP_MAX_RINGS];          // of each ring; 0: none
  uint16_t ring_mapped[PP_MAX_RINGS];       // chunks of it that are, from the first on
  pp_slot* ring_slots[PP_MAX_RINGS];
  uint64_t owned[PP_MAX_RINGS][PP_OWNED];  // see pp_slot
  pp_slot slots[1 << PP_SLOT_BITS];
  pp_ring waiting[1 << PP_SLOT_BITS];  // of each slot, while no ring is free for its thread: always full
} pp_tables;
PP_STATIC_ASSERT((1 << PP_SLOT_BITS) >= 4 * PP_MAX_RINGS, "room to hash in");
PP_STATIC_ASSERT(PP_NO_RING >= PP_MAX_RINGS, "is no ring");

typedef struct pp_error_report {
  uint32_t error, step;
  int32_t number;
} pp_error_report;

// A way to be called by the interpreter: monitoring.c, profile.c.
typedef struct pp_hooks {
  pp_error_report (*install)(void);
  void (*remove)(void);
} pp_hooks;

typedef void* (*pp_switch)(void*, void*, void*, void*);  // of greenlets; of four parameters at most

typedef struct pp_stub {
  pp_private* private_page;  // of `tables`, while a capture is on
  pp_tables* tables;
  pp_channel* channel;
  uint64_t record_mask;    // records of a chunk - 1
  uint64_t room;           // records in a ring from which on it is full
  uint64_t chunks;         // of a ring; 1: it is used round and round
  uint64_t clock;          // pp_clock
  uint64_t follows;        // switches between stacks are told
  uint64_t greenlet_code;  // of the module that brings them, while it runs
  uint64_t is_special;     // whether there is more to an event than to write it down with the counter's time
  uint64_t longest_hold;
  uint64_t c_calls;  // whether calls of C functions are told
  pp_mute* mutes;    // the table in the channel; null: there is none

  uint32_t sweep;  // the ring at which the next search for ended threads begins
  uint32_t tool_id;
  uint64_t channel_size;
  pp_sealed_file file;
  const pp_hooks* hooks;
  const pp_switch* switches;  // what is put in front of those of greenlet_module.h
  uint64_t leaving;
  uint32_t hooks_displaced;
  int32_t code_watcher;   // its id; negative: there is none
  uint64_t freeing_code;  // a thread writes the next pp_freed
} pp_stub;
#pragma GCC visibility push(hidden)
extern pp_stub pp_self;

extern const pp_hooks pp_monitoring_hooks;  // monitoring.c
extern const pp_hooks pp_profile_hooks;     // profile.c

// freed_code.c: has code objects told as they are freed, where the interpreter says so; and not any more.
void pp_watch_code(void);
void pp_unwatch_code(void);

// For the pending-call queue, and for the module's exec slot: always 0, never leaves an exception.
int pp_enter(void* text);  // the code object of the text that loads it; null: it was there
int pp_leave(void* unused);

// shared_memory.c: the memfd and the private tables. They do not know Python.
pp_error_report pp_map_memory(void);
void pp_unmap_memory(void);
void pp_unmap_in_child(void);  // what a fork left of them
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_STUB_H_
