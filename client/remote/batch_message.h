// A SampleBatch put together from the messages of StreamSamples that carry it. Bytes of a server are not trusted: what
// points nowhere is left out and counted as lost, and what has no end is cut. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "daemon/trace/sample_batch.h"

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
  void AddProcesses(const Message& message);
  void AddCounters(const Message& message);
  void AddThread(const Message& message, const ptraceprof::v1::SampledThread& from);
  SampleBatch::Thread& ThreadOf(const ptraceprof::v1::SampledThread& from);
  // The number of a stack in the batch; nothing if it makes no sense.
  std::optional<uint32_t> Stack(const Message& message, uint32_t index);

  SampleBatch batch_;
  int parts_ = 0;
  uint32_t first_frame_ = 0;  // of the message, in the batch
  std::map<std::string, uint32_t> strings_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stacks_;
  std::map<std::pair<Pid, Tid>, size_t> threads_;
};

}  // namespace ptrace_prof
