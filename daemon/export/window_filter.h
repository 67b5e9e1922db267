// Passes on what a trace says of a stretch of time, which ends as if the recording had begun and ended with it.
//
// Calls are cut at its borders: those that run at its begin begin there as such, and those that run at its end are cut.
// Whatever else lasts is passed on whole if it begins within. One thread.
#pragma once

#include <vector>

#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

class WindowFilter final : public TraceVisitor {
 public:
  // `next` must outlive it.
  WindowFilter(const TimeRange& window, TraceVisitor& next) : window_(window), next_(next) {}
  // The trace is over: cuts the calls that still run.
  void Finish();

  void OnRequest(const CaptureTask& request) override { next_.OnRequest(request); }
  void OnStart(Nanos realtime, Nanos monotonic) override { next_.OnStart(realtime, monotonic); }
  void OnProcess(const ProcessInfo& process) override { next_.OnProcess(process); }
  void OnThread(TrackId track, const ThreadInfo& thread) override { next_.OnThread(track, thread); }
  void OnSample(TrackId track, Nanos when, StackId stack, SampleQuality quality) override {
    PassAt(when, [&] { next_.OnSample(track, when, stack, quality); });
  }
  void OnState(TrackId track, Nanos when, const StateInfo& state) override { next_.OnState(track, when, state); }
  void OnCallBegin(TrackId track, Nanos when, StackId stack, CallEntry entry, GeneratorId generator) override;
  void OnCallEnd(TrackId track, Nanos when, StackId stack, CallExit exit) override;
  void OnLostCalls(TrackId track, Nanos when, uint64_t events) override {
    PassAt(when, [&] { next_.OnLostCalls(track, when, events); });
  }
  void OnStep(TrackId track, Nanos begin, Nanos end, uint64_t number) override {
    PassAt(begin, [&] { next_.OnStep(track, begin, end, number); });
  }
  void OnGpuDevice(const GpuDevice& device) override { next_.OnGpuDevice(device); }
  void OnGpuQueue(GpuQueueId id, const GpuQueue& queue) override { next_.OnGpuQueue(id, queue); }
  void OnGpuOperation(GpuQueueId id, const GpuOperation& operation) override {
    PassAt(operation.begin, [&] { next_.OnGpuOperation(id, operation); });
  }
  void OnGpuApiCall(TrackId track, const GpuApiCall& call) override {
    PassAt(call.begin, [&] { next_.OnGpuApiCall(track, call); });
  }
  void OnGpuAnnotation(TrackId track, const GpuAnnotation& annotation) override {
    PassAt(annotation.begin, [&] { next_.OnGpuAnnotation(track, annotation); });
  }
  void OnOperator(TrackId track, const Operator& one) override {
    PassAt(one.begin, [&] { next_.OnOperator(track, one); });
  }
  void OnAllocation(TrackId track, const Allocation& one) override {
    PassAt(one.when, [&] { next_.OnAllocation(track, one); });
  }
  void OnHeldTensor(const HeldTensor& tensor) override { next_.OnHeldTensor(tensor); }
  void OnGpuAccounting(const GpuAccounting& accounting) override { next_.OnGpuAccounting(accounting); }
  void OnCounter(CounterId id, const CounterInfo& info) override { next_.OnCounter(id, info); }
  void OnCount(CounterId id, Nanos when, int64_t value) override {
    PassAt(when, [&] { next_.OnCount(id, when, value); });
  }
  void OnNotice(Nanos when, std::string_view text) override { next_.OnNotice(when, text); }
  void OnAccounting(const Accounting& accounting) override { next_.OnAccounting(accounting); }
  void OnEnd(const EndInfo& end) override { next_.OnEnd(end); }

 private:
  struct Call {
    StackId stack;
    GeneratorId generator;
  };
  struct Track {
    std::vector<Call> open;  // root first
    bool is_open = false;    // the calls of `open` were passed on
  };

  // A step that ends where another begins leaves the moment to that one.
  bool Has(Nanos when) const { return when >= window_.begin && when < window_.end; }
  template <typename Pass>
  void PassAt(Nanos when, Pass pass) {
    if (Has(when)) {
      pass();
    }
  }
  Track& CatchUp(TrackId track, Nanos when);

  const TimeRange window_;
  TraceVisitor& next_;
  std::vector<Track> tracks_;  // by id
};

}  // namespace ptrace_prof
