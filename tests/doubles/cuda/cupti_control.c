// What is collected and how: kinds, lists of calls, attributes, where buffers come from, flushing.
#include <string.h>
#include <time.h>

#include "tests/doubles/cuda/clocks.h"
#include "tests/doubles/cuda/cupti_state.h"
#include "tests/doubles/cuda/options.h"

static uint32_t domain_of(uint32_t kind) { return kind == kRuntime ? kRuntimeApi : kind == kDriver ? kDriverApi : 0; }

// A kind of calls stands for all of them. When it is switched on or off, the settings of single calls are lost.
static int32_t switch_kind(uint32_t kind, int on) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  if (kind >= kKinds || !personality_record_size(kind)) return kInvalidKind;
  pthread_mutex_lock(&cupti.lock);
  if (kind == kGraphTrace && on && !cupti.kinds[kind]) cupti.old_graphs = cupti.driver->newest_graph(0);
  cupti.kinds[kind] = (uint8_t)on;
  uint32_t domain = domain_of(kind);
  if (domain) memset(cupti.recorded[domain], on ? 0xff : 0, sizeof cupti.recorded[domain]);
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiActivityEnable(uint32_t kind) { return switch_kind(kind, 1); }

DOUBLE_EXPORT int32_t cuptiActivityDisable(uint32_t kind) { return switch_kind(kind, 0); }

DOUBLE_EXPORT int32_t cuptiActivityEnableAndDump(uint32_t kind) {
  int32_t refused = switch_kind(kind, 1);
  if (refused) return refused;
  pthread_mutex_lock(&cupti.lock);
  records_inventory(kind);
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

// How many calls the API has (CUPTI_RUNTIME_TRACE_CBID_SIZE and the like in the headers).
uint32_t calls_of(uint32_t domain) {
  if (domain != kRuntimeApi && domain != kDriverApi) return kCallbacks;
  static const struct {
    uint32_t since, runtime, driver;
  } kCalls[] = {{130400, 566, 868}, {130000, 523, 807}, {28, 487, 784}, {0, 480, 763}};
  int row = 0;
  while (personality_version < kCalls[row].since) row++;
  return domain == kRuntimeApi ? kCalls[row].runtime : kCalls[row].driver;
}

// A job on the double always has a context, like a job that is attached to late. Then switching a single call succeeds,
// and has no effect until its kind is on (seen with 13.0 on an H200).
static int32_t switch_call(uint32_t domain, uint32_t callback, uint8_t on) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  if (callback >= calls_of(domain)) return kInvalidParameter;
  pthread_mutex_lock(&cupti.lock);
  if (!cupti.kinds[domain == kRuntimeApi ? kRuntime : kDriver]) {
    pthread_mutex_unlock(&cupti.lock);
    return kOk;
  }
  uint64_t bit = (uint64_t)1 << (callback % 64), *word = &cupti.recorded[domain][callback / 64];
  *word = on ? *word | bit : *word & ~bit;
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiActivityEnableRuntimeApi(uint32_t callback, uint8_t enable) {
  return switch_call(kRuntimeApi, callback, enable);
}

DOUBLE_EXPORT int32_t cuptiActivityEnableDriverApi(uint32_t callback, uint8_t enable) {
  return switch_call(kDriverApi, callback, enable);
}

DOUBLE_EXPORT int32_t cuptiActivityRegisterCallbacks(request_function request, complete_function complete) {
  if (cupti_speaks() != kOk) return kUnknown;
  if (!request || !complete) return kInvalidParameter;
  pthread_mutex_lock(&cupti.lock);
  cupti.request = request;  // for the whole process: a second client silently replaces the first
  cupti.complete = complete;
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiActivityFlushAll(uint32_t flag) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  if (cupti_in_request || cupti_in_complete) {
    __atomic_fetch_add(&cupti.misuse.flushes_in_callback, 1, __ATOMIC_RELAXED);
    return kInvalidOperation;
  }
  static _Atomic uint64_t flushes;
  int64_t wrong = double_option("flush_result", 0);
  if (wrong && cupti_fault_is_due(double_option("flush_fails_after", 0), flushes++)) return (int32_t)wrong;
  return buffers_flush(flag & 1);
}

DOUBLE_EXPORT int32_t cuptiActivityFlushPeriod(uint32_t milliseconds) {
  (void)milliseconds;  // full buffers are delivered at once here
  return cupti_attach();
}

DOUBLE_EXPORT int32_t cuptiGetTimestamp(uint64_t* timestamp) {
  if (cupti_speaks() != kOk) return kUnknown;
  if (!timestamp) return kInvalidParameter;
  int64_t slow = double_option("timestamp_ms", 0);
  if (slow) sleep_until(monotonic_now() + (uint64_t)slow * 1000000);
  pthread_mutex_lock(&cupti.lock);
  uint64_t real = clock_now(CLOCK_REALTIME), now = monotonic_now(), offset = cupti_time(now) - now;
  *timestamp = cupti.driver ? now + offset : real;
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiSetThreadIdType(uint32_t type) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  if (type > 1) return kInvalidParameter;
  cupti.thread_id_type = type;
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiGetThreadIdType(uint32_t* type) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  if (!type) return kInvalidParameter;
  *type = cupti.thread_id_type;
  return kOk;
}

// In bytes, by number.
static const uint8_t attribute_bytes[kAttributes] = {8, 8, 8, 8, 8, 1, 8, 8, 1, 1};

static int32_t attribute(uint32_t which, const size_t* size, const void* value) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  if (!size || !value || which >= kAttributes) return kInvalidParameter;
  if (which == kPerThread && personality_version < 21) return kInvalidParameter;
  return *size < attribute_bytes[which] ? kTooSmall : kOk;
}

DOUBLE_EXPORT int32_t cuptiActivitySetAttribute(uint32_t which, size_t* size, const void* value) {
  int32_t refused = attribute(which, size, value);
  if (refused) return refused;
  pthread_mutex_lock(&cupti.lock);
  if (cupti.request && which != kPoolLimit) cupti.misuse.late_attributes++;
  uint64_t wide = 0;
  memcpy(&wide, value, *size < sizeof wide ? *size : sizeof wide);
  cupti.attributes[which] = wide + 1;
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiActivityGetAttribute(uint32_t which, size_t* size, void* value) {
  static const uint64_t defaults[kAttributes] = {[0] = 3355443, [1] = 3355443, [2] = 250, [3] = 65536, [4] = 250};
  int32_t refused = attribute(which, size, value);
  if (refused) return refused;
  pthread_mutex_lock(&cupti.lock);
  uint64_t wide = cupti.attributes[which] ? cupti.attributes[which] - 1 : defaults[which];
  if (which == kPerThread && !cupti.attributes[which]) wide = personality_version >= kOfCuda13;
  memcpy(value, &wide, *size < sizeof wide ? *size : sizeof wide);
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}
