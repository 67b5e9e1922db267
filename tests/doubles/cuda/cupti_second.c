// The second generation of calls: several clients, each with kinds, buffers and fields of records of its own. It does
// not mix with the first in a process. Which one a process uses the first call decides that belongs to one of them,
// until CUPTI is taken down.
#include <string.h>

#include "tests/doubles/cuda/cupti_state.h"
#include "tests/doubles/cuda/options.h"

enum { kShortConfiguration = 32, kWithOptions = 40 };

struct selection {
  size_t size, count;
  const int* fields;
};
struct call_list {
  size_t size;
  const uint32_t* calls;
  size_t count;
  uint8_t allowed;
};
struct call_options {
  size_t size;
  const struct call_list* list;
};
struct configuration {
  size_t size;
  struct selection selection;
  const struct call_options* options;
};

int32_t cupti_generation(uint32_t generation) {
  pthread_mutex_lock(&cupti.lock);
  if (!cupti.generation) cupti.generation = generation;
  int32_t result = cupti.generation == generation ? kOk : kNotCompatible;
  pthread_mutex_unlock(&cupti.lock);
  return result;
}

uint64_t wide_correlation(uint32_t correlation) {
  uint64_t wraps = cupti.wraps - (correlation > cupti.correlation);
  return correlation ? wraps << 32 | correlation : 0;
}

static int32_t check(const struct configuration* configuration) {
  if (!configuration) return kOk;
  int is_long = personality_version >= kListsInSecond && configuration->size == kWithOptions;
  if (!is_long && configuration->size != kShortConfiguration) return kInvalidParameter;
  return configuration->selection.count && configuration->selection.size != sizeof configuration->selection
             ? kInvalidParameter
             : kOk;
}

// With the lock held. Other fields than before need the old ones' records to be gone first, which is not looked at
// here: none at all can be chosen while the kind has some.
static int32_t choose(struct cupti_client* client, uint32_t kind, const struct configuration* configuration) {
  size_t count = configuration ? configuration->selection.count : 0;
  if (!client->chooses_fields) return count ? kNotCompatible : kOk;
  if (!count) return kInvalidParameter;
  if (client->layouts[kind]) {
    return layout_is_of(client->layouts[kind], configuration->selection.fields, count) ? kOk : kNotCompatible;
  }
  client->layouts[kind] = layout_of(kind, configuration->selection.fields, count);
  return client->layouts[kind] ? kOk : kInvalidParameter;
}

static void list_calls(struct cupti_client* client, uint32_t kind, const struct configuration* configuration) {
  int may = configuration && configuration->size == kWithOptions && (kind == kRuntime || kind == kDriver);
  const struct call_list* list = may && configuration->options ? configuration->options->list : NULL;
  if (!list) return;
  uint64_t* words = client->recorded[kind == kRuntime ? kRuntimeApi : kDriverApi];
  memset(words, list->allowed ? 0 : 0xff, kCallbacks / 8);
  for (size_t i = 0; i < list->count; i++) {
    uint64_t bit = (uint64_t)1 << (list->calls[i] % 64), *word = &words[list->calls[i] % kCallbacks / 64];
    *word = list->allowed ? *word | bit : *word & ~bit;
  }
}

static int32_t switch_kind(uintptr_t subscriber, uint32_t kind, const struct configuration* configuration, uint8_t on,
                           int dumps) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  struct cupti_client* client = client_of(subscriber);
  if (!client) return kInvalidParameter;
  if (kind >= kKinds || !personality_record_size(kind)) return kInvalidKind;
  refused = check(configuration);
  if (!refused) refused = cupti_generation(2);
  if (refused) return refused;
  pthread_mutex_lock(&cupti.lock);
  if (on && kind == kGraphTrace && cupti.allows_several && cupti.whole_graphs != 2) refused = kNotCompatible;
  if (!refused && on) refused = choose(client, kind, configuration);
  if (!refused) switch_kind_of(client, kind, on);
  if (!refused && on) list_calls(client, kind, configuration);
  if (!refused && dumps && has_buffers(client)) records_inventory(client, kind);
  pthread_mutex_unlock(&cupti.lock);
  return refused;
}

DOUBLE_EXPORT int32_t cuptiActivityEnable_v2(uintptr_t subscriber, uint32_t kind, const void* configuration) {
  return switch_kind(subscriber, kind, configuration, 1, 0);
}

DOUBLE_EXPORT int32_t cuptiActivityEnableAndDump_v2(uintptr_t subscriber, uint32_t kind, const void* configuration) {
  return switch_kind(subscriber, kind, configuration, 1, 1);
}

DOUBLE_EXPORT int32_t cuptiActivityDisable_v2(uintptr_t subscriber, uint32_t kind, const void* configuration) {
  return switch_kind(subscriber, kind, configuration, 0, 0);
}

DOUBLE_EXPORT int32_t cuptiActivityRegisterCallbacks_v2(uintptr_t subscriber, request_function_2 request,
                                                        complete_function_2 complete) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  struct cupti_client* client = client_of(subscriber);
  if (!client || !request || !complete) return kInvalidParameter;
  if (cupti_generation(2) != kOk) return kNotCompatible;
  pthread_mutex_lock(&cupti.lock);
  client->request_2 = request;
  client->complete_2 = complete;
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

// Records follow each other as the client's fields are; or as they are predefined.
DOUBLE_EXPORT int32_t cuptiActivityGetNextRecord_v2(uintptr_t subscriber, uint8_t* buffer, size_t valid,
                                                    uint8_t** record) {
  int32_t refused = cupti_attach();
  if (!refused) refused = (int32_t)double_option("next_record_result", 0);
  if (refused) return refused;
  const struct cupti_client* client = client_of(subscriber);
  if (!client || !buffer || !record) return kInvalidParameter;
  uint8_t* next = *record ? *record : buffer;
  for (int steps = *record ? 1 : 0; steps >= 0; steps--) {
    uint32_t kind;
    if (next < buffer || (size_t)(next - buffer) + sizeof kind > valid) return kMaxLimitReached;
    memcpy(&kind, next, sizeof kind);
    size_t size = kind < kKinds && client->layouts[kind] ? layout_bytes(client->layouts[kind]) : 0;
    if (!client->chooses_fields) size = personality_record_size(kind);
    if (!size) return kInvalidKind;
    if (steps) next += size;
  }
  *record = next;
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiActivityGetEnabledKinds(uintptr_t subscriber, uint32_t* kinds, uint32_t* size,
                                                   uint32_t* count) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  const struct cupti_client* client = client_of(subscriber);
  if (!count || (subscriber && !client) || (kinds && !size)) return kInvalidParameter;
  pthread_mutex_lock(&cupti.lock);
  *count = 0;
  for (uint32_t kind = 0; kind < kKinds; kind++) {
    if (client ? !client->kinds[kind] : !any_kind(kind)) continue;
    if (kinds && *count < *size) kinds[*count] = kind;
    ++*count;
  }
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiIsTracingSessionRunning(uint8_t* running) {
  if (cupti_speaks() != kOk) return kUnknown;
  if (!running) return kInvalidParameter;
  *running = cupti.driver != NULL;
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t* size) {
  if (cupti_speaks() != kOk) return kUnknown;
  if (!size || version != personality_version) return kInvalidParameter;
  *size = personality_record_size(kind);
  return *size ? kOk : kInvalidKind;
}
