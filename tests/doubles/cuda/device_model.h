// The simulated GPUs (option devices), each with one context: streams that process what is queued in order, one engine
// for kernels per stream and two for copies. Nothing runs: times are computed at submission. Owned by driver.c; any
// thread.
//
// The clock runs at its own rate from its own zero (options gpu_offset and gpu_drift_ppb); CUPTI has to convert it.
#ifndef TESTS_DOUBLES_CUDA_DEVICE_MODEL_H
#define TESTS_DOUBLES_CUDA_DEVICE_MODEL_H

#include "tests/doubles/cuda/seam.h"

enum { kNullStream = 7, kFirstStream = 13, kMostDevices = 8 };
static inline uint32_t context_of(uint32_t device) { return device + 1; }

void model_start(void);
uint64_t model_ticks(uint64_t monotonic);
uint64_t model_host_time(uint64_t ticks);
uint32_t model_devices(void);
uint32_t model_create_stream(uint32_t device);
uint32_t model_device_of(uint32_t stream);  // not for a null stream
// Sets the device (for a null stream the caller sets it), the times and the channel of `op`, after waiting while the
// stream is too far behind.
void model_queue(struct double_op* op, uint64_t duration);
// When the stream (0: all streams) will have finished its work, in CLOCK_MONOTONIC.
uint64_t model_idle_at(uint32_t stream);
void model_inventory(struct double_inventory* out);

#endif
