#include "daemon/export/exporter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>

#include "daemon/export/format_exporter.h"
#include "daemon/export/number_text.h"
#include "daemon/export/span_feed.h"
#include "daemon/export/trace_copy.h"
#include "daemon/export/window_filter.h"
#include "rpc/messages/metadata.h"

namespace ptrace_prof {
namespace {

#define PP_FORMAT(Format, name, description, for_terminals, ...) \
  constexpr std::string_view k##Format##Extensions[] = {__VA_ARGS__};
#include "daemon/export/formats.inc"

using Factory = std::unique_ptr<FormatExporter> (*)(ExportContext);

constexpr std::string_view kCompressed = ".gz";

constexpr FormatInfo kFormats[] = {
#define PP_FORMAT(Format, name, description, for_terminals, ...) \
  {ExportFormat::k##Format, name, k##Format##Extensions, description, for_terminals},
#include "daemon/export/formats.inc"
};

// In the order of kFormats; null: a copy of the trace needs no exporter.
constexpr Factory kFactories[] = {
#define PP_FORMAT(Format, ...) Make##Format##Exporter,
#define PP_COPY(Format, ...) nullptr,
#include "daemon/export/formats.inc"
};

std::string ListOfFormats() {
  std::string list;
  for (const FormatInfo& info : kFormats) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", info.name, info.extensions.front());
  }
  return list;
}

std::string Choices() { return fmt::format("Formats are {}; choose by extension or with --format.", ListOfFormats()); }

// Chooses by the longest matching extension; for a compressed file otherwise by the extension before ".gz".
Result<ExportFormat> FormatOfExtension(std::string_view path) {
  const FormatInfo* found = nullptr;
  size_t longest = 0;
  for (const FormatInfo& info : kFormats) {
    for (const std::string_view extension : info.extensions) {
      if (extension.size() > longest && path.ends_with(extension)) {
        longest = extension.size();
        found = &info;
      }
    }
  }
  if (found != nullptr) {
    return found->format;
  }
  if (!IsCompressed(path)) {
    return Error{Code::kInvalidArgument, fmt::format("unknown file extension: {}", path), Choices()};
  }
  const auto inner = FormatOfExtension(path.substr(0, path.size() - kCompressed.size()));
  return inner.has_value()
             ? inner
             : Error{Code::kInvalidArgument, fmt::format("no known format before .gz: {}", path),
                     fmt::format("Name the format before .gz, as in NAME.json.gz, or give --format. {}", Choices())};
}

constexpr std::string_view kReports[] = {"kernels", "stacks", "modules", "ranges"};  // by GpuReport

Result<void> CheckOptions(const FormatInfo& format, const ExportOptions& options, const std::string& output_path) {
  const bool filtered = !options.threads.empty() || !options.processes.empty() || options.no_idle || options.window;
  if (format.format == ExportFormat::kPerfetto && !options.metadata.empty()) {
    return Error{Code::kInvalidArgument, "the perfetto format is a copy of the trace: nothing can be added to it",
                 "Give --meta to record, or choose another format."};
  }
  if (format.format == ExportFormat::kPerfetto && filtered) {
    return Error{Code::kInvalidArgument, "the perfetto format is a copy of the whole trace: it cannot be filtered",
                 "Leave the filters out, or choose another format."};
  }
  if (options.report && format.format != ExportFormat::kText) {
    return Error{Code::kInvalidArgument, fmt::format("--report needs the format text, not {}", format.name),
                 "Give --format text, or leave --report out: the html format shows the same tables."};
  }
  if (output_path == "-" && !format.for_terminals && ::isatty(STDOUT_FILENO) == 1) {
    return Error{Code::kInvalidArgument, fmt::format("{} is not for a terminal", format.name),
                 "Name a file with -o, or redirect standard output."};
  }
  return {};
}

// Reads the whole trace. A trace that ends within a packet is no error; a file that is not a trace is one.
Result<void> ReadAll(int input_fd, TraceReader& reader, const Output& out) {
  std::array<std::byte, 64 * 1024> buffer;
  while (!out.failed()) {
    const ssize_t got = ::read(input_fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return ErrnoError(errno, "cannot read the trace");
    }
    if (got == 0) {
      break;
    }
    PP_RETURN_IF_ERROR(reader.Feed(std::span(buffer).first(static_cast<size_t>(got))));
  }
  return {};
}

bool ShowsOperators(const std::optional<ExportFormat>& format) {
  return format == ExportFormat::kText || format == ExportFormat::kChrome || format == ExportFormat::kMemoryTimeline ||
         format == ExportFormat::kExecutionTrace;
}

Result<std::map<std::string, std::string>> MetadataOf(const ExportOptions& options) {
  std::map<std::string, std::string> metadata;
  for (const std::string& text : options.metadata) {
    PP_ASSIGN_OR_RETURN(const auto entry, ParseMetadata(text));
    metadata[entry.first] = entry.second;
  }
  return metadata;
}

Result<ExportSummary> ExportSpans(int input_fd, Factory factory, const ExportOptions& options,
                                  const std::string& output_path, Output& out) {
  ExportSummary summary;
  Recording recording;
  PP_ASSIGN_OR_RETURN(recording.metadata, MetadataOf(options));
  SpanFeed feed(options, recording);
  WindowFilter filter(options.window.value_or(TimeRange()), feed);
  TraceReader reader(options.window ? static_cast<TraceVisitor&>(filter) : feed);
  const auto exporter =
      factory({out, reader.stacks(), recording, options, TemporaryFolderFor(output_path), summary.notes, output_path});
  feed.set_sink(exporter.get(), &reader.stacks());
  feed.set_gpu_sink(exporter.get());
  PP_RETURN_IF_ERROR(ReadAll(input_fd, reader, out));
  if (options.window) {
    filter.Finish();
  }
  feed.Finish();
  recording.skipped = reader.skipped();
  const bool is_whole = !reader.mid_packet() && recording.end;
  recording.cut = recording.cut || (!is_whole && !options.window);  // the recording may go on after the window
  PP_RETURN_IF_ERROR(exporter->Finish());
  summary.samples = recording.samples;
  summary.filtered = recording.filtered;
  summary.skipped = recording.skipped;
  summary.cut = recording.cut;
  if (recording.operators > 0 && !options.table && !ShowsOperators(options.format)) {
    summary.notes.push_back(
        fmt::format("The {} operators of PyTorch are not in this file. Record with -o RUN.pftrace: `ptrace-prof table` "
                    "and the formats text, chrome and perfetto show them.",
                    WithCommas(recording.operators)));
  }
  if (recording.samples == 0 && recording.gpu_operations == 0 && recording.operators == 0) {
    summary.notes.push_back(recording.filtered > 0 ? "The filters left out everything."
                                                   : "Nothing was recorded: the trace has no samples and no calls.");
  }
  return summary;
}

}  // namespace

std::span<const FormatInfo> ExportFormats() { return kFormats; }

const FormatInfo& InfoOf(ExportFormat format) { return kFormats[static_cast<size_t>(format)]; }

Result<GpuReport> ParseGpuReport(std::string_view text) {
  for (size_t i = 0; i < std::size(kReports); ++i) {
    if (kReports[i] == text) {
      return static_cast<GpuReport>(i);
    }
  }
  return Error{Code::kInvalidArgument, fmt::format("there is no report called {}", text),
               "Reports are kernels, stacks, modules and ranges."};
}

bool IsCompressed(std::string_view output_path) { return output_path.ends_with(kCompressed); }

Result<ExportFormat> ChooseFormat(std::string_view name, std::string_view output_path) {
  if (name.empty()) {
    return FormatOfExtension(output_path);
  }
  for (const FormatInfo& info : kFormats) {
    if (info.name == name) {
      return info.format;
    }
  }
  return Error{Code::kInvalidArgument, fmt::format("there is no format called {}", name), Choices()};
}

Result<void> CheckPlace(const std::string& output_path) { return CheckPlaceOf(output_path); }

Result<ExportSummary> ExportTrace(int input_fd, const ExportOptions& options, const std::string& output_path) {
  if (!options.format) {
    ExportOptions chosen = options;
    PP_ASSIGN_OR_RETURN(chosen.format, ChooseFormat({}, output_path));
    return ExportTrace(input_fd, chosen, output_path);
  }
  const FormatInfo& format = InfoOf(*options.format);
  PP_RETURN_IF_ERROR(CheckOptions(format, options, output_path));
  const bool is_compressed = IsCompressed(output_path) && format.format != ExportFormat::kPprof;
  PP_ASSIGN_OR_RETURN(
      auto out, Output::Open(output_path, is_compressed ? Output::Compression::kGzip : Output::Compression::kNone));
  const Factory factory = !options.table           ? kFactories[static_cast<size_t>(format.format)]
                          : options.table->tensors ? &MakeTensorTable
                                                   : &MakeOperatorTable;
  auto result =
      factory == nullptr ? CopyTrace(input_fd, *out) : ExportSpans(input_fd, factory, options, output_path, *out);
  if (result.has_error() && !out->failed()) {
    return result;  // otherwise Commit returns the output's own error, which says more
  }
  PP_RETURN_IF_ERROR(out->Commit());
  result.value().format = format.format;
  result.value().bytes = out->bytes_written();
  return result;
}

}  // namespace ptrace_prof
