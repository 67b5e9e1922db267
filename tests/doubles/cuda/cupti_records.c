// Records of activity, with each field at the same place as in the real library. A field that does not fit into the
// structure of the imitated version is left out. With the lock held.
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/doubles/cuda/cupti_state.h"
#include "tests/doubles/cuda/options.h"

static __thread struct draft draft;

static void put(size_t at, const void* value, size_t size) {
  if (at + size <= personality_record_size(draft.kind)) memcpy(draft.bytes + at, value, size);
}
static void put8(size_t at, uint8_t value) { put(at, &value, sizeof value); }
static void put16(size_t at, uint16_t value) { put(at, &value, sizeof value); }
static void put32(size_t at, uint32_t value) { put(at, &value, sizeof value); }
static void put64(size_t at, uint64_t value) { put(at, &value, sizeof value); }

// `ends`: when the device completes it; 0 if it is complete already. finish() writes it.
static int begin(uint32_t kind, uint64_t starts, uint64_t ends) {
  if (!cupti.kinds[kind]) return 0;
  memset(&draft, 0, sizeof draft);
  draft.kind = kind;
  draft.starts = starts;
  draft.ends = ends;
  put32(0, kind);
  return 1;
}
static void finish(void) { buffers_write(&draft); }

static void put_thread(size_t at, uint32_t tid) { put32(at, cupti.thread_id_type ? tid : (uint32_t)pthread_self()); }

// Calls have lists besides their kinds, which decide here.
void records_call(const struct double_call* call) {
  if (!bit_of(cupti.recorded[call->domain], call->cbid)) return;
  memset(&draft, 0, sizeof draft);
  draft.kind = call->domain == kRuntimeApi ? kRuntime : kDriver;
  draft.domain = call->domain;
  draft.call = call->cbid;
  put32(0, draft.kind);
  put32(4, call->cbid);
  put64(8, cupti_time(call->start));
  put64(16, cupti_time(call->end));
  put32(24, (uint32_t)getpid());
  put_thread(28, call->tid);
  put32(32, call->correlation);
  put32(36, (uint32_t)call->result);
  finish();
}

// The correlation of the call, or by option that of another one.
static uint32_t correlation_of(const struct double_call* call, const struct double_op* op) {
  uint32_t wrong = op->graph && cupti.sessions > 1 ? (uint32_t)double_option("wrong_graphs", 0) : 0;
  return call->correlation > wrong ? call->correlation - wrong : call->correlation;
}

static void kernel(const struct double_call* call, const struct double_op* op, uint64_t starts, uint64_t ends) {
  uint32_t kind = cupti.kinds[kConcurrentKernel] ? kConcurrentKernel : kKernel;
  if (double_option("no_kernels", 0) && cupti_fault_is_due(0, 0)) return;
  if (!begin(kind, starts, ends)) return;
  put16(6, 32);  // registers
  put32(40, op->device);
  put32(44, op->context);
  put32(48, op->stream);
  for (int i = 0; i < 3; i++) {
    put32(52 + 4 * (size_t)i, (uint32_t)op->grid[i]);
    put32(64 + 4 * (size_t)i, (uint32_t)op->block[i]);
  }
  put32(76, 0);
  put32(80, op->shared);
  put32(92, correlation_of(call, op));
  put64(96, op->grid_id);
  put64(104, (uint64_t)(uintptr_t)op->name);
  put64(144, op->node);
  put32(156, op->graph);
  put32(168, op->channel);
  finish();
}

// Copies and memsets have their fields from 16 on in the same places.
static void transfer(const struct double_call* call, const struct double_op* op, size_t graph_node) {
  put64(8, op->bytes);
  put32(32, op->device);
  put32(36, op->context);
  put32(40, op->stream);
  put32(44, correlation_of(call, op));
  put64(graph_node, op->node);
  put32(graph_node + 8, op->graph);
  put32(graph_node + 12, op->channel);
}

static void copy(const struct double_call* call, const struct double_op* op, uint64_t starts, uint64_t ends) {
  if (!begin(kMemcpy, starts, ends)) return;
  put8(4, op->copy_kind);
  put8(5, op->source_kind);
  put8(6, op->destination_kind);
  put8(7, 1);  // asynchronous
  transfer(call, op, 64);
  finish();
}

static void set(const struct double_call* call, const struct double_op* op, uint64_t starts, uint64_t ends) {
  if (!begin(kMemset, starts, ends)) return;
  put32(4, op->value);
  put16(48, 1);  // asynchronous
  put16(50, op->destination_kind);
  transfer(call, op, 64);
  finish();
}

