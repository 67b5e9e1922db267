#include "daemon/program/logged_starter.h"

#include "daemon/program/daemon_log.h"

namespace ptrace_prof {
namespace {

const char* VerbName(CaptureVerb verb) {
  switch (verb) {
    case CaptureVerb::kRecord: return "record";
    case CaptureVerb::kDump: return "dump";
    case CaptureVerb::kList: return "list";
    case CaptureVerb::kDoctor: return "doctor";
  }
  return "";
}

// Forwards, and tells the audit of the end.
class AuditedCollector : public Collector {
 public:
  AuditedCollector(std::unique_ptr<Collector> collector, AuditEntry entry, AuditLog& audit)
      : collector_(std::move(collector)), entry_(std::move(entry)), audit_(audit) {}

  int stream_fd() const override { return collector_->stream_fd(); }
  void Stop() override { collector_->Stop(); }
  void Kill() override { collector_->Kill(); }
  std::optional<int> Wait(Nanos timeout) override { return collector_->Wait(timeout); }
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

Result<std::unique_ptr<Collector>> LoggedStarter::Start(const CaptureRequest& request) {
  auto started = starter_.Start(request);
  const std::string uid = std::to_string(caller_.uid);
  const std::string caller = std::to_string(caller_.pid.value);
  const std::string target = std::to_string(request.pid.value);
  if (started.has_error()) {
    Log(LogLevel::kWarning, "collector_failed",
        {{"uid", uid},
         {"caller", caller},
         {"verb", VerbName(request.verb)},
         {"target", target},
         {"message", started.error().message}});
  } else {
    Log(LogLevel::kInfo, "collector_started",
        {{"uid", uid}, {"caller", caller}, {"verb", VerbName(request.verb)}, {"target", target}});
  }
  if (audit_ == nullptr) {
    return started;
  }
  AuditEntry entry{.caller = caller_, .what = VerbName(request.verb), .target = request.pid};
  if (started.has_error()) {
    entry.outcome = OutcomeOf(started.error());
    entry.error = started.error();
  }
  audit_->Write(entry);
  if (started.has_error()) {
    return started;
  }
  return std::unique_ptr<Collector>(
      std::make_unique<AuditedCollector>(std::move(started).value(), std::move(entry), *audit_));
}

}  // namespace ptrace_prof
