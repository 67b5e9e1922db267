// How much is recorded of a GPU: a table of the kinds of records and the calls for each level of detail.
//
// Kinds are those of CUPTI's activity records, in the order in which they are enabled: kernels last, so that every
// kernel has the records that belong to it. Calls are CUPTI's callback ids: launches, copies, synchronisations and
// memory, but not the many that only query something. What a version of CUPTI lacks is skipped.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>

#include "attach/abi/gpu_boot.h"
#include "daemon/collector/gpu/gpu_record.h"

namespace ptrace_prof {

enum class GpuDetail : uint8_t {
  kCoarse,   // launches and kernels, including each kernel of a graph
  kDefault,  // also copies, synchronisations, memory calls
  kFull,     // also calls that record events, and the job's NVTX annotations
};

// A plural for messages, such as "copies".
std::string GpuKindName(size_t kind);

// The calls of a level of detail. Before 12.5 CUPTI takes no list of calls and records all of them.
class GpuWantedCalls {
 public:
  explicit GpuWantedCalls(GpuDetail detail);
  // True also for records that are not calls.
  bool Has(const GpuRecord& record) const;

 private:
  static constexpr size_t kMostCalls = 1024;
  std::array<std::bitset<kMostCalls>, 2> wanted_;  // runtime, driver
};

// Fills in the kinds and calls.
void SetGpuDetail(GpuDetail detail, pp_gpu_boot* boot);

}  // namespace ptrace_prof
