#include "daemon/launcher/start_collector.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "daemon/launcher/collector_rights.h"

namespace ptrace_prof {
namespace {

constexpr int kPipeBytes = 1 << 20;  // best effort
// All of our environment that a collector gets: it may belong to a user who must not see the rest.
constexpr std::string_view kKeptVariables[] = {"ASAN_OPTIONS=", "LSAN_OPTIONS=", "TSAN_OPTIONS=", "UBSAN_OPTIONS="};

struct Lines {
  int memory = -1;
  UniqueFd stream_write;
  UniqueFd control_theirs;
  UniqueFd report_write;  // closed by exec
};

bool MakeLines(StartedCollector& ours, Lines& theirs) {
  int stream[2];
  int control[2];
  int report[2];
  if (::pipe2(stream, O_CLOEXEC) != 0) {
    return false;
  }
  ours.stream.reset(stream[0]);
  theirs.stream_write.reset(stream[1]);
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0) {
    return false;
  }
  ours.control.reset(control[0]);
  theirs.control_theirs.reset(control[1]);
  if (::pipe2(report, O_CLOEXEC) != 0) {
    return false;
  }
  ours.report.reset(report[0]);
  theirs.report_write.reset(report[1]);
  ::fcntl(stream[1], F_SETPIPE_SZ, kPipeBytes);
  return true;
}

std::vector<char*> KeptEnvironment() {
  std::vector<char*> kept;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    for (const std::string_view name : kKeptVariables) {
      if (std::string_view(*variable).starts_with(name)) {
        kept.push_back(*variable);
      }
    }
  }
  kept.push_back(nullptr);
  return kept;
}

void ResetSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child; returns only on failure.
LaunchFailure BecomeCollector(const CollectorRights& rights, const Lines& lines, char* const* argv, char* const* env) {
  ResetSignals();
  // The collector's user could take over the daemon's log through its descriptor. Sanitizers keep their output.
  const int null = env[0] == nullptr ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
  if (null >= 0) {
    ::dup2(null, STDERR_FILENO);
  }
  if (const int refused = TakeRights(rights); refused != 0) {
    return {LaunchStage::kIdentity, refused};
  }
  ::fcntl(lines.stream_write.get(), F_SETFD, 0);
  ::fcntl(lines.control_theirs.get(), F_SETFD, 0);
  ::fcntl(lines.memory, F_SETFD, 0);
  ::execve("/proc/self/exe", argv, env);
  return {LaunchStage::kProgram, errno};
}

}  // namespace

std::optional<StartedCollector> StartCollector(const LaunchRequest& request, const CallerIdentity& caller,
                                               const UniqueFd& memory, LaunchFailure& failure) {
  StartedCollector ours;
  Lines theirs;
  theirs.memory = memory.get();
  failure = {LaunchStage::kResources, 0};
  if (!MakeLines(ours, theirs)) {
    failure.error_number = errno;
    return std::nullopt;
  }
  std::vector<std::string> arguments{"ptrace-prof", "__collector", std::to_string(theirs.stream_write.get()),
                                     std::to_string(theirs.control_theirs.get())};
  if (memory.is_open()) {
    arguments.push_back("memory_line=" + std::to_string(memory.get()));
  }
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  const std::vector<char*> env = KeptEnvironment();
  const CollectorRights rights = ChooseRights(caller, request.target);
  ours.pid = ::fork();
  if (ours.pid < 0) {
    failure.error_number = errno;
    return std::nullopt;
  }
  if (ours.pid == 0) {
    const LaunchFailure why = BecomeCollector(rights, theirs, argv.data(), env.data());
    (void)!::write(theirs.report_write.get(), &why, sizeof why);
    ::_exit(127);
  }
  ours.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, ours.pid, 0)));
  return ours;
}

}  // namespace ptrace_prof
