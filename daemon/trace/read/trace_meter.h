// Follows a trace while it streams by and remembers what the person at the terminal wants to know of it: the running
// totals, how it ended, which processes there are.
//
// Single-threaded; bytes are hostile and go to TraceReader only. Of exact calls it takes the first and passes the
// others over: there may be millions in a second.
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

  // As the collector last said, or what was seen here where that is more (it speaks now and then).
  Accounting Totals() const;
  // Of each process whose GPU was asked for, as last said.
  const std::vector<GpuAccounting>& gpu_totals() const { return gpu_; }
  const std::optional<EndInfo>& end() const { return end_; }
  const std::vector<std::string>& notices() const { return notices_; }  // in order; they only grow
  bool recorded_anything() const { return samples_ > 0 || has_calls_; }
  uint64_t processes() const { return processes_; }
  // As the trace says it was carried out: its mode is not kAuto. Nothing: its header has not come.
  const std::optional<CaptureTask>& request() const { return request_; }

 private:
  void OnRequest(const CaptureTask& request) override { request_ = request; }
  void OnProcess(const ProcessInfo& process) override;
  void OnSample(TrackId, Nanos, StackId, SampleQuality quality) override;
  void OnCallBegin(TrackId, Nanos, StackId, CallEntry, GeneratorId) override;
  void OnNotice(Nanos when, std::string_view text) override;
  void OnAccounting(const Accounting& accounting) override { accounting_ = accounting; }
  void OnGpuAccounting(const GpuAccounting& accounting) override;
  void OnEnd(const EndInfo& end) override { end_ = end; }

  TraceReader reader_;
  std::optional<CaptureTask> request_;
  std::optional<Accounting> accounting_;
  std::vector<GpuAccounting> gpu_;
  std::optional<EndInfo> end_;
  std::vector<std::string> notices_;
  uint64_t samples_ = 0;
  bool has_calls_ = false;
  std::array<uint64_t, kSampleQualityCount> by_quality_{};
  uint64_t processes_ = 0;
  std::unordered_map<Pid, Nanos> begun_;  // when: another image (exec) is no other process
};

}  // namespace ptrace_prof
