// The launcher as a process, forked while the daemon still has its privileges and only one thread.
//
// The daemon sends it commands over the socket (launch_message.h). It ends when that socket is closed, for whatever
// reason. Before that, all collectors that it started have ended: they see their control line closed, and those that do
// not end within a bounded time are killed.
// It also does the last privileged step after the daemon's end: it removes the socket's file, which is in a folder of
// root's. It gets the path at the fork, from the still privileged daemon, and accepts no path later.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "daemon/launcher/memory_grantor.h"

namespace ptrace_prof {

struct LauncherProcess {
  UniqueFd socket;  // for commands
  UniqueFd door;    // delivers new connections; non-blocking
  Pid pid;
};

// The launcher accepts connections on its own descriptor of `listening`.
// `at_end` is called once in the launcher after the daemon has ended. Then only the launcher's own descriptors are
// open, and the working directory is "/".
// `yama` is the administrator's choice. It is fixed for the launcher's life: the daemon cannot change it later.
Result<LauncherProcess> ForkLauncher(const UniqueFd& listening, const std::function<void()>& at_end = nullptr,
                                     YamaRule yama = YamaRule::kObeyed);

}  // namespace ptrace_prof
