#include "daemon/inspect/doctor.h"

#include "attach/proc/access_diagnosis.h"
#include "daemon/inspect/node_checks.h"
#include "daemon/inspect/process_checks.h"

namespace ptrace_prof {
namespace {

EndInfo Refused(Pid pid, const Error& error, TraceWriter& writer) {
  writer.AddCheck(CheckRefusal(pid, error));
  return {error.code, error.message, error.remedy};
}

EndInfo DiagnoseProcess(Pid pid, const std::function<Result<void>()>& harden, TraceWriter& writer) {
  if (const Result<void> target = CheckTarget(pid); target.has_error()) {
    return Refused(pid, target.error(), writer);
  }
  if (const Result<void> hardened = harden(); hardened.has_error()) {
    return Refused(pid, hardened.error(), writer);
  }
  const ProcessVerdict verdict = CheckReadable(pid);
  for (const Check& check : verdict.checks) {
    writer.AddCheck(check);
  }
  return {verdict.error.code, verdict.error.message, verdict.error.remedy};
}

}  // namespace

EndInfo Diagnose(Pid pid, const std::function<Result<void>()>& harden, TraceWriter& writer) {
  EndInfo end;
  for (const Check& check : JudgeNode(GatherNodeFacts())) {
    writer.AddCheck(check);
    if (check.verdict == Verdict::kMissing && end.code == Code::kOk) {
      end = {Code::kPermissionDenied, check.cause, check.remedy};
    }
  }
  if (pid.value == 0) {
    return end;
  }
  return DiagnoseProcess(pid, harden, writer);
}

}  // namespace ptrace_prof
