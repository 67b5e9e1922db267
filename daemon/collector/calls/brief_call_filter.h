// Leaves out calls that are shorter than a given time. It stands between CallReplayer and its sink.
//
// A begin is held back until something happens that long after it; an earlier end removes both. Everything called by
// such a call was shorter still and is gone too; its time counts for the caller. Order and nesting stay intact, as
// nothing passes while an outer begin is held back. Calls that ran before, gaps and steps always pass. One per thread;
// one thread.
#pragma once

#include <vector>

#include "daemon/collector/calls/call_sink.h"

namespace ptrace_prof {

class BriefCallFilter final : public ForwardingSink {
 public:
  BriefCallFilter(CallSink& next, Nanos least) : ForwardingSink(next), least_(least) {}

  void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator) override {
    Release(when);
    held_.push_back({when, function, entry, generator});
    if (entry == CallEntry::kRunning) {
      ReleaseAll();
    }
  }
  void End(Nanos when, CallExit exit) override {
    Release(when);
    if (exit == CallExit::kCut || exit == CallExit::kLost) {
      ReleaseAll();  // its length is not known
    }
    if (held_.empty()) {
      next_.End(when, exit);
    } else {
      held_.pop_back();
      ++left_out_;
    }
  }
  void Lost(Nanos from, Nanos to, uint64_t events) override {
    ReleaseAll();
    next_.Lost(from, to, events);
  }

  uint64_t left_out() const { return left_out_; }  // calls

 private:
  struct Held {
    Nanos when;
    FrameId function;
    CallEntry entry;
    GeneratorId generator;
  };

  void Pass(const Held& held) { next_.Begin(held.when, held.function, held.entry, held.generator); }
  // Passes the calls that have lasted long enough. Callers come before callees, so these are the first ones.
  void Release(Nanos now) {
    size_t released = 0;
    for (; released < held_.size() && now - held_[released].when >= least_; ++released) {
      Pass(held_[released]);
    }
    held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(released));
  }
  void ReleaseAll() {
    for (const Held& held : held_) {
      Pass(held);
    }
    held_.clear();
  }

  const Nanos least_;
  std::vector<Held> held_;
  uint64_t left_out_ = 0;
};

}  // namespace ptrace_prof
