// GPU time by kernel, by the Python functions and modules that launched the work, and by device.
//
// Used by the html and text formats. Filled while the trace is read; memory grows with the number of names, stacks and
// devices, not with time. Independent of layout.
#pragma once

#include <array>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/export/function_table.h"
#include "daemon/export/gpu_idle.h"
#include "daemon/export/recording.h"

namespace ptrace_prof {

// Not waits, and not the time that tracing took.
bool TakesGpuTime(GpuOperationKind kind);

struct GpuWork {
  uint64_t count = 0;
  Nanos time;
  Nanos longest;

  void Add(Nanos duration) {
    ++count;
    time = time + duration;
    longest = std::max(longest, duration);
  }
};

// Kernels, copies or memsets with one name.
struct GpuNameRow {
  std::string_view name;
  GpuOperationKind kind = GpuOperationKind::kKernel;
  GpuWork work;
};

// Ranges and marks with one name and domain.
struct GpuRangeRow {
  std::string_view domain;
  std::string_view name;
  GpuWork work;
};

struct GpuFunctionRow {
  uint32_t function = 0;  // in the FunctionTable
  Nanos self;             // of what it launched itself
  Nanos total;            // with what its callees launched
  uint64_t count = 0;     // operations in `total`
};

struct GpuDeviceRow {
  std::string label;
  GpuTime time;
};

class GpuTotals {
 public:
  explicit GpuTotals(const Recording& recording) : recording_(recording) {}

  void Add(GpuQueueId queue, const GpuOperation& operation);
  void Add(const GpuAnnotation& annotation);

  bool is_empty() const { return names_.empty(); }
  Nanos all() const { return all_; }  // the time of all `names_`
  const std::array<Nanos, kGpuStackSources>& by_source() const { return by_source_; }

  // Each sorted by time, highest first.
  std::vector<GpuNameRow> Names() const;
  std::vector<std::pair<StackId, GpuWork>> Stacks() const;
  std::vector<GpuFunctionRow> Functions(FunctionTable& functions) const { return Rows(functions, false); }
  std::vector<GpuFunctionRow> Modules(FunctionTable& functions) const { return Rows(functions, true); }
  std::vector<GpuDeviceRow> Devices();
  std::vector<GpuRangeRow> Ranges() const;

 private:
  std::vector<GpuFunctionRow> Rows(FunctionTable& functions, bool modules) const;
  std::string DeviceOf(GpuQueueId queue) const;

  const Recording& recording_;
  std::unordered_map<std::string_view, GpuNameRow> names_;
  std::unordered_map<StackId, GpuWork> stacks_;
  std::map<std::pair<std::string_view, std::string_view>, GpuWork> ranges_;  // by domain and name
  std::array<Nanos, kGpuStackSources> by_source_{};
  std::map<std::string, GpuIdle> devices_;
  std::vector<GpuIdle*> device_of_queue_;
  Nanos all_;
};

// "GPU 0 (NVIDIA H200)", with its process if several were recorded.
std::string GpuLabel(const Recording& recording, Pid pid, uint32_t device);
std::string GpuQueueLabel(const GpuQueue& queue);  // "stream 7"

}  // namespace ptrace_prof
