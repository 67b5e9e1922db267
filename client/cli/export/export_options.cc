#include "client/cli/export/export_options.h"

#include <fmt/format.h>

#include <array>

#include "client/cli/messages.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kTraceExtension = ".pftrace";

}  // namespace

std::string FormatHelp() {
  std::string names;
  for (const FormatInfo& info : ExportFormats()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  }
  return fmt::format("Output format: {} (default: by file extension; a further .gz compresses the file)", names);
}

std::string WithExtension(std::string_view trace, const FormatInfo& format) {
  if (trace.ends_with(kTraceExtension)) {
    trace.remove_suffix(kTraceExtension.size());
  }
  return fmt::format("{}{}", trace, format.extensions.empty() ? "" : format.extensions.front());
}

ExitCode ExportExitCode(const Error& error) {
  switch (error.code) {
    case Code::kDataLoss: return ExitCode::kBadTrace;
    case Code::kInvalidArgument: return ExitCode::kUsage;
    case Code::kInternal: return ExitCode::kInternal;
    default: return ExitCode::kOutput;
  }
}

void ReportExport(const ExportSummary& summary, const std::string& output) {
  for (const std::string& note : summary.notes) {
    PrintNote("note: " + note);
  }
  if (summary.cut) {
    PrintNote("note: the trace was cut off; the output ends there");
  }
  if (summary.skipped > 0) {
    PrintNote(fmt::format("note: {} invalid packets or samples were skipped", summary.skipped));
  }
  if (output != "-") {
    PrintNote(fmt::format("wrote {} ({}, {})", output, InfoOf(summary.format).name, HumanSize(summary.bytes)));
  }
}

std::string HumanSize(uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", size, kUnits[unit]);
}

}  // namespace ptrace_prof
