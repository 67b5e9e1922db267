// The torch hook in its target: a global callback of PyTorch (at::addGlobalCallback) that writes each operator to a
// ring of its thread.
//
//        pp_torch_enter        collector: armed = 1        leave, or the end of the lease: at the next operator
//   idle ──────────────► installed ───────────────► recording ────────────────────────► idle (resident)
//
// Callbacks run on any thread, without the GIL, perhaps on several at the same time and up to the moment after another
// thread has left. So nothing that they touch is ever unmapped: private tables stay, and at the end the shared memory
// is replaced in place by private zero pages. A callback calls nothing that throws or allocates, and never waits. In a
// forked child the private page is empty, and callbacks do nothing; they stay registered there, because PyTorch's lock
// may have been held at the fork.
#ifndef PTRACE_PROF_ATTACH_TARGET_TORCH_TORCH_HOOK_H_
#define PTRACE_PROF_ATTACH_TARGET_TORCH_TORCH_HOOK_H_

#include "attach/abi/torch_arena.h"
#include "attach/abi/torch_boot.h"
#include "attach/target/shared/sealed_file.h"
#include PP_ARCHITECTURE /* arch_x86_64.h, arch_aarch64.h */

#define pp_likely(condition) __builtin_expect(!!(condition), 1)
#define pp_unlikely(condition) __builtin_expect(!!(condition), 0)
#define PP_COLD __attribute__((noinline, cold))

#define PP_TORCH_FUNCTION(type, name) ((type)pp_torch_boot_block.functions[PP_TORCH_FN_##name])

// An entry of an open hash table: the ring of a thread. Only its thread changes it, except for `thread`.
enum { PP_TORCH_SLOT_BITS = 12, PP_TORCH_SLOTS = 1 << PP_TORCH_SLOT_BITS };
enum { PP_TORCH_TRACE_THREADS = 1024 };
typedef struct pp_torch_slot {
  uint64_t thread;  // currentThreadId(); 0: free
  uint32_t ring;    // its number + 1; 0: none was free
} pp_torch_slot;

// Private memory, wiped in children. Mapped at the first capture and then kept.
typedef struct pp_torch_tables {
  union {
    pp_private page;
    char whole_page[PP_PAGE];
  };
  int32_t ring_tids[PP_MAX_RINGS];  // 0: none
  pp_torch_slot slots[PP_TORCH_SLOTS];
  // torch_inputs.c: what was learnt about tensors and lists. Threads may count at the same time: too few is no harm.
  uint32_t inputs_seen;  // in this capture, at the place that the row says
  uint32_t tensors_seen;
  uint32_t tensors_unfit;  // a bit for each row of pp_torch_boot.tensors that does not fit
  uint32_t lists[PP_TORCH_TAGS];
  uint32_t no_lists[PP_TORCH_TAGS];
  // torch_trace.c: an open hash table of threads that run operators while an execution trace is made.
  uint64_t trace_threads[PP_TORCH_TRACE_THREADS];  // currentThreadId() * 4 + how many were counted, up to 2
} pp_torch_tables;

// See torch_trace.c.
typedef struct pp_torch_trace {
  uint32_t state;  // pp_torch_trace_state
  uint32_t busy;   // a thread changes it
  int64_t stream;  // PyTorch's descriptor of the file
  uint64_t ended_at;
  uint64_t awaited;  // PAUSED: until this thread runs an operator
  pp_sealed_file file;
} pp_torch_trace;

typedef struct pp_torch_hook {
  pp_private* private_page;  // in `tables`, while a capture is active
  pp_torch_tables* tables;
  pp_torch_arena* arena;  // never changes once it is set
  uint64_t arena_size;    // what of it is in use
  uint32_t rings;
  uint32_t clock;  // pp_clock
  uint64_t record_mask;
  uint64_t inputs;    // whether inputs are recorded
  uint64_t callback;  // PyTorch's handle; 0: none
  uint64_t leaving;
  uint64_t originals[PP_TORCH_FN_CAPACITY];  // of the functions that slots lead away from; set once
  pp_torch_slot_of slots[PP_TORCH_MEMORY_SLOTS];
  uint64_t slots_before[PP_TORCH_MEMORY_SLOTS];  // what they held
  pp_sealed_file file;
  pp_torch_trace trace;
} pp_torch_hook;

