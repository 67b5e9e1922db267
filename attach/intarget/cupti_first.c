// CUPTI's first generation of calls: one tool has it, and what is switched on is the process's.
#include "attach/intarget/cupti_library.h"

// Its parameters got longer with 13.3, and each version takes its own length only.
static int subscribe(void) {
  static const size_t kSizes[] = {PP_CUPTI_SUBSCRIBER_PARAMS_13_0, sizeof(pp_cupti_subscriber_params)};
  int result = PP_CUPTI_INVALID_PARAMETER;
  for (unsigned i = 0; pp_cupti.cuptiSubscribe_v2 && result == PP_CUPTI_INVALID_PARAMETER && i < 2; ++i) {
    result = pp_cupti_subscribe_as(kSizes[pp_cupti.version >= PP_CUPTI_13_3 ? 1 - i : i], 0);
  }
  if (result != PP_CUPTI_INVALID_PARAMETER) return result;
  return pp_cupti.cuptiSubscribe(&pp_cupti.subscriber, pp_cupti_on_callback, 0);
}

static int name_threads(void) {
  return pp_cupti.cuptiSetThreadIdType ? pp_cupti.cuptiSetThreadIdType(PP_CUPTI_THREAD_ID_SYSTEM)
                                       : PP_CUPTI_INVALID_PARAMETER;
}

static int set_attribute(uint32_t attribute, void* value, size_t size) {
  return pp_cupti.cuptiActivitySetAttribute ? pp_cupti.cuptiActivitySetAttribute(attribute, &size, value)
                                            : PP_CUPTI_INVALID_PARAMETER;
}

static int hand_in_buffers(void) {
  return pp_cupti.cuptiActivityRegisterCallbacks(pp_cupti_request_buffer, pp_cupti_complete_buffer);
}

static int next_record(uint8_t* bytes, size_t size, uint8_t** record) {
  return pp_cupti.cuptiActivityGetNextRecord(bytes, size, record);
}

// Without kernels there is nothing to read.
static int measure(void) {
  int result = 0;
  for (uint32_t kind = 1; kind < PP_GPU_KINDS; ++kind) {
    const int failure = pp_cupti_measure(kind, next_record);
    result = failure ? failure : result;
  }
  return pp_gpu.arena->strides[PP_CUPTI_KIND_CONCURRENT_KERNEL] ? PP_CUPTI_SUCCESS : result;
}

static void measure_one(uint32_t kind) { (void)kind; }

static const uint8_t* device_kinds(void) { return pp_gpu_boot_block.device_kinds; }

static int enable(uint32_t kind) { return pp_cupti.cuptiActivityEnable(kind); }

static int enable_and_dump(uint32_t kind) {
  return (pp_cupti.cuptiActivityEnableAndDump ? pp_cupti.cuptiActivityEnableAndDump
                                              : pp_cupti.cuptiActivityEnable)(kind);
}

static int disable(uint32_t kind) { return pp_cupti.cuptiActivityDisable(kind); }

static pp_cupti_single_call single_call(uint32_t kind) {
  if (pp_cupti.version < PP_CUPTI_12_5) return 0;
  return kind == PP_CUPTI_KIND_RUNTIME ? pp_cupti.cuptiActivityEnableRuntimeApi : pp_cupti.cuptiActivityEnableDriverApi;
}

static int timestamp(uint64_t* said) {
  return pp_cupti.cuptiGetTimestamp ? pp_cupti.cuptiGetTimestamp(said) : PP_CUPTI_INVALID_PARAMETER;
}

static int dropped(size_t* count) { return pp_cupti.cuptiActivityGetNumDroppedRecords(0, 0, count); }

static int flush(uint32_t forced) { return pp_cupti.cuptiActivityFlushAll(forced); }

static int lacks_layouts(void) { return 0; }

const pp_cupti_generation pp_cupti_first = {
    .subscribe = subscribe,
    .name_threads = name_threads,
    .set_attribute = set_attribute,
    .hand_in_buffers = hand_in_buffers,
    .measure = measure,
    .measure_one = measure_one,
    .lacks_layouts = lacks_layouts,
    .device_kinds = device_kinds,
    .enable = enable,
    .enable_and_dump = enable_and_dump,
    .disable = disable,
    .single_call = single_call,
    .timestamp = timestamp,
    .dropped = dropped,
    .flush = flush,
    .leave = pp_cupti_take_down,
    .is_of_process = 1,
};
