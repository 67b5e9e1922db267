#include "daemon/collector/target/patient_open.h"

#include "attach/base/reason.h"
#include "attach/proc/access_diagnosis.h"

namespace ptrace_prof {

bool MayPass(Pid pid, const Error& error) {
  return error.reason == Reason::kPythonNotStarted || error.reason == Reason::kMainThreadEnded ||
         (error.code == Code::kGone && IsThere(pid));
}

Error LostWhileOpened(Pid pid) {
  const std::string target = ThingOf(pid);
  return IsThere(pid)
             ? Because(Reason::kTargetExeced, target + " became another program (exec) while it was being opened",
                       "try again", target)
             : Because(Reason::kTargetExited, target + " ended while it was being opened", "", target);
}

}  // namespace ptrace_prof
