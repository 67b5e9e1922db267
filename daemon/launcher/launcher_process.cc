#include "daemon/launcher/launcher_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/launcher/launcher.h"
#include "daemon/launcher/launcher_rights.h"

namespace ptrace_prof {
namespace {

constexpr int kSocketBytes = 1 << 19;
constexpr int kDoorBytes = 1 << 12;  // room for a handful of arrivals: their order is decided before the door

// Detaches from the terminal and ignores signals meant for the daemon: the launcher ends when its socket is closed.
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

// Raises our priority, to accept a looping client's connection before it runs again. Children get the usual one.
void ComeFirst() {
  constexpr int kFirst = -10;
  const sched_param usual{};
  if (::sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &usual) == 0) {
    ::setpriority(PRIO_PROCESS, 0, kFirst);
  }
}

// Closes all descriptors except the first three and the sockets, which become 3, 4 and 5.
LauncherSockets CloseOthers(const LauncherSockets& sockets) {
  constexpr int kFirst = 3;
  constexpr int kAside = kFirst + 3;  // so that no socket is overwritten before it is moved
  int moved[3];
  int count = 0;
  for (const UniqueFd* socket : {&sockets.commands, &sockets.door, &sockets.listening}) {
    moved[count++] = ::fcntl(socket->get(), F_DUPFD_CLOEXEC, kAside);
  }
  LauncherSockets kept;
  UniqueFd* places[3] = {&kept.commands, &kept.door, &kept.listening};
  for (int i = 0; i < count; ++i) {
    if (moved[i] < 0 || ::dup3(moved[i], kFirst + i, O_CLOEXEC) < 0) {
      ::_exit(1);
    }
    places[i]->reset(kFirst + i);
  }
  ::syscall(SYS_close_range, kFirst + 3, ~0U, 0);
  return kept;
}

// Packets go both ways between `ours` and `theirs`.
Result<void> MakePair(UniqueFd& ours, UniqueFd& theirs, int bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoError(errno, "cannot make a socket pair to the launcher");
  }
  ours.reset(ends[0]);
  theirs.reset(ends[1]);
  for (const int end : ends) {
    ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
  return {};
}

}  // namespace

Result<LauncherProcess> ForkLauncher(const UniqueFd& listening, const std::function<void()>& at_end, YamaRule yama) {
  LauncherProcess ours;
  LauncherSockets theirs;
  PP_RETURN_IF_ERROR(MakePair(ours.socket, theirs.commands, kSocketBytes));
  PP_RETURN_IF_ERROR(MakePair(ours.door, theirs.door, kDoorBytes));
  ::fcntl(ours.door.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  theirs.listening.reset(::fcntl(listening.get(), F_DUPFD_CLOEXEC, 3));
  ::fcntl(theirs.listening.get(), F_SETFL, O_RDWR | O_NONBLOCK);  // a socket from a service manager may block
  const pid_t pid = ::fork();
  if (pid < 0) {
    return ErrnoError(errno, "cannot start the launcher", "free some processes (ulimit -u) or memory");
  }
  if (pid == 0) {
    LeaveDaemon();
    LauncherSockets kept = CloseOthers(theirs);
    for (UniqueFd* closed : {&ours.socket, &ours.door, &theirs.commands, &theirs.door, &theirs.listening}) {
      (void)closed->release();  // CloseOthers has closed it
    }
    ComeFirst();
    KeepLaunchingRights();
    // Any other errno means that the kernel has no seccomp, which main notices too.
    if (!NarrowSystemCalls() && errno == ENOMEM) {
      ::_exit(1);
    }
    Launcher launcher(std::move(kept), yama);
    launcher.Run();
    if (at_end) {
      at_end();
    }
    launcher.EndAll();
    ::_exit(0);
  }
  ours.pid = Pid(pid);
  return ours;
}

}  // namespace ptrace_prof
