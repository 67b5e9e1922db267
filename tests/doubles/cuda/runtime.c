// The double of libcudart.so.N: the calls that jobs make, each reported to the tracer and passed to the driver's model.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/cuda/clocks.h"
#include "tests/doubles/cuda/graphs.h"
#include "tests/doubles/cuda/options.h"

enum { kInvalidValue = 1, kInsufficientDriver = 35, kCaptureUnsupported = 900, kLegacyStreams = 2, kNull = 7 };
enum { kSyncStream = 3, kSyncContext = 4, kLongestName = 1024 };

struct dimensions {
  unsigned x, y, z;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct double_driver* driver;
static __thread uint32_t current_device;

static void find_driver(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  int32_t (*table)(const void**, const void*) = NULL;
  if (library) *(void**)&table = dlsym(library, "cuGetExportTable");
  const void* found = NULL;
  if (!table || table(&found, DOUBLE_SEAM) != 0) return;
  driver = found;
  if (driver->initialise() != 0) driver = NULL;
}

// Begins a call, or returns the error.
static int32_t enter(struct double_call* call, uint32_t cbid, const char* function) {
  pthread_once(&once, find_driver);
  if (!driver) return kInsufficientDriver;
  memset(call, 0, sizeof *call);
  call->domain = kRuntimeApi;
  call->cbid = cbid;
  call->function = function;
  return 0;
}

static int32_t finish(struct double_call* call, int32_t result) {
  call->result = result;
  driver->end(call);
  return result;
}

static uint32_t number(uintptr_t stream) { return stream > kLegacyStreams ? (uint32_t)stream : kNull; }

static void give(const struct double_call* call, struct double_op* op, uint64_t duration) {
  op->device = current_device;
  if (!graph_captures(op->stream, op, duration)) driver->submit(call, op, duration);
}

static int32_t launch(uint32_t cbid, const char* name, const struct double_kernel* kernel, struct dimensions grid,
                      struct dimensions block, size_t shared, uintptr_t stream) {
  struct double_call call;
  int32_t refused = enter(&call, cbid, name);
  if (refused) return refused;
  call.symbol = kernel->name;
  struct double_op op = {.kind = kOpKernel,
                         .name = kernel->name,
                         .stream = number(stream),
                         .shared = (uint32_t)shared,
                         .grid = {(int32_t)grid.x, (int32_t)grid.y, (int32_t)grid.z},
                         .block = {(int32_t)block.x, (int32_t)block.y, (int32_t)block.z}};
  driver->begin(&call);
  give(&call, &op, kernel->duration);
  return finish(&call, 0);
}

DOUBLE_EXPORT int32_t cudaLaunchKernel(const struct double_kernel* kernel, struct dimensions grid,
                                       struct dimensions block, void** arguments, size_t shared, uintptr_t stream) {
  (void)arguments;
  return launch(211, "cudaLaunchKernel", kernel, grid, block, shared, stream);
}

// The call that nvcc 13 generates for <<<>>>.
DOUBLE_EXPORT int32_t __cudaLaunchKernel(const struct double_kernel* kernel, struct dimensions grid,
                                         struct dimensions block, void** arguments, size_t shared, uintptr_t stream) {
  (void)arguments;
  return launch(505, "__cudaLaunchKernel", kernel, grid, block, shared, stream);
}

struct launch_configuration {
  struct dimensions grid, block;
  size_t shared;
  uintptr_t stream;
  void* attributes;
  unsigned count;
};

DOUBLE_EXPORT int32_t cudaLaunchKernelExC(const struct launch_configuration* how, const struct double_kernel* kernel,
                                          void** arguments) {
  (void)arguments;
  return launch(430, "cudaLaunchKernelExC", kernel, how->grid, how->block, how->shared, how->stream);
}

// kind: 0 host to host, 1 host to device, 2 device to host, 3 device to device.
DOUBLE_EXPORT int32_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, uintptr_t stream) {
  (void)to, (void)from;
  static const uint8_t kinds[] = {9, 1, 2, 8}, sources[] = {1, 1, 3, 3}, destinations[] = {1, 3, 1, 3};
  struct double_call call;
  int32_t refused = enter(&call, 41, "cudaMemcpyAsync");
  if (refused) return refused;
  driver->begin(&call);
  if (kind < 0 || kind > 3) return finish(&call, kInvalidValue);
  struct double_op op = {.kind = kOpMemcpy,
                         .stream = number(stream),
                         .bytes = bytes,
                         .copy_kind = kinds[kind],
                         .source_kind = sources[kind],
                         .destination_kind = destinations[kind]};
  give(&call, &op, 1000 + bytes / 20);  // 20 GB/s
  return finish(&call, 0);
}

DOUBLE_EXPORT int32_t cudaMemsetAsync(void* to, int value, size_t bytes, uintptr_t stream) {
  (void)to;
  struct double_call call;
  int32_t refused = enter(&call, 51, "cudaMemsetAsync");
  if (refused) return refused;
  driver->begin(&call);
  struct double_op op = {
      .kind = kOpMemset, .stream = number(stream), .bytes = bytes, .value = (uint32_t)value, .destination_kind = 3};
  give(&call, &op, 800 + bytes / 200);
  return finish(&call, 0);
}

