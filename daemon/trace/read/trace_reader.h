// Reads a trace stream packet by packet and tells a visitor what is in it: the one door for every exporter,
// for dump and for live progress.
//
// Bytes are hostile (a collector may have been subverted): lengths, ids and counts are bounded, nothing throws.
// A stream that ends in the middle of a packet is a valid, truncated trace. Constant memory apart from the
// StackTable. Also reads concatenated traces. Not thread-safe.
// Samples of a thread come in the order of time, and so do its states; but of each stretch that was written at once
// (a fraction of a second) the states come first. A state kUnknown says that the last one ended.
// Exact calls of a thread come in the order of time and nested. What is still open when the bytes end gets no end.
// GPU operations and calls come whole and in no order; each operation carries the stack and thread of its launch.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/call.h"
#include "daemon/trace/check.h"
#include "daemon/trace/counter.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/model.h"
#include "daemon/trace/process_entry.h"
#include "daemon/trace/stack_table.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

// Identifies a thread within one read: (pid, tid) is not enough across hosts.
using TrackId = StrongId<struct TrackIdTag, uint32_t>;

// Identifies a queue of operations within one read, as TrackId does a thread.
using GpuQueueId = StrongId<struct GpuQueueIdTag, uint32_t>;

class TraceVisitor {
 public:
  virtual ~TraceVisitor() = default;
  virtual void OnRequest(const CaptureTask&) {}
  virtual void OnStart(Nanos /*realtime*/, Nanos /*monotonic*/) {}  // one instant on two clocks
  virtual void OnProcess(const ProcessInfo&) {}
  virtual void OnThread(TrackId, const ThreadInfo&) {}  // again when renamed
  virtual void OnSample(TrackId, Nanos /*when*/, StackId, SampleQuality) {}
  virtual void OnState(TrackId, Nanos /*when*/, const StateInfo&) {}
  // An exact call begins or ends: the leaf of the stack, below it its callers.
  virtual void OnCallBegin(TrackId, Nanos /*when*/, StackId, CallEntry, GeneratorId) {}
  virtual void OnCallEnd(TrackId, Nanos /*when*/, StackId, CallExit) {}
  // Told just before the begin of the marker (kLostMarker) whose length is the gap's. No events: kHeldMarker.
  virtual void OnLostCalls(TrackId, Nanos /*when*/, uint64_t /*events*/) {}
  virtual void OnStep(TrackId, Nanos /*begin*/, Nanos /*end*/, uint64_t /*number*/) {}
  // Names are the same text, at the same place, for as long as the reader lives.
  virtual void OnGpuDevice(const GpuDevice&) {}
  virtual void OnGpuQueue(GpuQueueId, const GpuQueue&) {}
  virtual void OnGpuOperation(GpuQueueId, const GpuOperation&) {}
  virtual void OnGpuApiCall(TrackId, const GpuApiCall&) {}
  virtual void OnGpuAnnotation(TrackId, const GpuAnnotation&) {}
  virtual void OnGpuAccounting(const GpuAccounting&) {}
  // A number over time: told of before its values, which come in order of time.
  virtual void OnCounter(CounterId, const CounterInfo&) {}
  virtual void OnCount(CounterId, Nanos /*when*/, int64_t /*value*/) {}
  virtual void OnLocals(TrackId, uint32_t /*depth_from_leaf*/, std::span<const LocalVariable>) {}
  virtual void OnProcessEntry(const ProcessEntry&) {}
  virtual void OnCheck(const Check&) {}
  virtual void OnNotice(Nanos /*when*/, std::string_view /*text*/) {}  // a sentence for people
  virtual void OnAccounting(const Accounting&) {}
  virtual void OnEnd(const EndInfo&) {}
};

class TraceReader {
 public:
  explicit TraceReader(TraceVisitor& visitor);
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  // Feeds the next bytes, in pieces of any size. kDataLoss: this is not a trace of ours (says what is wrong);
  // nothing more can be read then.
  Result<void> Feed(std::span<const std::byte> bytes);
  // From now on the begins and ends of exact calls are not told, nor are states, steps and what is on a GPU: for who
  // wants totals only and is to keep up with millions of calls a second.
  void PassOverEvents();

  const StackTable& stacks() const;  // ids given to the visitor live here
  bool mid_packet() const;           // bytes of an unfinished packet are pending: the trace was cut
  uint64_t skipped() const;          // packets or samples that made no sense, counted

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptrace_prof
