// Turns "the parent closed the control line" and SIGTERM into the flag that RunCapture watches.
//
// Owns the control descriptor. The kernel sends SIGIO when its other end closes: no thread is needed, and the signal
// ends the sampler's sleep. One per process (a signal handler needs somewhere to write). Create it after the last
// change of user id: the kernel compares ids when it sends the signal.
#pragma once

#include <atomic>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class StopLine {
 public:
  static Result<StopLine> Watch(UniqueFd control);

  const std::atomic<bool>& stop() const;

 private:
  explicit StopLine(UniqueFd control) : control_(std::move(control)) {}
  UniqueFd control_;
};

}  // namespace ptrace_prof
