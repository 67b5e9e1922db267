// What one caller is allowed: which processes it may profile, and how much at once. This class allows everything, as
// without a policy; the daemon's gate applies its policy (daemon/server/program/policy_gate.h).
//
// Owned by the services of its caller. Thread-safe: it is asked on gRPC's threads and on those that start captures.
// cpu_budget() is called under the registry's lock, so it must not call the registry.
#pragma once

#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/server/policy/user_quota.h"

namespace ptrace_prof {

class CallerAllowance {
 public:
  virtual ~CallerAllowance() = default;
  // The reason for which a start would refuse this process, apart from the kernel's.
  virtual Result<void> MayProfile(Pid) const { return {}; }
  virtual UserQuota quota() const { return {}; }
  // The number of cores that all collectors on this machine may use together, regardless of the user who starts them.
  virtual std::optional<double> cpu_budget() const { return {}; }
};

}  // namespace ptrace_prof
