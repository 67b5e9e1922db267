// A captured process: what was found in it when it was opened, and whether it still runs the same program.
//
// Plain value; one owner. The memory through which the interpreter was found need not outlive Open().
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/proc/anchored_memory.h"
#include "attach/proc/procfs.h"
#include "attach/proc/program_mark.h"
#include "daemon/collector/target/child_judge.h"
#include "daemon/trace/model.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

struct OpenedProcess {
  // Errors as PythonProcess::Open; kPolicyDenied: the judge refuses the program that is in the process by now. So no
  // program is recorded that replaced the one that the judge had allowed.
  static Result<OpenedProcess> Open(Pid pid, Pid parent, const ChildJudge* judge);

  bool HasExited() const { return ptrace_prof::HasExited(pidfd); }
  // The process has exec'ed another program, or the same file again.
  bool HasExeced(RemoteMemory& memory) const;
  // Makes `space` read this program only. False: there is no mark to recognize it by.
  bool Anchor(AnchoredMemory& space) const;

  UniqueFd pidfd;
  ExecutableId executable;
  ProgramMark mark;  // while its word is in place, what was found here is valid
  PythonProcess python;
  ProcessInfo info;
};

}  // namespace ptrace_prof
