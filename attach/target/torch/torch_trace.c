// PyTorch's own execution trace (torch.profiler.ExecutionTraceObserver), switched on from outside. PyTorch's observer
// writes JSON to a memfd, which the collector reads.
//
//   add, enable ──► ON ◄──────────────► PAUSED
//                    └──► disable: ENDING ◄┘ ──► after a while, remove: OVER
//
// The functions that do this trust their caller, so we keep to what they can take:
// - enable and disable need an observer, which the job could have removed. It is there while its file is open.
// - remove deletes an observer that other threads may still be in. So it comes a while after disable.
// - There is one observer for the process. If the job has one, add does nothing, and the file is not open.
// - At an operator of a backward pass the observer looks up the last operator of the thread that ran the forward pass.
//   If that thread has run none meanwhile, it would read beyond its list, and could end the job. Our callback is older
//   than the observer's, so it runs first, and pauses the observer, until that thread runs an operator.
// - A forked child inherits the observer and the file. There, the first operator switches the observer off, and gives
//   it a file of the child's own.
// The observer catches what it throws, and writes warnings to the job's standard error.
#include "attach/target/torch/torch_hook.h"

enum {
  PP_AT_FDCWD = -100,
  PP_O_CLOEXEC = 02000000,
  PP_O_WRONLY = 1,
  PP_MOST_DESCRIPTORS = 1 << 16,
  PP_PATH_BYTES = 40,
  PP_MOST_PAUSES = 8,
  PP_PROBES_OF_THREAD = 16,
  PP_COUNT_BITS = 2,
  PP_ENOUGH = 2,  // the first operator may have begun before the observer was on
};

// std::string by hand: PyTorch only copies it.
typedef struct pp_new_string {
  const char* text;
  uint64_t length;
  uint64_t capacity[2];
} pp_new_string;
typedef struct pp_old_string {  // a pointer to `text` is one
  uint64_t length, capacity;
  int64_t references;  // < 0: copies do not share the text
  char text[PP_PATH_BYTES];
} pp_old_string;

static uint32_t state_of(void) { return __atomic_load_n(&pp_torch_self.trace.state, __ATOMIC_ACQUIRE); }

static void set_state(uint32_t state) {
  __atomic_store_n(&pp_torch_self.trace.state, state, __ATOMIC_SEQ_CST);
  if (pp_torch_self.arena) __atomic_store_n(&pp_torch_self.arena->trace_state, state, __ATOMIC_RELEASE);
}

// An end from which no other state follows.
static void finish(uint32_t state) {
  pp_close_sealed_file(&pp_torch_self.trace.file);
  set_state(state);
}

static int is_ours(void) { return pp_is_file(pp_torch_self.trace.stream, &pp_torch_self.trace.file); }

static int try_lock(void) { return !__atomic_exchange_n(&pp_torch_self.trace.busy, 1, __ATOMIC_ACQUIRE); }
static void unlock(void) { __atomic_store_n(&pp_torch_self.trace.busy, 0, __ATOMIC_RELEASE); }

static void call(uint64_t function) { ((void (*)(void))function)(); }
#define PP_CALL(name) call(pp_torch_boot_block.functions[PP_TORCH_FN_##name])

// "/proc/self/fd/N"; returns its length.
static uint64_t write_path(char* to, int64_t descriptor) {
  static const char kFolder[] = "/proc/self/fd/";
  uint64_t length = sizeof kFolder - 1, digits = 1;
  __builtin_memcpy(to, kFolder, sizeof kFolder - 1);
  for (int64_t rest = descriptor / 10; rest; rest /= 10) ++digits;
  for (uint64_t i = digits; i > 0; --i, descriptor /= 10) to[length + i - 1] = (char)('0' + descriptor % 10);
  length += digits;
  to[length] = 0;
  return length;
}

static int add_observer(int64_t descriptor) {
  pp_old_string old = {.references = -1};
  const uint64_t length = write_path(old.text, descriptor);
  old.length = old.capacity = length;
  const char* text = old.text;
  pp_new_string string = {.text = text, .length = length, .capacity = {length, 0}};
  const int has_old = (pp_torch_boot_block.flags & PP_TORCH_BOOT_OLD_STRINGS) != 0;
  return PP_TORCH_FUNCTION(int (*)(const void*), trace_add)(has_old ? (const void*)&text : &string) & 0xff;
}

