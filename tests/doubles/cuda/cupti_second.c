// The second generation of calls, of which the double plays what a client of the first runs into: the two do not mix in
// a process. Records and buffers of the second are not played.
#include "tests/doubles/cuda/cupti_state.h"

int32_t cupti_generation(uint32_t generation) {
  pthread_mutex_lock(&cupti.lock);
  if (!cupti.generation) cupti.generation = generation;
  int32_t result = cupti.generation == generation ? kOk : kNotCompatible;
  pthread_mutex_unlock(&cupti.lock);
  return result;
}

static int32_t switch_kind(uintptr_t subscriber, uint32_t kind, const void* configuration, uint8_t on) {
  int32_t refused = cupti_attach();
  if (refused) return refused;
  if (!cupti.subscribed || subscriber != (uintptr_t)&cupti) return kInvalidParameter;
  if (kind >= kKinds || !personality_record_size(kind)) return kInvalidKind;
  if (configuration) return kNotSupported;
  refused = cupti_generation(2);
  if (refused) return refused;
  cupti.kinds[kind] = on;
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiActivityEnable_v2(uintptr_t subscriber, uint32_t kind, const void* configuration) {
  return switch_kind(subscriber, kind, configuration, 1);
}

DOUBLE_EXPORT int32_t cuptiActivityDisable_v2(uintptr_t subscriber, uint32_t kind, const void* configuration) {
  return switch_kind(subscriber, kind, configuration, 0);
}

DOUBLE_EXPORT int32_t cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t* size) {
  if (cupti_speaks() != kOk) return kUnknown;
  if (!size || version != personality_version) return kInvalidParameter;
  *size = personality_record_size(kind);
  return *size ? kOk : kInvalidKind;
}