typedef struct pp_torch_report {
  uint32_t error, step;
  int32_t number;
} pp_torch_report;

#pragma GCC visibility push(hidden)
extern pp_torch_boot pp_torch_boot_block;
extern pp_torch_hook pp_torch_self;

int pp_torch_enter(void* unused);  // for the pending-call queue, and for the module's exec slot: always returns 0
PP_COLD void pp_torch_leave(enum pp_leave_cause cause);

// torch_memory.c
pp_torch_report pp_torch_map(void);
void pp_torch_unmap(void);

// torch_ring.c: the ring of the calling thread; null: none is free.
PP_COLD pp_ring* pp_torch_find_ring(uint64_t thread);
// Makes room for `count` records, after a gap if events were lost. Returns 0 if the event is lost.
PP_COLD int pp_torch_make_room(pp_ring* ring, uint64_t now, uint64_t count);
PP_COLD uint64_t pp_torch_nanoseconds(void);

// torch_ops.c: the callbacks.
void* pp_torch_on_begin(void** context, const char* object);
void pp_torch_on_end(const char* object, void* context);
// Records of the calling thread. `units` may be 0.
void pp_torch_write(pp_ring* ring, uint64_t now, uint64_t what, const void* payload, uint64_t units);
pp_ring* pp_torch_own_ring(void);  // null: none is free
int pp_torch_is_recording(void);
// torch_allocations.c: leads the slots of the boot block to the hook, and back. Returns how many.
uint64_t pp_torch_take_slots(void);
void pp_torch_return_slots(void);
// torch_trace.c: PyTorch's own execution trace, from a call on the main thread on.
void pp_torch_begin_trace(void);
// At the begin of each operator, before PyTorch's observer sees it.
void pp_torch_watch_trace(const char* object);
// Brings its end forward; returns whether it is over.
PP_COLD int pp_torch_end_trace(uint64_t now);
PP_COLD void pp_torch_wait_for_trace(void);
// In a forked child: nothing more of it gets to the file.
PP_COLD void pp_torch_quit_trace(void);
// Likewise, before the child is recorded itself.
PP_COLD void pp_torch_forget_trace(void);
// torch_inputs.c: writes the inputs that an ArrayRef<IValue> refers to. Returns the number of words. `is_safe`: the
// address may be wrong.
uint64_t pp_torch_inputs(const uint64_t* array, int is_safe, uint64_t* words);
// The same, of an object's inputs where the row says that they are. It is believed once PP_PROBES objects had inputs
// there.
uint64_t pp_torch_row_inputs(const uint64_t* array, uint64_t* words);
// Copies memory that may not exist. Returns the number of bytes copied.
uint64_t pp_torch_copy(uint64_t from, void* to, uint64_t size);
#pragma GCC visibility pop

static inline int pp_torch_has_trace(void) {
  const uint32_t state = __atomic_load_n(&pp_torch_self.trace.state, __ATOMIC_ACQUIRE);
  return state >= PP_TORCH_TRACE_ON && state <= PP_TORCH_TRACE_ENDING;
}

static inline uint64_t pp_torch_now(void) {
  return pp_likely(pp_torch_self.clock == PP_CLOCK_TSC) ? pp_ticks() : pp_torch_nanoseconds();
}

static inline pp_record* pp_torch_record(const pp_ring* ring, uint64_t index) {
  const uint64_t number = ((uint64_t)ring - (uint64_t)pp_torch_self.arena) / PP_PAGE - 1;
  char* first =
      (char*)pp_torch_self.arena + PP_RECORDS_OFFSET(pp_torch_self.rings, pp_torch_self.record_mask + 1, number);
  return (pp_record*)first + (index & pp_torch_self.record_mask);
}

#endif  // PTRACE_PROF_ATTACH_TARGET_TORCH_TORCH_HOOK_H_
