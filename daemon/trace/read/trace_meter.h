// Reads a passing trace and keeps what is shown at the terminal: the running totals, the end, the processes.
//
// Single-threaded. Bytes are hostile and are parsed by TraceReader only. Once it has seen the first exact call it skips
// the others, because there may be millions per second.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

class TraceMeter : private TraceVisitor {
 public:
  TraceMeter() : reader_(*this) {}

  Result<void> Feed(std::span<const std::byte> bytes) { return reader_.Feed(bytes); }

  // The totals as last reported by the collector, or the counts seen here if they are higher (the collector reports
  // only at times).
  Accounting Totals() const;
  // For each process whose GPU recording was requested, as last reported.
  const std::vector<GpuAccounting>& gpu_totals() const { return gpu_; }
  const std::optional<EndInfo>& end() const { return end_; }
  const std::vector<std::string>& notices() const { return notices_; }  // in order; only grows
  const std::vector<TimeRange>& windows() const { return windows_; }    // likewise
  bool recorded_anything() const {
    return samples_ > 0 || has_calls_ || (accounting_.has_value() && accounting_->operators > 0);
  }
  uint64_t processes() const { return processes_; }
  // The request as carried out: its mode is not kAuto. Nothing: the header has not arrived yet.
  const std::optional<CaptureTask>& request() const { return request_; }

 private:
  void OnRequest(const CaptureTask& request) override { request_ = request; }
  void OnProcess(const ProcessInfo& process) override;
  void OnSample(TrackId, Nanos, StackId, SampleQuality quality) override;
  void OnCallBegin(TrackId, Nanos, StackId, CallEntry, GeneratorId) override;
  void OnNotice(Nanos when, std::string_view text) override;
  void OnWindow(const TimeRange& window) override;
  void OnAccounting(const Accounting& accounting) override { accounting_ = accounting; }
  void OnGpuAccounting(const GpuAccounting& accounting) override;
  void OnEnd(const EndInfo& end) override { end_ = end; }

  TraceReader reader_;
  std::optional<CaptureTask> request_;
  std::optional<Accounting> accounting_;
  std::vector<GpuAccounting> gpu_;
  std::optional<EndInfo> end_;
  std::vector<std::string> notices_;
  std::vector<TimeRange> windows_;
  uint64_t samples_ = 0;
  bool has_calls_ = false;
  std::array<uint64_t, kSampleQualityCount> by_quality_{};
  uint64_t processes_ = 0;
  std::unordered_map<Pid, Nanos> begun_;  // time of its start: another image (exec) is no new process
};

}  // namespace ptrace_prof
