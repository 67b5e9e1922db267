#include "daemon/collector/sandbox/owner_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "attach/base/unique_fd.h"
#include "daemon/collector/sandbox/confinement.h"
#include "daemon/collector/sandbox/pipe_sink.h"
#include "daemon/collector/sandbox/system_call_filter.h"

namespace ptrace_prof {
namespace {

// Root without CAP_KILL cannot kill a child that runs as another user; so the child limits its own life.
constexpr unsigned kLongestLife = 60;  // s
constexpr size_t kMostBytes = size_t{256} << 20;

// Reads to the end; returns a description of the failure, empty if there is none.
std::string ReadAll(int fd, Nanos patience, std::string& bytes) {
  std::array<char, 64 * 1024> buffer{};
  while (bytes.size() < kMostBytes) {
    pollfd readable{fd, POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(patience.value / 1'000'000));
    if (ready == 0) {
      return fmt::format("made no progress for {:.0f} s and was killed", patience.seconds());
    }
    const ssize_t got = ready < 0 ? -1 : ::read(fd, buffer.data(), buffer.size());
    if (got == 0) {
      return "";
    }
    if (got > 0) {
      bytes.append(buffer.data(), static_cast<size_t>(got));
    } else if (errno != EINTR) {
      return fmt::format("could not be read ({})", ::strerror(errno));
    }
  }
  return "sent too much data";
}

std::string Reap(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return "was lost";
    }
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exited with status {}", WEXITSTATUS(status));
}

}  // namespace

OwnerChildReport RunAsOwner(const TargetOwner& owner, const std::function<int()>& probe,
                            const std::function<void(const std::optional<Error>& denied, ByteSink& sink)>& work,
                            Nanos patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {"", fmt::format("could not be started ({})", ::strerror(errno))};
  }
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return {"", fmt::format("could not be started ({})", ::strerror(errno))};
  }
  if (child == 0) {
    read_end = UniqueFd();
    const Result<RightsKept> kept = SurrenderRights(owner, probe);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of user id clears it
    if (::getppid() != parent) {
      ::_exit(1);
    }
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(kLongestLife);
    LimitResources(0);
    const std::optional<Error> denied = kept.has_error() ? std::optional(kept.error()) : std::nullopt;
    if (RequireSystemCallFilter(TargetAccess::kRead).has_error()) {
      ::_exit(1);
    }
    PipeSink sink(std::move(write_end));
    work(denied, sink);
    ::_exit(0);
  }
  write_end = UniqueFd();
  OwnerChildReport report;
  report.ended = ReadAll(read_end.get(), patience, report.bytes);
  if (!report.ended.empty()) {
    ::kill(child, SIGKILL);
  }
  const std::string status = Reap(child);
  report.ended = report.ended.empty() ? status : report.ended;
  return report;
}

}  // namespace ptrace_prof
