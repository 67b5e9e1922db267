#include "daemon/server/program/caller_audit.h"

#include "attach/base/types.h"
#include "daemon/server/captures/capture_facts.h"
#include "daemon/server/program/daemon_log.h"

namespace ptrace_prof {
namespace {

const char* VerbName(CaptureTask::Verb verb) {
  switch (verb) {
    case CaptureTask::RECORD: return "record";
    case CaptureTask::DUMP: return "dump";
    case CaptureTask::LIST: return "list";
    case CaptureTask::DOCTOR: return "doctor";
    default: return "";
  }
}

}  // namespace

AuditEntry CallerAudit::EntryFor(const CaptureTask& request) const {
  return {.caller = caller_, .what = VerbName(request.verb()), .target = TargetOf(request)};
}

void CallerAudit::Report(AuditEntry entry, const Error& error) {
  Log(LogLevel::kWarning, "collector_failed",
      {{"uid", std::to_string(caller_.uid)},
       {"caller", std::to_string(caller_.pid.value)},
       {"verb", entry.what},
       {"target", std::to_string(entry.target.value)},
       {"message", error.message}});
  if (log_ != nullptr) {
    entry.outcome = entry.capture.has_value() ? AuditOutcome::kRefused : OutcomeOf(error);
    entry.error = error;
    log_->Write(entry);
  }
}

// A refusal costs the caller nothing and can be repeated without limit, so the audit records only some of them.
void CallerAudit::ReportSometimes(AuditEntry entry, const Error& error) {
  if (const auto unreported = reported_.Report(caller_.uid, MonotonicNow()); unreported.has_value()) {
    entry.times = 1 + *unreported;
    Report(std::move(entry), WithUnreported(error, *unreported));
  }
}

void CallerAudit::Refused(const CaptureTask& request, const Error& error, const std::string& quota) {
  AuditEntry entry = EntryFor(request);
  entry.rule = quota;
  ReportSometimes(std::move(entry), error);
}

void CallerAudit::Kept(std::string_view what, const CaptureParameters& capture, const Error& error) {
  ReportSometimes({.caller = caller_,
                   .what = std::string(what),
                   .target = TargetOf(capture.request),
                   .capture = AuditedCapture{capture.id, Uid(capture.owner.uid)}},
                  error);
}

void CallerAudit::Touched(std::string_view what, const CaptureParameters& capture) {
  if (log_ != nullptr) {
    log_->Write({.caller = caller_,
                 .what = std::string(what),
                 .target = TargetOf(capture.request),
                 .outcome = AuditOutcome::kAllowed,
                 .capture = AuditedCapture{capture.id, Uid(capture.owner.uid)}});
  }
}

}  // namespace ptrace_prof
