// The internals of the double of libcupti: one state for the process, one lock. cupti_subscriber.c and cupti_control.c
// change it for the client, cupti_calls.c gets calls from the driver's double, cupti_buffers.c keeps buffers and
// delivers them by a worker. What is switched on applies to the process, whichever client has subscribed.
#ifndef TESTS_DOUBLES_CUDA_CUPTI_STATE_H
#define TESTS_DOUBLES_CUDA_CUPTI_STATE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/doubles/cuda/seam.h"

// Results, activity kinds and domains by their numbers (facts of the interface, under names of our own).
enum {
  kOk = 0,
  kInvalidParameter = 1,
  kInvalidOperation = 7,
  kTooSmall = 10,
  kMaxLimitReached = 12,
  kNotInitialised = 15,
  kInvalidKind = 21,
  kMultipleSubscribers = 39,
  kUnknown = 999
};
enum {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,
  kDriver = 4,
  kRuntime = 5,
  kDeviceKind = 8,
  kContextKind = 9,
  kConcurrentKernel = 10,
  kMarker = 12,
  kOverhead = 17,
  kStreamKind = 37,
  kSynchronization = 38,
  kGraphTrace = 51,
  kJit = 52,
  kKinds = 64
};
enum { kDomains = 8, kCallbacks = 1024, kAttributes = 10, kStateDomain = 6, kFatalError = 1 };
enum { kPoolLimit = 2, kZeroedOut = 5, kPerThread = 9, kOfCuda13 = 130000 };

typedef void (*request_function)(uint8_t** buffer, size_t* size, size_t* records);
typedef void (*complete_function)(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);
typedef void (*callback_function)(void* user, uint32_t domain, uint32_t callback, const void* data);

// What a client did that the real library forbids or does not survive. double_cupti_misuse() returns it.
struct cupti_misuse {
  uint64_t calls_in_request, flushes_in_callback, dirty_buffers, misaligned_buffers;
  uint64_t finalized_outside_exit, finalized_in_capture, undelivered_at_finalize, late_attributes;
  uint64_t calls_in_child;  // in a process that was forked after the library was loaded
};

struct cupti_state {
  pthread_mutex_t lock;
  uint32_t sessions;  // clients that ever subscribed, even if CUPTI was taken down in between
  const struct double_driver* driver;
  // State of the subscribed client.
  int subscribed;
  callback_function callback;
  void* user;
  char name[64];
  uint64_t callbacks[kDomains][kCallbacks / 64];
  // State of the process.
  uint64_t recorded[kDomains][kCallbacks / 64];
  uint8_t kinds[kKinds];
  request_function request;
  complete_function complete;
  uint32_t thread_id_type;
  uint64_t attributes[kAttributes];  // 1 + the value that was set; 0: the default
  uint64_t dropped;
  uint32_t correlation;
  uint64_t graphs;       // operations of graphs that were submitted
  uint32_t old_graphs;   // graphs up to this one existed when graphs as a whole were switched on
  uint64_t gpu_records;  // since the start, for faults that begin at a certain one
  struct cupti_misuse misuse;
};

extern struct cupti_state cupti;
extern __thread int cupti_in_request, cupti_in_complete, cupti_in_exit;

// cupti_personality.c: the library that this one imitates.
extern const uint32_t personality_version;
int32_t personality_no_driver(void);            // the result of calls where there is no driver
size_t personality_record_size(uint32_t kind);  // 0: no such kind
const char* callback_name(uint32_t domain, uint32_t callback);

// kOk, with cupti.driver set, or an error. Registers with the driver for its calls.
int32_t cupti_attach(void);
// Whether a fault that a test wants after `after` events is due when `seen` have occurred; `after` negative: never.
int cupti_fault_is_due(int64_t after, uint64_t seen);
// Gives up like a broken CUPTI, if a test wants that (fatal_after), with a final callback to the subscriber.
void cupti_maybe_give_up(void);
// Not kOk for versions that answer nothing without a driver.
int32_t cupti_speaks(void);

static inline int bit_of(const uint64_t* bits, uint32_t number) {
  return number < kCallbacks && (bits[number / 64] >> (number % 64) & 1);
}

uint32_t calls_of(uint32_t domain);  // cupti_control.c; callbacks have lower numbers

// cupti_buffers.c. Writes a record, if its kind is wanted. With the lock held, which it may release for a while.
// `ends`: when the device completes it, 0 for a record that is complete at once.
struct draft {
  uint32_t kind;
  uint64_t starts, ends;
  uint32_t domain, call;  // for a record of a call
  uint8_t bytes[512];
};
void buffers_write(const struct draft* draft);
int32_t buffers_flush(int forced);
void buffers_stop(void);
// CUPTI's clock at a time of CLOCK_MONOTONIC.
uint64_t cupti_time(uint64_t monotonic);

// cupti_records.c, with the lock held.
void records_call(const struct double_call* call);
void records_op(const struct double_call* call, const struct double_op* op);
void records_inventory(uint32_t kind);
void records_stream(uint32_t stream, uint32_t device);
void records_load(const struct double_call* call);
struct marker {
  uint32_t flags, number;
  uint64_t when;
  const char *name, *domain;
};
void records_marker(const struct marker* marker);  // of this thread
void records_overhead(uint32_t overhead, uint64_t start, uint64_t end);

#endif
