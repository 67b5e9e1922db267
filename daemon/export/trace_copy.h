// The perfetto format: a byte-for-byte copy of the trace, checked while it is copied.
//
// Input that is not a trace is refused before it can replace a file. No filters.
#pragma once

#include "daemon/export/exporter.h"
#include "daemon/export/output.h"

namespace ptrace_prof {

Result<ExportSummary> CopyTrace(int input_fd, Output& out);

}  // namespace ptrace_prof
