// Records the stack of a thread as its calls begin and end, for all replayed calls, also those that later filters leave
// out.
//
// Stands between CallReplayer and the next sink, to which it passes everything on; without a history it does nothing
// else. One per traced thread; one thread.
#pragma once

#include "daemon/collector/calls/call_sink.h"
#include "daemon/collector/target/stack_history.h"

namespace ptrace_prof {

class HistorySink final : public ForwardingSink {
 public:
  // `history` may be null.
  HistorySink(CallSink& next, StackTable& stacks, StackHistory* history, ThreadHandle thread)
      : ForwardingSink(next), stacks_(stacks), history_(history), thread_(thread) {}

  void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator) override {
    if (history_ != nullptr) {
      Push(when, function);
    }
    next_.Begin(when, function, entry, generator);
  }
  void End(Nanos when, CallExit exit) override {
    if (history_ != nullptr) {
      Pop(when);
    }
    next_.End(when, exit);
  }

 private:
  static constexpr size_t kMaxStacks = size_t{1} << 21;  // of the table: recursion makes many

  void Push(Nanos when, FrameId function) {
    if (refused_ > 0 || stacks_.stack_count() >= kMaxStacks) {
      ++refused_;
      return;
    }
    at_ = stacks_.InternStack(at_, function);
    history_->Note(thread_, when, at_);
  }
  void Pop(Nanos when) {
    if (refused_ > 0) {
      --refused_;
    } else if (at_ != kEmptyStack) {
      at_ = stacks_.parent(at_);
      history_->Note(thread_, when, at_);
    }
  }

  StackTable& stacks_;
  StackHistory* const history_;
  const ThreadHandle thread_;
  StackId at_ = kEmptyStack;
  size_t refused_ = 0;
};

}  // namespace ptrace_prof
