// The folder for traces, made before privileges are dropped, and accessible only to the user who writes there
// afterwards.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "daemon/server/program/daemon_user.h"

namespace ptrace_prof {

// Creates it (0700) if it is missing. kPermissionDenied: it belongs to another user, or other users can access it.
Result<void> PrepareSpoolFolder(const std::string& path, const DaemonUser& user);
// Call after privileges are dropped: checks that a trace can be written there.
Result<void> TrySpoolFolder(const std::string& path);

}  // namespace ptrace_prof
