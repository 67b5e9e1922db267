// Handles Ctrl-Z and `fg` in a program that controls the terminal. SIGTSTP and SIGCONT become requests that the thread
// of the terminal asks for. So it can restore the terminal before the stop and take it over afterwards.
//
// A signal that was ignored at our start stays ignored. Create the object before ncurses, which handles SIGTSTP itself
// if it has no handler yet; the destructor restores the old handlers. One object at a time; its handlers may run on any
// thread, the rest is for one.
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

  // Since the last call: were we asked to stop, and were we stopped (also by SIGSTOP) and continued?
  bool TakeStopRequest();
  bool TakeContinued();
  // Stops the process, as the default action of the signal would. Returns when the process is continued, or at once if
  // no process could continue it.
  void StopNow();

 private:
  struct sigaction old_stop_ {};
  struct sigaction old_continue_ {};
};

}  // namespace ptrace_prof
