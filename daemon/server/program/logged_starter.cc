#include "daemon/server/program/logged_starter.h"

#include "attach/proc/procfs.h"
#include "daemon/server/program/daemon_log.h"

namespace ptrace_prof {
namespace {

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

Result<std::unique_ptr<Collector>> LoggedStarter::Start(const CaptureTask& request) {
  PolicyGate::Judgement judgement = gate_.Judge(TargetOf(request), audit_.log() != nullptr);
  AuditEntry entry = audit_.EntryFor(request);
  entry.rule = judgement.rule;
  if (judgement.facts.has_value()) {
    entry.whom = AuditedTarget{judgement.facts->owner, judgement.facts->command};
  }
  auto started = StartJudged(request, std::move(judgement));
  if (started.has_error()) {
    audit_.Report(std::move(entry), started.error());
    return started;
  }
  Log(LogLevel::kInfo, "collector_started",
      {{"uid", std::to_string(entry.caller.uid)},
       {"caller", std::to_string(entry.caller.pid.value)},
       {"verb", entry.what},
       {"target", std::to_string(entry.target.value)}});
  if (audit_.log() == nullptr) {
    return started;
  }
  audit_.log()->Write(entry);
  return std::unique_ptr<Collector>(
      std::make_unique<AuditedCollector>(std::move(started).value(), std::move(entry), *audit_.log()));
}

}  // namespace ptrace_prof
