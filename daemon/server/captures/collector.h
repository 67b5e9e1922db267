// The interface of a running collector, and of its starter: this process itself (local_starter.h), or the daemon's
// launcher. A starter belongs to one caller and knows what the policy allows that caller; without a policy everything
// is allowed. Each implementation documents its threads.
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
  virtual void Stop() = 0;            // asks for a clean end: the rest of the trace follows
  virtual void Kill() = 0;
  // The number of captures that stop threads of this target. The collector uses only its part of their common limit.
  virtual void ShareStops(uint8_t captures) = 0;
  // Returns the wait(2) status once the collector has ended, or nothing after `timeout`.
  virtual std::optional<int> Wait(Nanos timeout) = 0;
  // After the end: why the collector's program never ran. Nothing: it did run, as far as is known.
  virtual std::optional<Error> WhyNotStarted() { return std::nullopt; }
  // After the end: its CPU time and its children's, as counted by the kernel. 0: not known.
  virtual Nanos cpu_time() const { return {}; }
  // The collector has ended; its capture succeeded, or failed with this error. For implementations that keep an audit.
  virtual void Concluded(const std::optional<Error>&) {}
};

struct CaptureParameters;

class CollectorStarter {
 public:
  virtual ~CollectorStarter() = default;
  // All methods are thread-safe.
  virtual Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) = 0;
  // The reason for which Start would refuse this process, apart from the kernel's.
  virtual Result<void> MayProfile(Pid) { return {}; }
  virtual UserQuota quota() { return {}; }
  // The number of cores that all collectors on this machine may use together, regardless of the user who starts them.
  virtual std::optional<double> cpu_budget() { return {}; }
  // Nothing was started, because of a limit, an ID in use, or our end. `quota`: the policy's quota that refused it;
  // empty: another reason. For implementations that keep an audit.
  virtual void Refused(const CaptureTask&, const Error&, const std::string& /*quota*/) {}
  // The caller asked for another user's capture, and the answer was that it does not exist. For implementations with an
  // audit.
  virtual void Kept(std::string_view /*what*/, const CaptureParameters&, const Error&) {}
  // An administrator used another user's capture: "read", "cancel" or "delete". For implementations with an audit.
  virtual void Touched(std::string_view /*what*/, const CaptureParameters&) {}
};

}  // namespace ptrace_prof
