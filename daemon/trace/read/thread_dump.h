// The result of a dump, thread by thread: collected from the trace of a dump, ready to be printed.
//
// Single-threaded. All text comes from the target and must be cleaned before it is printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

struct DumpedThread {
  ThreadInfo info;
  ThreadState state = ThreadState::kUnknown;
  bool holds_gil = false;
  std::string detail;
  SampleQuality quality = SampleQuality::kSeen;
  bool was_read = true;                                   // false: nothing is known about its stack
  std::vector<Frame> frames;                              // leaf first
  std::map<uint32_t, std::vector<LocalVariable>> locals;  // by index into frames
};

struct DumpedProcess {
  ProcessInfo info;
  std::vector<DumpedThread> threads;  // main thread first, then by tid
};

class ThreadDump : private TraceVisitor {
 public:
  // In a trace, equal stacks and names are stored once; here each thread has its own. Above `most_bytes` in all the
  // rest is left out, and threads that lack some of it are marked as truncated.
  explicit ThreadDump(size_t most_bytes = SIZE_MAX) : most_bytes_(most_bytes), reader_(*this) {}
  Result<void> Feed(std::span<const std::byte> bytes) { return reader_.Feed(bytes); }

  const std::optional<EndInfo>& end() const { return end_; }
  // In the order in which the collector reported them.
  std::vector<DumpedProcess> Processes() const;

 private:
  void OnProcess(const ProcessInfo& process) override;
  void OnThread(TrackId track, const ThreadInfo& thread) override;
  void OnSample(TrackId track, Nanos when, StackId stack, SampleQuality quality) override;
  void OnState(TrackId track, Nanos when, const StateInfo& state) override;
  void OnLocals(TrackId track, uint32_t depth_from_leaf, std::span<const LocalVariable> locals) override;
  void OnEnd(const EndInfo& end) override { end_ = end; }

  const size_t most_bytes_;
  size_t bytes_ = 0;
  TraceReader reader_;
  std::vector<ProcessInfo> processes_;
  std::map<TrackId, DumpedThread> threads_;
  std::optional<EndInfo> end_;
};

}  // namespace ptrace_prof
