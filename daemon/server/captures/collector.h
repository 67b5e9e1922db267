// A running collector as captures see it, and what starts one: this process itself (local_starter.h), or the launcher
// of the daemon. A starter belongs to one caller and knows what the administrator lets that caller have; without an
// administrator, that is anything. Implementations say on which threads they may be used.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/server/policy/user_quota.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class Collector {
 public:
  virtual ~Collector() = default;  // stops it, waits a bounded time, kills it

  virtual int stream_fd() const = 0;  // its trace; the collector owns the descriptor
  virtual void Stop() = 0;            // end well: the rest of the trace follows
  virtual void Kill() = 0;
  // So many captures stop threads of its target: it keeps to its part of what they may use together.
  virtual void ShareStops(uint8_t captures) = 0;
  // The wait(2) status once the collector has ended; nothing when it has not within `timeout`.
  virtual std::optional<int> Wait(Nanos timeout) = 0;
  // Of one that has ended: why the collector's program never ran in it. Nothing: it did, as far as is known.
  virtual std::optional<Error> WhyNotStarted() { return std::nullopt; }
  // CPU time of one that has ended, with its children's, as the kernel counted it. 0: not known.
  virtual Nanos cpu_time() const { return {}; }
  // It has ended, its capture well or with this error. For those who keep a record.
  virtual void Concluded(const std::optional<Error>&) {}
};

struct CaptureParameters;

class CollectorStarter {
 public:
  virtual ~CollectorStarter() = default;
  // All thread-safe.
  virtual Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) = 0;
  // Why Start would refuse to have that process read, whatever the kernel says to it.
  virtual Result<void> MayProfile(Pid) { return {}; }
  virtual UserQuota quota() { return {}; }
  // Cores that all collectors of this machine may use together, whoever starts them.
  virtual std::optional<double> cpu_budget() { return {}; }
  // Nothing was started for that, because of a limit, a name that is taken, or our end; `quota`: whose, of the policy,
  // empty: another's. For those who keep a record.
  virtual void Refused(const CaptureTask&, const Error&, const std::string& /*quota*/) {}
  // That was asked of a capture of another user's, who is told that there is none. For those who keep a record.
  virtual void Kept(std::string_view /*what*/, const CaptureParameters&, const Error&) {}
  // That was done with a capture of another user's: "read", "cancel" or "delete". For those who keep a record.
  virtual void Touched(std::string_view /*what*/, const CaptureParameters&) {}
};

}  // namespace ptrace_prof
