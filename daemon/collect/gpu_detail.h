// How much is recorded of a GPU: which kinds of records, and which calls, for each level of detail. A table.
//
// Kinds are those of CUPTI's activity records, in the order in which they are switched on: kernels last, so that every
// kernel has what belongs to it. Calls are its callback ids: launches, copies, synchronisations, memory; not the many
// that only ask something. What a version of CUPTI does not have it does without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "attach/abi/gpu_boot.h"

namespace ptrace_prof {

enum class GpuDetail : uint8_t {
  kCoarse,   // launches and kernels; replays of graphs as a whole
  kDefault,  // and copies, synchronisations, memory calls; replays of graphs node by node
  kFull,     // and calls that record events
};

// "copies": what records of that kind are of.
std::string GpuKindName(size_t kind);

// Fills in the kinds and calls.
void SetGpuDetail(GpuDetail detail, pp_gpu_boot* boot);

}  // namespace ptrace_prof
