#include "daemon/trace/read/trace_meter.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxGpuProcesses = 1024;
constexpr size_t kMaxProcesses = 65'536;
constexpr size_t kMaxWindows = 65'536;

}  // namespace

Accounting TraceMeter::Totals() const {
  Accounting totals = accounting_.value_or(Accounting{});
  if (samples_ > totals.samples) {
    totals.samples = samples_;
    totals.by_quality = by_quality_;
  }
  totals.processes = std::max(totals.processes, processes_);
  return totals;
}

void TraceMeter::OnProcess(const ProcessInfo& process) {
  if (begun_.size() >= kMaxProcesses && !begun_.contains(process.pid)) {
    ++processes_;
    return;
  }
  const auto [known, is_new] = begun_.try_emplace(process.pid, process.start_time);
  processes_ += is_new || known->second != process.start_time ? 1 : 0;
  known->second = process.start_time;
}

void TraceMeter::OnSample(TrackId, Nanos, StackId, SampleQuality quality) {
  ++samples_;
  ++by_quality_[static_cast<size_t>(quality) % kSampleQualityCount];
}

void TraceMeter::OnCallBegin(TrackId, Nanos, StackId, CallEntry, GeneratorId) {
  has_calls_ = true;
  reader_.PassOverEvents();
}

void TraceMeter::OnGpuAccounting(const GpuAccounting& accounting) {
  const auto known = std::ranges::find(gpu_, accounting.pid, &GpuAccounting::pid);
  if (known != gpu_.end()) {
    *known = accounting;
  } else if (gpu_.size() < kMaxGpuProcesses) {
    gpu_.push_back(accounting);
  }
}

void TraceMeter::OnWindow(const TimeRange& window) {
  if (windows_.size() < kMaxWindows) {
    windows_.push_back(window);
  }
}

void TraceMeter::OnNotice(Nanos, std::string_view text) {
  if (notices_.size() < kMaxNotices) {
    notices_.emplace_back(text);
  }
}

}  // namespace ptrace_prof
