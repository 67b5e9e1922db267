// Finds the Python stack on whose behalf a thread of PyTorch's autograd engine launches. Such a thread runs no Python;
// it works for the thread that waits for the engine.
//
// Pass it the stacks of all threads at one moment. If several threads wait for the engine and were called from
// different places, it is not known which one it works for, and there is no stack. Lives on the stack; one thread.
#pragma once

#include <optional>

#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

class GpuEngineWait {
 public:
  explicit GpuEngineWait(const StackTable& stacks) : stacks_(stacks) {}

  void Look(StackId stack);

  // The stack of the waiting thread; empty: none waits, or it is ambiguous.
  StackId stack() const { return is_ambiguous_ ? kEmptyStack : found_; }
  bool is_ambiguous() const { return is_ambiguous_; }

 private:
  std::optional<StackId> CallerOfWait(StackId stack) const;

  const StackTable& stacks_;
  StackId found_ = kEmptyStack;
  StackId caller_ = kEmptyStack;  // caller of the engine
  bool is_ambiguous_ = false;
};

}  // namespace ptrace_prof
