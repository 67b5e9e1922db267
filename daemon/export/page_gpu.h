// The GPU part of the page's JSON: lanes of streams, GPU time by kernel, Python function and module, and why the GPUs
// were idle.
//
// Part of the html format, which owns the surrounding JSON. Its memory is that of GpuTotals and GpuLanes.
#pragma once

#include <unordered_map>

#include "daemon/export/gpu_lanes.h"
#include "daemon/export/gpu_totals.h"
#include "daemon/export/json_output.h"

namespace ptrace_prof {

class PageGpu {
 public:
  PageGpu(const Recording& recording, const StackTable& stacks)
      : recording_(recording), totals_(recording), functions_(stacks, false) {}

  void Add(GpuQueueId queue, const GpuOperation& operation) {
    totals_.Add(queue, operation);
    lanes_.Add(queue, operation);
  }
  // Writes a member "gpu", or nothing if there was no GPU work. `begin`: the begin of the page's time.
  void Write(Nanos begin, JsonOutput& json);

 private:
  void WriteDevices(JsonOutput& json);
  void WriteLanes(Nanos begin, JsonOutput& json);
  void WriteKernels(JsonOutput& json);
  void WriteFunctions(std::string_view name, const std::vector<GpuFunctionRow>& rows, JsonOutput& json);
  void WriteNames(JsonOutput& json);
  uint32_t NameId(std::string_view name);

  const Recording& recording_;
  GpuTotals totals_;
  GpuLanes lanes_;
  FunctionTable functions_;
  std::unordered_map<const char*, uint32_t> name_ids_;
  std::vector<std::string_view> names_;
};

}  // namespace ptrace_prof
