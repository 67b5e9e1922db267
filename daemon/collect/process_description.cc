#include "daemon/collect/process_description.h"

#include <utility>

namespace ptrace_prof {

ProcessInfo DescribeProcess(Pid pid, Pid parent, const ProcessStatus& status, const PythonProcess& python) {
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
  return info;
}

}  // namespace ptrace_prof
