// CheckTarget: checks of a pid before anything is done to the process.
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

// /proc does not show it: it does not exist, or the mount option hidepid hides other users' processes.
Error NotVisible(Pid pid) {
  if (::kill(pid.value, 0) != 0 && errno == EPERM) {
    return Because(Reason::kProcHidden,
                   fmt::format("process {} belongs to another user and /proc is mounted with hidepid", pid.value),
                   "run as that user or with sudo", ThingOf(pid));
  }
  return Because(Reason::kProcessNotFound, fmt::format("there is no process {}", pid.value),
                 "look up the pid with `pgrep -a python`; in a container, pids differ from those of the host",
                 ThingOf(pid));
}

bool IsOver(const ProcessStatus& status) { return status.state == 'Z' || status.state == 'X'; }

Result<void> Ended(Pid pid, const ProcessStatus& status) {
  const Result<std::vector<int32_t>> threads = ListNumericEntries(ProcPath(pid, "task"));
  if (status.state == 'Z' && threads.has_value() && threads.value().size() > 1) {
    return Because(Reason::kMainThreadEnded,
                   fmt::format("the main thread of process {} ({}) has ended, but others still run: its memory cannot "
                               "be read through this pid",
                               pid.value, status.name),
                   "", ThingOf(pid));
  }
  // If a thread other than the first calls exec, the first one is a zombie until the other takes its id (de_thread in
  // Linux' fs/exec.c). So only a process that is a zombie before and after has ended.
  const Result<ProcessStatus> again = ReadProcessStatus(pid);
  if (again.has_value() && !IsOver(again.value())) {
    return {};
  }
  return Because(Reason::kTargetIsZombie,
                 fmt::format("process {} ({}) has ended; it stays a zombie until its parent {} ({}) reaps it",
                             pid.value, status.name, status.ppid.value, NameOf(status.ppid)),
                 "profile its parent or a running process", ThingOf(pid));
}

}  // namespace

Result<void> CheckTarget(Pid pid) {
  if (pid.value <= 0) {
    return Because(Reason::kInvalidRequest, fmt::format("{} is not a process id", pid.value), "give a number above 0");
  }
  if (pid.value == ::getpid()) {
    return Because(Reason::kTargetIsProfiler, fmt::format("process {} is ptrace-prof itself", pid.value),
                   "give the pid of another process", ThingOf(pid));
  }
  Result<ProcessStatus> read = ReadProcessStatus(pid);
  if (read.has_error() && read.error().code == Code::kGone) {
    read = ReadProcessStatus(pid);  // an exec by another thread replaces the first one, whose open file fails then
  }
  if (read.has_error()) {
    return read.error().code == Code::kGone ? NotVisible(pid) : std::move(read).error();
  }
  const ProcessStatus& status = read.value();
  if (status.tgid != pid) {
    return Because(Reason::kTargetIsThread,
                   fmt::format("{} is a thread of process {} ({})", pid.value, status.tgid.value, NameOf(status.tgid)),
                   fmt::format("use --pid {}", status.tgid.value), ThingOf(status.tgid));
  }
  if (IsOver(status)) {
    PP_RETURN_IF_ERROR(Ended(pid, status));
  }
  if (status.kernel_thread) {
    return Because(Reason::kTargetIsKernelThread,
                   fmt::format("process {} ({}) is a kernel thread and runs no program", pid.value, status.name),
                   "give the pid of a Python process", ThingOf(pid));
  }
  return {};
}

bool IsThere(Pid pid) {
  const Result<void> there = CheckTarget(pid);
  return there.has_value() || there.error().reason == Reason::kMainThreadEnded;
}

}  // namespace ptrace_prof
