// The launcher as a process: forked by the daemon while that still has its rights and only one thread.
//
// The daemon talks to it over the socket (launch_message.h). It ends when that socket is closed, whatever became of the
// daemon, and before that all collectors that it started have ended: they see their control line closed, and who does
// not within a bounded time is killed.
// What is left to do with rights once the daemon is gone is its duty too: removing the socket's file, which lies in a
// folder of root's. It is told which file that is when it is forked, by the daemon that has its rights still; it takes
// no path from anybody later.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "daemon/launcher/memory_grantor.h"

namespace ptrace_prof {

struct LauncherProcess {
  UniqueFd socket;  // for commands
  UniqueFd door;    // where those arrive who connected; does not block
  Pid pid;
};

// It accepts connections of `listening`, of which it has a descriptor of its own.
// `at_end` is called in the launcher, once, when the daemon is gone: no descriptor but the launcher's own is open then,
// and the working directory is "/".
// `yama` is what the administrator says, and holds as long as the launcher lives: the daemon has no say in it later.
Result<LauncherProcess> ForkLauncher(const UniqueFd& listening, const std::function<void()>& at_end = nullptr,
                                     YamaRule yama = YamaRule::kObeyed);

}  // namespace ptrace_prof
