// What CUPTI calls, on whichever thread of the job is there: nothing here may block, allocate or call CUPTI, but for
// the one call that is made for taking it down.
#include "attach/intarget/cupti_library.h"

static uint64_t captures;

void pp_cupti_request_buffer(uint8_t** buffer, size_t* size, size_t* max_records) {
  uint64_t bytes = 0;
  *buffer = pp_gpu_take_buffer(&bytes);
  *size = (size_t)bytes;
  *max_records = 0;  // as many as fit
}

void pp_cupti_complete_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid) {
  (void)context;
  (void)stream;
  (void)size;
  if (buffer) pp_gpu_give_buffer(buffer, valid);
}

uint64_t pp_cupti_captures(void) { return __atomic_load_n(&captures, __ATOMIC_ACQUIRE); }

static void capture_ends(void) {
  uint64_t open = __atomic_load_n(&captures, __ATOMIC_RELAXED);
  while (open && !__atomic_compare_exchange_n(&captures, &open, open - 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
}

enum { PP_CALL_OTHER, PP_CALL_OURS, PP_CALL_BEGINS_CAPTURE, PP_CALL_ENDS_CAPTURE };

static int meaning_of(uint32_t cbid) {
  switch (cbid) {
    case 2: return PP_CALL_OURS;  // cuDriverGetVersion
    case 495:                     // cuStreamBeginCapture and its variants
    case 496:
    case 539:
    case 540:
    case 720:
    case 721: return PP_CALL_BEGINS_CAPTURE;
    case 497:  // cuStreamEndCapture
    case 498: return PP_CALL_ENDS_CAPTURE;
    default: return PP_CALL_OTHER;
  }
}

static void at_exit_of_driver_call(uint32_t cbid, const pp_cupti_call_data* call) {
  const int32_t result = call->result ? *call->result : PP_CUDA_SUCCESS;
  switch (meaning_of(cbid)) {
    case PP_CALL_OURS: pp_cupti_at_our_call(); break;
    case PP_CALL_BEGINS_CAPTURE:
      if (result == PP_CUDA_SUCCESS) __atomic_add_fetch(&captures, 1, __ATOMIC_ACQ_REL);
      break;
    case PP_CALL_ENDS_CAPTURE:
      if (result == PP_CUDA_SUCCESS || result == PP_CUDA_CAPTURE_INVALIDATED) capture_ends();
      break;
    default: break;
  }
}

void pp_cupti_on_callback(void* user, uint32_t domain, uint32_t cbid, const void* data) {
  (void)user;
  if (domain == PP_CUPTI_DOMAIN_RUNTIME || domain == PP_CUPTI_DOMAIN_DRIVER) {
    const pp_cupti_call_data* call = (const pp_cupti_call_data*)data;
    if (call && call->site == PP_CUPTI_API_ENTER) {
      pp_cupti_on_call(domain, cbid, call);
    } else if (call && call->site == PP_CUPTI_API_EXIT && domain == PP_CUPTI_DOMAIN_DRIVER) {
      at_exit_of_driver_call(cbid, call);
    }
  } else if (domain == PP_CUPTI_DOMAIN_STATE && cbid == PP_CUPTI_STATE_FATAL_ERROR) {
    const uint32_t result = data ? *(const uint32_t*)data : PP_CUPTI_UNKNOWN;
    __atomic_store_n(&pp_gpu.fatal, (uint64_t)result + 1, __ATOMIC_RELEASE);
  }
}