static void synchronisation(const struct double_call* call, const struct double_op* op) {
  if (!begin(kSynchronization, 0, 0)) return;
  put32(4, op->sync_type);
  put64(8, cupti_time(op->start));
  put64(16, cupti_time(op->end));
  put32(24, call->correlation);
  put32(28, op->context);
  put32(32, op->stream);
  put32(36, UINT32_MAX);  // no event
  finish();
}

// One record for all nodes, and none for a graph that existed before this kind was switched on.
static void graph(const struct double_call* call, const struct double_op* op, uint64_t starts, uint64_t ends) {
  static __thread uint64_t began;
  if (op->node_index == 0) began = starts;
  if (op->node_index + 1 != op->nodes || op->graph <= cupti.old_graphs || !begin(kGraphTrace, began, ends)) return;
  put32(4, correlation_of(call, op));
  put32(24, op->device);
  put32(28, op->graph);
  put32(32, op->context);
  put32(36, op->stream);
  finish();
}

// A record of code that was loaded late, and of its compilation.
void records_load(const struct double_call* call) {
  enum { kLazyLoading = 5 << 16, kPtxToCubin = 1, kCompile = 3 };
  records_overhead(kLazyLoading, call->start, call->end);
  if (!begin(kJit, 0, 0)) return;
  put32(4, kPtxToCubin);
  put32(8, kCompile);
  put64(16, cupti_time(call->start));
  put64(24, cupti_time(call->end));
  put32(32, call->correlation);
  finish();
}

void records_op(const struct double_call* call, const struct double_op* op) {
  if (op->kind == kOpSync) {
    synchronisation(call, op);
    return;
  }
  cupti.graphs += op->graph != 0;
  uint64_t starts = cupti.driver->host_time(op->start), ends = cupti.driver->host_time(op->end);
  if (op->graph && cupti.kinds[kGraphTrace]) {
    graph(call, op, starts, ends);
    return;
  }
  if (op->kind == kOpKernel) kernel(call, op, starts, ends);
  if (op->kind == kOpMemcpy) copy(call, op, starts, ends);
  if (op->kind == kOpMemset) set(call, op, starts, ends);
}

void records_overhead(uint32_t overhead, uint64_t start, uint64_t end) {
  if (!begin(kOverhead, 0, 0)) return;
  put32(4, overhead);
  put32(8, 1);  // of the process
  put32(12, (uint32_t)getpid());
  put64(24, cupti_time(start));
  put64(32, cupti_time(end));
  finish();
}

void records_marker(const struct marker* marker) {
  if (!begin(kMarker, 0, 0)) return;
  put32(4, marker->flags);
  put64(8, cupti_time(marker->when));
  put32(16, marker->number);
  put32(20, 2);  // of a thread
  put32(24, (uint32_t)getpid());
  put_thread(28, (uint32_t)gettid());
  put64(40, (uint64_t)(uintptr_t)marker->name);
  put64(48, (uint64_t)(uintptr_t)marker->domain);
  finish();
}

void records_stream(uint32_t stream, uint32_t device) {
  if (!begin(kStreamKind, 0, 0)) return;
  put32(4, device + 1);
  put32(8, stream);
  put32(16, stream == 7 ? 3 : 1);  // the null stream, or a default one
  finish();
}

static void device(uint32_t number) {
  char uuid[] = "ptrace-prof GPU0";
  const int is_slice = double_option("mig", 0) != 0;
  if (!is_slice) uuid[sizeof uuid - 2] = (char)('0' + number % 10);
  if (!begin(kDeviceKind, 0, 0)) return;
  put64(16, (uint64_t)80 << 30);
  put32(28, 50u << 20);
  put32(32, 32);
  put32(44, 132);
  put32(52, 64);
  put32(104, 9);
  put32(112, number);
  put(120, uuid, 16);
  put64(136, (uint64_t)(uintptr_t)strdup("Double of a GPU"));  // the client frees it
  put8(144, 1);
  if (is_slice) {
    put8(145, 1);
    put32(152, number + 1);
    memcpy(uuid, "slice", 5);
    uuid[sizeof uuid - 2] = (char)('0' + number % 10);
    put(160, uuid, 16);
  }
  finish();
}

void records_inventory(uint32_t kind) {
  struct double_inventory have;
  cupti.driver->inventory(&have);
  for (uint32_t i = 0; kind == kDeviceKind && i < have.contexts; i++) device(i);
  for (uint32_t i = 0; kind == kContextKind && i < have.contexts && begin(kContextKind, 0, 0); i++) {
    put32(4, i + 1);
    put32(8, i);
    put16(12, 1);
    put16(14, 7);  // its null stream
    finish();
  }
  for (uint32_t i = 0; kind == kStreamKind && have.contexts && i < have.streams; i++) {
    records_stream(have.stream_ids[i], have.stream_devices[i]);
  }
}
