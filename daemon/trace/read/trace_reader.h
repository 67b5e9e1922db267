// Reads a trace stream packet by packet and calls a visitor. Every exporter, dump and the live progress use it.
//
// Bytes are hostile (a collector may be compromised): lengths, ids and counts are bounded, and nothing throws. A stream
// that ends in the middle of a packet is a valid, truncated trace. Constant memory apart from the StackTable. Also
// reads concatenated traces. Not thread-safe.
// Samples of a thread come in order of time, and so do its states; but within each stretch that was written at once (a
// fraction of a second) the states come first. A state kUnknown means that the last one ended.
// Exact calls of a thread come nested and in order of time. Calls still open at the end of the bytes get no end.
// GPU operations and calls come whole and in no order; each operation carries the stack and thread of its launch.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/allocation.h"
#include "daemon/trace/call.h"
#include "daemon/trace/check.h"
#include "daemon/trace/counter.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/held_tensor.h"
#include "daemon/trace/model.h"
#include "daemon/trace/operator.h"
#include "daemon/trace/process_entry.h"
#include "daemon/trace/stack_table.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

// Identifies a thread within one read: (pid, tid) is not enough across hosts.
using TrackId = StrongId<struct TrackIdTag, uint32_t>;

// Identifies a queue of operations within one read.
using GpuQueueId = StrongId<struct GpuQueueIdTag, uint32_t>;

class TraceVisitor {
 public:
  virtual ~TraceVisitor() = default;
  virtual void OnRequest(const CaptureTask&) {}
  virtual void OnStart(Nanos /*realtime*/, Nanos /*monotonic*/) {}  // one instant on two clocks
  virtual void OnProcess(const ProcessInfo&) {}
  virtual void OnThread(TrackId, const ThreadInfo&) {}  // called again when it is renamed
  virtual void OnSample(TrackId, Nanos /*when*/, StackId, SampleQuality) {}
  virtual void OnState(TrackId, Nanos /*when*/, const StateInfo&) {}
  // An exact call begins or ends: it is the leaf of the stack, its callers are below.
  virtual void OnCallBegin(TrackId, Nanos /*when*/, StackId, CallEntry, GeneratorId) {}
  virtual void OnCallEnd(TrackId, Nanos /*when*/, StackId, CallExit) {}
  // Called just before the begin of the marker (kLostMarker) that spans the gap. 0 events: the marker is kHeldMarker.
  virtual void OnLostCalls(TrackId, Nanos /*when*/, uint64_t /*events*/) {}
  virtual void OnStep(TrackId, Nanos /*begin*/, Nanos /*end*/, uint64_t /*number*/) {}
  // Names stay valid, at the same address, as long as the reader lives.
  virtual void OnGpuDevice(const GpuDevice&) {}
  virtual void OnGpuQueue(GpuQueueId, const GpuQueue&) {}
  virtual void OnGpuOperation(GpuQueueId, const GpuOperation&) {}
  virtual void OnGpuApiCall(TrackId, const GpuApiCall&) {}
  virtual void OnGpuAnnotation(TrackId, const GpuAnnotation&) {}
  // Operators come whole, in about the order of their ends.
  virtual void OnOperator(TrackId, const Operator&) {}
  virtual void OnAllocation(TrackId, const Allocation&) {}  // those of one thread come in order
  virtual void OnHeldTensor(const HeldTensor&) {}
  virtual void OnExecutionTrace(Pid, std::string_view /*piece*/) {}
  virtual void OnGpuAccounting(const GpuAccounting&) {}
  // Each counter is announced before its values, which come in order of time.
  virtual void OnCounter(CounterId, const CounterInfo&) {}
  virtual void OnCount(CounterId, Nanos /*when*/, int64_t /*value*/) {}
  virtual void OnLocals(TrackId, uint32_t /*depth_from_leaf*/, std::span<const LocalVariable>) {}
  virtual void OnProcessEntry(const ProcessEntry&) {}
  virtual void OnCheck(const Check&) {}
  virtual void OnNotice(Nanos /*when*/, std::string_view /*text*/) {}  // a sentence for people
  // Steps that were to be recorded are over, and all of them has been read.
  virtual void OnWindow(const TimeRange&) {}
  virtual void OnAccounting(const Accounting&) {}
  virtual void OnEnd(const EndInfo&) {}
};

class TraceReader {
 public:
  explicit TraceReader(TraceVisitor& visitor);
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  // Takes the next bytes, in pieces of any size. kDataLoss: this is not a trace of ours (the message says why); nothing
  // more can be read then.
  Result<void> Feed(std::span<const std::byte> bytes);
  // From now on the visitor gets no exact calls, states, steps or GPU data. For callers that need only totals and must
  // keep up with millions of calls per second.
  void PassOverEvents();

  const StackTable& stacks() const;  // resolves the ids that the visitor gets
  bool mid_packet() const;           // the last packet is incomplete: the trace was cut
  uint64_t skipped() const;          // number of invalid packets and samples

 private:
  struct Sequence;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptrace_prof
