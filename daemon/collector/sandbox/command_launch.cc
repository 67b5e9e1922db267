#include "daemon/collector/sandbox/command_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxReport = 64;

void Report(int control, std::string_view word, int number) {
  const std::string line = fmt::format("{} {}\n", word, number);
  // If the parent is gone, the same socket shows EOF a moment later.
  (void)::send(control, line.data(), line.size(), MSG_NOSIGNAL);
}

// Waits until `go` is readable or closed; an already closed `go` means no wait.
[[noreturn]] void ExecCommand(const std::vector<char*>& argv, int failure_pipe, UniqueFd go) {
  for (char byte = 0; ::read(go.get(), &byte, 1) < 0 && errno == EINTR;) {
  }
  ::execvp(argv[0], argv.data());
  const int err = errno;
  (void)!::write(failure_pipe, &err, sizeof err);
  ::_exit(127);
}

int ReadExecFailure(int fd, const LaunchHold& hold) {
  int err = 0;
  pollfd reported{fd, POLLIN, 0};
  while (hold.step && ::poll(&reported, 1, 0) == 0) {
    hold.step();
  }
  ssize_t got = 0;
  while ((got = ::read(fd, &err, sizeof err)) < 0 && errno == EINTR) {
  }
  return got == sizeof err ? err : 0;
}

}  // namespace

Result<Pid> LaunchCommand(const std::vector<std::string>& command, int control, const LaunchHold& hold) {
  std::vector<char*> argv;
  for (const std::string& word : command) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) {
    Report(control, "failed", errno);
    return ErrnoError(errno, "cannot make a pipe");
  }
  UniqueFd failure_read(failure[0]);
  UniqueFd failure_write(failure[1]);
  int go[2];
  if (::pipe2(go, O_CLOEXEC) != 0) {
    Report(control, "failed", errno);
    return ErrnoError(errno, "cannot make a pipe");
  }
  UniqueFd go_read(go[0]);
  UniqueFd go_write(go[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    go_write.reset();
    ExecCommand(argv, failure_write.get(), std::move(go_read));
  }
  const int fork_errno = pid < 0 ? errno : 0;
  if (pid > 0 && hold.begin) {
    hold.begin(Pid(pid));
  }
  failure_write.reset();
  go_write.reset();
  if (const int err = fork_errno != 0 ? fork_errno : ReadExecFailure(failure_read.get(), hold); err != 0) {
    if (pid > 0) {
      if (hold.let_go) {
        hold.let_go();
      }
      ::waitpid(pid, nullptr, 0);
    }
    Report(control, "failed", err);
    return ErrnoError(err, "cannot run " + command[0]);
  }
  Report(control, "started", pid);
  return Pid(pid);
}

Result<Pid> ReceiveLaunchReport(int control) {
  std::string line;
  while (line.size() < kMaxReport && (line.empty() || line.back() != '\n')) {
    char byte = 0;
    const ssize_t got = ::read(control, &byte, 1);
    if (got == 1) {
      line += byte;
    } else if (got == 0 || errno != EINTR) {
      return Because(Reason::kCollectorFailed, "the collector ended before it could start the command");
    }
  }
  int number = 0;
  if (std::sscanf(line.c_str(), "started %d\n", &number) == 1 && number > 0) {
    return Pid(number);
  }
  if (std::sscanf(line.c_str(), "failed %d\n", &number) != 1) {
    return Because(Reason::kCollectorFailed, "the collector sent an unknown report about the command");
  }
  return Because(number == ENOENT ? Reason::kCommandNotFound : Reason::kCommandNotStarted, std::strerror(number));
}

}  // namespace ptrace_prof
