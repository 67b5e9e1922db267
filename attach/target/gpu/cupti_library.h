// CUPTI and the driver as used by the shim: functions found by name in what the job has mapped, and the few constants
// that we use. The declarations are our own, so that the build needs no toolkit. If real headers are available,
// tests/integration/cuda_declarations_test.py compares them.
//
// Control thread. Any optional function may be null.
#ifndef PTRACE_PROF_ATTACH_TARGET_GPU_CUPTI_LIBRARY_H_
#define PTRACE_PROF_ATTACH_TARGET_GPU_CUPTI_LIBRARY_H_

#include "attach/target/gpu/gpu_shim.h"

enum pp_cupti_result {
  PP_CUPTI_NOT_MADE = -1,  // our own value: the process is ending, so no call was made
  PP_CUPTI_SUCCESS = 0,
  PP_CUPTI_INVALID_PARAMETER = 1,
  PP_CUPTI_NOT_COMPATIBLE = 14,
  PP_CUPTI_NOT_INITIALIZED = 15,
  PP_CUPTI_VIRTUALIZED_DEVICE = 33,
  PP_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
  PP_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
  PP_CUPTI_VIRTUALIZED_PRIVILEGES = 40,
  PP_CUPTI_CONFIDENTIAL_COMPUTING = 41,
  PP_CUPTI_CMP_DEVICE = 42,
  PP_CUPTI_MIG_DEVICE = 43,
  PP_CUPTI_SLI_DEVICE = 44,
  PP_CUPTI_WSL_DEVICE = 45,
  PP_CUPTI_UNKNOWN = 999,
};

// The results of cuptiGetVersion for CUDA releases.
enum pp_cupti_version {
  PP_CUPTI_11_8 = 18,
  PP_CUPTI_12_2 = 20,
  PP_CUPTI_12_5 = 23,
  PP_CUPTI_12_6 = 24,  // can be shut down
  PP_CUPTI_12_9 = 27,  // survives getting no buffer
  PP_CUPTI_13_0 = 130000,
  PP_CUPTI_13_3 = 130300,
};

enum pp_cupti_kind {
  PP_CUPTI_KIND_DRIVER = 4,
  PP_CUPTI_KIND_RUNTIME = 5,
  PP_CUPTI_KIND_CONTEXT = 9,
  PP_CUPTI_KIND_CONCURRENT_KERNEL = 10,
  PP_CUPTI_KIND_MARKER = 12,
  PP_CUPTI_KIND_GRAPH = 51,
  PP_CUPTI_KIND_JIT = 52,
};
enum pp_cupti_attribute { PP_CUPTI_DEVICE_BUFFER_POOL_LIMIT = 2 };
enum pp_cupti_domain { PP_CUPTI_DOMAIN_DRIVER = 1, PP_CUPTI_DOMAIN_RUNTIME = 2, PP_CUPTI_DOMAIN_STATE = 6 };
enum { PP_CUPTI_STATE_FATAL_ERROR = 1, PP_CUPTI_THREAD_ID_SYSTEM = 1, PP_CUPTI_API_ENTER = 0, PP_CUPTI_API_EXIT = 1 };
enum { PP_CUDA_SUCCESS = 0, PP_CUDA_NOT_INITIALIZED = 3, PP_CUDA_CAPTURE_INVALIDATED = 901 };

