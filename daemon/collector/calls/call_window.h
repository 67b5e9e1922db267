// The window of a trace of calls: when it ends, and the messages about it.
//
//   TellBefore ──► Begin ──IsOver…──► TellAfter
//
// It ends by its duration, after the requested steps (StepMarker), or at the first loss if that was requested. Without
// a duration it ends after kTaxedWindow if tracing slows down every bytecode. If steps were requested and none is seen
// for kStepPatience (or half the duration, as nothing is recorded until then), it goes on by time. The capture handles
// all other ends. Pure decisions: knows neither target nor trace. Owned by the capture; one thread.
#pragma once

#include <functional>
#include <string_view>

#include "attach/base/types.h"
#include "daemon/collector/calls/step_marker.h"
#include "rpc/messages/capture_task.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {

// What existed meanwhile but is not in the trace of calls.
struct LeftAside {
  uint64_t children = 0;
  uint64_t interpreters = 0;
};

class CallWindow {
 public:
  static constexpr Nanos kTaxedWindow = Nanos::FromSeconds(2);
  static constexpr Nanos kStepPatience = Nanos::FromSeconds(30);

  using Report = std::function<void(std::string_view notice)>;
  // Request and marker must outlive it.
  CallWindow(const CaptureTask& request, const PythonVersion& version, StepMarker& steps, Report report);

  void ReportCaveats() const;
  void Begin(Nanos when) { begin_ = when; }
  // `lost`: events lost so far.
  bool IsOver(Nanos now, uint64_t lost);
  // `now`: when the window ended; `aside.children`: children that were not traced.
  void ReportAfter(Nanos now, const LeftAside& aside) const;

 private:
  bool ends_by_steps() const;
  Nanos Length() const;
  Nanos StepPatience() const;
  std::string_view NoStep() const;
  void LookForSteps(Nanos now);
  void ReportSteps(Nanos now) const;

  const CaptureTask& request_;
  const VersionFacts& facts_;
  StepMarker& steps_;
  const Report report_;
  Nanos begin_;
  bool gave_up_ = false;
  Nanos waited_;  // time spent waiting for steps before giving up
  uint64_t lost_at_end_ = 0;
};

}  // namespace ptrace_prof
