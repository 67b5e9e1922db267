#include "daemon/export/gpu_lanes.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

void Join(GpuLanes::Piece& piece, const GpuLanes::Piece& next) {
  piece.end = std::max(piece.end, next.end);
  piece.busy = piece.busy + next.busy;
  piece.count += next.count;
  if (next.longest > piece.longest) {
    piece.longest = next.longest;
    piece.name = next.name;
    piece.kind = next.kind;
  }
}

}  // namespace

void GpuLanes::Add(GpuQueueId queue, const GpuOperation& operation) {
  lane_of_queue_.resize(std::max<size_t>(lane_of_queue_.size(), queue.value + 1));
  uint32_t& number = lane_of_queue_[queue.value];
  if (number == 0) {
    if (lanes_.size() == kMostLanes) {
      return;
    }
    lanes_.push_back({queue, {}, 1});
    number = static_cast<uint32_t>(lanes_.size());
  }
  Lane& lane = lanes_[number - 1];
  const Nanos length = operation.end - operation.begin;
  const Piece piece{operation.begin, operation.end, length, length, 1, operation.name, operation.kind};
  if (!lane.pieces.empty() && lane.pieces.back().count < lane.each && lane.pieces.back().begin <= piece.begin) {
    Join(lane.pieces.back(), piece);
    return;
  }
  if (lane.pieces.size() == kMostPieces) {
    Halve(lane);
  }
  lane.pieces.push_back(piece);
}

void GpuLanes::Sort(Lane& lane) {
  std::stable_sort(lane.pieces.begin(), lane.pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
}

void GpuLanes::Halve(Lane& lane) {
  Sort(lane);
  for (size_t i = 0; i < lane.pieces.size() / 2; ++i) {
    Piece piece = lane.pieces[2 * i];
    Join(piece, lane.pieces[2 * i + 1]);
    lane.pieces[i] = piece;
  }
  lane.pieces.resize(lane.pieces.size() / 2);
  lane.each *= 2;
}

const std::vector<GpuLanes::Lane>& GpuLanes::Sorted() {
  for (Lane& lane : lanes_) {
    Sort(lane);
  }
  return lanes_;
}

}  // namespace ptrace_prof
