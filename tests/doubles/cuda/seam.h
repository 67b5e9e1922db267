// The interface between the doubles of libcuda, libcudart and libcupti, as the real ones have by private export tables.
// The driver (driver.c) owns the table. The others find it by cuGetExportTable and never see its internals. Any thread.
//
// A call consists of driver->begin (assigns the correlation ID, reports to the tracer), driver->submit for each
// operation on the device, and driver->end. Times are CLOCK_MONOTONIC nanoseconds, except in double_op, which has ticks
// of the GPU.
#ifndef TESTS_DOUBLES_CUDA_SEAM_H
#define TESTS_DOUBLES_CUDA_SEAM_H

#include <stdint.h>

#define DOUBLE_SEAM "ptrace-prof double"  // 16 bytes of it are the UUID of the table

#define DOUBLE_EXPORT __attribute__((visibility("default")))

enum double_domain { kDriverApi = 1, kRuntimeApi = 2 };
enum double_op_kind { kOpKernel = 1, kOpMemcpy, kOpMemset, kOpSync };

struct double_call {
  uint32_t domain, cbid;
  const char* function;
  const char* symbol;  // of the kernel, where it launches one
  const void* parameters;
  int32_t result;
  uint32_t tid, correlation;     // correlation: 0 without a tracer
  uint64_t correlation_data[2];  // the subscribers' own, between enter and exit
  uint64_t start, end;
  int reported;  // begin was reported to the tracer
};

struct double_op {
  enum double_op_kind kind;
  const char* name;
  uint64_t start, end;  // GPU ticks; host nanoseconds for kOpSync
  uint32_t device, context, stream, channel;
  int32_t grid[3], block[3];
  uint32_t shared, value;
  uint64_t bytes;
  uint8_t copy_kind, source_kind, destination_kind;
  uint32_t sync_type;
  uint32_t graph, node_index, nodes;  // of a graph that is replayed: which of how many
  uint64_t node, grid_id;
};

// What a launch takes as its function.
struct double_kernel {
  const char* name;  // mangled
  uint64_t duration;
};

struct double_inventory {
  uint32_t contexts, streams;  // one context for each device, with a null stream of its own, number 7
  uint32_t stream_ids[256], stream_devices[256];
};

struct double_tracer {
  void (*enter)(struct double_call* call);
  void (*submitted)(const struct double_call* call, const struct double_op* op);
  void (*leave)(struct double_call* call);
  void (*stream_created)(uint32_t stream, uint32_t device);
};

struct double_driver {
  uint64_t size;
  int32_t (*initialise)(void);                        // cuInit; 0 or a CUresult
  void (*trace)(const struct double_tracer* tracer);  // NULL: stop reporting
  void (*begin)(struct double_call* call);
  void (*end)(struct double_call* call);
  // Queues `op` on op->stream for `duration` ns and sets its times; waits while too much is queued.
  void (*submit)(const struct double_call* call, struct double_op* op, uint64_t duration);
  // Waits until the stream (0: all of them) has nothing left. Reports the wait as a synchronisation.
  void (*synchronise)(const struct double_call* call, uint32_t stream, uint32_t type);
  uint32_t (*create_stream)(uint32_t device);
  void (*inventory)(struct double_inventory* out);
  uint64_t (*ticks)(void);                // the GPU's clock now
  uint64_t (*host_time)(uint64_t ticks);  // exact, where CUPTI only estimates
  int32_t (*capturing)(int32_t change);   // +1, -1 or 0; returns how many streams are being captured
  // How often a context was synchronised, which ends every capture. 1: synchronises it, and waits.
  uint32_t (*context_syncs)(uint32_t more);
  // The highest number of a graph that can be launched; `made`: the number of a new one.
  uint32_t (*newest_graph)(uint32_t made);
};

#endif
