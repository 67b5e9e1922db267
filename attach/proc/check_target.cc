// CheckTarget: what can be said about a pid before anything is done to the process.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "attach/proc/access_diagnosis.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

std::string NameOf(Pid pid) {
  const Result<ProcessStatus> status = ReadProcessStatus(pid);
  return status.has_value() ? status.value().name : "name unknown";
}

// /proc does not show it: it is not there, or the mount option hidepid keeps the processes of others from us.
Error NotVisible(Pid pid) {
  if (::kill(pid.value, 0) != 0 && errno == EPERM) {
    return Error{Code::kPermissionDenied,
                 fmt::format("process {} belongs to another user and /proc is mounted with hidepid", pid.value),
                 "run as that user or with sudo"};
  }
  return Error{Code::kNotFound, fmt::format("there is no process {}", pid.value),
               "look up the pid with `pgrep -a python`; in a container, pids differ from those of the host"};
}

Error Ended(Pid pid, const ProcessStatus& status) {
  const Result<std::vector<int32_t>> threads = ListNumericEntries(ProcPath(pid, "task"));
  if (status.state == 'Z' && threads.has_value() && threads.value().size() > 1) {
    return Error{Code::kFailedPrecondition,
                 fmt::format("the main thread of process {} ({}) has ended although others go on: its memory cannot be "
                             "reached under this pid",
                             pid.value, status.name),
                 ""};
  }
  return Error{Code::kFailedPrecondition,
               fmt::format("process {} ({}) has ended; it is a zombie until its parent {} ({}) takes note", pid.value,
                           status.name, status.ppid.value, NameOf(status.ppid)),
               "profile its parent or a running process"};
}

}  // namespace

Result<void> CheckTarget(Pid pid) {
  if (pid.value <= 0) {
    return Error{Code::kInvalidArgument, fmt::format("{} is not a process id", pid.value), "give a number above 0"};
  }
  if (pid.value == ::getpid()) {
    return Error{Code::kInvalidArgument, fmt::format("process {} is ptrace-prof itself", pid.value),
                 "give the pid of another process"};
  }
  Result<ProcessStatus> read = ReadProcessStatus(pid);
  if (read.has_error()) {
    return read.error().code == Code::kGone ? NotVisible(pid) : std::move(read).error();
  }
  const ProcessStatus& status = read.value();
  if (status.tgid != pid) {
    return Error{Code::kInvalidArgument,
                 fmt::format("{} is a thread of process {} ({})", pid.value, status.tgid.value, NameOf(status.tgid)),
                 fmt::format("use --pid {}", status.tgid.value)};
  }
  if (status.state == 'Z' || status.state == 'X') {
    return Ended(pid, status);
  }
  if (status.kernel_thread) {
    return Error{Code::kInvalidArgument,
                 fmt::format("process {} ({}) is a thread of the kernel and runs no program", pid.value, status.name),
                 "give the pid of a Python process"};
  }
  return {};
}

}  // namespace ptrace_prof
