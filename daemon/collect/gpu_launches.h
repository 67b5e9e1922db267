// The calls that started something on a GPU, by their correlation, until what they started was seen: half of the join.
//
// A table of slots in which newer correlations take the place of older ones: bounded, without an allocation in the
// steady state, and as correlations count up it holds the last ones. It grows while what it would have to forget is
// young. Correlations are 32 bits in records and wrap; Widen makes them count on. One per target; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collect/gpu_calls.h"
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
  bool is_implied = false;  // a kernel is to come
  bool is_seen = false;     // and has
  bool is_outside = false;  // it was before the capture began
};

class GpuLaunches {
 public:
  GpuLaunches();

  uint64_t Widen(uint32_t correlation);
  // Null: not there, or forgotten. Until the next Add.
  GpuLaunch* Find(uint64_t correlation);
  // It must not be there.
  void Add(const GpuLaunch& launch);
  // Launches that were forgotten, or are there still, whose kernel never came.
  uint64_t forgotten_unseen() const { return forgotten_unseen_; }
  uint64_t CountUnseen() const;

 private:
  size_t SlotOf(uint64_t correlation) const { return correlation & (slots_.size() - 1); }
  bool Grow();

  std::vector<GpuLaunch> slots_;
  uint64_t last_ = 0;
  uint64_t forgotten_unseen_ = 0;
};

}  // namespace ptrace_prof
