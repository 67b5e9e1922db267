// Tables for the terminal: the functions with the most samples, in all and by thread, below the facts of the recording.
//
// Self: the function was the leaf. Total: it was anywhere on the stack, counted once even if it recurs. If calls were
// traced: exact counts and times, corrected for the tracer's cost if that is known (and then as measured, too).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "attach/base/clean_text.h"
#include "daemon/export/call_table.h"
#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/gpu_tables.h"
#include "daemon/export/number_text.h"
#include "daemon/export/operator_totals.h"
#include "daemon/export/stack_totals.h"

namespace ptrace_prof {
namespace {

constexpr size_t kRowsOverall = 40;
constexpr size_t kRowsByThread = 10;
constexpr size_t kThreadTables = 64;
constexpr size_t kMaxLabel = 200;  // characters; names have no limit of their own

struct Row {
  uint32_t function = 0;
  uint64_t self = 0;
  uint64_t total = 0;
};

class TextExporter : public FormatExporter {
 public:
  explicit TextExporter(ExportContext context)
      : context_(std::move(context)), functions_(context_.stacks, context_.options.lines.value_or(false)) {}

  void OnSpan(const Span& span) override { totals_.Add(span); }
  void OnGpuOperation(GpuQueueId queue, const GpuOperation& operation) override { gpu_.Add(queue, operation); }
  void OnGpuAnnotation(TrackId, const GpuAnnotation& annotation) override { gpu_.Add(annotation); }
  void OnOperator(TrackId track, const Operator& one) override { operators_.Add(track, one); }
  Result<void> Finish() override;

 private:
  void WriteHeader();
  std::vector<Row> Rows(std::span<const StackTotal> totals);
  void WriteTable(std::span<const StackTotal> totals, size_t limit);
  void WriteCallTable(std::span<const StackTotal> totals, std::span<const Nanos> times, size_t limit);
  void WriteOperators();
  void WriteThreads(const std::vector<StackTotal>& totals, const std::vector<Nanos>& times);

  ExportContext context_;
  FunctionTable functions_;
  StackTotals totals_;
  GpuTotals gpu_{context_.recording};
  OperatorTotals operators_;
};

void TextExporter::WriteHeader() {
  const Recording& recording = context_.recording;
  context_.out.Write(TitleOf(recording, context_.options.title) + "\n");
  std::string facts;
  for (const auto& [name, value] : FactsOf(recording)) {
    facts += fmt::format("{}{}: {}", facts.empty() ? "" : " · ", name, value);
  }
  context_.out.Write(facts + "\n");
  for (const std::string& caution : CautionsOf(recording)) {
    context_.out.Write("Note: " + caution + "\n");
  }
}

std::vector<Row> TextExporter::Rows(std::span<const StackTotal> totals) {
  std::vector<Row> rows;
  std::vector<size_t> counted_in;  // the last stack in which a function was counted, + 1
  std::vector<uint32_t> path;
  for (size_t i = 0; i < totals.size(); ++i) {
    functions_.PathOf(totals[i].stack, path);
    rows.resize(functions_.size());
    counted_in.resize(functions_.size());
    for (const uint32_t function : path) {
      if (counted_in[function] != i + 1) {
        counted_in[function] = i + 1;
        rows[function].total += totals[i].samples;
      }
    }
    if (!path.empty()) {
      rows[path.back()].self += totals[i].samples;
    }
  }
  for (uint32_t function = 0; function < rows.size(); ++function) {
    rows[function].function = function;
  }
  std::erase_if(rows, [](const Row& row) { return row.total == 0; });
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(b.self, b.total, a.function) < std::tuple(a.self, a.total, b.function);
  });
  return rows;
}

void TextExporter::WriteTable(std::span<const StackTotal> totals, size_t limit) {
  uint64_t all = 0;
  uint64_t empty = 0;
  for (const StackTotal& total : totals) {
    all += total.samples;
    empty += total.stack == kEmptyStack ? total.samples : 0;
  }
  const std::vector<Row> rows = Rows(totals);
  const auto percent = [all](uint64_t part) {
    return 100 * static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(all, 1));
  };
  context_.out.Write(fmt::format("{:>8} {:>8} {:>10}  {}\n", "self %", "total %", "samples", "function"));
  for (const Row& row : std::span(rows).first(std::min(limit, rows.size()))) {
    const Function& function = functions_.function(row.function);
    context_.out.Write(fmt::format("{:>8.2f} {:>8.2f} {:>10}  {}\n", percent(row.self), percent(row.total),
                                   WithCommas(row.total), Shortened(LabelOf(function), kMaxLabel)));
  }
  if (empty > 0) {
    context_.out.Write(
        fmt::format("{0:>8.2f} {0:>8.2f} {1:>10}  [no Python frame]\n", percent(empty), WithCommas(empty)));
  }
  if (rows.size() > limit) {
    context_.out.Write(fmt::format("{:>30}… and {} more\n", "", WithCommas(rows.size() - limit)));
  }
}

