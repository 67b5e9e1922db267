// The callbacks of CUPTI, on any thread of the job: nothing here may block, allocate or call CUPTI, except in the one
// call that is made for shutting it down.
#include "attach/target/gpu/cupti_library.h"

enum { PP_OUR_CALL = 2 /* cuDriverGetVersion */ };

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

void pp_cupti_on_callback(void* user, uint32_t domain, uint32_t cbid, const void* data) {
  (void)user;
  if (domain == PP_CUPTI_DOMAIN_RUNTIME || domain == PP_CUPTI_DOMAIN_DRIVER) {
    const pp_cupti_call_data* call = (const pp_cupti_call_data*)data;
    if (call && call->site == PP_CUPTI_API_ENTER) {
      pp_cupti_on_call(domain, cbid, call);
    } else if (call && call->site == PP_CUPTI_API_EXIT) {
      if (domain == PP_CUPTI_DOMAIN_DRIVER && cbid == PP_OUR_CALL) pp_cupti_at_our_call();
      pp_cupti_at_capture_call(domain, cbid, call);
    }
  } else if (domain == PP_CUPTI_DOMAIN_STATE && cbid == PP_CUPTI_STATE_FATAL_ERROR) {
    const uint32_t result = data ? *(const uint32_t*)data : PP_CUPTI_UNKNOWN;
    __atomic_store_n(&pp_gpu.fatal, (uint64_t)result + 1, __ATOMIC_RELEASE);
  }
}
