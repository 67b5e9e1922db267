// Actions on a daemon's captures that `captures` and `daemon` share, and their messages. Stateless.
#pragma once

#include "attach/base/result.h"
#include "client/cli/exit_code.h"
#include "client/remote/capture_client.h"

namespace ptrace_prof {

enum class ListForm : uint8_t { kTable, kJson };

Result<ExitCode> ListCaptures(CaptureClient& client, ListForm form);
// No error if it has ended already.
Result<ExitCode> CancelCapture(CaptureClient& client, const RemoteCapture& capture);

}  // namespace ptrace_prof
