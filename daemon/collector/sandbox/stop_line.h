// Watches the control line and SIGTERM. A closed line or SIGTERM sets the flag that RunCapture watches. A byte on the
// line is the number of captures that share the limit on stopped time of the target.
//
// Owns the control descriptor. The kernel sends SIGIO when the other end closes, so no thread is needed, and the signal
// ends the sampler's sleep. One per process (the signal handler writes to globals). Create it after the last change of
// user id: the kernel compares ids when it sends the signal.
#pragma once

#include <atomic>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class StopLine {
 public:
  static Result<StopLine> Watch(UniqueFd control);

  const std::atomic<bool>& stop() const;
  const std::atomic<uint32_t>& sharers() const;  // at least 1; the last number received

 private:
  explicit StopLine(UniqueFd control) : control_(std::move(control)) {}
  UniqueFd control_;
};

// The other end. Does nothing if `control` is closed.
void ReportSharers(const UniqueFd& control, uint8_t captures);

}  // namespace ptrace_prof