// Times in one unit, so that they align: microseconds with nanosecond digits if the recording was short.
void TextExporter::WriteCallTable(std::span<const StackTotal> totals, std::span<const Nanos> times, size_t limit) {
  const Recording& recording = context_.recording;
  const bool corrected = EventCost::Of(recording.accounting ? &*recording.accounting : nullptr).is_known();
  const std::vector<CallRow> rows = CallRows(totals, times, functions_);
  Nanos all;
  for (const Nanos time : times) {
    all = all + time;
  }
  const bool is_short = all.value < 100'000'000;
  const auto units = [&](Nanos time) { return static_cast<double>(time.value) / (is_short ? 1e3 : 1e6); };
  const auto percent = [&](Nanos part) { return 100 * units(part) / std::max(units(all), 1e-6); };
  const std::string unit = is_short ? "µs" : "ms";
  context_.out.Write(fmt::format("{:>12} {:>8} {:>13} {:>8} {:>13}{}  {}\n", "calls", "self %", "self " + unit,
                                 "total %", "total " + unit,
                                 corrected ? fmt::format(" {:>13} {:>13}", "raw self", "raw total") : "", "function"));
  for (const CallRow& row : std::span(rows).first(std::min(limit, rows.size()))) {
    const std::string raw =
        corrected ? fmt::format(" {:>13.3f} {:>13.3f}", units(row.raw_self), units(row.raw_total)) : "";
    context_.out.Write(fmt::format("{:>12} {:>8.2f} {:>13.3f} {:>8.2f} {:>13.3f}{}  {}\n", WithCommas(row.calls),
                                   percent(row.self), units(row.self), percent(row.total), units(row.total), raw,
                                   Shortened(LabelOf(functions_.function(row.function)), kMaxLabel)));
  }
  if (rows.size() > limit) {
    context_.out.Write(fmt::format("{:>30}… and {} more\n", "", WithCommas(rows.size() - limit)));
  }
}

void TextExporter::WriteThreads(const std::vector<StackTotal>& totals, const std::vector<Nanos>& times) {
  const Recording& recording = context_.recording;
  const std::vector<TrackId> threads = recording.ThreadsInOrder();
  for (const TrackId track : std::span(threads).first(std::min(threads.size(), kThreadTables))) {
    const RecordedThread& thread = recording.threads[track.value];
    const auto by_track = [](const StackTotal& total, TrackId wanted) { return total.track < wanted; };
    const auto begin = std::lower_bound(totals.begin(), totals.end(), track, by_track);
    const auto end = std::lower_bound(begin, totals.end(), TrackId(track.value + 1), by_track);
    const std::string title = fmt::format("\n{} · {}", ThreadLabel(thread), ProcessLabel(recording, thread.info.pid));
    const std::span of_thread(begin, end);
    if (recording.exact) {
      context_.out.Write(title + "\n");
      const auto first = static_cast<size_t>(begin - totals.begin());
      WriteCallTable(of_thread, std::span(times).subspan(first, of_thread.size()), kRowsByThread);
    } else {
      context_.out.Write(fmt::format("{} · {} samples, {} of all\n", title, WithCommas(thread.samples),
                                     PercentText(thread.samples, recording.samples)));
      WriteTable(of_thread, kRowsByThread);
    }
  }
  if (threads.size() > kThreadTables) {
    context_.out.Write(fmt::format("\n{} more threads: choose some with --threads.\n", threads.size() - kThreadTables));
  }
}

// The columns of torch.profiler's table. Ranges contain operators, so their self time is what no operator explains.
void TextExporter::WriteOperators() {
  if (operators_.is_empty()) {
    return;
  }
  const std::vector<OperatorRow> rows = operators_.Rows();
  Nanos all;
  for (const OperatorRow& row : rows) {
    all = all + row.self;
  }
  const auto percent = [&](Nanos part) {
    return 100 * static_cast<double>(part.value) / static_cast<double>(std::max<int64_t>(all.value, 1));
  };
  const auto millis = [](Nanos time) { return static_cast<double>(time.value) / 1e6; };
  context_.out.Write(fmt::format("\nOperators of PyTorch\n{:>10} {:>12} {:>11} {:>12} {:>12} {:>10}  name\n",
                                 "self CPU %", "self CPU ms", "CPU total %", "CPU total ms", "mean µs", "calls"));
  for (const OperatorRow& row : std::span(rows).first(std::min(kRowsOverall, rows.size()))) {
    context_.out.Write(fmt::format("{:>10.2f} {:>12.3f} {:>11.2f} {:>12.3f} {:>12.3f} {:>10}  {}\n", percent(row.self),
                                   millis(row.self), percent(row.total), millis(row.total),
                                   1e3 * millis(row.total) / static_cast<double>(row.count), WithCommas(row.count),
                                   Shortened(row.name.empty() ? "[unreadable name]" : CleanText(row.name), kMaxLabel)));
  }
  if (rows.size() > kRowsOverall) {
    context_.out.Write(fmt::format("{:>30}… and {} more\n", "", WithCommas(rows.size() - kRowsOverall)));
  }
}

Result<void> TextExporter::Finish() {
  const Recording& recording = context_.recording;
  const std::vector<StackTotal> totals = totals_.Sorted();
  WriteHeader();
  GpuTables tables(gpu_, functions_, context_);
  if (context_.options.report) {
    tables.Write(*context_.options.report);
    return {};
  }
  if (totals.empty()) {
    context_.out.Write("\nNo samples.\n");
    WriteOperators();
    tables.WriteAll();
    return {};
  }
  std::vector<Nanos> times;
  context_.out.Write("\nAll threads\n");
  if (recording.exact) {
    times =
        CorrectedTimes(totals, context_.stacks, EventCost::Of(recording.accounting ? &*recording.accounting : nullptr));
    WriteCallTable(totals, times, kRowsOverall);
  } else {
    WriteTable(totals, kRowsOverall);
  }
  if (recording.ThreadsInOrder().size() > 1) {
    WriteThreads(totals, times);
  }
  WriteOperators();
  tables.WriteAll();
  return {};
}

}  // namespace

std::unique_ptr<FormatExporter> MakeTextExporter(ExportContext context) {
  return std::make_unique<TextExporter>(std::move(context));
}

}  // namespace ptrace_prof
