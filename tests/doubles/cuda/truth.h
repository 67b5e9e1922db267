// The ground truth: every call of the API and all operations that it gave the device, kept in memory until the workload
// reads them by double_truth_calls and double_truth_ops, which libcuda's double exports to ctypes. Any thread.
//
// `index` counts the calls of one thread from 0. So the workload knows which of its functions made which call.
#ifndef TESTS_DOUBLES_CUDA_TRUTH_H
#define TESTS_DOUBLES_CUDA_TRUTH_H

#include "tests/doubles/cuda/seam.h"

struct truth_call {
  uint64_t start, end;  // CLOCK_MONOTONIC
  const char* function;
  uint32_t tid, index, domain, cbid, correlation;
  int32_t result;
};

struct truth_op {
  uint64_t start, end;  // CLOCK_MONOTONIC, of what the device really did, whatever CUPTI reports
  const char* name;
  uint64_t bytes, node;
  uint32_t tid, index, kind, stream, correlation, graph, device;
};

void truth_begin(const struct double_call* call);
void truth_end(const struct double_call* call);
void truth_op(const struct double_call* call, const struct double_op* op, uint64_t start, uint64_t end);

const struct truth_call* double_truth_calls(uint64_t* count);
const struct truth_op* double_truth_ops(uint64_t* count);

#endif
