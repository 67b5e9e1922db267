// Receives those requests of one caller that start no collector: refusals, and uses of other users' captures. This
// class records nothing; the daemon's writes to its log and its audit (daemon/server/program/caller_audit.h).
//
// Owned by the services of its caller. Thread-safe: gRPC's threads and those that start captures report to it.
// Refused() is called under the registry's lock, so it must not call the registry.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

struct CaptureParameters;

class RequestAudit {
 public:
  virtual ~RequestAudit() = default;
  // Nothing was started, because of a limit, an ID in use, or our end. `quota`: the policy's quota that refused it;
  // empty: another reason.
  virtual void Refused(const CaptureTask&, const Error&, const std::string& /*quota*/) {}
  // The caller asked for another user's capture, and the answer was that it does not exist.
  virtual void Kept(std::string_view /*what*/, const CaptureParameters&, const Error&) {}
  // An administrator used another user's capture: "read", "cancel" or "delete".
  virtual void Touched(std::string_view /*what*/, const CaptureParameters&) {}
};

}  // namespace ptrace_prof
