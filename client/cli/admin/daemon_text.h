// Formats a daemon's status as text and as JSON. Pure functions.
#pragma once

#include <string>

#include "client/remote/remote_daemon.h"

namespace ptrace_prof {

std::string DaemonText(const RemoteDaemon& daemon);
std::string DaemonJson(const RemoteDaemon& daemon);

}  // namespace ptrace_prof
