// Turns a trace into another format: the table of formats, and the one function that does it.
//
// ExportTrace reads a trace from a file descriptor once, front to back (a pipe will do), and writes the output
// atomically. Memory stays constant apart from the table of stacks and the totals per stack and thread; what
// formats need in order of time is spooled beside the output. A trace that was cut off is exported up to the cut.
// Knows nothing about processes that still run. Any thread; nothing is shared between calls.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class ExportFormat : uint8_t { kHtml, kSvg, kSpeedscope, kCollapsed, kPprof, kChrome, kPerfetto, kText };

struct FormatInfo {
  ExportFormat format;
  std::string_view name;                         // for --format
  std::span<const std::string_view> extensions;  // each with its dot; the longest match wins
  std::string_view description;                  // one line
  bool for_terminals;                            // may go to a terminal; binary and page formats need a file
};

std::span<const FormatInfo> ExportFormats();
const FormatInfo& InfoOf(ExportFormat format);
// By `name` unless it is empty, else by the extension of `output_path`, without ".gz". The error lists what there is.
Result<ExportFormat> ChooseFormat(std::string_view name, std::string_view output_path);

// What the text format tells of, instead of everything: GPU time.
enum class GpuReport : uint8_t {
  kKernels,  // by kernel, and why the GPUs were idle
  kStacks,   // by the Python stack that launched it
  kModules,  // by nn.Module
  kRanges,   // none: the time of threads in the ranges that the job annotates
};

// kInvalidArgument names the choices.
Result<GpuReport> ParseGpuReport(std::string_view text);

struct ExportOptions {
  std::optional<ExportFormat> format;  // else by extension
  std::vector<std::string> threads;    // only these, by tid or name; empty = all
  std::vector<Pid> processes;          // only these; empty = all
  bool no_idle = false;                // leave out samples of threads that were idle
  std::optional<bool> lines;           // tell lines of a function apart; default: as the format's readers expect
  std::optional<GpuReport> report;     // text only
  std::string title;                   // default: the command line of the first process
};

struct ExportSummary {
  ExportFormat format = ExportFormat::kText;
  uint64_t samples = 0;            // exported, after filters
  uint64_t filtered = 0;           // left out by filters
  uint64_t skipped = 0;            // packets or samples of the trace that made no sense
  uint64_t bytes = 0;              // of the output
  bool cut = false;                // the trace ends without its closing packet
  std::vector<std::string> notes;  // sentences a user should see: limits hit, data left out
};

// An output of this name is compressed, whatever its format ("run.json.gz"); pprof's always is, and but once.
bool IsCompressed(std::string_view output_path);

// Whether an output of this name can be written, as far as its folder tells: known before there is anything to write.
Result<void> CheckPlace(const std::string& output_path);

// `input_fd` is not closed. `output_path` "-" is standard output.
Result<ExportSummary> ExportTrace(int input_fd, const ExportOptions& options, const std::string& output_path);

}  // namespace ptrace_prof
