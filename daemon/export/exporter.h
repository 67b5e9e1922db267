// Converts a trace to another format: the table of formats (formats.inc), and the function ExportTrace.
//
// ExportTrace reads a trace from a file descriptor once, front to back (a pipe is enough), and writes the output
// atomically. Memory stays constant apart from the table of stacks and the totals per stack and thread. Data that a
// format needs in order of time is spooled beside the output. A trace that was cut off is exported up to the cut. Does
// not access running processes. Callable from any thread; calls share no state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

enum class ExportFormat : uint8_t {
#define PP_FORMAT(Format, ...) k##Format,
#include "daemon/export/formats.inc"
};

struct FormatInfo {
  ExportFormat format;
  std::string_view name;                         // for --format
  std::span<const std::string_view> extensions;  // each with its dot; the longest match is chosen
  std::string_view description;                  // one line
  bool for_terminals;                            // may be written to a terminal; binary and page formats need a file
};

std::span<const FormatInfo> ExportFormats();
const FormatInfo& InfoOf(ExportFormat format);
// By `name` unless it is empty, else by the extension of `output_path` without ".gz". The error lists the formats.
Result<ExportFormat> ChooseFormat(std::string_view name, std::string_view output_path);

// A report of GPU data that the text format shows in place of everything else.
enum class GpuReport : uint8_t {
  kKernels,  // GPU time by kernel, and why the GPUs were idle
  kStacks,   // GPU time by the Python stack of the launch
  kModules,  // GPU time by nn.Module
  kRanges,   // time of threads in the job's annotated ranges; no GPU time
};

// kInvalidArgument: the message lists the choices.
Result<GpuReport> ParseGpuReport(std::string_view text);

// A table of the operators of PyTorch, in place of everything else: key_averages() of torch.profiler.
enum class OperatorGrouping : uint8_t { kName, kShape, kOverload, kStack, kModule, kStep };
enum class OperatorOrder : uint8_t { kSelf, kTotal, kMean, kCount, kMemory, kSelfDevice, kTotalDevice, kFlops, kName };
enum class TableForm : uint8_t { kText, kJson, kCsv, kStacks };  // kStacks: needs kStack
struct OperatorTableOptions {
  OperatorGrouping grouping = OperatorGrouping::kName;
  size_t frames = 5;  // kStack: how many of each stack tell groups apart, the innermost first
  OperatorOrder order = OperatorOrder::kSelf;
  TableForm form = TableForm::kText;
  size_t rows = 100;     // at most; 0: all
  bool tensors = false;  // instead of operators: those that models and optimizers hold
};

struct ExportOptions {
  std::optional<ExportFormat> format;  // else by extension
  std::vector<std::string> threads;    // only these, by tid or name; empty = all
  std::vector<Pid> processes;          // only these; empty = all
  bool no_idle = false;                // leave out samples of idle threads
  std::optional<bool> lines;           // separate the lines of a function; default: depends on the format
  std::optional<GpuReport> report;     // text only
  std::optional<OperatorTableOptions> table;
  std::optional<TimeRange> window;    // only what was recorded in it; times of the recorded host's CLOCK_MONOTONIC
  std::string title;                  // default: the command line of the first process
  std::vector<std::string> metadata;  // KEY=VALUE: in place of what the recording says of these keys
};

struct ExportSummary {
  ExportFormat format = ExportFormat::kText;
  uint64_t samples = 0;            // exported, after filters
  uint64_t filtered = 0;           // left out by filters
  uint64_t skipped = 0;            // invalid packets or samples of the trace
  uint64_t bytes = 0;              // of the output
  bool cut = false;                // the trace ends without its closing packet
  std::vector<std::string> notes;  // sentences for the user: limits reached, data left out
};

// Whether an output with this name is compressed, in any format ("run.json.gz"). pprof's always is, but only once.
bool IsCompressed(std::string_view output_path);

// Checks, before there is data, whether an output with this name can be written, as far as its folder shows.
Result<void> CheckPlace(const std::string& output_path);

// Does not close `input_fd`. `output_path` "-" is standard output.
Result<ExportSummary> ExportTrace(int input_fd, const ExportOptions& options, const std::string& output_path);

}  // namespace ptrace_prof
