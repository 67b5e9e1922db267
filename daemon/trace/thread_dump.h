// What a dump found, thread by thread: collected from a trace of the verb dump, ready to be printed.
//
// Single-threaded. All text in it is the target's and not yet printable.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/trace/trace_reader.h"

namespace ptrace_prof {

struct DumpedThread {
  ThreadInfo info;
  ThreadState state = ThreadState::kUnknown;
  bool holds_gil = false;
  std::string detail;
  SampleQuality quality = SampleQuality::kVerified;
  std::vector<Frame> frames;                              // leaf first
  std::map<uint32_t, std::vector<LocalVariable>> locals;  // by index into frames
};

struct DumpedProcess {
  ProcessInfo info;
  std::vector<DumpedThread> threads;  // main thread first, then by tid
};

class ThreadDump : private TraceVisitor {
 public:
  ThreadDump() : reader_(*this) {}
  Result<void> Feed(std::span<const std::byte> bytes) { return reader_.Feed(bytes); }

  const std::optional<EndInfo>& end() const { return end_; }
  // In the order in which the collector named them.
  std::vector<DumpedProcess> Processes() const;

 private:
  void OnProcess(const ProcessInfo& process) override;
  void OnThread(TrackId track, const ThreadInfo& thread) override;
  void OnSample(TrackId track, Nanos when, StackId stack, SampleQuality quality) override;
  void OnState(TrackId track, Nanos when, const StateInfo& state) override;
  void OnLocals(TrackId track, uint32_t depth_from_leaf, std::span<const LocalVariable> locals) override;
  void OnEnd(const EndInfo& end) override { end_ = end; }

  TraceReader reader_;
  std::vector<ProcessInfo> processes_;
  std::map<TrackId, DumpedThread> threads_;
  std::optional<EndInfo> end_;
};

}  // namespace ptrace_prof
