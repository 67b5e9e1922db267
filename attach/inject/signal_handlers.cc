#include "attach/inject/signal_handlers.h"

#include <cstdint>
#include <initializer_list>

#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t SignalBits(std::initializer_list<int> signals) {
  uint64_t bits = 0;
  for (const int number : signals) {
    bits |= uint64_t{1} << (number - 1);
  }
  return bits;
}

// Signals that are handled even in jobs without handlers of their own, or that only the thread itself causes: SIGINT,
// SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, and those of libc.
constexpr uint64_t kOthersSignals = SignalBits({2, 4, 5, 6, 7, 8, 11, 31, 32, 33, 34});

}  // namespace

Result<bool> HasSignalHandlers(Pid pid) {
  PP_ASSIGN_OR_RETURN(const ProcessStatus status, ReadProcessStatus(pid));
  return (status.caught_signals & ~kOthersSignals) != 0;
}

}  // namespace ptrace_prof
