// Says what the blocks of a MemoryLedger were for, in the categories of torch.profiler's memory timeline.
//
// Parameters, gradients and optimizer state are those that the job's objects hold. The rest follows from what operators
// read and made:
//   gradient         autograd put it in its place (AccumulateGrad)
//   temporary        an operator allocated and freed it, or a step of an optimizer
//   optimizer state  made in a step of an optimizer, and still there after it
//   activation       made before backward, from a parameter or from another activation
//   input            an activation was made from it, but it was not made from a parameter
//   autograd detail  made in backward, and no gradient
// If the job's objects were not found, what an optimizer reads is a parameter if the forward pass reads it, too, and
// optimizer state otherwise. A block has one category as long as it lives. Plain function of the ledger.
#pragma once

#include "daemon/export/memory_ledger.h"

namespace ptrace_prof {

class MemoryCategorizer {
 public:
  explicit MemoryCategorizer(MemoryLedger& ledger) : ledger_(ledger) {}

  void Run();

 private:
  // False: it has a category already.
  bool Set(uint32_t block, MemoryCategory category);
  bool IsOfModel(uint32_t block) const;
  bool Outlives(uint32_t block, Nanos when) const;
  void SetOfStep(uint32_t block, Nanos step_end);
  void TakeHeld();
  void TakeGradients();
  void TakeTemporaries();
  void TakeOptimizer();
  void GuessModel();
  void TakeForward();
  void TakeInputs();
  void TakeBackward();

  MemoryLedger& ledger_;
  bool has_parameters_ = false;
  std::vector<uint32_t> in_order_;  // operators, by begin
};

}  // namespace ptrace_prof
