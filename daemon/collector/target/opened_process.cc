#include "daemon/collector/target/opened_process.h"

#include <fmt/format.h>

#include <utility>

#include "attach/proc/proc_file.h"
#include "attach/proc/process_memory.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/inspect/launch_facts.h"

namespace ptrace_prof {
namespace {

ProcessInfo Describe(Pid pid, Pid parent, const ProcessStatus& status, const PythonProcess& python) {
  ProcessInfo info;
  info.pid = pid;
  info.ns_pid = Pid(status.ns_pids.empty() ? pid.value : status.ns_pids.back());
  info.parent_pid = parent;
  info.name = status.name;
  if (auto cmdline = ReadCmdline(pid); cmdline.has_value()) {
    info.cmdline = std::move(cmdline).value();
  }
  info.python = python.version_text;
  if (const auto start = ReadStartTime(pid); start.has_value()) {
    info.start_time = start.value();
  }
  if (const auto environment = ReadEnviron(pid); environment.has_value()) {
    const LaunchFacts launch = ParseEnvironment(environment.value());
    info.rank = launch.rank;
    info.world_size = launch.world_size;
  }
  return info;
}

}  // namespace

Result<OpenedProcess> OpenedProcess::Open(Pid pid, Pid parent, const ChildJudge* judge) {
  PP_ASSIGN_OR_RETURN(UniqueFd pidfd, OpenPidfd(pid));
  PP_ASSIGN_OR_RETURN(const ExecutableId executable, ReadExecutableId(pid));
  PP_ASSIGN_OR_RETURN(const ProcessStatus status, ReadProcessStatus(pid));
  ProcessMemory memory(pid);
  // Read first, so that what is found later belongs to this program or to none.
  const ProgramMark mark = ProgramMark::Read(pid, memory);
  PP_ASSIGN_OR_RETURN(PythonProcess python, PythonProcess::Open(pid, memory));
  if (const auto why_not = judge != nullptr && *judge ? (*judge)(pid) : std::nullopt; why_not.has_value()) {
    return Because(Reason::kPolicyDenied, fmt::format("process {} has become another program: {}", pid.value, *why_not),
                   "ask the administrator of this machine", ThingOf(pid));
  }
  ProcessInfo info = Describe(pid, parent, status, python);
  return OpenedProcess{std::move(pidfd), executable, mark, std::move(python), std::move(info)};
}

bool OpenedProcess::HasExeced(RemoteMemory& memory) const {
  uint64_t word = 0;
  const ReadStatus status = mark.is_known() ? memory.ReadValue(mark.where, &word) : ReadStatus::kDenied;
  if (status != ReadStatus::kDenied) {
    return status != ReadStatus::kGone && !(status == ReadStatus::kOk && word == mark.word);
  }
  const auto now = ReadExecutableId(info.pid);
  return now.has_value() && now.value() != executable;
}

bool OpenedProcess::Anchor(AnchoredMemory& space) const {
  if (mark.is_known()) {
    space.Anchor(mark.where, [ours = mark.word](uint64_t word) { return word == ours; });
  }
  return mark.is_known();
}

}  // namespace ptrace_prof
