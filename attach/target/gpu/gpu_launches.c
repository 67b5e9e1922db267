// Selects the launches whose Python stack is recorded, and writes them into the arena. Runs on the launching thread, in
// the vendor's callback: no lock, no allocation, no system call.
//
// The number of launches that a thread may record per second is limited. A launch beyond the limit costs one read of a
// coarse clock and touches no memory shared between threads. A stack is written once, under its hash; launches then
// refer to it. Launches and stacks without room are counted and left out.
#include "attach/target/gpu/gpu_shim.h"
#include "attach/target/gpu/gpu_walk.h"

enum { PP_THREAD_BITS = 9, PP_THREADS = 1 << PP_THREAD_BITS, PP_THREAD_PROBES = 16 };

// The state of one thread. Except for `key`, only that thread writes it, or the control thread while no launch is
// recorded.
typedef struct pp_launch_thread {
  uint64_t key;  // the thread's pthread_self; 0: unused
  // By pp_gpu_launch_class: the time until which the thread's allowance is used up; see may_tell.
  uint64_t due[PP_GPU_LAUNCH_CLASSES];
  uint64_t refused;
  uint64_t correlation;  // of its last launch
  uint64_t pad[3];
} pp_launch_thread;
PP_STATIC_ASSERT(sizeof(pp_launch_thread) == PP_CACHE_LINE, "a line each");

static pp_launch_thread threads[PP_THREADS] __attribute__((aligned(PP_CACHE_LINE)));
static uint64_t without_place;  // launches of threads without an entry in `threads`

static void count(uint64_t* counter) { __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED); }

void pp_gpu_begin_launches(void) {
  for (unsigned i = 0; i < PP_THREADS; ++i) threads[i] = (pp_launch_thread){0, {0}, 0, 0, {0}};
  without_place = 0;
}

void pp_gpu_count_launches(void) {
  uint64_t refused = 0;
  for (unsigned i = 0; i < PP_THREADS; ++i) refused += __atomic_load_n(&threads[i].refused, __ATOMIC_RELAXED);
  __atomic_store_n(&pp_gpu.arena->launches_refused, refused, __ATOMIC_RELAXED);
  const uint64_t dropped = __atomic_exchange_n(&without_place, 0, __ATOMIC_RELAXED);
  __atomic_add_fetch(&pp_gpu.arena->launches_dropped, dropped, __ATOMIC_RELAXED);
}

