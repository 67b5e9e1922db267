#include "client/cli/record/record_detached.h"

#include <fmt/format.h>

#include <cstdio>

#include "client/cli/messages.h"
#include "client/remote/capture_client.h"

namespace ptrace_prof {
namespace {

// Creates the capture and returns it once it has left its initial state.
Result<RemoteCapture> Begin(CaptureClient& client, const CaptureTask& request) {
  PP_ASSIGN_OR_RETURN(RemoteCapture capture, client.Create(request));
  const auto is_enough = [&](const RemoteCapture& now) {
    capture = now;
    return now.state == RemoteState::kPending;
  };
  PP_RETURN_IF_ERROR(client.Watch(capture.name, is_enough, nullptr));
  return capture;
}

}  // namespace

int RecordDetached(CaptureBackend& backend, const CaptureTask& request, bool quiet) {
  const auto client = backend.Captures();
  if (client.has_error()) {
    return static_cast<int>(Fail(client.error()));
  }
  const auto begun = Begin(*client.value(), request);
  if (begun.has_error()) {
    return static_cast<int>(Fail(begun.error()));
  }
  const RemoteCapture& capture = begun.value();
  if (capture.error.has_value()) {
    (void)client.value()->Delete(capture.name, DeleteMode::kEndedOnly);  // its trace is empty
    return static_cast<int>(Fail(*capture.error));
  }
  fmt::print("{}\n", capture.id());
  if (std::fflush(stdout) != 0) {
    return static_cast<int>(Fail({Code::kResourceExhausted, "cannot write to standard output",
                                  fmt::format("the capture continues; its ID is {}", capture.id())},
                                 ExitCode::kOutput));
  }
  if (!quiet) {
    for (const std::string& notice : capture.notices) {
      PrintNote("note: " + notice);
    }
    PrintNote(fmt::format("the daemon records process {0}; its output: ptrace-prof captures fetch {1} --follow",
                          capture.pid.value, capture.id()));
  }
  return 0;
}

}  // namespace ptrace_prof
