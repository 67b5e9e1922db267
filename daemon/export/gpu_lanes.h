// The work of each GPU stream over time, for the page. Above a number of operations, neighbours are joined under the
// name of the longest, so that memory does not grow with the length of the recording.
//
// Filled while the trace is read, in the order of the trace. Plain data.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/trace/gpu.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

class GpuLanes {
 public:
  static constexpr size_t kMostPieces = 16 * 1024;  // of a lane
  static constexpr size_t kMostLanes = 256;

  struct Piece {
    Nanos begin;
    Nanos end;
    Nanos busy;     // within that time
    Nanos longest;  // of its operations; name and kind are those of this one
    uint64_t count = 1;
    std::string_view name;
    GpuOperationKind kind = GpuOperationKind::kKernel;
  };
  struct Lane {
    GpuQueueId queue;
    std::vector<Piece> pieces;
    uint64_t each = 1;  // operations per piece
  };

  void Add(GpuQueueId queue, const GpuOperation& operation);
  // Pieces are in order of time.
  const std::vector<Lane>& Sorted();

 private:
  static void Sort(Lane& lane);
  static void Halve(Lane& lane);

  std::vector<Lane> lanes_;
  std::vector<uint32_t> lane_of_queue_;  // + 1; 0 = none yet
};

}  // namespace ptrace_prof
