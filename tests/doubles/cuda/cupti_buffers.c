// Buffers of the client. The thread that needs one requests it, and a worker thread gives it back once all records in
// it are complete. It is as strict as the real library: a buffer with a kernel that still runs stays here until the
// kernel has ended or a flush is forced, and buffers come back in no order (the newest of the complete ones first).
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/doubles/cuda/clocks.h"
#include "tests/doubles/cuda/cupti_state.h"
#include "tests/doubles/cuda/options.h"
#include "tests/doubles/cuda/pending.h"

enum {
  kStartAt = 16,
  kStartOfGraphAt = 8,
  kEndAfterStart = 8,
  kPoolDefault = 250,
  kDeclineSafely = 27,
  kDroppedWithoutDriver = 23,
  kFirstWithZeros = 24,
  kFirstWithoutZeros = 130100,
  kWorkerPeriod = 1000000,
  kTimed = 4096
};

struct holder {  // of the buffer that one thread, or all threads, fill
  struct buffer* current;
  struct holder* next;
};

static struct holder shared;  // the first of all holders
static __thread struct holder* mine;
static struct buffer* ready;
static pthread_mutex_t delivery;  // held while the client takes a buffer or dropped records are counted
static pthread_cond_t work, flushed = PTHREAD_COND_INITIALIZER;
static pthread_t worker;
static int running, stopping, force;
static uint64_t flush_wanted, flush_done;
static struct {  // nanoseconds that the client took; the newest replaces the oldest
  uint32_t nanoseconds[kTimed];
  uint64_t count;
} request_times, complete_times;

// A clock as from a tool's callback that reads a counter: another zero, another rate, and possibly a drift.
static uint64_t counter_at(uint64_t monotonic, int64_t ticks_per_us) {
  const int64_t drift = double_option("clock_drift_ppb", 0);
  const __int128 base = (__int128)monotonic * ticks_per_us / 1000;
  return (uint64_t)(base + base * drift / 1000000000) + 123456789;
}

uint64_t cupti_time(uint64_t monotonic) {
  int steps = cupti_fault_is_due(double_option("clock_step_after", -1), cupti.gpu_records);
  uint64_t step = steps ? (uint64_t)double_option("clock_step_ns", 0) : 0;
  int64_t ticks_per_us = double_option("clock_ticks_per_us", 0);
  if (steps) ticks_per_us = double_option("clock_step_ticks_per_us", ticks_per_us);
  if (ticks_per_us) return counter_at(monotonic + step, ticks_per_us);
  static uint64_t offset, read_at;
  uint64_t now = monotonic_now();
  if (now - read_at > 10000000 || !read_at) {
    uint64_t before, real, after;
    do {
      before = monotonic_now();
      real = clock_now(CLOCK_REALTIME);
      after = monotonic_now();
    } while (after - before > 2000);
    offset = real - before - (after - before) / 2;
    read_at = now;
  }
  return monotonic + offset + step;
}

static struct holder* holder_of_thread(void) {
  uint64_t wish = cupti.attributes[kPerThread];
  if (wish ? wish == 1 : personality_version < kOfCuda13) return &shared;
  if (!mine) {
    mine = calloc(1, sizeof *mine);
    mine->next = shared.next;
    shared.next = mine;
  }
  return mine;
}

static void retire(struct holder* holder) {
  struct buffer* buffer = holder->current;
  holder->current = NULL;
  buffer->retired = 1;
  if (buffer->pending) return;
  buffer->next = ready;
  ready = buffer;
  pthread_cond_signal(&work);
}

static void check(const struct buffer* buffer) {
  if ((uintptr_t)buffer->data % 8) cupti.misuse.misaligned_buffers++;
  if (cupti.attributes[kZeroedOut] != 2) {
    memset(buffer->data, 0, buffer->size);
  } else if (buffer->data[0] || memcmp(buffer->data, buffer->data + 1, buffer->size - 1) != 0) {
    cupti.misuse.dirty_buffers++;
  }
}

// Requests a buffer from the client, without holding the lock.
static int fill(struct holder* holder) {
  request_function request = cupti.request;
  uint8_t* data = NULL;
  size_t size = 0, records = 0;
  pthread_mutex_unlock(&cupti.lock);
  cupti_in_request = 1;
  uint64_t before = monotonic_now();
  request(&data, &size, &records);
  uint64_t took = monotonic_now() - before;
  cupti_in_request = 0;
  pthread_mutex_lock(&cupti.lock);
  if (data) request_times.nanoseconds[request_times.count++ % kTimed] = (uint32_t)took;
  if (!data && personality_version < kDeclineSafely) {
    fputs("double of libcupti: the client declined a buffer, which this version does not survive\n", stderr);
    raise(SIGSEGV);
  }
  if (!data || size < 1024 || !cupti.request) return 0;
  if (holder->current) retire(holder);
  struct buffer* buffer = calloc(1, sizeof *buffer);
  buffer->data = data;
  buffer->size = size;
  buffer->most = records ? records : UINT64_MAX;
  check(buffer);
  holder->current = buffer;
  return 1;
}

