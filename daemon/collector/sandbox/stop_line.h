// Turns "the parent closed the control line" and SIGTERM into the flag that RunCapture watches, and the bytes that come
// on it into how many captures share the time for which the target may be stopped.
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
  const std::atomic<uint32_t>& sharers() const;  // 1 and more; the last that was told

 private:
  explicit StopLine(UniqueFd control) : control_(std::move(control)) {}
  UniqueFd control_;
};

// The other end. Nothing is told on one that is closed.
void TellSharers(const UniqueFd& control, uint8_t captures);

}  // namespace ptrace_prof
