// The visitor between TraceReader and an exporter: filters samples, turns them into spans, and collects the facts of
// the recording.
//
// Memory: one open span and the pending states per thread.
#pragma once

#include <deque>
#include <vector>

#include "daemon/export/exporter.h"
#include "daemon/export/gpu_sink.h"
#include "daemon/export/recording.h"
#include "daemon/export/span.h"

namespace ptrace_prof {

class SpanFeed : public TraceVisitor {
 public:
  // Both must outlive the feed.
  SpanFeed(const ExportOptions& options, Recording& recording) : options_(options), recording_(recording) {}

  // `stacks` is the reader's table; without it, exact calls are ignored.
  void set_sink(SpanSink* sink, const StackTable* stacks = nullptr) {
    sink_ = sink;
    stacks_ = stacks;
  }
  void set_gpu_sink(GpuSink* sink) { gpu_sink_ = sink; }
  void Finish();  // passes the open spans on

  void OnRequest(const CaptureTask& request) override;
  void OnStart(Nanos realtime, Nanos monotonic) override;
  void OnProcess(const ProcessInfo& process) override;
  void OnThread(TrackId track, const ThreadInfo& thread) override;
  void OnSample(TrackId track, Nanos when, StackId stack, SampleQuality quality) override;
  void OnState(TrackId track, Nanos when, const StateInfo& state) override;
  void OnCallBegin(TrackId track, Nanos when, StackId stack, CallEntry entry, GeneratorId generator) override;
  void OnCallEnd(TrackId track, Nanos when, StackId stack, CallExit exit) override;
  void OnStep(TrackId track, Nanos begin, Nanos end, uint64_t number) override;
  void OnGpuDevice(const GpuDevice& device) override;
  void OnGpuQueue(GpuQueueId id, const GpuQueue& queue) override;
  void OnGpuOperation(GpuQueueId id, const GpuOperation& operation) override;
  void OnGpuApiCall(TrackId track, const GpuApiCall& call) override;
  void OnGpuAnnotation(TrackId track, const GpuAnnotation& annotation) override;
  void OnOperator(TrackId track, const Operator& one) override;
  void OnAllocation(TrackId track, const Allocation& one) override;
  void OnHeldTensor(const HeldTensor& tensor) override;
  void OnExecutionTrace(Pid pid, std::string_view piece) override;
  void OnGpuAccounting(const GpuAccounting& accounting) override;
  void OnCounter(CounterId id, const CounterInfo& info) override;
  void OnCount(CounterId id, Nanos when, int64_t value) override;
  void OnNotice(Nanos when, std::string_view text) override;
  void OnAccounting(const Accounting& accounting) override;
  void OnEnd(const EndInfo& end) override;

 private:
  struct StateChange {
    Nanos when;
    ThreadState state;
  };
  struct Track {
    Span open;             // samples == 0: none
    Nanos last;            // time of the last sample, or begin or end of a call
    bool in_call = false;  // `open` is of exact calls
    ThreadState state = ThreadState::kUnknown;
    std::deque<StateChange> coming;  // states come before the samples they belong to
  };

  bool Selected(const ThreadInfo& thread) const;
  bool Selected(Pid pid) const;
  ThreadState StateAt(Track& track, Nanos when);
  void Close(Track& track, Nanos end);
  bool NextCallSpan(TrackId id, Nanos& when, std::optional<CallExit> exit);
  void EndCapture();
  void Count(RecordedThread& thread, Nanos when, SampleQuality quality);

  const ExportOptions& options_;
  Recording& recording_;
  SpanSink* sink_ = nullptr;
  GpuSink* gpu_sink_ = nullptr;
  const StackTable* stacks_ = nullptr;
  std::vector<Track> tracks_;
  Nanos interval_ = Nanos::FromMillis(10);  // between rounds, as last measured
  std::optional<Accounting> previous_;
  std::optional<Accounting> earlier_;  // of the captures before this one
};

}  // namespace ptrace_prof
