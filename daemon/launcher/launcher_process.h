// The launcher as a process: forked by the daemon while that still has its rights and only one thread.
//
// The daemon talks to it over the socket (launch_message.h). It ends when that socket is closed, whatever became of the
// daemon, and before that all collectors that it started have ended: they see their control line closed, and who does
// not within a bounded time is killed.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

struct LauncherProcess {
  UniqueFd socket;
  Pid pid;
};

Result<LauncherProcess> ForkLauncher();

}  // namespace ptrace_prof
