// Reads a growing trace and returns what was new since the last call, as a SampleBatch.
//
//   Feed(bytes) … Feed(bytes) … Take(now) → batch … Feed(bytes) …
//
// Take may be called late: equal stacks are counted together, and a batch holds a limited number of different stacks,
// threads and bytes of names (Limits); samples beyond that are counted as thinned. Besides the batch it needs the
// memory of a TraceReader (whose limits apply; what it refuses counts as lost) and of a bounded number of threads and
// processes. Single-threaded.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/trace/id_index.h"
#include "daemon/trace/read/sample_batch.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

class SampleBatcher : private TraceVisitor {
 public:
  struct Limits {
    size_t stacks = 64 * 1024;  // nodes of the tree of stacks in one batch
    size_t string_bytes = 4 << 20;
    size_t thread_stacks = 128 * 1024;  // pairs of a thread and a stack in one batch
    size_t known_threads = 32 * 1024;   // beyond, the longest unseen are forgotten; their later samples are thinned
    size_t known_processes = 8 * 1024;
  };

  SampleBatcher() : SampleBatcher(Limits{}) {}
  explicit SampleBatcher(const Limits& limits);

  // As TraceReader::Feed.
  Result<void> Feed(std::span<const std::byte> bytes) { return reader_.Feed(bytes); }

  // Returns what came since the last Take; the next batch begins at `now`.
  SampleBatch Take(Nanos now);

  bool any_process() const { return !processes_.empty(); }  // the target was opened
  uint64_t samples() const { return samples_; }             // since the beginning
  const std::optional<EndInfo>& end() const { return end_; }

 private:
  struct KnownThread {
    ThreadInfo info;
    StateInfo state;
    Nanos state_since;
    Nanos gil_time;               // since the last Take
    uint64_t seen = 0;            // number of the batch in which it was last active
    uint32_t index_plus_one = 0;  // into batch_.threads; 0: not there yet
  };
  struct KnownProcess {
    SampleBatch::Process process;
    uint64_t listed = 0;  // number of the batch that lists it
    size_t index = 0;     // its index there
  };

  void OnProcess(const ProcessInfo& process) override;
  void OnThread(TrackId track, const ThreadInfo& thread) override;
  void OnSample(TrackId track, Nanos when, StackId stack, SampleQuality quality) override;
  void OnState(TrackId track, Nanos when, const StateInfo& state) override;
  void OnAccounting(const Accounting& accounting) override { accounting_ = accounting; }
  void OnEnd(const EndInfo& end) override { end_ = end; }

  SampleBatch::Thread& InBatch(KnownThread& thread);
  bool Count(KnownThread& thread, StackId stack);
  std::optional<uint32_t> StackInBatch(StackId stack);
  uint32_t FrameInBatch(FrameId frame);
  uint32_t StringInBatch(std::string_view text);
  void List(KnownProcess& known);
  void ForgetThreads();
  void FinishThreads();
  void FinishCounters();
  void Clear(Nanos begin);

  const Limits limits_;
  TraceReader reader_;
  std::unordered_map<TrackId, KnownThread> threads_;
  std::map<Pid, KnownProcess> processes_;
  std::optional<Accounting> accounting_;
  Accounting accounted_;  // as of the last batch
  uint64_t skipped_ = 0;  // as of the last batch
  std::optional<EndInfo> end_;
  uint64_t samples_ = 0;
  Nanos latest_;  // the latest time in the trace

  SampleBatch batch_;
  uint64_t batch_number_ = 1;
  size_t string_bytes_ = 0;
  std::unordered_map<StackId, uint32_t> stack_numbers_;  // of the reader's stacks
  std::unordered_map<FrameId, uint32_t> frame_numbers_;
  IdIndex string_index_, frame_index_, stack_index_;
  std::unordered_map<uint64_t, uint32_t> counted_;  // (thread, stack) to its index in the thread's stacks
  std::vector<StackId> path_;                       // scratch
};

}  // namespace ptrace_prof
