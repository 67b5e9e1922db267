// The streams that are being captured into CUDA graphs, if their begin was seen: CUPTI is not shut down meanwhile.
//
// Entries are per stream. So the end of a capture that began before us is not taken for the end of another one, and a
// call of the runtime and the driver's call inside it count once. Captures that were open when we left stay recorded
// for a while, because their end may come while we see no calls.
#include "attach/target/gpu/cupti_library.h"

enum {
  PP_CAPTURES = 64,
  PP_SHARED_HANDLES = 2,  // handles up to this number mean another stream on each thread
  PP_BELIEVED_SECONDS = 300,
};

static uint64_t captured[PP_CAPTURES];  // streams; 0: a free entry
static uint64_t uncounted;              // captures without an entry; they are never subtracted
static uint64_t left_at;                // CLOCK_MONOTONIC

// Versions have different subsets of them. _ptsz: with default streams per thread.
#define PP_FOR_EACH_CAPTURE_CALL(BEGINS, ENDS)                              \
  BEGINS(RUNTIME, 315)    /* cudaStreamBeginCapture */                      \
  BEGINS(RUNTIME, 316)    /* _ptsz */                                       \
  BEGINS(RUNTIME, 452)    /* cudaStreamBeginCaptureToGraph (12.3) */        \
  BEGINS(RUNTIME, 453)                                                      \
  BEGINS(RUNTIME, 562)    /* cudaStreamBeginRecaptureToGraph (13.3) */      \
  BEGINS(RUNTIME, 563)                                                      \
  ENDS(RUNTIME, 319)      /* cudaStreamEndCapture */                        \
  ENDS(RUNTIME, 320)                                                        \
  BEGINS(DRIVER, 495)     /* cuStreamBeginCapture, then its _v2 */          \
  BEGINS(DRIVER, 496)                                                       \
  BEGINS(DRIVER, 539)                                                       \
  BEGINS(DRIVER, 540)                                                       \
  BEGINS(DRIVER, 720)     /* cuStreamBeginCaptureToGraph */                 \
  BEGINS(DRIVER, 721)                                                       \
  BEGINS(DRIVER, 783)     /* cuStreamBeginCaptureToCig, with graphics */    \
  BEGINS(DRIVER, 814)                                                       \
  BEGINS(DRIVER, 846)     /* cuStreamBeginRecaptureToGraph */               \
  BEGINS(DRIVER, 847)                                                       \
  ENDS(DRIVER, 497)       /* cuStreamEndCapture */                          \
  ENDS(DRIVER, 498)                                                         \
  ENDS(DRIVER, 815)                                                         \
  ENDS(DRIVER, 816)

static const struct {
  uint16_t domain, call;
} kCalls[] = {
#define PP_CAPTURE_ROW(domain, call) {PP_CUPTI_DOMAIN_##domain, call},
    PP_FOR_EACH_CAPTURE_CALL(PP_CAPTURE_ROW, PP_CAPTURE_ROW)
#undef PP_CAPTURE_ROW
};

enum { PP_CALL_OTHER, PP_CALL_BEGINS_CAPTURE, PP_CALL_ENDS_CAPTURE };
#define PP_KEY(domain, call) ((uint32_t)(domain) << 16 | (call))

static int meaning_of(uint32_t domain, uint32_t call) {
  switch (PP_KEY(domain, call)) {
#define PP_CAPTURE_BEGINS(domain, call) case PP_KEY(PP_CUPTI_DOMAIN_##domain, call): return PP_CALL_BEGINS_CAPTURE;
#define PP_CAPTURE_ENDS(domain, call) case PP_KEY(PP_CUPTI_DOMAIN_##domain, call): return PP_CALL_ENDS_CAPTURE;
    PP_FOR_EACH_CAPTURE_CALL(PP_CAPTURE_BEGINS, PP_CAPTURE_ENDS)
#undef PP_CAPTURE_BEGINS
#undef PP_CAPTURE_ENDS
    default: return PP_CALL_OTHER;
  }
}

static int change(uint64_t* entry, uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(entry, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// All of these calls have the stream as their first parameter.
static uint64_t stream_of(const pp_cupti_call_data* call) {
  const uint64_t handle = call->parameters ? *(const uint64_t*)call->parameters : 0;
  if (handle > PP_SHARED_HANDLES) return handle;
  return (uint64_t)pp_system_call(PP_SYS_gettid, 0, 0, 0, 0, 0, 0) << 2 | handle;
}

static void begin(uint64_t stream) {
  unsigned i = 0;
  while (i < PP_CAPTURES && __atomic_load_n(&captured[i], __ATOMIC_ACQUIRE) != stream) ++i;
  if (i < PP_CAPTURES) return;
  for (i = 0; i < PP_CAPTURES; ++i) {
    if (change(&captured[i], 0, stream)) return;
  }
  __atomic_store_n(&uncounted, 1, __ATOMIC_RELEASE);
}

static void end(uint64_t stream) {
  for (unsigned i = 0; i < PP_CAPTURES; ++i) change(&captured[i], stream, 0);
}

void pp_cupti_at_capture_call(uint32_t domain, uint32_t call, const pp_cupti_call_data* data) {
  const int meaning = meaning_of(domain, call);
  if (meaning == PP_CALL_OTHER) return;
  const int32_t result = data->result ? *data->result : PP_CUDA_SUCCESS;
  if (meaning == PP_CALL_BEGINS_CAPTURE && result == PP_CUDA_SUCCESS) begin(stream_of(data));
  if (meaning == PP_CALL_ENDS_CAPTURE && (result == PP_CUDA_SUCCESS || result == PP_CUDA_CAPTURE_INVALIDATED)) {
    end(stream_of(data));
  }
}

uint64_t pp_cupti_captures(void) {
  uint64_t count = __atomic_load_n(&uncounted, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < PP_CAPTURES; ++i) count += __atomic_load_n(&captured[i], __ATOMIC_ACQUIRE) != 0;
  return count;
}

void pp_cupti_watch_captures(void) {
  if (pp_gpu_now(PP_MONOTONIC) - left_at > PP_BELIEVED_SECONDS * 1000000000ull) {
    for (unsigned i = 0; i < PP_CAPTURES; ++i) __atomic_store_n(&captured[i], 0, __ATOMIC_RELEASE);
    __atomic_store_n(&uncounted, 0, __ATOMIC_RELEASE);
  }
  for (unsigned i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
    (void)PP_CUPTI_CALL(PP_GPU_STEP_CALLBACKS,
                        pp_cupti.cuptiEnableCallback(1, pp_cupti.subscriber, kCalls[i].domain, kCalls[i].call));
  }
}

void pp_cupti_forget_captures(void) { left_at = pp_gpu_now(PP_MONOTONIC); }
