// Assembles a SampleBatch from the messages of StreamSamples that carry it. The server's bytes are not trusted: invalid
// references are left out and counted as lost, and a batch without an end is cut. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/trace/read/sample_batch.h"

namespace ptraceprof::v1 {
class SampledThread;
class SampleBatch;
}  // namespace ptraceprof::v1

namespace ptrace_prof {

class BatchAssembly {
 public:
  // Returns the batch if that was its last message.
  std::optional<SampleBatch> Add(const ptraceprof::v1::SampleBatch& message);

 private:
  using Message = ptraceprof::v1::SampleBatch;

  uint32_t String(const std::string& text);
  void AddFrames(const Message& message);
  void AddStacks(const Message& message);
  void AddProcesses(const Message& message);
  void AddCounters(const Message& message);
  void AddThread(const ptraceprof::v1::SampledThread& from);
  SampleBatch::Thread& ThreadOf(const ptraceprof::v1::SampledThread& from);
  // Maps a stack's number in the messages to its number in the batch; nothing if the stack is invalid.
  std::optional<uint32_t> Stack(uint32_t number) const;

  SampleBatch batch_;
  int parts_ = 0;
  std::map<std::string, uint32_t> strings_;
  std::vector<uint32_t> stacks_;  // by number in the messages, without the empty stack
  std::map<std::pair<Pid, Tid>, size_t> threads_;
};

}  // namespace ptrace_prof
