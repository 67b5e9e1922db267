// The version of libcupti that this build imitates (DOUBLE_VERSION), and the iteration over records.
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/cuda/cupti_state.h"
#include "tests/doubles/cuda/cupti_tables.h"
#include "tests/doubles/cuda/options.h"

const uint32_t personality_version = DOUBLE_VERSION;

int32_t personality_no_driver(void) { return personality_version < 130000 ? kNotInitialised : kUnknown; }

// A version without a row has the sizes of the next version with one.
size_t personality_record_size(uint32_t kind) {
  for (int row = 0; kind < kKinds && row < record_size_rows; row++) {
    if (record_sizes[row].version >= personality_version) return record_sizes[row].bytes[kind];
  }
  return 0;
}

const char* callback_name(uint32_t domain, uint32_t callback) {
  for (int row = 0; row < callback_name_rows; row++) {
    if (callback_names[row].domain == domain && callback_names[row].callback == callback &&
        callback_names[row].since <= personality_version) {
      return callback_names[row].name;
    }
  }
  return NULL;
}

DOUBLE_EXPORT int32_t cuptiGetVersion(uint32_t* version) {
  if (cupti_speaks() != kOk) return kUnknown;
  if (!version) return kInvalidParameter;
  *version = personality_version;
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  if (cupti_speaks() != kOk) return kUnknown;
  int64_t wrong = double_option("next_record_result", 0);
  if (wrong) return (int32_t)wrong;
  if (!buffer || !record) return kInvalidParameter;
  uint8_t* next = buffer;
  if (*record) {
    uint32_t kind;
    memcpy(&kind, *record, sizeof kind);
    size_t size = personality_record_size(kind);
    if (!size) return kInvalidKind;
    next = *record + size;
  }
  if (next < buffer || (size_t)(next - buffer) >= valid) return kMaxLimitReached;
  uint32_t kind;
  memcpy(&kind, next, sizeof kind);
  if (!personality_record_size(kind)) return kInvalidKind;
  *record = next;
  return kOk;
}

DOUBLE_EXPORT int32_t cuptiGetCallbackName(uint32_t domain, uint32_t callback, const char** name) {
  if (cupti_speaks() != kOk) return kUnknown;
  if (!name) return kInvalidParameter;
  *name = callback_name(domain, callback);
  return *name ? kOk : kInvalidParameter;
}

DOUBLE_EXPORT int32_t cuptiGetResultString(int32_t result, const char** text) {
  if (cupti_speaks() != kOk) return kUnknown;
  if (!text) return kInvalidParameter;
  *text = "<unknown>";
  for (int row = 0; row < result_name_rows; row++) {
    if (result_names[row].result == result) *text = result_names[row].name;
  }
  return (*text)[0] == '<' ? kInvalidParameter : kOk;
}
