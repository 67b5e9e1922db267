// The calls that started something on a GPU, by their correlation, until what they started was seen: half of the join.
//
// A table of slots in which newer correlations take the place of older ones: bounded, without an allocation in the
// steady state, and as correlations count up it holds the last ones. It grows while what it would have to forget is
// young. Correlations are 32 bits in records and wrap; Widen makes them count on. One per target; one thread.
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
  uint32_t generation = 0;  // of the StackTable that `stack` is of
  GpuStackSource source = GpuStackSource::kNone;
  GpuCallKind kind = GpuCallKind::kOther;
  bool is_implied = false;    // a kernel is to come
  bool is_replay = false;     // of a graph: what its nodes are is to come
  bool is_seen = false;       // and has
  bool is_ambiguous = false;  // its stack is one of several
  bool is_outside = false;    // it was before the capture began
};

// Launches of which nothing came.
struct GpuUnseenLaunches {
  uint64_t kernels = 0;
  uint64_t captured = 0;  // into a graph: they are none that run
  uint64_t replays = 0;
};

class GpuLaunches {
 public:
  GpuLaunches();

  uint64_t Widen(uint32_t correlation);
  // Null: not there, or forgotten. Until the next Add.
  GpuLaunch* Find(uint64_t correlation);
  // It must not be there.
  void Add(const GpuLaunch& launch);
  // Of those that were forgotten and those that are there still.
  GpuUnseenLaunches CountUnseen() const;
  // Whether a kernel that was launched between the two has not come, though nothing was captured as far as is known.
  bool LacksOne(Nanos first, Nanos last) const;
  // When the last launch was made whose kernel has come; 0: none has.
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