static void deliver(void) {
  while (ready) {
    struct buffer* buffer = ready;
    ready = buffer->next;
    complete_function complete = cupti.complete;
    pthread_mutex_unlock(&cupti.lock);
    pthread_mutex_lock(&delivery);
    cupti_in_complete = 1;
    int64_t slow = double_option("delivery_ms", 0);
    if (slow) sleep_until(monotonic_now() + (uint64_t)slow * 1000000);
    uint64_t before = monotonic_now();
    if (complete) complete(NULL, 0, buffer->data, buffer->size, buffer->used);
    complete_times.nanoseconds[complete_times.count++ % kTimed] = (uint32_t)(monotonic_now() - before);
    cupti_in_complete = 0;
    pthread_mutex_unlock(&delivery);
    free(buffer);
    pthread_mutex_lock(&cupti.lock);
  }
}

static void put_time(const struct pending* one, size_t at, uint64_t monotonic) {
  uint64_t time = cupti_time(monotonic);
  memcpy(one->buffer->data + at, &time, sizeof time);
}

static void stamp(const struct pending* one) {
  if (one->broken) return;
  put_time(one, one->start_at, one->starts);
  put_time(one, one->start_at + kEndAfterStart, one->ends);
}

static void hand_over(struct buffer* buffer) {
  buffer->next = ready;
  ready = buffer;
}

static void finish_what_is_due(void) {
  struct pending one;
  uint64_t now = monotonic_now();
  while (pending_take_due(now, &one)) {
    stamp(&one);
    if (--one.buffer->pending == 0 && one.buffer->retired) hand_over(one.buffer);
  }
}

static void flush_all(void) {
  struct pending one;
  uint64_t now = monotonic_now();
  while (force && pending_take_due(UINT64_MAX, &one)) {  // incomplete: their end stays zero
    if (one.starts <= now && !one.broken) put_time(&one, one.start_at, one.starts);
    if (--one.buffer->pending == 0 && one.buffer->retired) hand_over(one.buffer);
  }
  for (struct holder* holder = &shared; holder; holder = holder->next) {
    if (holder->current && holder->current->used && !holder->current->pending) retire(holder);
  }
  force = 0;
}

static void* work_off(void* nothing) {
  pthread_mutex_lock(&cupti.lock);
  while (!stopping) {
    finish_what_is_due();
    uint64_t wanted = flush_wanted;
    if (wanted != flush_done) flush_all();
    deliver();
    flush_done = wanted;
    pthread_cond_broadcast(&flushed);
    if (stopping || flush_wanted != flush_done || ready) continue;
    uint64_t until = monotonic_now() + kWorkerPeriod;
    struct timespec when = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    if (pending_any()) {
      pthread_cond_timedwait(&work, &cupti.lock, &when);
    } else {
      pthread_cond_wait(&work, &cupti.lock);
    }
  }
  flush_done = UINT64_MAX;
  pthread_cond_broadcast(&flushed);
  pthread_mutex_unlock(&cupti.lock);
  return nothing;
}

