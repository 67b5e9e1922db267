// CUPTI's second generation of calls (13.3 and later): several tools can have it, each with buffers of its own and with
// the fields in its records that it asked for.
//
// What concerns other tools too is left as it is: whether graphs are told as a whole, which the first of them decides
// for as long as the process lives; how much memory of the GPU is kept for times; records of theirs that are not
// complete yet. It has never run on a real library.
#include "attach/intarget/cupti_library.h"

enum { PP_FORCED = 1 };

int pp_cupti_has_second(void) {
  int lacks = 0;
#define PP_CUPTI_LACKS(symbol, parameters) lacks |= !pp_cupti.symbol;
  PP_CUPTI_FOR_EACH_SECOND_FUNCTION(PP_CUPTI_LACKS)
#undef PP_CUPTI_LACKS
  return !lacks && pp_cupti.cuptiSubscribe_v2 && pp_cupti.version >= PP_CUPTI_13_3 &&
         pp_gpu.arena->driver_version >= PP_CUDA_DRIVER_13_3;
}

static int subscribe(void) { return pp_cupti_subscribe_as(sizeof(pp_cupti_subscriber_params), 1); }

// Whether any tool has anything recorded.
static int is_anything_on(void) {
  uint32_t count = 0;
  return pp_cupti.cuptiActivityGetEnabledKinds(0, 0, 0, &count) == PP_CUPTI_SUCCESS && count > 0;
}

static int set_attribute(uint32_t attribute, void* value, size_t size) {
  if (attribute == PP_CUPTI_DEVICE_BUFFER_POOL_LIMIT && is_anything_on()) return PP_CUPTI_NOT_COMPATIBLE;
  return pp_cupti.cuptiActivitySetAttribute_v2(pp_cupti.subscriber, attribute, &size, value);
}

static int name_threads(void) {
  uint32_t type = PP_CUPTI_THREAD_ID_SYSTEM;
  return set_attribute(PP_CUPTI_THREAD_ID_TYPE, &type, sizeof type);
}

static int choose_fields(uint8_t on) { return set_attribute(PP_CUPTI_CHOSEN_FIELDS, &on, sizeof on); }

static int hand_in_buffers(void) {
  const int result = choose_fields(1);
  if (result) return result;
  return pp_cupti.cuptiActivityRegisterCallbacks_v2(pp_cupti.subscriber, pp_cupti_request_buffer_second,
                                                    pp_cupti_complete_buffer_second);
}

static int next_record(uint8_t* bytes, size_t size, uint8_t** record) {
  return pp_cupti.cuptiActivityGetNextRecord_v2(pp_cupti.subscriber, bytes, size, record);
}

// How long a record is follows from what is asked for. Where it cannot be measured then, the library says it with the
// first buffer.
static int measure(void) { return PP_CUPTI_SUCCESS; }
static void measure_one(uint32_t kind) { (void)pp_cupti_measure(kind, next_record); }

static int are_graphs_whole(void) {
  uint8_t whole = 0;
  size_t size = sizeof whole;
  return PP_CUPTI_CALL(PP_GPU_STEP_ATTRIBUTES, pp_cupti.cuptiActivityGetAttribute_v2(
                                                   pp_cupti.subscriber, PP_CUPTI_GRAPHS_AS_A_WHOLE, &size, &whole)) ==
             PP_CUPTI_SUCCESS &&
         whole == 1;
}

// Copies between devices do not come with the others here; graphs come as others have decided, whatever was asked for.
static const uint8_t* device_kinds(void) {
  static uint8_t kinds[PP_GPU_MAX_KINDS + 1];
  const uint8_t* asked = pp_gpu_boot_block.device_kinds;
  unsigned count = 0;
  if (are_graphs_whole()) kinds[count++] = PP_CUPTI_KIND_GRAPH;
  for (unsigned i = 0; i < PP_GPU_MAX_KINDS && asked[i] && count + 2 < PP_GPU_MAX_KINDS; ++i) {
    if (asked[i] == PP_CUPTI_KIND_GRAPH) continue;
    if (asked[i] == PP_CUPTI_KIND_MEMCPY) kinds[count++] = PP_CUPTI_KIND_MEMCPY_PEER;
    kinds[count++] = asked[i];
  }
  kinds[count] = 0;
  return kinds;
}

