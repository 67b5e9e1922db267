// A SampleBatch put together from the messages of StreamSamples that carry it. Bytes of a server are not trusted: what
// points nowhere is left out and counted as lost, and what has no end is cut. Single-threaded.
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
  // The batch, if that was its last message.
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
  // The number in the batch of a stack that has this one in the messages; nothing if it makes no sense.
  std::optional<uint32_t> Stack(uint32_t number) const;

  SampleBatch batch_;
  int parts_ = 0;
  std::map<std::string, uint32_t> strings_;
  std::vector<uint32_t> stacks_;  // by number in the messages, without the empty one
  std::map<std::pair<Pid, Tid>, size_t> threads_;
};

}  // namespace ptrace_prof
