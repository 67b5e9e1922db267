// On whose behalf a thread of PyTorch's autograd engine launches, which runs no Python itself: of the thread that waits
// for the engine then.
//
// The threads' stacks of one moment are shown to it. Where several wait for the engine and were called from different
// places, nobody knows for which of them it works: then there is no stack. On the stack; one thread.
#pragma once

#include <optional>

#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

class GpuEngineWait {
 public:
  explicit GpuEngineWait(const StackTable& stacks) : stacks_(stacks) {}

  void Look(StackId stack);

  // Of the one that waits; empty: none does, or it is ambiguous.
  StackId stack() const { return is_ambiguous_ ? kEmptyStack : found_; }
  bool is_ambiguous() const { return is_ambiguous_; }

 private:
  std::optional<StackId> CallerOfWait(StackId stack) const;

  const StackTable& stacks_;
  StackId found_ = kEmptyStack;
  StackId caller_ = kEmptyStack;  // of the engine
  bool is_ambiguous_ = false;
};

}  // namespace ptrace_prof
