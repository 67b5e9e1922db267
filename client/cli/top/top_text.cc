#include "client/cli/top/top_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/base_name.h"
#include "attach/base/clean_text.h"
#include "client/cli/record/totals_text.h"

namespace ptrace_prof {
namespace {

struct ViewWords {
  TopView view;
  std::string_view name;
  std::string_view self;  // the columns; the sorted one has a mark
  std::string_view total;
  std::string_view about;
};
constexpr ViewWords kViewWords[] = {
    {TopView::kFunctions, "functions", "SELF %", "TOTAL %", "FUNCTION (FILE:LINE)"},
    {TopView::kLines, "lines", "SELF %", "TOTAL %", "LINE (FILE:LINE)"},
    {TopView::kThreads, "threads", "SELF %", "GIL %", "THREAD"},
    {TopView::kProcesses, "processes", "SELF %", "TREE %", "PROCESS"},
};

struct TopState {
  ThreadState state;
  std::string_view word;
};
constexpr TopState kStates[] = {
    {ThreadState::kUnknown, "ended"},      {ThreadState::kRunning, "running"},  {ThreadState::kGilWait, "GIL wait"},
    {ThreadState::kIdle, "idle"},          {ThreadState::kGpuWait, "GPU wait"}, {ThreadState::kDiskWait, "disk wait"},
    {ThreadState::kJobStopped, "stopped"},
};

const ViewWords& WordsOf(TopView view) {
  return *std::find_if(std::begin(kViewWords), std::end(kViewWords),
                       [&](const ViewWords& row) { return row.view == view; });
}

std::string_view StateText(ThreadState state) {
  return std::find_if(std::begin(kStates), std::end(kStates), [&](const TopState& row) { return row.state == state; })
      ->word;
}

std::string Marked(std::string_view column, bool sorted, bool reversed) {
  return fmt::format("{}{}", !sorted ? "" : reversed ? "-" : "*", column);
}

// Fits a path into the rest of `width`. It is cut at the front, as the end says more; the file name is never cut.
std::string FileText(const std::string& file, size_t used, size_t width) {
  if (width == 0 || used + file.size() <= width) {
    return file;
  }
  constexpr std::string_view kCut = "...";
  const size_t room = width > used + kCut.size() ? width - used - kCut.size() : 0;
  const size_t slash = file.find('/', file.size() - std::min(file.size(), room));
  if (slash != std::string::npos) {
    return std::string(kCut) + file.substr(slash);
  }
  return std::string(BaseName(file));
}

std::string CodeText(const TopRow& row, size_t width) {
  std::string name = CleanText(row.name);
  if (row.file.empty()) {
    return name;
  }
  const std::string line = row.line > 0 ? fmt::format(":{}", row.line) : "";
  return fmt::format("{} ({}{})", name, FileText(CleanText(row.file), name.size() + line.size() + 3, width), line);
}

std::string ThreadText(const TopRow& row) {
  if (row.pid.value == 0) {
    return CleanText(row.name);
  }
  return fmt::format("{:<9} {:>7} {:>7}  {}{}", StateText(row.state), row.pid.value, row.tid.value, CleanText(row.name),
                     row.holds_gil ? " [GIL]" : "");
}

std::string ProcessText(const TopRow& row) {
  if (row.pid.value == 0) {
    return CleanText(row.name);
  }
  const std::string parent = row.parent.value > 0 ? fmt::format("of {}", row.parent.value) : "";
  return fmt::format("{:>7} {:<10} {}", row.pid.value, parent, CleanText(row.command.empty() ? row.name : row.command));
}

}  // namespace

std::string_view NameOf(TopView view) { return WordsOf(view).name; }

std::string_view NameOf(TopSort sort) {
  switch (sort) {
    case TopSort::kSelf: return "self";
    case TopSort::kTotal: return "total";
    case TopSort::kName: return "name";
  }
  return "";
}

std::string TopHeading(const TopQuery& query) {
  const ViewWords& words = WordsOf(query.view);
  const bool gil_column = query.view == TopView::kThreads;  // for a thread, self and total are the same
  return fmt::format("{:>7} {:>8} {:>9} {:>9}  {}", Marked(words.self, query.sort == TopSort::kSelf, query.reversed),
                     Marked(words.total, query.sort == TopSort::kTotal && !gil_column, query.reversed), "SELF", "TOTAL",
                     Marked(words.about, query.sort == TopSort::kName, query.reversed));
}

std::string TopRowText(const TopRow& row, TopView view, size_t width) {
  const double second = view == TopView::kThreads ? row.gil_share : row.total_share;
  std::string numbers = fmt::format("{:>7.1f} {:>8.1f} {:>9} {:>9}  ", 100 * row.self_share, 100 * second,
                                    Grouped(row.self), Grouped(row.total));
  switch (view) {
    case TopView::kFunctions:
    case TopView::kLines: return numbers + CodeText(row, width > numbers.size() ? width - numbers.size() : width);
    case TopView::kThreads: return numbers + ThreadText(row);
    case TopView::kProcesses: return numbers + ProcessText(row);
  }
  return numbers;
}

std::string TopTargetText(const TopModel& model, Pid pid) {
  const auto process = model.processes().find(pid);
  if (process == model.processes().end()) {
    return fmt::format("process {}", pid.value);
  }
  const SampleBatch::Process& info = process->second;
  return CleanText(fmt::format("process {}: {}, CPython {}", pid.value, info.command.empty() ? info.name : info.command,
                               info.python.empty() ? "?" : info.python));
}

std::string TopTotalsText(const TopModel& model) {
  const TopTally& tally = model.tally();
  const SampleBatch::Counters& counters = tally.counters();
  const size_t threads = model.live_threads();
  std::string text =
      fmt::format("{} samples in {:.1f} s at {:.0f} Hz, {} {}; truncated {}, lost {}", Grouped(counters.samples),
                  tally.span().seconds(), counters.actual_rate_hz, threads, threads == 1 ? "thread" : "threads",
                  Percent(counters.Of(SampleQuality::kTruncated), counters.samples), Grouped(counters.lost));
  if (const uint64_t torn = counters.Of(SampleQuality::kTorn); torn > 0) {
    text += fmt::format(", torn {}", Percent(torn, counters.samples));
  }
  if (const size_t stopped = model.stopped_threads(); stopped > 0) {
    text +=
        fmt::format("; {} stopped, as by Ctrl-Z or a debugger", stopped == threads ? "all" : std::to_string(stopped));
  }
  if (counters.thinned > 0) {
    text += fmt::format(", left out {} (too many different stacks to show)", Grouped(counters.thinned));
  }
  return text;
}

}  // namespace ptrace_prof
