// What each stream of a GPU did over time, for a page: its operations one by one while they are few, later neighbours
// put together under the name of the longest, so that a recording of any length takes the same memory.
//
// Filled while the trace is read, in the order in which operations come. Pure data.
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
    Nanos busy;     // of that time
    Nanos longest;  // operation in it, whose name and kind these are
    uint64_t count = 1;
    std::string_view name;
    GpuOperationKind kind = GpuOperationKind::kKernel;
  };
  struct Lane {
    GpuQueueId queue;
    std::vector<Piece> pieces;
    uint64_t each = 1;  // operations in a piece
  };

  void Add(GpuQueueId queue, const GpuOperation& operation);
  // Pieces in order of time.
  const std::vector<Lane>& Sorted();

 private:
  static void Sort(Lane& lane);
  static void Halve(Lane& lane);

  std::vector<Lane> lanes_;
  std::vector<uint32_t> lane_of_queue_;  // + 1; 0 = none yet
};

}  // namespace ptrace_prof