// A new descriptor is the lowest that is free, unless another thread was faster.
static int64_t find_stream(int64_t likely) {
  if (is_ours()) return pp_torch_self.trace.stream;
  for (int64_t i = likely; i >= 0 && i < PP_MOST_DESCRIPTORS; ++i) {
    if (i != pp_torch_self.trace.file.descriptor && pp_is_file(i, &pp_torch_self.trace.file)) return i;
  }
  for (int64_t i = 0; i < likely; ++i) {
    if (i != pp_torch_self.trace.file.descriptor && pp_is_file(i, &pp_torch_self.trace.file)) return i;
  }
  return -1;
}

static uint32_t begin_trace(void) {
  pp_torch_trace* trace = &pp_torch_self.trace;
  const pp_torch_boot* boot = &pp_torch_boot_block;
  char path[PP_PATH_BYTES];
  uint32_t step = 0;
  trace->stream = -1;
  if (boot->trace_forward_thread > PP_TORCH_OBJECT_BYTES - sizeof(uint64_t)) return PP_TORCH_TRACE_NO_FILE;
  if (pp_make_open_file(boot->trace_name, boot->trace_most, &trace->file, &step) < 0) return PP_TORCH_TRACE_NO_FILE;
  write_path(path, trace->file.descriptor);
  // If PyTorch could not open it, it would keep an observer that cannot be removed.
  const int64_t opened =
      pp_system_call(PP_SYS_openat, (uint64_t)PP_AT_FDCWD, (uint64_t)path, PP_O_WRONLY | PP_O_CLOEXEC, 0, 0, 0);
  if (opened < 0) return PP_TORCH_TRACE_NO_FILE;
  pp_system_call(PP_SYS_close, (uint64_t)opened, 0, 0, 0, 0, 0);
  if (!add_observer(trace->file.descriptor)) return PP_TORCH_TRACE_NO_FILE;
  trace->stream = find_stream(opened);
  if (trace->stream < 0) return PP_TORCH_TRACE_IN_USE;
  set_state(PP_TORCH_TRACE_ON);  // before it is: an operator that it sees is one that we watch
  PP_CALL(trace_enable);
  return PP_TORCH_TRACE_ON;
}

void pp_torch_begin_trace(void) {
  const uint64_t* functions = pp_torch_boot_block.functions;
  if (!functions[PP_TORCH_FN_trace_add] || !functions[PP_TORCH_FN_trace_enable] ||
      !functions[PP_TORCH_FN_trace_disable] || !functions[PP_TORCH_FN_trace_remove]) {
    return;
  }
  const uint32_t state = begin_trace();
  if (state == PP_TORCH_TRACE_ON) return;
  finish(state);
}

