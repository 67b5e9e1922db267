// The default path of a user's daemon's socket, for server and client.
#pragma once

#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

// /run/ptrace-prof/ptrace-prof.sock for root, $XDG_RUNTIME_DIR/ptrace-prof/ptrace-prof.sock for others; empty if that
// variable is not set.
std::string DefaultSocket(Uid user);

}  // namespace ptrace_prof
