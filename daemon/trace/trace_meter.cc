#include "daemon/trace/trace_meter.h"

#include <algorithm>

namespace ptrace_prof {

Accounting TraceMeter::Totals() const {
  Accounting totals = accounting_.value_or(Accounting{});
  if (samples_ > totals.samples) {
    totals.samples = samples_;
    totals.by_quality = by_quality_;
  }
  totals.processes = std::max(totals.processes, processes_);
  return totals;
}

void TraceMeter::OnSample(TrackId, Nanos, StackId, SampleQuality quality) {
  ++samples_;
  ++by_quality_[static_cast<size_t>(quality) % kSampleQualityCount];
}

void TraceMeter::OnCallBegin(TrackId, Nanos, StackId, CallEntry, GeneratorId) {
  has_calls_ = true;
  reader_.PassOverEvents();
}

void TraceMeter::OnNotice(Nanos, std::string_view text) {
  if (notices_.size() < kMaxNotices) {
    notices_.emplace_back(text);
  }
}

}  // namespace ptrace_prof
