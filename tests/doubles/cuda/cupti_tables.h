// The tables of the double of libcupti. tests/integration/cuda_double_oracle_test.py compares them with the real
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

#endif
