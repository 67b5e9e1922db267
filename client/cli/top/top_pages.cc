#include "client/cli/top/top_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"
#include "client/cli/top/top_text.h"

namespace ptrace_prof {
namespace {

constexpr int kHeadLines = 4;  // target, totals, the view, columns
constexpr int kFootLines = 1;  // keys
constexpr double kHotShare = 0.2;
constexpr double kWarmShare = 0.05;
constexpr int kSourceBesideFrom = 100;  // columns of a screen with room for source beside the rows

constexpr std::string_view kTableKeys =
    "q Quit  ? Help  1 Functions  2 Lines  3 Threads  4 Processes  s/t/n Sort  / Filter  p Pause  w Window  Enter Open";
constexpr std::string_view kSourceKeys =
    "q Quit  ? Help  Esc Back  Up/Down Move  n/N Next/previous sampled line  p Pause  w Window";
constexpr std::string_view kFilterKeys = "Enter Keep the filter  Esc Drop it";
constexpr std::string_view kHelp[] = {
    "Keys",
    "",
    "  1 2 3 4, Tab        functions, lines, threads, processes",
    "  s t n               sort by self, total, name; the same key again, or r: reverse",
    "  Up Down k j         select a row; PgUp PgDn Home End",
    "  Enter               a function or line: its source; a thread or process: what it does",
    "  Esc, Backspace      back: drop the filter, then leave the thread or process",
    "  /                   filter by a part of the name or file",
    "  p, Space            pause the screen; counting continues",
    "  w                   show the last seconds, or everything since the start",
    "  c                   reset all counts",
    "  n N                 in a source: next, previous line with samples",
    "  Ctrl-L              redraw the screen",
    "  q, Ctrl-C           quit",
    "",
    "Columns",
    "",
    "  SELF %    share of the samples in which the function or line itself was running",
    "  TOTAL %   ... in which it, or something that it called, was running",
    "  GIL %     share of the time in which the thread held the GIL",
    "  TREE %    share of the samples that are of the process and its descendants",
    "",
    "Any key goes back.",
};

TopStyle StyleOf(double self_share) {
  return self_share >= kHotShare ? TopStyle::kHot : self_share >= kWarmShare ? TopStyle::kWarm : TopStyle::kPlain;
}

std::string ScopeText(const TopQuery& query) {
  if (!query.scope.has_value()) {
    return "";
  }
  return query.scope->tid.value != 0 ? fmt::format(" of thread {}", query.scope->tid.value)
                                     : fmt::format(" of process {}", query.scope->pid.value);
}

std::string ShownText(const TopSession& session) {
  const TopModel& model = session.model();
  const TopQuery& query = model.query();
  std::string text = fmt::format("{}{}: {}, sorted by {}{}, ", NameOf(query.view), ScopeText(query),
                                 model.rows().size(), NameOf(query.sort), query.reversed ? " (reversed)" : "");
  text += model.since_start() ? "since the start" : fmt::format("last {:g} s", model.window_length().seconds());
  if (session.page() == TopSession::Page::kFilter) {
    text += fmt::format(", filter: {}_", CleanText(query.filter));
  } else if (!query.filter.empty()) {
    text += fmt::format(", filter: {}", CleanText(query.filter));
  }
  return text + (model.paused() ? "  [PAUSED]" : "");
}

void DrawHead(const TopSession& session, std::vector<TopLine>& lines) {
  lines.push_back({"ptrace-prof top  " + TopTargetText(session.model(), session.target()), TopStyle::kTitle});
  if (session.notice().empty()) {
    lines.push_back({TopTotalsText(session.model()), TopStyle::kPlain});
  } else {
    lines.push_back({CleanText(session.notice()), TopStyle::kNotice});
  }
  lines.push_back({ShownText(session), TopStyle::kPlain});
}

// The first of the `shown` visible of `count` things, so that number `selected` is visible.
size_t FirstShown(size_t selected, size_t count, size_t shown) {
  const size_t centred = selected > shown / 2 ? selected - shown / 2 : 0;
  return std::min(centred, count > shown ? count - shown : 0);
}

// The source line that the row is about.
std::string SourceOf(const TopSession& session, const TopRow& row) {
  if (row.file.empty() || row.line < 1) {
    return "";
  }
  const Result<SourceFile>& file = session.FileOf(row.file);
  if (file.has_error()) {
    return "(no source)";
  }
  const std::vector<std::string>& lines = file.value().lines;
  const auto index = static_cast<size_t>(row.line) - 1;
  if (index >= lines.size()) {
    return "(the file has no such line)";
  }
  const size_t begin = lines[index].find_first_not_of(' ');
  return begin != std::string::npos ? lines[index].substr(begin) : "";
}

// The column where source begins beside the rows; 0: no source is shown.
size_t SourceColumn(const TopSession& session, ScreenSize size) {
  const bool beside = session.model().query().view == TopView::kLines && size.columns >= kSourceBesideFrom;
  return beside ? static_cast<size_t>(size.columns) * 3 / 5 : 0;
}

std::string RowLine(const TopSession& session, const TopRow& row, ScreenSize size) {
  const TopView view = session.model().query().view;
  const size_t column = SourceColumn(session, size);
  if (column == 0) {
    return TopRowText(row, view, static_cast<size_t>(size.columns));
  }
  std::string text = TopRowText(row, view, column);
  if (text.size() > column) {
    size_t end = column;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
      --end;  // do not cut within a character
    }
    text.resize(end);
  }
  text.resize(column, ' ');
  return text + " | " + SourceOf(session, row);
}

void DrawTable(const TopSession& session, ScreenSize size, std::vector<TopLine>& lines) {
  const TopModel& model = session.model();
  std::string heading = TopHeading(model.query());
  if (const size_t column = SourceColumn(session, size); column > 0) {
    heading.resize(column, ' ');
    heading += "   SOURCE";
  }
  lines.push_back({heading, TopStyle::kHeading});
  const auto shown = static_cast<size_t>(BodyRows(size));
  const std::vector<TopRow>& rows = model.rows();
  const size_t first = FirstShown(model.selected(), rows.size(), shown);
  for (size_t i = first; i < std::min(rows.size(), first + shown); ++i) {
    lines.push_back(
        {RowLine(session, rows[i], size), i == model.selected() ? TopStyle::kSelected : StyleOf(rows[i].self_share)});
  }
  if (rows.empty()) {
    lines.push_back({model.query().filter.empty()
                         ? "  no samples: every thread waits or is stopped (--idle also shows waiting threads)"
                         : "  nothing matches the filter",
                     TopStyle::kFaint});
  }
}

void DrawSource(const TopSession& session, ScreenSize size, std::vector<TopLine>& lines) {
  const TopSession::Source& source = session.source();
  const Result<SourceFile>& file = session.FileOf(source.path);
  if (file.has_error()) {
    lines.push_back({CleanText(source.path), TopStyle::kHeading});
    lines.push_back({"  " + CleanText(file.error().message), TopStyle::kFaint});
    return;
  }
  lines.push_back(
      {fmt::format("{:>7} {:>8} {:>6}  {}", "SELF %", "TOTAL %", "LINE", file.value().where), TopStyle::kHeading});
  const std::map<int32_t, TopCell> counts = session.model().LinesOf(source.path);
  const auto samples = static_cast<double>(std::max<uint64_t>(session.model().tally().samples(), 1));
  const std::vector<std::string>& text = file.value().lines;
  const auto cursor = static_cast<size_t>(source.line) - 1;
  const auto shown = static_cast<size_t>(BodyRows(size));
  const size_t first = FirstShown(cursor, text.size(), shown);
  for (size_t i = first; i < std::min(text.size(), first + shown); ++i) {
    const auto cell = counts.find(static_cast<int32_t>(i + 1));
    std::string numbers(16, ' ');
    double self = 0;
    if (cell != counts.end()) {
      self = static_cast<double>(cell->second.self) / samples;
      numbers = fmt::format("{:>7.1f} {:>8.1f}", 100 * self, 100 * static_cast<double>(cell->second.total) / samples);
    }
    lines.push_back(
        {fmt::format("{} {:>6}  {}", numbers, i + 1, text[i]), i == cursor ? TopStyle::kSelected : StyleOf(self)});
  }
}

std::string_view KeysOf(TopSession::Page page) {
  switch (page) {
    case TopSession::Page::kTable: return kTableKeys;
    case TopSession::Page::kFilter: return kFilterKeys;
    case TopSession::Page::kSource: return kSourceKeys;
    case TopSession::Page::kHelp: return "Any key goes back";
  }
  return "";
}

}  // namespace

int BodyRows(ScreenSize size) { return std::max(1, size.rows - kHeadLines - kFootLines); }

std::vector<TopLine> DrawTop(const TopSession& session, ScreenSize size) {
  std::vector<TopLine> lines;
  DrawHead(session, lines);
  switch (session.page()) {
    case TopSession::Page::kTable:
    case TopSession::Page::kFilter: DrawTable(session, size, lines); break;
    case TopSession::Page::kSource: DrawSource(session, size, lines); break;
    case TopSession::Page::kHelp:
      lines.clear();
      for (const std::string_view line : kHelp) {
        lines.push_back({std::string(line), TopStyle::kPlain});
      }
      break;
  }
  lines.resize(static_cast<size_t>(std::max(0, size.rows - kFootLines)));  // cut, or padded with empty lines
  lines.push_back({std::string(KeysOf(session.page())), TopStyle::kKeys});
  return lines;
}

}  // namespace ptrace_prof
