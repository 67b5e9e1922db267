// A Python text, run by a call in the target, that propagates an exception which a signal handler of the job raises
// meanwhile (text_thunk.h). Jobs that have signal handlers need it.
//
// Its instructions are in a cave of code, its text and context in a cave of data. The destructor zeroes them, unless a
// thread may still run them. If we are killed they stay, so that a queued call finds them. Belongs to one thread, the
// one that may trace.
#pragma once

#include <memory>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/code_cave.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/queued_call.h"
#include "attach/inject/timed_stop.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class PropagatingText {
 public:
  // kUnimplemented: not on this architecture, or the target does not need it. kResourceExhausted: no room. Others as
  // StoppedThreads::StopAll.
  static Result<std::unique_ptr<PropagatingText>> Put(const InjectionTarget& target, RemoteMemory& memory,
                                                      std::string_view text, const Patience& patience);
  ~PropagatingText();
  PropagatingText(const PropagatingText&) = delete;
  PropagatingText& operator=(const PropagatingText&) = delete;

  QueuedFunction call() const { return {code_, context_.address()}; }
  const CallGuard& guard() const { return guard_; }
  const StopCost& cost() const { return cost_; }

  // Whether a thread has run it to its end.
  bool WasRun() const;
  // Call it if the call could not be taken back: it was made, or will be.
  void ExpectCall() { may_be_called_ = true; }

 private:
  PropagatingText(const InjectionTarget& target, RemoteMemory& memory, CodeCave text, CodeCave context,
                  RemoteAddr code);
  Result<bool> TryWriteCode();
  // Returns false if a thread is, or may get, into the instructions.
  Result<bool> TryWipe();
  bool IsOver();

  const InjectionTarget& target_;
  RemoteMemory& memory_;
  CodeCave text_;
  CodeCave context_;
  RemoteAddr code_;
  CallGuard guard_;
  bool written_ = false;
  bool may_be_called_ = false;
  StopCost cost_;
};

}  // namespace ptrace_prof