// The entry of a thread; null: it has none, and `is_new` is 0 or there is no room.
static uint64_t* thread_entry(uint64_t thread, int is_new) {
  uint64_t* entries = pp_torch_self.tables->trace_threads;
  for (uint64_t i = 0; i < PP_PROBES_OF_THREAD; ++i) {
    uint64_t* entry = &entries[(thread + i) & (PP_TORCH_TRACE_THREADS - 1)];
    uint64_t value = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (value >> PP_COUNT_BITS == thread) return entry;
    if (value) continue;
    if (!is_new) return 0;
    if (__atomic_compare_exchange_n(entry, &value, thread << PP_COUNT_BITS, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return entry;
    }
  }
  return 0;
}

static void count_operator(uint64_t thread) {
  uint64_t* entry = thread_entry(thread, 1);
  const uint64_t value = entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : PP_ENOUGH;
  if ((value & ((1 << PP_COUNT_BITS) - 1)) < PP_ENOUGH) __atomic_store_n(entry, value + 1, __ATOMIC_RELEASE);
}

static int has_run(uint64_t thread) {
  const uint64_t* entry = thread_entry(thread, 0);
  return entry && (__atomic_load_n(entry, __ATOMIC_ACQUIRE) & ((1 << PP_COUNT_BITS) - 1)) >= PP_ENOUGH;
}

// The observer must be off when this returns, so a thread may have to wait for another one that changes it.
static PP_COLD void pause(uint64_t awaited) {
  pp_torch_trace* trace = &pp_torch_self.trace;
  while (!try_lock()) {
    if (state_of() != PP_TORCH_TRACE_ON) return;
  }
  if (state_of() == PP_TORCH_TRACE_ON) {
    const int ours = is_ours();
    if (ours) PP_CALL(trace_disable);
    trace->awaited = awaited;
    pp_torch_self.arena->trace_pauses++;
    ours ? set_state(PP_TORCH_TRACE_PAUSED) : finish(PP_TORCH_TRACE_TAKEN);
  }
  unlock();
}

static PP_COLD void go_on(void) {
  if (!try_lock()) return;
  if (state_of() == PP_TORCH_TRACE_PAUSED && pp_torch_self.arena->trace_pauses < PP_MOST_PAUSES) {
    if (is_ours()) {
      set_state(PP_TORCH_TRACE_ON);
      PP_CALL(trace_enable);
    } else {
      finish(PP_TORCH_TRACE_TAKEN);
    }
  }
  unlock();
}

void pp_torch_watch_trace(const char* object) {
  const uint64_t thread = *(const uint64_t*)(object + PP_TORCH_AT_THREAD);
  const uint64_t forward = *(const uint64_t*)(object + pp_torch_boot_block.trace_forward_thread);
  const uint32_t state = state_of();
  if (state == PP_TORCH_TRACE_ON) {
    if (pp_unlikely(forward && forward != thread && !has_run(forward))) {
      pause(forward);
    } else {
      count_operator(thread);
    }
  } else if (state == PP_TORCH_TRACE_PAUSED && thread == pp_torch_self.trace.awaited && !forward) {
    go_on();
  }
}

int pp_torch_end_trace(uint64_t now) {
  pp_torch_trace* trace = &pp_torch_self.trace;
  if (!try_lock()) return 0;
  const uint32_t state = state_of();
  if (state == PP_TORCH_TRACE_ON || state == PP_TORCH_TRACE_PAUSED) {
    if (state == PP_TORCH_TRACE_ON && is_ours()) PP_CALL(trace_disable);
    trace->ended_at = now;
    set_state(PP_TORCH_TRACE_ENDING);
  } else if (state == PP_TORCH_TRACE_ENDING && now > trace->ended_at + pp_torch_boot_block.trace_grace) {
    const int ours = is_ours();
    if (ours) PP_CALL(trace_remove);
    finish(ours ? PP_TORCH_TRACE_OVER : PP_TORCH_TRACE_TAKEN);
  }
  unlock();
  return !pp_torch_has_trace();
}

void pp_torch_wait_for_trace(void) {
  enum { PP_FUTEX_WAIT_PRIVATE = 128, PP_TIMES = 200 };
  const struct {
    int64_t seconds, nanoseconds;
  } pause = {0, 5000000};
  uint32_t word = 0;
  for (int i = 0; i < PP_TIMES && pp_torch_has_trace() && !pp_torch_end_trace(pp_torch_now()); ++i) {
    pp_system_call(PP_SYS_futex, (uint64_t)&word, PP_FUTEX_WAIT_PRIVATE, 0, (uint64_t)&pause, 0, 0);
  }
}

// The inherited observer writes to a file of its parent, and has a lock that may have been taken at the fork.
void pp_torch_quit_trace(void) {
  pp_torch_trace* trace = &pp_torch_self.trace;
  uint32_t state = state_of();
  if (state < PP_TORCH_TRACE_ON || state > PP_TORCH_TRACE_ENDING ||
      !__atomic_compare_exchange_n(&trace->state, &state, PP_TORCH_TRACE_IN_CHILD, 0, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    return;
  }
  if (!is_ours()) return;
  uint32_t step = 0;
  pp_sealed_file own = {.descriptor = -1};
  if (pp_make_open_file("ptrace-prof-child", 0, &own, &step) >= 0) {
    pp_system_call(PP_SYS_dup3, (uint64_t)own.descriptor, (uint64_t)trace->stream, PP_O_CLOEXEC, 0, 0, 0);
    pp_close_sealed_file(&trace->file);
    trace->file = own;
  }
  if (state == PP_TORCH_TRACE_ON) PP_CALL(trace_disable);
}

void pp_torch_forget_trace(void) {
  pp_torch_quit_trace();
  pp_torch_trace* trace = &pp_torch_self.trace;
  if (state_of() == PP_TORCH_TRACE_IN_CHILD && is_ours()) PP_CALL(trace_remove);
  pp_close_sealed_file(&trace->file);
  trace->state = PP_TORCH_TRACE_NONE;
  trace->busy = 0;  // of a thread that does not exist here
}
