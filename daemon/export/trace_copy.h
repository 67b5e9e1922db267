// The perfetto format: the trace itself, byte by byte, looked through on the way.
//
// What is not a trace is refused before it can replace anything. No filters.
#pragma once

#include "daemon/export/exporter.h"
#include "daemon/export/output.h"

namespace ptrace_prof {

Result<ExportSummary> CopyTrace(int input_fd, Output& out);

}  // namespace ptrace_prof
