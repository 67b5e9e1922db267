// A text of Python in a target, with the few instructions by which a call (of the queue, or of the frame hook) runs it
// and lets pass what a signal handler of the job raises meanwhile (text_thunk.h): for jobs that have such handlers.
//
// The instructions lie in the unused end of a page of code, text and context in that of a page of data; all is zero
// again when this object goes, unless a thread may come there still. If we are killed, they stay, and a call that waits
// can be made. Belongs to one thread, the one that may trace.
#pragma once

#include <memory>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/queued_call.h"
#include "attach/inject/slack.h"
#include "attach/inject/timed_stop.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class PassingText {
 public:
  // kUnimplemented: not on this machine, or the target does not call for it. kResourceExhausted: no room. Others as
  // StoppedThreads::StopAll.
  static Result<std::unique_ptr<PassingText>> Put(const InjectionTarget& target, RemoteMemory& memory,
                                                  std::string_view text, const Patience& patience);
  ~PassingText();
  PassingText(const PassingText&) = delete;
  PassingText& operator=(const PassingText&) = delete;

  QueuedFunction call() const { return {code_, context_.address()}; }
  const CallGuard& guard() const { return guard_; }
  const StopCost& cost() const { return cost_; }

  // A thread has run it to its end.
  bool WasRun() const;
  // The call could not be taken back: it was made, or will be.
  void ExpectCall() { may_be_called_ = true; }

 private:
  PassingText(const InjectionTarget& target, RemoteMemory& memory, Slack text, Slack context, RemoteAddr code);
  Result<bool> TryWriteCode();
  // False: somebody is, or may come, among the instructions.
  Result<bool> TryWipe();
  bool IsOver();

  const InjectionTarget& target_;
  RemoteMemory& memory_;
  Slack text_;
  Slack context_;
  RemoteAddr code_;
  CallGuard guard_;
  bool written_ = false;
  bool may_be_called_ = false;
  StopCost cost_;
};

}  // namespace ptrace_prof
