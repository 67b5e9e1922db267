// Output options that `record` and `export` share: help text, file names, and the closing message.
#pragma once

#include <string>
#include <string_view>

#include "client/cli/exit_code.h"
#include "daemon/export/exporter.h"

namespace ptrace_prof {

std::string FormatHelp();
// "run.pftrace" → "run.html".
std::string WithExtension(std::string_view trace, const FormatInfo& format);
ExitCode ExportExitCode(const Error& error);
// Prints "wrote run.html (1.2 MiB)" and the exporter's notes.
void ReportExport(const ExportSummary& summary, const std::string& output);
std::string HumanSize(uint64_t bytes);

}  // namespace ptrace_prof
