// How much is recorded of a GPU: which kinds of records, and which calls, for each level of detail. A table.
//
// Kinds are those of CUPTI's activity records, in the order in which they are switched on: kernels last, so that every
// kernel has what belongs to it. Calls are its callback ids: launches, copies, synchronisations, memory; not the many
// that only ask something. What a version of CUPTI does not have it does without.
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
  kCoarse,   // launches and kernels, those of graphs node by node
  kDefault,  // and copies, synchronisations, memory calls
  kFull,     // and calls that record events, and what the job annotates by NVTX
};

// "copies": what records of that kind are of.
std::string GpuKindName(size_t kind);

// The calls of a level of detail. A CUPTI that takes no list of calls (before 12.5) records them all.
class GpuWantedCalls {
 public:
  explicit GpuWantedCalls(GpuDetail detail);
  // True of what is no call, too.
  bool Has(const GpuRecord& record) const;

 private:
  static constexpr size_t kMostCalls = 1024;
  std::array<std::bitset<kMostCalls>, 2> wanted_;  // of the runtime, of the driver
};

// Fills in the kinds and calls.
void SetGpuDetail(GpuDetail detail, pp_gpu_boot* boot);

}  // namespace ptrace_prof
