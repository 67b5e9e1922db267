#include "daemon/server/program/logged_starter.h"

#include "attach/proc/procfs.h"
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

// Forwards all calls, and writes the end to the audit.
class AuditedCollector : public Collector {
 public:
  AuditedCollector(std::unique_ptr<Collector> collector, AuditEntry entry, AuditLog& audit)
      : collector_(std::move(collector)), entry_(std::move(entry)), audit_(audit) {}

  int stream_fd() const override { return collector_->stream_fd(); }
  void Stop() override { collector_->Stop(); }
  void ShareStops(uint8_t captures) override { collector_->ShareStops(captures); }
  void Kill() override { collector_->Kill(); }
  std::optional<int> Wait(Nanos timeout) override { return collector_->Wait(timeout); }
  Nanos cpu_time() const override { return collector_->cpu_time(); }
  std::optional<Error> WhyNotStarted() override { return collector_->WhyNotStarted(); }
  void Concluded(const std::optional<Error>& error) override {
    entry_.outcome = error.has_value() ? OutcomeOf(*error) : AuditOutcome::kAllowed;
    entry_.error = error.value_or(Error{});
    audit_.Write(entry_);
  }

 private:
  const std::unique_ptr<Collector> collector_;
  AuditEntry entry_;
  AuditLog& audit_;
};

}  // namespace

Result<std::unique_ptr<Collector>> LoggedStarter::StartJudged(CaptureTask request, PolicyGate::Judgement judgement) {
  if (judgement.refusal.has_value()) {
    return std::move(*judgement.refusal);
  }
  if (judgement.target.is_open() && request.spec().target().start_time_ticks() == 0) {
    // Pins the process that we judged: its pid may belong to another process when the collector opens it.
    const auto ticks = ReadStartTicks(TargetOf(request));
    request.mutable_spec()->mutable_target()->set_start_time_ticks(ticks.has_value() ? ticks.value() : 0);
  }
  request.set_child_rules(gate_.child_rules());
  PP_ASSIGN_OR_RETURN(auto collector, starter_.Start(request));
  if (judgement.target.is_open() && HasExited(judgement.target)) {
    return WhyGone(TargetOf(request));
  }
  return collector;
}

AuditEntry LoggedStarter::EntryFor(const CaptureTask& request) const {
  return {.caller = caller_, .what = VerbName(request.verb()), .target = TargetOf(request)};
}

Result<std::unique_ptr<Collector>> LoggedStarter::Start(const CaptureTask& request) {
  PolicyGate::Judgement judgement = gate_.Judge(TargetOf(request), audit_ != nullptr);
  AuditEntry entry = EntryFor(request);
  entry.rule = judgement.rule;
  if (judgement.facts.has_value()) {
    entry.whom = AuditedTarget{judgement.facts->owner, judgement.facts->command};
  }
  auto started = StartJudged(request, std::move(judgement));
  if (started.has_error()) {
    Report(std::move(entry), started.error());
    return started;
  }
  Log(LogLevel::kInfo, "collector_started",
      {{"uid", std::to_string(caller_.uid)},
       {"caller", std::to_string(caller_.pid.value)},
       {"verb", VerbName(request.verb())},
       {"target", std::to_string(TargetOf(request).value)}});
  if (audit_ == nullptr) {
    return started;
  }
  audit_->Write(entry);
  return std::unique_ptr<Collector>(
      std::make_unique<AuditedCollector>(std::move(started).value(), std::move(entry), *audit_));
}

void LoggedStarter::Report(AuditEntry entry, const Error& error) {
  Log(LogLevel::kWarning, "collector_failed",
      {{"uid", std::to_string(caller_.uid)},
       {"caller", std::to_string(caller_.pid.value)},
       {"verb", entry.what},
       {"target", std::to_string(entry.target.value)},
       {"message", error.message}});
  if (audit_ != nullptr) {
    entry.outcome = entry.capture.has_value() ? AuditOutcome::kRefused : OutcomeOf(error);
    entry.error = error;
    audit_->Write(entry);
  }
}

// A refusal costs the caller nothing and can be repeated without limit, so the audit records only some of them.
void LoggedStarter::ReportSometimes(AuditEntry entry, const Error& error) {
  if (const auto unreported = reported_.Report(caller_.uid, MonotonicNow()); unreported.has_value()) {
    entry.times = 1 + *unreported;
    Report(std::move(entry), WithUnreported(error, *unreported));
  }
}

void LoggedStarter::Refused(const CaptureTask& request, const Error& error, const std::string& quota) {
  AuditEntry entry = EntryFor(request);
  entry.rule = quota;
  ReportSometimes(std::move(entry), error);
}

void LoggedStarter::Kept(std::string_view what, const CaptureParameters& capture, const Error& error) {
  ReportSometimes({.caller = caller_,
                   .what = std::string(what),
                   .target = TargetOf(capture.request),
                   .capture = AuditedCapture{capture.id, Uid(capture.owner.uid)}},
                  error);
}

void LoggedStarter::Touched(std::string_view what, const CaptureParameters& capture) {
  if (audit_ != nullptr) {
    audit_->Write({.caller = caller_,
                   .what = std::string(what),
                   .target = TargetOf(capture.request),
                   .outcome = AuditOutcome::kAllowed,
                   .capture = AuditedCapture{capture.id, Uid(capture.owner.uid)}});
  }
}

Result<void> LoggedStarter::MayProfile(Pid target) {
  auto refusal = gate_.Judge(target).refusal;
  return refusal.has_value() ? Result<void>(std::move(*refusal)) : Result<void>();
}

}  // namespace ptrace_prof
