// Records whose operation has not ended, ordered by its end. With the lock of cupti_state.h held.
#ifndef TESTS_DOUBLES_CUDA_PENDING_H
#define TESTS_DOUBLES_CUDA_PENDING_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
  uint8_t* data;
  size_t size, used;
  uint64_t records, most;
  uint32_t pending;  // records in it that are not complete
  int retired;       // no thread fills it any more
  struct buffer* next;
};

struct pending {
  struct buffer* buffer;
  size_t start_at;        // where its start is in the buffer; its end follows
  uint64_t starts, ends;  // CLOCK_MONOTONIC
  int broken;             // its times stay zero
};

void pending_add(const struct pending* one);
int pending_take_due(uint64_t now, struct pending* out);  // 1: `out` is the one that ended first
int pending_any(void);
void pending_clear(void);

#endif
