// The calls that started something on a GPU, by correlation, until their operations were seen: one half of the join.
//
// A table of slots in which newer correlations replace older ones. It is bounded, needs no allocation in the steady
// state, and holds the last launches, as correlations count up. It grows while it would have to forget recent ones.
// Correlations are 32 bits in records and wrap; Widen extends them. One per target; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collector/gpu/gpu_calls.h"
#include "daemon/collector/gpu/gpu_graph_captures.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

struct GpuLaunch {
  uint64_t correlation = 0;  // 0: an empty slot
  Nanos begin;
  Nanos end;
  Tid tid;
  StackId stack;
  uint32_t generation = 0;  // of the StackTable, for `stack`
  GpuStackSource source = GpuStackSource::kNone;
  GpuCallKind kind = GpuCallKind::kOther;
  bool is_implied = false;    // a kernel is expected
  bool is_replay = false;     // replay of a graph: operations of its nodes are expected
  bool is_seen = false;       // what was expected has come
  bool is_ambiguous = false;  // several stacks are possible
  bool is_outside = false;    // before the capture began
};

// Launches of which nothing came.
struct GpuUnseenLaunches {
  uint64_t kernels = 0;
  uint64_t captured = 0;  // captured into a graph, so they did not run
  uint64_t replays = 0;
};

class GpuLaunches {
 public:
  GpuLaunches();

  uint64_t Widen(uint32_t correlation);
  // Null: not there, or forgotten. Valid until the next Add.
  GpuLaunch* Find(uint64_t correlation);
  // The correlation must not be in the table.
  void Add(const GpuLaunch& launch);
  // Counts forgotten launches and those that are still there.
  GpuUnseenLaunches CountUnseen() const;
  // Whether a kernel launched between the two times has not come although no capture is known for then.
  bool LacksOne(Nanos first, Nanos last) const;
  // Time of the last launch whose kernel has come; 0: none has.
  Nanos LastSeen() const;
  GpuGraphCaptures& captures() { return captures_; }

 private:
  size_t SlotOf(uint64_t correlation) const { return correlation & (slots_.size() - 1); }
  bool Grow();
  void CountIfUnseen(const GpuLaunch& launch, GpuUnseenLaunches& unseen) const;

  std::vector<GpuLaunch> slots_;
  uint64_t last_ = 0;
  GpuUnseenLaunches forgotten_;
  GpuGraphCaptures captures_;
};

}  // namespace ptrace_prof
