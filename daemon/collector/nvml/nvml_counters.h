// Counters of the node's GPUs, recorded beside the samples of a capture. NVIDIA's management library reports them a few
// times a second, through the helper program. Needs no rights and touches no target.
//
// Owned by the collector's process, read by the thread that captures. Everything from the helper is checked: numbers,
// times, texts. Without a GPU or the library there is no message, unless the counters were requested: then a notice in
// the trace gives the reason.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collector/nvml/nvml_process.h"
#include "daemon/collector/nvml/nvml_record.h"
#include "daemon/trace/write/trace_writer.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class NvmlCounters {
 public:
  // Null if counters are off and memory is not needed. When to call it: see NvmlProcess.
  static std::unique_ptr<NvmlCounters> Start(v1::GpuCounters asked, bool for_memory = false);
  // For tests: reads from a helper that writes to this non-blocking pipe.
  NvmlCounters(v1::GpuCounters asked, int pipe) : asked_(asked), pipe_(pipe) {}

  // Writes what was reported since the last call, always to the same writer. Never blocks. Writes nothing if the
  // counters are kOff.
  void Read(TraceWriter& writer);

  // Free bytes of the GPU on which the process computes; with several, of the fullest one. Nullopt: the library does
  // not report it within `patience`, or for no GPU (processes under MPS, MIG slices). If the counters are kOff it can
  // be called once.
  std::optional<int64_t> FreeMemoryOf(Pid pid, Nanos patience);

 private:
  struct Device {
    bool is_known = false;
    bool has_sample = false;
    std::string group;
    int64_t memory = 0;
    std::optional<int64_t> used;
    std::set<Pid> processes;
    Nanos last;
    std::optional<CounterId> counters[PP_NVML_COUNTERS];
  };

  NvmlCounters(v1::GpuCounters asked, std::unique_ptr<NvmlProcess> process)
      : asked_(asked), process_(std::move(process)), pipe_(process_->pipe()) {}
  NvmlCounters(v1::GpuCounters asked, std::string refusal) : asked_(asked), refusal_(std::move(refusal)) {}

  struct Reported {
    pp_nvml_record record;
    Nanos when;  // when it was read
  };

  void Pull();
  void Learn(const pp_nvml_record& record, Nanos now);
  void Describe(const pp_nvml_record& record);
  void LearnProcess(const pp_nvml_record& record);
  bool WasAllReported() const;
  void Write(const Reported& reported, TraceWriter& writer);
  void Stop(std::string why);

  const v1::GpuCounters asked_;
  std::unique_ptr<NvmlProcess> process_;
  int pipe_ = -1;
  std::string refusal_;             // not reported yet
  std::vector<Reported> reported_;  // samples to be written
  std::string pending_;             // beginning of an incomplete record
  std::vector<Device> devices_;
};

}  // namespace ptrace_prof
