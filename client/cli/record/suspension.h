// Ctrl-Z and `fg`, for a program that has taken the terminal over: SIGTSTP and SIGCONT become something to ask for, so
// that the terminal is given back before we stop and taken again afterwards, on the thread that knows it.
//
// What was ignored when we started stays ignored. Make it before ncurses, which takes SIGTSTP where nobody has it; the
// destructor puts back what was there. One object at a time; its handlers are for any thread, the rest for one.
#pragma once

#include <signal.h>

namespace ptrace_prof {

class Suspension {
 public:
  Suspension();
  ~Suspension();
  Suspension(const Suspension&) = delete;
  Suspension& operator=(const Suspension&) = delete;

  // Since the last time somebody asked: shall we stop, and were we stopped (by SIGSTOP, too) and continued?
  bool TakeStopRequest();
  bool TakeContinued();
  // Stops the process, as the signal would have without us; returns when it is continued, or at once where nobody could
  // continue it.
  void StopNow();

 private:
  struct sigaction old_stop_ {};
  struct sigaction old_continue_ {};
};

}  // namespace ptrace_prof
