#include "daemon/server/captures/collector_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>

#include "daemon/collector/sandbox/command_launch.h"
#include "daemon/collector/sandbox/stop_line.h"

namespace ptrace_prof {
namespace {

constexpr int kPipeBytes = 1 << 20;  // best effort: an ordinary user's pipe buffers are limited
constexpr Nanos kLastWait = Nanos::FromMillis(3000);

void MakeInheritable(int fd) { ::fcntl(fd, F_SETFD, 0); }

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) {
    pointers.push_back(s.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Arguments(const CollectorSpec& spec, int stream, int control) {
  std::vector<std::string> arguments{"ptrace-prof", kCollectorArgument, std::to_string(stream), std::to_string(control),
                                     spec.task};
  if (!spec.command.empty()) {
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), spec.command.begin(), spec.command.end());
  }
  return arguments;
}

}  // namespace

CollectorProcess::CollectorProcess(pid_t pid, UniqueFd stream, UniqueFd control)
    : pid_(pid),
      stream_(std::move(stream)),
      control_(std::move(control)),
      pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

CollectorProcess::CollectorProcess(CollectorProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      stream_(std::move(other.stream_)),
      control_(std::move(other.control_)),
      pidfd_(std::move(other.pidfd_)),
      status_(other.status_) {}

CollectorProcess::~CollectorProcess() {
  if (pid_ < 0) {
    return;
  }
  Stop();
  stream_.reset();  // a collector blocked on the full pipe gets EPIPE
  if (!Wait(kLastWait).has_value()) {
    Kill();
    Wait(kLastWait);  // a thread held by the kernel in a wedged target ends only when released
  }
}

Result<CollectorProcess> CollectorProcess::Start(const CollectorSpec& spec) {
  int stream[2];
  if (::pipe2(stream, O_CLOEXEC) != 0) {
    return ErrnoError(errno, "cannot make a pipe to the collector");
  }
  UniqueFd stream_read(stream[0]);
  UniqueFd stream_write(stream[1]);
  int control[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0) {
    return ErrnoError(errno, "cannot make a socket pair to the collector");
  }
  UniqueFd control_ours(control[0]);
  UniqueFd control_theirs(control[1]);
  ::fcntl(stream_write.get(), F_SETPIPE_SZ, kPipeBytes);
  if (!spec.command.empty() && ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return ErrnoError(errno, "cannot become the reaper of the command");
  }
  std::vector<std::string> arguments = Arguments(spec, stream_write.get(), control_theirs.get());
  const std::vector<char*> argv = Pointers(arguments);
  const pid_t pid = ::fork();
  if (pid < 0) {
    Error error = ErrnoError(errno, "cannot start the collector process", "free some processes (ulimit -u) or memory");
    error.reason = Reason::kOutOfResources;
    error.code = CodeOf(error.reason);
    return error;
  }
  if (pid == 0) {
    MakeInheritable(stream_write.get());
    MakeInheritable(control_theirs.get());
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  return CollectorProcess(pid, std::move(stream_read), std::move(control_ours));
}

Result<Pid> CollectorProcess::AwaitCommand() { return ReceiveLaunchReport(control_.get()); }

void CollectorProcess::ShareStops(uint8_t captures) { ReportSharers(control_, captures); }

void CollectorProcess::Stop() { control_.reset(); }

void CollectorProcess::Kill() {
  if (pid_ > 0 && !status_.has_value()) {
    ::kill(pid_, SIGKILL);
  }
}

std::optional<int> CollectorProcess::Wait(Nanos timeout) {
  const Nanos deadline = MonotonicNow() + timeout;
  while (!status_.has_value()) {
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == pid_) {
      status_ = status;
    } else if (got < 0 && errno != EINTR) {
      status_ = 0;  // reaped elsewhere: the status is lost
    } else {
      const Nanos left = deadline - MonotonicNow();
      if (left.value <= 0) {
        return std::nullopt;
      }
      pollfd ended{pidfd_.get(), POLLIN, 0};  // without a pidfd (old kernel) this is a short sleep
      ::poll(&ended, 1, pidfd_.is_open() ? static_cast<int>(left.value / 1'000'000) + 1 : 10);
    }
  }
  return status_;
}

}  // namespace ptrace_prof
