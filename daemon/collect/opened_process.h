// A process that is being captured: what was found in it when it was opened, and whether it is still that program.
//
// Plain value; one owner. The memory that the interpreter was found through need not outlive Open().
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/proc/procfs.h"
#include "daemon/trace/model.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

struct OpenedProcess {
  // Errors as those of PythonProcess::Open.
  static Result<OpenedProcess> Open(Pid pid, Pid parent);

  bool HasExited() const { return ptrace_prof::HasExited(pidfd); }
  bool HasExeced() const;

  UniqueFd pidfd;
  ExecutableId executable;
  PythonProcess python;
  ProcessInfo info;
};

}  // namespace ptrace_prof
