// The memory of PyTorch in a trace, ready to be shown: events, a curve, and what was allocated at its peak.
//
// Feed it with what an exporter receives, then call Finish. One owner, one thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/export/memory_curve.h"
#include "daemon/export/memory_ledger.h"
#include "daemon/export/memory_peak.h"
#include "daemon/export/recording.h"
#include "daemon/export/span.h"
#include "daemon/export/thread_stacks.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

class MemoryReport {
 public:
  MemoryReport(const Recording& recording, const StackTable& stacks)
      : recording_(recording), stacks_(stacks), ledger_(recording), threads_(recording) {}

  void OnSpan(const Span& span) {
    if (is_recorded()) {
      threads_.OnSpan(span);
    }
  }
  void OnSample(TrackId track, Nanos when, StackId stack) {
    if (is_recorded()) {
      threads_.OnSample(track, when, stack);
    }
  }
  void OnOperator(TrackId track, const Operator& one) {
    if (is_recorded()) {
      ledger_.OnOperator(track, one);
    }
  }
  void OnAllocation(TrackId track, const Allocation& one) { ledger_.OnAllocation(track, one); }
  void OnHeldTensor(const HeldTensor& tensor) { ledger_.OnHeldTensor(tensor); }
  void Finish();

  bool is_empty() const { return ledger_.blocks().empty(); }
  const TorchDevice& device() const { return device_; }  // that with the most memory
  const std::vector<MemoryEvent>& events() const { return events_; }
  const std::vector<MemoryPoint>& curve() const { return curve_; }
  const MemoryPeak& peak() const { return peak_; }
  Nanos begin() const { return ledger_.begin(); }
  Nanos end() const { return ledger_.end(); }
  // Sentences on what is not known.
  std::vector<std::string> Notes() const;

 private:
  // Otherwise nothing is kept.
  bool is_recorded() const { return recording_.request && recording_.request->spec().profile_memory(); }

  const Recording& recording_;
  const StackTable& stacks_;
  MemoryLedger ledger_;
  ThreadStacks threads_;
  TorchDevice device_;
  std::vector<MemoryEvent> events_;
  std::vector<MemoryPoint> curve_;
  MemoryPeak peak_;
};

}  // namespace ptrace_prof