typedef void (*pp_cupti_callback)(void* user, uint32_t domain, uint32_t cbid, const void* data);
typedef void (*pp_cupti_request)(uint8_t** buffer, size_t* size, size_t* max_records);
typedef void (*pp_cupti_complete)(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

// For cuptiSubscribe_v2.
typedef struct pp_cupti_subscriber_params {
  size_t size;
  const char* name;
  char* other_name;
  size_t other_name_size;
  uint8_t allow_others;
  uint8_t pad[7];
} pp_cupti_subscriber_params;
PP_STATIC_ASSERT(sizeof(pp_cupti_subscriber_params) == 40, "as in CUDA 13.3");
enum { PP_CUPTI_SUBSCRIBER_PARAMS_13_0 = offsetof(pp_cupti_subscriber_params, allow_others) };

// The beginning of the data that a callback of the driver's or the runtime's API gets.
typedef struct pp_cupti_call_data {
  uint32_t site;  // PP_CUPTI_API_ENTER, PP_CUPTI_API_EXIT
  uint32_t pad;
  const char* function;
  const void* parameters;
  const int32_t* result;
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint32_t pad1;
  uint64_t* correlation_data;
  uint32_t correlation;
} pp_cupti_call_data;
PP_STATIC_ASSERT(offsetof(pp_cupti_call_data, correlation) == 64, "as in CUDA 11.8 to 13.5");

#define PP_CUPTI_FOR_EACH_FUNCTION(NEEDED, OPTIONAL)                                           \
  NEEDED(cuptiGetVersion, (uint32_t*))                                                         \
  NEEDED(cuptiSubscribe, (void**, pp_cupti_callback, void*))                                   \
  NEEDED(cuptiUnsubscribe, (void*))                                                            \
  NEEDED(cuptiEnableCallback, (uint32_t, void*, uint32_t, uint32_t))                           \
  NEEDED(cuptiActivityRegisterCallbacks, (pp_cupti_request, pp_cupti_complete))                \
  NEEDED(cuptiActivityEnable, (uint32_t))                                                      \
  NEEDED(cuptiActivityDisable, (uint32_t))                                                     \
  NEEDED(cuptiActivityFlushAll, (uint32_t))                                                    \
  NEEDED(cuptiActivityGetNextRecord, (uint8_t*, size_t, uint8_t**))                            \
  NEEDED(cuptiActivityGetNumDroppedRecords, (void*, uint32_t, size_t*))                        \
  OPTIONAL(cuptiSubscribe_v2, (void**, pp_cupti_callback, void*, pp_cupti_subscriber_params*)) \
  OPTIONAL(cuptiActivityEnableAndDump, (uint32_t))                                             \
  OPTIONAL(cuptiActivitySetAttribute, (uint32_t, size_t*, void*))                              \
  OPTIONAL(cuptiActivityEnableRuntimeApi, (uint32_t, uint8_t))                                 \
  OPTIONAL(cuptiActivityEnableDriverApi, (uint32_t, uint8_t))                                  \
  OPTIONAL(cuptiSetThreadIdType, (uint32_t))                                                   \
  OPTIONAL(cuptiGetTimestamp, (uint64_t*))                                                     \
  OPTIONAL(cuptiFinalize, (void))

typedef struct pp_cupti_library {
#define PP_CUPTI_FIELD(name, parameters) int(*name) parameters;
  PP_CUPTI_FOR_EACH_FUNCTION(PP_CUPTI_FIELD, PP_CUPTI_FIELD)
#undef PP_CUPTI_FIELD
  // Functions of the driver; optional.
  int (*cuDriverGetVersion)(int*);
  int (*cuDeviceGetCount)(int*);
  int has_driver;
  uint32_t version;
  void* subscriber;  // our handle; null: we are not subscribed
} pp_cupti_library;

// Switches the records of one call on or off.
typedef int (*pp_cupti_single_call)(uint32_t call, uint8_t on);

#pragma GCC visibility push(hidden)
extern pp_cupti_library pp_cupti;

pp_gpu_report pp_cupti_find(void);
// Makes a report of the result of a failed call.
pp_gpu_report pp_cupti_failed(enum pp_gpu_step step, int result);

// All of these return a pp_cupti_result. cupti_subscribe.c
int pp_cupti_subscribe(void);
// cupti_calls.c
int pp_cupti_name_threads(void);  // by gettid
int pp_cupti_set_attribute(uint32_t attribute, void* value, size_t size);
int pp_cupti_enable_and_dump(uint32_t kind);
pp_cupti_single_call pp_cupti_single_call_of(uint32_t kind);  // null: only all calls of an API, or none
int pp_cupti_timestamp(uint64_t*);
// cupti_measure.c
int pp_cupti_measure_all(void);  // fills in strides; call it before any kind is switched on
// cupti_callbacks.c
void pp_cupti_request_buffer(uint8_t** buffer, size_t* size, size_t* max_records);
void pp_cupti_complete_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);
void pp_cupti_on_callback(void* user, uint32_t domain, uint32_t cbid, const void* data);
// cupti_captures.c
void pp_cupti_watch_captures(void);
void pp_cupti_forget_captures(void);
void pp_cupti_at_capture_call(uint32_t domain, uint32_t call, const pp_cupti_call_data* data);  // at the exit of the
                                                                                                // call; any thread
uint64_t pp_cupti_captures(void);                                                               // in progress
// cupti_clock.c
uint32_t pp_cupti_clock(void);             // pp_gpu_time of records
uint64_t pp_cupti_read_clock(void);        // 0: it cannot be read
int pp_cupti_clock_is(uint32_t gpu_time);  // whether it is still this clock
// cupti_watch.c
// Call it before records of a job's thread are switched on. `is_per_thread`: each thread fills its own buffers.
void pp_cupti_begin_watch(int is_per_thread);
void pp_cupti_look(int flush_result);  // call it after a flush: sets pp_gpu.trouble
int pp_cupti_has_buffers(void);        // 1: CUPTI surely still asks us for buffers
// cupti_launches.c
void pp_cupti_watch_launches(void);
void pp_cupti_forget_launches(void);                                                    // no effect if they are not
                                                                                        // watched
void pp_cupti_on_call(uint32_t domain, uint32_t cbid, const pp_cupti_call_data* call);  // at the start of the call; any
                                                                                        // thread
// cupti_finalize.c
uint32_t pp_cupti_take_down(int32_t* number);  // pp_gpu_leave_how
void pp_cupti_at_our_call(void);               // in the callback of the call that is made for it
#pragma GCC visibility pop

// Calls the library, unless the process is ending.
#define PP_CUPTI_CALL(step, expression)     \
  ({                                        \
    int pp_call_result = PP_CUPTI_NOT_MADE; \
    pp_gpu_set_step(step);                  \
    if (pp_gpu_begin_call()) {              \
      pp_call_result = (expression);        \
      pp_gpu_end_call();                    \
    }                                       \
    pp_call_result;                         \
  })

#endif  // PTRACE_PROF_ATTACH_TARGET_GPU_CUPTI_LIBRARY_H_
