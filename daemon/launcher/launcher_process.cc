#include "daemon/launcher/launcher_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/launcher/launcher.h"
#include "daemon/launcher/launcher_rights.h"

namespace ptrace_prof {
namespace {

constexpr int kSocketBytes = 1 << 19;

// Away from the terminal and from signals that are meant for the daemon: the end of the socket is what ends us.
void LeaveDaemon() {
  ::setsid();
  (void)!::chdir("/");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    ::signal(signal, SIG_IGN);
  }
  ::prctl(PR_SET_NAME, "ptrace-prof-lau");
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nothing.is_open()) {
    ::dup2(nothing.get(), STDIN_FILENO);
    ::dup2(nothing.get(), STDOUT_FILENO);
  }
}

// Every descriptor but the first three and the socket, which becomes 3.
UniqueFd CloseOthers(UniqueFd socket) {
  constexpr int kFirst = 3;
  if (socket.get() != kFirst) {
    ::dup3(socket.get(), kFirst, O_CLOEXEC);
    socket.reset(kFirst);
  }
  ::syscall(SYS_close_range, kFirst + 1, ~0U, 0);
  return socket;
}

}  // namespace

Result<LauncherProcess> ForkLauncher(const std::function<void()>& at_end) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoError(errno, "cannot make a socket pair to the launcher");
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  for (const int end : ends) {
    ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes);
  }
  const pid_t pid = ::fork();
  if (pid < 0) {
    return ErrnoError(errno, "cannot start the launcher", "free some processes (ulimit -u) or memory");
  }
  if (pid == 0) {
    LeaveDaemon();
    (void)ours.release();  // closed with all others
    theirs = CloseOthers(std::move(theirs));
    KeepLaunchingRights();
    Launcher launcher(std::move(theirs));
    launcher.Run();
    if (at_end) {
      at_end();
    }
    launcher.EndAll();
    ::_exit(0);
  }
  return LauncherProcess{std::move(ours), Pid(pid)};
}

}  // namespace ptrace_prof
