#include "daemon/server/program/drain.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/server/program/daemon_log.h"

namespace ptrace_prof {
namespace {

// Part of the time, for clients to learn how their captures ended.
constexpr Nanos kForReaders = Nanos::FromSeconds(1);
constexpr Nanos kForTheKilled = Nanos::FromMillis(500);  // for killed collectors to end
constexpr Nanos kManagersMargin = Nanos::FromSeconds(15);
constexpr Nanos kSlice = Nanos::FromSeconds(1);

// Returns whether all have ended; meanwhile it reports to the watchdog.
bool AwaitEnds(CaptureRegistry& captures, ServiceNotice& notice, Nanos deadline) {
  const Nanos slice = std::min(notice.alive_every().value_or(kSlice), kSlice);
  for (;;) {
    notice.Alive();
    if (captures.AwaitEnds(std::min(deadline, MonotonicNow() + slice))) {
      return true;
    }
    if (MonotonicNow() >= deadline) {
      return false;
    }
  }
}

}  // namespace

void Drain(CaptureRegistry& captures, const std::vector<UnixListener*>& listeners, ServiceNotice& notice, Nanos most) {
  const Nanos deadline = MonotonicNow() + most;
  captures.BeginEnding();
  const size_t count = captures.CountGoingOn();
  notice.Stopping(fmt::format("Ending {} captures", count), most + kManagersMargin);
  if (!AwaitEnds(captures, notice, deadline - std::min(kForReaders, Nanos(most.value / 4)))) {
    const size_t stuck = captures.CountGoingOn();
    Log(LogLevel::kWarning, "drain_hastened", {{"captures", std::to_string(stuck)}});
    captures.HastenEnding();
    AwaitEnds(captures, notice, std::max(deadline, MonotonicNow()) + kForTheKilled);
  }
  Log(LogLevel::kInfo, "drained", {{"captures", std::to_string(count)}});
  notice.Status("Waiting for readers of traces");
  for (UnixListener* listener : listeners) {
    listener->Shutdown(std::max(deadline - MonotonicNow(), kForTheKilled));
  }
}

}  // namespace ptrace_prof
