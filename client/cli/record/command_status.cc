#include "client/cli/record/command_status.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>

#include "client/cli/messages.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kStatusPoll = Nanos::FromMillis(200);

int DieBySignal(int number) {
  const rlimit no_core{0, 0};  // the command has left its own core file, if it was to
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::fflush(nullptr);
  ::signal(number, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(number);
  return 128 + number;
}

}  // namespace

int ExitAsCommand(CaptureStream& stream, Interrupts& interrupts) {
  while (true) {
    while (const auto signal = interrupts.NextToForward()) {
      stream.SignalCommand(*signal);
    }
    auto status = stream.WaitCommand(kStatusPoll);
    if (status.has_error()) {
      return static_cast<int>(Fail(status.error()));
    }
    if (!status.value().has_value()) {
      continue;
    }
    const int raw = *status.value();
    if (WIFSIGNALED(raw)) {
      return DieBySignal(WTERMSIG(raw));
    }
    return WEXITSTATUS(raw);
  }
}

}  // namespace ptrace_prof
