// What both `captures` and `daemon` do with captures of a daemon, and say about it. Stateless.
#pragma once

#include "attach/base/result.h"
#include "client/cli/exit_code.h"
#include "client/remote/capture_client.h"

namespace ptrace_prof {

enum class ListForm : uint8_t { kTable, kJson };

Result<ExitCode> ListCaptures(CaptureClient& client, ListForm form);
// One that has ended already is no error.
Result<ExitCode> CancelCapture(CaptureClient& client, const RemoteCapture& capture);

}  // namespace ptrace_prof