static int32_t synchronise(uint32_t cbid, const char* name, uint32_t stream, uint32_t type) {
  struct double_call call;
  int32_t refused = enter(&call, cbid, name);
  if (refused) return refused;
  driver->begin(&call);
  if (driver->capturing(0) && graph_invalidate(driver, stream)) return finish(&call, kCaptureUnsupported);
  driver->synchronise(&call, stream, type);
  return finish(&call, 0);
}

DOUBLE_EXPORT int32_t cudaStreamSynchronize(uintptr_t stream) {
  return synchronise(131, "cudaStreamSynchronize", number(stream), kSyncStream);
}

DOUBLE_EXPORT int32_t cudaDeviceSynchronize(void) { return synchronise(165, "cudaDeviceSynchronize", 0, kSyncContext); }

// Not reported to the tracer: it is in none of our lists of calls.
DOUBLE_EXPORT int32_t cudaSetDevice(int device) {
  current_device = (uint32_t)device;
  return 0;
}

DOUBLE_EXPORT int32_t cudaStreamCreate(uintptr_t* out) {
  struct double_call call;
  int32_t refused = enter(&call, 129, "cudaStreamCreate");
  if (refused) return refused;
  driver->begin(&call);
  *out = driver->create_stream(current_device);
  return finish(&call, *out ? 0 : kInvalidValue);
}

DOUBLE_EXPORT int32_t cudaMalloc(uintptr_t* out, size_t bytes) {
  static _Atomic uintptr_t next = 0x7f0000000000;
  struct double_call call;
  int32_t refused = enter(&call, 20, "cudaMalloc");
  if (refused) return refused;
  driver->begin(&call);
  *out = next;
  next += (bytes + 511) & ~(size_t)511;
  return finish(&call, 0);
}

DOUBLE_EXPORT int32_t cudaFree(uintptr_t memory) {
  (void)memory;
  struct double_call call;
  int32_t refused = enter(&call, 22, "cudaFree");
  if (refused) return refused;
  driver->begin(&call);
  return finish(&call, 0);
}

DOUBLE_EXPORT int32_t cudaRuntimeGetVersion(int* version) {
  struct double_call call;
  int32_t refused = enter(&call, 2, "cudaRuntimeGetVersion");
  if (refused) return refused;
  driver->begin(&call);
  *version = (int)double_option("driver", 13000);
  return finish(&call, 0);
}

DOUBLE_EXPORT int32_t cudaStreamBeginCapture(uintptr_t stream, int mode) {
  struct double_call call;
  int32_t refused = enter(&call, 315, "cudaStreamBeginCapture");
  if (refused) return refused;
  const struct {
    uintptr_t stream;
    int mode;
  } parameters = {stream, mode};
  call.parameters = &parameters;
  driver->begin(&call);
  return finish(&call, number(stream) == kNull ? kCaptureUnsupported : graph_begin_capture(driver, number(stream)));
}

DOUBLE_EXPORT int32_t cudaStreamEndCapture(uintptr_t stream, struct double_graph** out) {
  struct double_call call;
  int32_t refused = enter(&call, 319, "cudaStreamEndCapture");
  if (refused) return refused;
  const struct {
    uintptr_t stream;
    struct double_graph** out;
  } parameters = {stream, out};
  call.parameters = &parameters;
  driver->begin(&call);
  return finish(&call, graph_end_capture(driver, number(stream), out));
}

DOUBLE_EXPORT int32_t cudaGraphInstantiate(struct double_graph** out, const struct double_graph* graph,
                                           unsigned long long flags) {
  (void)flags;
  struct double_call call;
  int32_t refused = enter(&call, 443, "cudaGraphInstantiate");
  if (refused) return refused;
  driver->begin(&call);
  *out = graph_instantiate(graph);
  if (*out) driver->newest_graph(graph_id(*out));
  return finish(&call, *out ? 0 : kInvalidValue);
}

DOUBLE_EXPORT int32_t cudaGraphLaunch(const struct double_graph* graph, uintptr_t stream) {
  struct double_call call;
  int32_t refused = enter(&call, 311, "cudaGraphLaunch");
  if (refused) return refused;
  driver->begin(&call);
  graph_submit(driver, &call, graph, number(stream));
  return finish(&call, 0);
}

// Imitates the registration of a module: returns what the launches above take as their function. `duration`: ns.
DOUBLE_EXPORT const struct double_kernel* double_kernel(const char* name, uint64_t duration) {
  struct double_kernel* kernel = malloc(sizeof *kernel);
  char* text = calloc(1, kLongestName);
  if (!kernel || !text) abort();
  strncpy(text, name, kLongestName - 1);
  *kernel = (struct double_kernel){text, duration};
  return kernel;
}

// `count` launches by the calling thread and nothing else between them; returns the nanoseconds that they took.
DOUBLE_EXPORT uint64_t double_launch_many(const struct double_kernel* kernel, uint64_t count) {
  const struct dimensions one = {1, 1, 1};
  const uint64_t begin = monotonic_now();
  for (uint64_t i = 0; i < count; i++) cudaLaunchKernel(kernel, one, one, NULL, 0, 0);
  return monotonic_now() - begin;
}

// The module is unloaded and another one takes its address, so the pointer means another name, in old records too.
DOUBLE_EXPORT void double_reload(const struct double_kernel* kernel, const char* name) {
  strncpy((char*)kernel->name, name, kLongestName - 1);
}
