// Exports a trace that a command names, and says how that went.
#pragma once

#include <string>

#include "client/cli/exit_code.h"
#include "daemon/export/exporter.h"

namespace ptrace_prof {

// `input` "-" is standard input. Prints the error, or what was written.
ExitCode ExportFile(const std::string& input, const ExportOptions& options, const std::string& output);

}  // namespace ptrace_prof