// The entry of an ended thread passes to the next thread with the same pthread_self.
static pp_launch_thread* place_of(uint64_t key) {
  const uint64_t first = (key * 0x9e3779b97f4a7c15ull) >> (64 - PP_THREAD_BITS);
  for (unsigned i = 0; i < PP_THREAD_PROBES; ++i) {
    pp_launch_thread* place = &threads[(first + i) % PP_THREADS];
    uint64_t found = __atomic_load_n(&place->key, __ATOMIC_RELAXED);
    if (found == key) return place;
    if (found == 0 && __atomic_compare_exchange_n(&place->key, &found, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return place;
    }
  }
  return 0;
}

// A token bucket, kept as the time when it will be full again: each launch adds one gap to it.
static int may_report(const pp_launch_thread* self, enum pp_gpu_launch_class class, uint64_t* due) {
  const uint64_t gap = pp_gpu_boot_block.launch_gaps[class];
  if (!gap) return 1;
  const uint64_t now = pp_gpu_now(PP_MONOTONIC_COARSE);
  *due = self->due[class] > now ? self->due[class] : now;
  if (*due - now > pp_gpu_boot_block.launch_bursts[class]) return 0;
  *due += gap;
  return 1;
}

// The thread state that belongs to this thread; 0: it runs no Python.
static uint64_t own_thread_state(uint64_t self) {
  const pp_gpu_python* python = &pp_gpu_boot_block.python;
  if (pp_gpu_is_ending(python)) return 0;
  const uint64_t thread = PP_GPU_FUNCTION(uint64_t(*)(void), PyGILState_GetThisThreadState)();
  if (!thread || thread & 7) return 0;
  return *(const uint64_t*)(thread + python->thread_ident) == self ? thread : 0;
}

// Returns the offset of the new stack; 0: there is no room, or the stack has changed meanwhile.
static uint64_t write_stack(uint64_t thread, const pp_gpu_chain* chain) {
  const uint64_t bytes = sizeof(pp_gpu_stack) + chain->count * sizeof(pp_gpu_frame);
  uint64_t* used = &pp_gpu.arena->stacks_used;
  uint64_t at = __atomic_load_n(used, __ATOMIC_RELAXED);
  do {
    if (at < PP_GPU_STACK_UNIT || at > pp_gpu.stack_bytes || bytes > pp_gpu.stack_bytes - at) return 0;
  } while (!__atomic_compare_exchange_n(used, &at, at + bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  pp_gpu_stack* stack = (pp_gpu_stack*)(pp_gpu.stacks + at);
  const pp_gpu_chain again = pp_gpu_walk(&pp_gpu_boot_block.python, thread, (pp_gpu_frame*)(stack + 1), chain->count);
  if (again.hash != chain->hash || again.count != chain->count) return 0;
  stack->hash = chain->hash;
  stack->count = chain->count;
  stack->flags = chain->end == PP_GPU_WALK_DEEPER ? PP_GPU_STACK_DEEPER : 0;
  return at / PP_GPU_STACK_UNIT;
}

static int is_stack(uint64_t where, const pp_gpu_chain* chain) {
  const uint64_t at = where * PP_GPU_STACK_UNIT;
  if (at > pp_gpu.stack_bytes - sizeof(pp_gpu_stack)) return 0;
  const pp_gpu_stack* stack = (const pp_gpu_stack*)(pp_gpu.stacks + at);
  return stack->hash == chain->hash && stack->count == chain->count;
}

// Two threads may write the same stack at once: the copy of the thread that is later in the index stays unused.
static uint32_t stack_of(uint64_t thread, const pp_gpu_chain* chain) {
  const uint64_t low = ((uint64_t)1 << PP_GPU_STACK_BITS) - 1;
  uint64_t made = 0;
  for (uint64_t i = 0; i < PP_GPU_STACK_PROBES; ++i) {
    uint64_t* place = &pp_gpu.stack_index[(chain->hash + i) % PP_GPU_STACK_INDEX];
    uint64_t entry = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (!entry) {
      if (!made) made = write_stack(thread, chain);
      if (!made) return 0;
      const uint64_t wanted = (chain->hash & ~low) | made;
      if (__atomic_compare_exchange_n(place, &entry, wanted, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return (uint32_t)made;
      }
    }
    if (((entry ^ chain->hash) & ~low) == 0 && is_stack(entry & low, chain)) return (uint32_t)(entry & low);
  }
  return 0;
}

static void add_launch(uint32_t correlation, uint32_t stack) {
  uint64_t* head = &pp_gpu.arena->launch_head;
  uint64_t at = __atomic_load_n(head, __ATOMIC_RELAXED);
  do {
    if (at - __atomic_load_n(&pp_gpu.arena->launch_tail, __ATOMIC_ACQUIRE) >= PP_GPU_LAUNCH_RING) {
      count(&pp_gpu.arena->launches_dropped);
      return;
    }
  } while (!__atomic_compare_exchange_n(head, &at, at + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  pp_gpu_launch* launch = &pp_gpu.launches[at % PP_GPU_LAUNCH_RING];
  launch->monotonic = pp_gpu_now(PP_MONOTONIC);
  launch->correlation = correlation;
  launch->stack = stack;
  __atomic_store_n(&launch->sequence, at + 1, __ATOMIC_RELEASE);
}

// Whether there was a Python stack to record.
static int report(uint64_t thread, uint32_t correlation) {
  const pp_gpu_chain chain = pp_gpu_walk(&pp_gpu_boot_block.python, thread, 0, 0);
  const uint32_t stack = chain.count ? stack_of(thread, &chain) : 0;
  if (stack) {
    add_launch(correlation, stack);
  } else if (chain.count || chain.end == PP_GPU_WALK_BROKEN) {
    count(&pp_gpu.arena->stacks_dropped);
  }
  return chain.count != 0;
}

void pp_gpu_on_launch(enum pp_gpu_launch_class class, uint32_t correlation) {
  if (!pp_gpu_may_use_memory()) return;
  const uint64_t key = PP_GPU_FUNCTION(uint64_t(*)(void), pthread_self)();
  pp_launch_thread* self = place_of(key);
  if (!self) {
    count(&without_place);
    return;
  }
  // A driver call inside a runtime call has the same correlation.
  if (self->correlation == correlation) return;
  self->correlation = correlation;
  uint64_t due = 0;
  if (!may_report(self, class, &due)) {
    __atomic_store_n(&self->refused, self->refused + 1, __ATOMIC_RELAXED);
    return;
  }
  pp_gpu_begin_use();
  if (pp_gpu_may_use_memory() && pp_gpu.launches) {
    const uint64_t thread = own_thread_state(key);
    if (thread && report(thread, correlation)) self->due[class] = due;
  }
  pp_gpu_end_use();
}
