// Counters of the node's GPUs beside the samples of a capture: what NVIDIA's management library says a few times a
// second, by way of the helper program. Needs no rights and touches no target.
//
// Owned by the collector's process, read by the thread that captures. Everything that the helper says is checked: its
// numbers, its times, its texts. Where there is no GPU or no library nothing is said, unless the counters were asked
// for: then a notice in the trace tells why there are none.
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
  // Null where there shall be none, and nobody will ask for memory. When to call it: see NvmlProcess.
  static std::unique_ptr<NvmlCounters> Start(v1::GpuCounters asked, bool for_memory = false);
  // Of a helper that writes to this pipe, which does not wait; for tests.
  NvmlCounters(v1::GpuCounters asked, int pipe) : asked_(asked), pipe_(pipe) {}

  // What was said since the last call, to one writer always. Never waits. Nothing where the counters are kOff.
  void Read(TraceWriter& writer);

  // Bytes that are free on the GPU on which that process computes, on the fullest of several. Nothing: it is not known,
  // as the library does not say so within `patience`, or of no GPU (not of processes under MPS, nor in slices by MIG).
  // Where the counters are kOff it can be asked once.
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

  struct Told {
    pp_nvml_record record;
    Nanos when;  // it was read
  };

  void Pull();
  void Learn(const pp_nvml_record& record, Nanos now);
  void Describe(const pp_nvml_record& record);
  void LearnProcess(const pp_nvml_record& record);
  bool WasAllTold() const;
  void Write(const Told& told, TraceWriter& writer);
  void Stop(std::string why);

  const v1::GpuCounters asked_;
  std::unique_ptr<NvmlProcess> process_;
  int pipe_ = -1;
  std::string refusal_;     // to be told
  std::vector<Told> told_;  // samples, to be written
  std::string pending_;     // the beginning of a record
  std::vector<Device> devices_;
};

}  // namespace ptrace_prof
