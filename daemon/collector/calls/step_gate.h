// Passes the calls of one thread while steps are recorded. It stands between CallReplayer and its sink.
//
// When recording turns off, open calls are cut; when it turns on, calls that already run begin again as such. So every
// recorded stretch is complete and nests by itself. The turns come from the process's StepMarker, which another
// thread's steps may drive. They are applied by their time, so feed the thread that takes the steps first. One per
// thread; one thread.
#pragma once

#include <algorithm>
#include <vector>

#include "daemon/collector/calls/call_sink.h"
#include "daemon/collector/calls/step_marker.h"

namespace ptrace_prof {

class StepGate final : public ForwardingSink {
 public:
  // Both must outlive it.
  StepGate(const StepMarker& steps, CallSink& next)
      : ForwardingSink(next), steps_(steps), is_on_(steps.is_on_at_first()) {}

  void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator) override {
    CatchUp(when);
    open_.push_back({function, generator});
    Pass(entry != CallEntry::kRunning, [&] { next_.Begin(when, function, entry, generator); });
  }
  void End(Nanos when, CallExit exit) override {
    CatchUp(when);
    if (!open_.empty()) {
      open_.pop_back();
    }
    Pass(exit != CallExit::kCut, [&] { next_.End(when, exit); });
  }
  // If a turn falls into a gap, only the part before the first turn is shown, and only if it was recorded.
  void Lost(Nanos from, Nanos to, uint64_t events) override {
    CatchUp(from);
    if (is_on_) {
      next_.Lost(from, std::min(to, NextTurn(to)), events);
    }
    CatchUp(to);
  }
  void StepEnded(Nanos when) override {
    CatchUp(when);
    next_.StepEnded(when);
    CatchUp(when);
  }

  uint64_t left_out() const { return left_out_; }  // begins and ends

 private:
  struct Open {
    FrameId function;
    GeneratorId generator;
  };

  template <typename Forward>
  void Pass(bool is_event, Forward forward) {
    if (is_on_) {
      forward();
    } else {
      left_out_ += is_event ? 1 : 0;
    }
  }
  Nanos NextTurn(Nanos otherwise) const {
    return obeyed_ < steps_.turns().size() ? steps_.turns()[obeyed_].when : otherwise;
  }
  void CatchUp(Nanos when) {
    for (; obeyed_ < steps_.turns().size() && steps_.turns()[obeyed_].when <= when; ++obeyed_) {
      Obey(steps_.turns()[obeyed_]);
    }
    last_ = std::max(last_, when);
  }
  void Obey(const StepMarker::Turn& turn) {
    is_on_ = turn.is_on;
    last_ = std::max(last_, turn.when);  // a turn may become known too late
    if (is_on_) {
      for (const Open& call : open_) {
        next_.Begin(last_, call.function, CallEntry::kRunning, call.generator);
      }
      return;
    }
    for (size_t i = open_.size(); i > 0; --i) {
      next_.End(last_, CallExit::kCut);
    }
  }

  const StepMarker& steps_;
  bool is_on_;
  size_t obeyed_ = 0;  // number of turns applied
  Nanos last_;
  std::vector<Open> open_;  // root first
  uint64_t left_out_ = 0;
};

}  // namespace ptrace_prof
