#include "client/cli/inspect/inspection.h"

#include <optional>

#include "client/cli/inspect/answer_stream.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kInspectionPatience =
    Nanos::FromSeconds(120);  // the collector may have to give up on several hanging processes

class Gatherer : public TraceVisitor {
 public:
  void OnProcessEntry(const ProcessEntry& entry) override { found.entries.push_back(entry); }
  void OnCheck(const Check& check) override { found.checks.push_back(check); }
  void OnEnd(const EndInfo& end) override {
    found.end = end;
    complete = true;
  }

  Inspection found;
  bool complete = false;
};

}  // namespace

Code OutcomeFor(const Inspection& inspection, Pid pid) {
  for (const Check& check : inspection.checks) {
    if (check.pid == pid && check.verdict == Verdict::kMissing) {
      return check.code == Code::kOk ? Code::kPermissionDenied : check.code;
    }
  }
  return Code::kOk;
}

Result<Inspection> Inspect(CaptureBackend& backend, const CaptureTask& request) {
  PP_ASSIGN_OR_RETURN(const auto stream, backend.Start(request, {}));
  Gatherer gatherer;
  TraceReader reader(gatherer);
  PP_RETURN_IF_ERROR(
      ReadAnswer(*stream, kInspectionPatience, [&](std::span<const std::byte> part) { return reader.Feed(part); }));
  if (!gatherer.complete) {
    return Because(Reason::kCollectorFailed, "the answer of the collector breaks off", "try again");
  }
  return std::move(gatherer.found);
}

}  // namespace ptrace_prof
