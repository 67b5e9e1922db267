// The double of libcupti, inside: one state for the process, one lock. cupti_subscriber.c, cupti_control.c and, for
// calls of the second generation, cupti_second.c change it from outside, cupti_calls.c hears of calls from the driver's
// double, cupti_buffers.c keeps buffers and delivers them by a worker.
//
// Calls of the second generation are those of a client. What those of the first switch on is the process's, whoever has
// subscribed: that is the first client's, which then is the only one.
#ifndef TESTS_DOUBLES_CUDA_CUPTI_STATE_H
#define TESTS_DOUBLES_CUDA_CUPTI_STATE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/doubles/cuda/seam.h"

// Results, activity kinds and domains by their numbers (facts of the interface, named in our words).
enum {
  kOk = 0,
  kInvalidParameter = 1,
  kInvalidOperation = 7,
  kTooSmall = 10,
  kMaxLimitReached = 12,
  kNotCompatible = 14,
  kNotInitialised = 15,
  kInvalidKind = 21,
  kNotSupported = 27,
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
enum { kDomains = 8, kCallbacks = 1024, kAttributes = 32, kStateDomain = 6, kFatalError = 1 };
enum { kClients = 4, kPoolLimit = 2, kZeroedOut = 5, kPerThread = 9, kGraphsAsAWhole = 20 };
enum { kOfCuda13 = 130000, kSecondGeneration = 130300, kListsInSecond = 130400, kDriverOfSecond = 13030 };

typedef void (*request_function)(uint8_t** buffer, size_t* size, size_t* records);
typedef void (*complete_function)(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);
typedef void (*request_function_2)(uint8_t** buffer, size_t* size, size_t* records, const void* info);
struct complete_info;
typedef void (*complete_function_2)(uint8_t* buffer, size_t size, size_t valid, const struct complete_info* info);
typedef void (*callback_function)(void* user, uint32_t domain, uint32_t callback, const void* data);

// What a client did that the real library forbids or does not survive. double_cupti_misuse() hands it out.
struct cupti_misuse {
  uint64_t calls_in_request, flushes_in_callback, dirty_buffers, misaligned_buffers;
  uint64_t finalized_outside_exit, finalized_in_capture, undelivered_at_finalize, late_attributes;
  uint64_t forced_on_others;  // flushes that tore records from other clients
  uint64_t calls_in_child;    // of a process that was forked after the library was loaded
};

struct layout;

struct cupti_client {
  int subscribed;
  uint64_t session;  // of all that ever subscribed, which
  callback_function callback;
  void* user;
  char name[64];
  uint64_t callbacks[kDomains][kCallbacks / 64], recorded[kDomains][kCallbacks / 64];
  uint8_t kinds[kKinds];
  request_function request;
  complete_function complete;
  request_function_2 request_2;
  complete_function_2 complete_2;
  struct layout* layouts[kKinds];  // NULL: records as they are predefined
  uint8_t chooses_fields;
  uint32_t thread_id_type;
  uint64_t attributes[kAttributes];
  uint64_t dropped;
};

struct cupti_state {
  pthread_mutex_t lock;
  uint32_t sessions;  // clients that ever subscribed, whatever was taken down in between
  const struct double_driver* driver;
  uint32_t generation;  // of the calls that this process uses: 0 none yet, 1 or 2
  int allows_several;   // as the first client that is there wished
  struct cupti_client clients[kClients];
  uint8_t whole_graphs;  // 1 + what the first client of the second generation wished; 0: none did
  uint32_t correlation;
  uint64_t wraps;        // of that
  uint64_t graphs;       // operations of graphs that were submitted
  uint32_t old_graphs;   // up to this one they were there when graphs as a whole were switched on
  uint64_t gpu_records;  // since the start, for faults that begin at a certain one
  struct cupti_misuse misuse;
};

extern struct cupti_state cupti;
extern __thread int cupti_in_request, cupti_in_complete, cupti_in_exit;

// cupti_personality.c: the library that this one plays.
extern const uint32_t personality_version;
int32_t personality_no_driver(void);            // what calls answer where there is no driver
size_t personality_record_size(uint32_t kind);  // 0: no such kind
const char* callback_name(uint32_t domain, uint32_t callback);

// kOk, with cupti.driver set, or why not. Starts to listen to the driver.
int32_t cupti_attach(void);
// Whether a fault that a test wants after so many of something is due when it has seen so many; negative: never.
int cupti_fault_is_due(int64_t after, uint64_t seen);
// Ends by itself, where a test wants that (fatal_after), with its last words to the subscriber.
void cupti_maybe_give_up(void);
// Not kOk for versions that say nothing at all without a driver.
int32_t cupti_speaks(void);

static inline int bit_of(const uint64_t* bits, uint32_t number) {
  return number < kCallbacks && (bits[number / 64] >> (number % 64) & 1);
}

// cupti_subscriber.c. NULL: it is none, or has left.
struct cupti_client* client_of(uintptr_t subscriber);
// With the lock held: whether anybody has that switched on.
int any_kind(uint32_t kind);
static inline int has_buffers(const struct cupti_client* client) { return client->request || client->request_2; }

// cupti_second.c. kOk, or that the process uses calls of the other generation.
int32_t cupti_generation(uint32_t generation);
uint32_t calls_of(uint32_t domain);  // cupti_control.c; callbacks have lower numbers
void switch_kind_of(struct cupti_client* client, uint32_t kind, int on);  // cupti_control.c; with the lock held
// The number that a client of the second generation is given for one of 32 bits that was given last or shortly before.
uint64_t wide_correlation(uint32_t correlation);

// cupti_layouts.c: of records whose fields were chosen. With the lock held.
struct layout* layout_of(uint32_t kind, const int* fields, size_t count);  // NULL: such fields cannot be chosen
int layout_is_of(const struct layout* layout, const int* fields, size_t count);
size_t layout_bytes(const struct layout* layout);
// Where the times of an operation are in a record; SIZE_MAX: nowhere.
size_t layout_place(const struct layout* layout, size_t predefined);
void layout_fill(const struct layout* layout, const uint8_t* predefined, uint64_t correlation, uint8_t* record);
// As long as the caller's buffer is given back: then all of it is overwritten.
struct complete_info* layouts_told(const struct cupti_client* client);
void layouts_forget(struct complete_info* info);

// cupti_buffers.c. Writes down a record for each client that wants such. With the lock held, which it may give up for
// a while; `ends`: when the device is done, 0 for a record that is complete at once; `thread_at`: where a record names
// its thread, 0: nowhere; `thread`: by pthread_self.
struct draft {
  uint32_t kind;
  uint64_t starts, ends;
  size_t thread_at;
  uint32_t thread, correlation;
  uint32_t domain, call;              // of a record of a call
  const struct cupti_client* client;  // NULL: for all
  uint8_t bytes[512];
};
void buffers_write(const struct draft* draft);
int32_t buffers_flush(int forced);
void buffers_leave(struct cupti_client* client);  // with the lock held: nothing is given to it any more
void buffers_stop(void);
// CUPTI's clock for a moment of CLOCK_MONOTONIC.
uint64_t cupti_time(uint64_t monotonic);

// cupti_records.c, with the lock held.
void records_call(const struct double_call* call);
void records_op(const struct double_call* call, const struct double_op* op);
void records_inventory(const struct cupti_client* client, uint32_t kind);
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
