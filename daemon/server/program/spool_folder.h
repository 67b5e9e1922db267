// The folder for traces: made before rights are dropped, for the user who writes there afterwards, and for nobody else.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "daemon/server/program/daemon_user.h"

namespace ptrace_prof {

// Makes it (0700) where it is missing. kPermissionDenied: it is there, and it is somebody else's or open to others.
Result<void> PrepareSpoolFolder(const std::string& path, const DaemonUser& user);
// With rights dropped: whether a trace can be written there.
Result<void> TrySpoolFolder(const std::string& path);

}  // namespace ptrace_prof
