// What a trace says of a process that is captured: its ids, names, interpreter and start.
//
// Stateless; reads /proc.
#pragma once

#include "attach/base/types.h"
#include "attach/proc/procfs.h"
#include "daemon/trace/model.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

ProcessInfo DescribeProcess(Pid pid, Pid parent, const ProcessStatus& status, const PythonProcess& python);

}  // namespace ptrace_prof
