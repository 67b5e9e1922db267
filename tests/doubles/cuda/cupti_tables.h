// The tables of the double of libcupti: tests/integration/cuda_double_oracle_test.py holds them against the real
// libraries.
#ifndef TESTS_DOUBLES_CUDA_CUPTI_TABLES_H
#define TESTS_DOUBLES_CUDA_CUPTI_TABLES_H

#include <stdint.h>

extern const struct record_sizes_of {
  uint32_t version;
  uint16_t bytes[64];  // by activity kind; 0: no such kind
} record_sizes[];
extern const int record_size_rows;

extern const struct callback_name_row {
  uint32_t domain, callback, since;  // since: the first version that has it
  const char* name;
} callback_names[];
extern const int callback_name_rows;

extern const struct result_name_row {
  int32_t result;
  const char* name;
} result_names[];
extern const int result_name_rows;

// Of a kind; the calls of the runtime's row are the driver's too.
enum { kCorrelation = 0xff };
extern const struct field_row {
  uint8_t kind, id, from, predefined, bytes;  // bytes: or kCorrelation, 8 that are not made of those
} fields[];
extern const int field_rows;

#endif