static void start_worker(void) {
  if (running) return;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&work, &monotonic);
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&delivery, &recursive);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  stopping = 0;
  flush_wanted = flush_done = 0;
  running = pthread_create(&worker, NULL, work_off, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int drops(uint64_t ends) {
  int64_t every = ends ? double_option("drop_every", 0) : 0;
  return every > 0 && cupti.gpu_records % (uint64_t)every == 0;
}

// From some record on, times are lost: by option, or because all device buffers of the pool are in use.
static int loses_times(void) {
  int64_t after = double_option("zero_after", -1), each = double_option("pool_records", 0);
  uint64_t limit = cupti.attributes[kPoolLimit] ? cupti.attributes[kPoolLimit] - 1 : kPoolDefault;
  return (after >= 0 && cupti.gpu_records > (uint64_t)after) ||
         (each > 0 && cupti.gpu_records > limit * (uint64_t)each);
}

// A bug of these versions, as NVIDIA documents it: where a tool has registered a clock, kernels have no times at the
// begin of a session and after the GPU was idle. How long that lasts is not documented.
static int loses_times_to_clock(const struct draft* draft) {
  static uint64_t session, busy_until, zero_until;
  const uint64_t length = (uint64_t)double_option("callback_zeros_ms", 0) * 1000000;
  if (!length || !double_option("clock_ticks_per_us", 0) || personality_version < kFirstWithZeros ||
      personality_version >= kFirstWithoutZeros || (draft->kind != kKernel && draft->kind != kConcurrentKernel)) {
    return 0;
  }
  if (cupti.sessions != session || draft->starts > busy_until + length) zero_until = draft->starts + length;
  session = cupti.sessions;
  if (draft->ends > busy_until) busy_until = draft->ends;
  return draft->starts < zero_until;
}

// Room for a record of `size` bytes; NULL: the record is dropped.
static uint8_t* reserve(size_t size, struct buffer** in) {
  struct holder* holder = holder_of_thread();
  struct buffer* current = holder->current;
  if (current && (current->size - current->used < size || current->records == current->most)) retire(holder);
  if (!holder->current && !fill(holder)) return NULL;
  current = holder->current;
  current->used += size;
  current->records++;
  *in = current;
  return current->data + current->used - size;
}

static int wants(const struct draft* draft) {
  if (!cupti.request) return 0;  // no client registered: discarded
  return draft->call ? bit_of(cupti.recorded[draft->domain], draft->call) : cupti.kinds[draft->kind];
}

void buffers_write(const struct draft* draft) {
  if (!wants(draft)) return;
  cupti.gpu_records += draft->ends != 0;
  start_worker();
  struct buffer* buffer = NULL;
  int broken = loses_times() || loses_times_to_clock(draft);
  size_t size = personality_record_size(draft->kind);
  uint8_t* record = drops(draft->ends) ? NULL : reserve(size, &buffer);
  if (!record) {
    cupti.dropped++;
    return;
  }
  memcpy(record, draft->bytes, size);
  if (!draft->ends) return;
  struct pending one = {
      .buffer = buffer,
      .start_at = (size_t)(record - buffer->data) + (draft->kind == kGraphTrace ? kStartOfGraphAt : kStartAt),
      .starts = draft->starts,
      .ends = draft->ends,
      .broken = broken};
  if (!pending_any()) pthread_cond_signal(&work);
  pending_add(&one);
  buffer->pending++;
}

// For benchmarks: how long the client took to hand out and to take back the last buffers. Returns the number of times.
DOUBLE_EXPORT uint64_t double_buffer_times(int of_requests, uint32_t nanoseconds[kTimed]) {
  pthread_mutex_lock(&cupti.lock);
  uint64_t count = of_requests ? request_times.count : complete_times.count;
  memcpy(nanoseconds, of_requests ? request_times.nanoseconds : complete_times.nanoseconds,
         kTimed * sizeof *nanoseconds);
  pthread_mutex_unlock(&cupti.lock);
  return count < kTimed ? count : kTimed;
}

int32_t buffers_flush(int forced) {
  pthread_mutex_lock(&cupti.lock);
  if (running && cupti.request) {  // also without any buffer (seen with 13.0 on an H100)
    uint64_t ticket = ++flush_wanted;
    force |= forced;
    pthread_cond_signal(&work);
    while (flush_done < ticket) pthread_cond_wait(&flushed, &cupti.lock);
  }
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

void buffers_stop(void) {
  pthread_mutex_lock(&cupti.lock);
  int joins = running && !cupti_in_complete;
  stopping = 1;
  running = 0;
  pthread_cond_signal(&work);
  pthread_mutex_unlock(&cupti.lock);
  if (joins) pthread_join(worker, NULL);
  pthread_mutex_lock(&cupti.lock);
  pending_clear();
  for (struct holder* holder = &shared; holder; holder = holder->next) {
    if (holder->current && holder->current->used) cupti.misuse.undelivered_at_finalize++;
    free(holder->current);
    holder->current = NULL;
  }
  pthread_mutex_unlock(&cupti.lock);
}

// Waits while a buffer is being given back.
DOUBLE_EXPORT int32_t cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream, size_t* dropped) {
  int32_t refused = personality_version < kDroppedWithoutDriver ? cupti_attach() : cupti_speaks();
  if (refused) return refused;
  (void)context, (void)stream;
  if (!dropped) return kInvalidParameter;
  if (running) pthread_mutex_lock(&delivery);
  pthread_mutex_lock(&cupti.lock);
  *dropped = cupti.dropped;
  cupti.dropped = 0;
  pthread_mutex_unlock(&cupti.lock);
  if (running) pthread_mutex_unlock(&delivery);
  return kOk;
}
