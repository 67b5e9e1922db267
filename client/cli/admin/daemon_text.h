// What a daemon says of itself, in writing: for people, and as JSON. Pure functions.
#pragma once

#include <string>

#include "client/remote/remote_daemon.h"

namespace ptrace_prof {

std::string DaemonText(const RemoteDaemon& daemon);
std::string DaemonJson(const RemoteDaemon& daemon);

}  // namespace ptrace_prof
