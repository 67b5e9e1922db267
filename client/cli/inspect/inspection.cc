#include "client/cli/inspect/inspection.h"

#include <fmt/format.h>

#include <optional>

#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kPoll = Nanos::FromMillis(100);
constexpr Nanos kPatience = Nanos::FromSeconds(120);  // the collector may have to give up on several hanging processes

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
  const Nanos deadline = MonotonicNow() + kPatience;
  std::vector<std::byte> buffer(64 * 1024);
  while (MonotonicNow() < deadline) {
    PP_ASSIGN_OR_RETURN(const CaptureStream::Chunk chunk, stream->Read(buffer, kPoll));
    if (chunk.ended) {
      PP_RETURN_IF_ERROR(stream->Finish());
      if (!gatherer.complete) {
        return Because(Reason::kCollectorFailed, "the answer of the collector breaks off", "try again");
      }
      return std::move(gatherer.found);
    }
    PP_RETURN_IF_ERROR(reader.Feed(std::span(buffer).first(chunk.size)));
  }
  stream->Kill();
  return Error{Code::kDeadlineExceeded,
               fmt::format("the collector did not finish within {:.0f} s", kPatience.seconds()), "try again"};
}

}  // namespace ptrace_prof
