// Where a user's daemon listens, unless it was told otherwise; server and client agree on it here.
#pragma once

#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

// /run/ptrace-prof/ptrace-prof.sock for root, $XDG_RUNTIME_DIR/ptrace-prof/ptrace-prof.sock for others; empty where
// that variable is not set.
std::string DefaultSocket(Uid user);

}  // namespace ptrace_prof
