// The double of libcuda.so.1: the seam's table over the device model, and the few calls of the driver API that jobs
// make.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/doubles/cuda/clocks.h"
#include "tests/doubles/cuda/device_model.h"
#include "tests/doubles/cuda/options.h"
#include "tests/doubles/cuda/truth.h"

enum { kInvalidValue = 1, kNotInitialised = 3, kDriverVersion = 2, kLaunchKernel = 307, kStreamSynchronize = 126 };

static _Atomic(const struct double_tracer*) tracer;
static atomic_int captures;
static atomic_uint context_syncs;
static __thread uint32_t tid;

static void seam_trace(const struct double_tracer* one) { atomic_store(&tracer, one); }

static void seam_begin(struct double_call* call) {
  if (!tid) tid = (uint32_t)syscall(SYS_gettid);
  call->tid = tid;
  call->correlation = 0;
  call->reported = 0;
  truth_begin(call);
  call->start = monotonic_now();
  const struct double_tracer* one = atomic_load(&tracer);
  if (one) {
    call->reported = 1;
    one->enter(call);
  }
}

static void seam_end(struct double_call* call) {
  call->end = monotonic_now();
  truth_end(call);
  const struct double_tracer* one = atomic_load(&tracer);
  if (one && call->reported) one->leave(call);
}

static void report(const struct double_call* call, const struct double_op* op) {
  const struct double_tracer* one = atomic_load(&tracer);
  if (one && call->reported) one->submitted(call, op);
}

static void seam_submit(const struct double_call* call, struct double_op* op, uint64_t duration) {
  model_queue(op, duration);
  truth_op(call, op, model_host_time(op->start), model_host_time(op->end));
  report(call, op);
}

static void seam_synchronise(const struct double_call* call, uint32_t stream, uint32_t type) {
  struct double_op op = {.kind = kOpSync, .stream = stream ? stream : UINT32_MAX, .sync_type = type};
  op.device = stream && stream != kNullStream ? model_device_of(stream) : 0;
  op.context = context_of(op.device);
  uint64_t until = model_idle_at(stream);
  op.start = monotonic_now();
  if (until > op.start) sleep_until(until);
  op.end = monotonic_now();
  truth_op(call, &op, op.start, op.end);
  report(call, &op);
}

static uint32_t seam_create_stream(uint32_t device) {
  uint32_t stream = model_create_stream(device);
  const struct double_tracer* one = atomic_load(&tracer);
  if (one && stream) one->stream_created(stream, model_device_of(stream));
  return stream;
}

static uint64_t seam_ticks(void) { return model_ticks(monotonic_now()); }
static int32_t seam_capturing(int32_t change) { return atomic_fetch_add(&captures, change) + change; }

static uint32_t seam_context_syncs(uint32_t more) {
  if (more) sleep_until(model_idle_at(0));
  return atomic_fetch_add(&context_syncs, more) + more;
}

static uint32_t seam_newest_graph(uint32_t made) {
  static atomic_uint newest;
  unsigned before = atomic_load(&newest);
  while (before < made && !atomic_compare_exchange_weak(&newest, &before, made)) {
  }
  return atomic_load(&newest);
}

static atomic_int home;  // the process that has initialised it

DOUBLE_EXPORT int32_t cuInit(unsigned flags) {
  if (flags) return kInvalidValue;
  model_start();
  atomic_store(&home, getpid());
  return 0;
}

// Works only in the process that has initialised it, so not in a forked child.
DOUBLE_EXPORT int32_t cuDeviceGetCount(int* count) {
  if (!count) return kInvalidValue;
  if (atomic_load(&home) != getpid()) return kNotInitialised;
  *count = (int)model_devices();
  return 0;
}

static int32_t seam_initialise(void) { return cuInit(0); }

static const struct double_driver driver = {sizeof(struct double_driver),
                                            seam_initialise,
                                            seam_trace,
                                            seam_begin,
                                            seam_end,
                                            seam_submit,
                                            seam_synchronise,
                                            seam_create_stream,
                                            model_inventory,
                                            seam_ticks,
                                            model_host_time,
                                            seam_capturing,
                                            seam_context_syncs,
                                            seam_newest_graph};

DOUBLE_EXPORT int32_t cuGetExportTable(const void** table, const void* uuid) {
  if (!table || !uuid || memcmp(uuid, DOUBLE_SEAM, 16) != 0) return kInvalidValue;
  *table = &driver;
  return 0;
}

DOUBLE_EXPORT int32_t cuDriverGetVersion(int* version) {
  struct double_call call = {.domain = kDriverApi, .cbid = kDriverVersion, .function = "cuDriverGetVersion"};
  seam_begin(&call);
  if (version) *version = (int)double_option("driver", 13000);
  call.result = version ? 0 : kInvalidValue;
  seam_end(&call);
  return call.result;
}

// `function`: a double_kernel.
DOUBLE_EXPORT int32_t cuLaunchKernel(const void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                     uintptr_t stream, void** arguments, void** extra) {
  (void)arguments, (void)extra;
  const struct double_kernel* kernel = function;
  struct double_call call = {
      .domain = kDriverApi, .cbid = kLaunchKernel, .function = "cuLaunchKernel", .symbol = kernel->name};
  struct double_op op = {.kind = kOpKernel,
                         .name = kernel->name,
                         .stream = stream > 2 ? (uint32_t)stream : kNullStream,
                         .grid = {(int32_t)grid_x, (int32_t)grid_y, (int32_t)grid_z},
                         .block = {(int32_t)block_x, (int32_t)block_y, (int32_t)block_z},
                         .shared = shared};
  seam_begin(&call);
  seam_submit(&call, &op, kernel->duration);
  seam_end(&call);
  return 0;
}

DOUBLE_EXPORT int32_t cuStreamSynchronize(uintptr_t stream) {
  struct double_call call = {.domain = kDriverApi, .cbid = kStreamSynchronize, .function = "cuStreamSynchronize"};
  seam_begin(&call);
  seam_synchronise(&call, stream > 2 ? (uint32_t)stream : kNullStream, 3);
  seam_end(&call);
  return 0;
}
