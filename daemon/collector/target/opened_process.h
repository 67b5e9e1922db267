// A process that is being captured: what was found in it when it was opened, and whether it is still that program.
//
// Plain value; one owner. The memory that the interpreter was found through need not outlive Open().
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
  // Errors as those of PythonProcess::Open; kPolicyDenied: the judge has something against what is in there by now, so
  // that no program is recorded that came after the one it had been asked about.
  static Result<OpenedProcess> Open(Pid pid, Pid parent, const ChildJudge* judge);

  bool HasExited() const { return ptrace_prof::HasExited(pidfd); }
  // Another program is in the process, be it the same file once more.
  bool HasExeced(RemoteMemory& memory) const;
  // Has `space` read this program alone; false where there is no mark to know it by.
  bool Anchor(AnchoredMemory& space) const;

  UniqueFd pidfd;
  ExecutableId executable;
  ProgramMark mark;  // while its word is in place, what was found here is
  PythonProcess python;
  ProcessInfo info;
};

}  // namespace ptrace_prof
