#include "client/cli/record/suspension.h"

#include <unistd.h>

#include <atomic>

namespace ptrace_prof {
namespace {

std::atomic<bool> g_shall_stop{false};
std::atomic<bool> g_was_continued{false};

void OnStop(int) { g_shall_stop.store(true); }
void OnContinue(int) { g_was_continued.store(true); }

void Handle(int signal, void (*handler)(int), struct sigaction* old) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, old);
}

}  // namespace

Suspension::Suspension() {
  g_shall_stop.store(false);
  g_was_continued.store(false);
  Handle(SIGTSTP, OnStop, &old_stop_);
  if (old_stop_.sa_handler == SIG_IGN) {
    ::sigaction(SIGTSTP, &old_stop_, nullptr);
  }
  Handle(SIGCONT, OnContinue, &old_continue_);
}

Suspension::~Suspension() {
  ::sigaction(SIGTSTP, &old_stop_, nullptr);
  ::sigaction(SIGCONT, &old_continue_, nullptr);
}

bool Suspension::TakeStopRequest() { return g_shall_stop.exchange(false); }

bool Suspension::TakeContinued() { return g_was_continued.exchange(false); }

void Suspension::StopNow() {
  Handle(SIGTSTP, SIG_DFL, nullptr);
  ::kill(::getpid(), SIGTSTP);  // the kernel ignores it if no shell could continue us
  Handle(SIGTSTP, OnStop, nullptr);
}

}  // namespace ptrace_prof