// Of calls those that are wanted, where this version takes a list; else all, of which the collector takes those.
static unsigned wanted_calls(uint32_t kind, uint32_t calls[PP_GPU_MAX_CALLBACKS]) {
  const uint16_t* wanted = kind == PP_CUPTI_KIND_RUNTIME  ? pp_gpu_boot_block.runtime_callbacks
                           : kind == PP_CUPTI_KIND_DRIVER ? pp_gpu_boot_block.driver_callbacks
                                                          : 0;
  unsigned count = 0;
  while (wanted && pp_cupti.version >= PP_CUPTI_13_4 && count < PP_GPU_MAX_CALLBACKS && wanted[count]) {
    calls[count] = wanted[count];
    ++count;
  }
  return count;
}

static int enable_by(int (*how)(void*, uint32_t, pp_cupti_config*), uint32_t kind) {
  const pp_gpu_fields* asked = pp_cupti_fields_of(kind);
  if (!asked) return PP_CUPTI_INVALID_KIND;
  int fields[PP_GPU_LAYOUT_FIELDS];
  for (unsigned i = 0; i < asked->count; ++i) fields[i] = asked->ids[i];
  uint32_t calls[PP_GPU_MAX_CALLBACKS];
  pp_cupti_call_list list = {sizeof list, calls, wanted_calls(kind, calls), 1};
  pp_cupti_call_options options = {sizeof options, &list};
  pp_cupti_config config = {
      pp_cupti.version >= PP_CUPTI_13_4 ? sizeof config : PP_CUPTI_CONFIG_13_3,
      {sizeof(pp_cupti_selection), asked->count, fields},
      list.count ? &options : 0,
  };
  const int result = how(pp_cupti.subscriber, kind, &config);
  if (!result || !list.count) return result;
  config.options = 0;
  return how(pp_cupti.subscriber, kind, &config);
}

static int enable(uint32_t kind) { return enable_by(pp_cupti.cuptiActivityEnable_v2, kind); }
static int enable_and_dump(uint32_t kind) { return enable_by(pp_cupti.cuptiActivityEnableAndDump_v2, kind); }
static int disable(uint32_t kind) { return pp_cupti.cuptiActivityDisable_v2(pp_cupti.subscriber, kind, 0); }

static pp_cupti_single_call single_call(uint32_t kind) {
  (void)kind;
  return 0;
}

static int timestamp(uint64_t* said) { return pp_cupti.cuptiGetTimestamp_v2(pp_cupti.subscriber, said); }

static int dropped(size_t* count) {
  return pp_cupti.cuptiActivityGetNumDroppedRecords_v2(pp_cupti.subscriber, 0, 0, count);
}

// It is one of the buffers of all tools: where another has something recorded, none is torn from it.
static int flush(uint32_t forced) {
  return pp_cupti.cuptiActivityFlushAll(forced == PP_FORCED && !is_anything_on() ? PP_FORCED : 0);
}

static uint32_t leave(int32_t* number) {
  (void)number;
  (void)PP_CUPTI_CALL(PP_GPU_STEP_UNSUBSCRIBE, choose_fields(0));
  (void)PP_CUPTI_CALL(PP_GPU_STEP_UNSUBSCRIBE, pp_cupti.cuptiUnsubscribe(pp_cupti.subscriber));
  pp_cupti_forget_captures();
  return pp_gpu.trouble ? PP_GPU_LEFT_DORMANT_BROKEN : PP_GPU_LEFT_DORMANT_SHARED;
}

const pp_cupti_generation pp_cupti_second = {
    .subscribe = subscribe,
    .name_threads = name_threads,
    .set_attribute = set_attribute,
    .hand_in_buffers = hand_in_buffers,
    .measure = measure,
    .measure_one = measure_one,
    .lacks_layouts = pp_cupti_lacks_layouts,
    .device_kinds = device_kinds,
    .enable = enable,
    .enable_and_dump = enable_and_dump,
    .disable = disable,
    .single_call = single_call,
    .timestamp = timestamp,
    .dropped = dropped,
    .flush = flush,
    .leave = leave,
    .is_of_process = 0,
};
