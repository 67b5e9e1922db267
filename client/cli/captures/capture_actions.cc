#include "client/cli/captures/capture_actions.h"

#include <fmt/format.h>
#include <unistd.h>

#include "attach/base/wall_clock.h"
#include "client/cli/captures/captures_text.h"
#include "client/cli/messages.h"

namespace ptrace_prof {

Result<ExitCode> ListCaptures(CaptureClient& client, ListForm form) {
  PP_ASSIGN_OR_RETURN(const auto captures, client.List());
  if (captures.empty() && form == ListForm::kTable) {
    PrintNote("there are no captures; ptrace-prof record --detach starts one");
    return ExitCode::kOk;
  }
  return PrintOut(form == ListForm::kJson ? CapturesJson(captures)
                                          : CapturesTable(captures, RealtimeNow(), Uid(::getuid())));
}

Result<ExitCode> CancelCapture(CaptureClient& client, const RemoteCapture& capture) {
  if (capture.has_ended()) {
    PrintNote(fmt::format("capture {} has ended already ({})", capture.id(), StateName(capture.state)));
    return ExitCode::kOk;
  }
  PP_ASSIGN_OR_RETURN(const RemoteCapture cancelled, client.Cancel(capture.name));
  PrintNote(fmt::format("cancelled {0}; its trace is kept: ptrace-prof captures fetch {0}", cancelled.id()));
  return ExitCode::kOk;
}

}  // namespace ptrace_prof
