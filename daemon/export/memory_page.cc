#include "daemon/export/memory_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"
#include "daemon/export/markup.h"
#include "daemon/export/number_text.h"

namespace ptrace_prof {
namespace {

constexpr int kPlotWidth = 1100;
constexpr int kPlotHeight = 360;
constexpr int kPlotLeft = 90;
constexpr int kPlotTop = 12;
constexpr int kPlotBottom = 34;
constexpr int kTicks = 4;  // of the time
constexpr size_t kMostRows = 15;

// From the bottom to the top, what lives longest first; colours that people with colour blindness can tell apart.
struct Layer {
  MemoryCategory category;
  std::string_view colour;
};
constexpr Layer kLayers[kMemoryCategories] = {
    {MemoryCategory::kParameter, "#1b6f3c"},  {MemoryCategory::kOptimizerState, "#d2912a"},
    {MemoryCategory::kGradient, "#2f6fb7"},   {MemoryCategory::kInput, "#54565b"},
    {MemoryCategory::kActivation, "#c5473f"}, {MemoryCategory::kAutogradDetail, "#7fb3e0"},
    {MemoryCategory::kTemporary, "#9a6fb0"},  {MemoryCategory::kUnknown, "#a9acb2"}};

constexpr std::string_view kPageStyle = R"(
:root{color-scheme:light dark;--ink:#1d2024;--dim:#5c636b;--line:#d5d9de;--bg:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--dim:#9aa2ab;--line:#3a4047;--bg:#16181b}}
body{font:14px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--bg);margin:1.5rem auto;max-width:76rem;
padding:0 1rem}
h1{font-size:1.25rem;margin:0})";
constexpr std::string_view kSectionStyle = R"(
.memory h2{font-size:1rem;margin:1.4rem 0 .4rem}.memory p{color:var(--dim);margin:.3rem 0}
.memory svg{width:100%;height:auto;margin-top:.8rem}.memory svg text{fill:var(--dim);font-size:12px}
.memory svg .grid{stroke:var(--line)}.memory svg .peak{stroke:var(--ink);stroke-dasharray:3 3}
.memory .key{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;padding:0;margin:.4rem 0}
.memory .key i{display:inline-block;width:.8em;height:.8em;margin-right:.4em;border-radius:2px}
.memory .tables{display:grid;grid-template-columns:repeat(auto-fit,minmax(28rem,1fr));gap:0 2rem}
.memory table{border-collapse:collapse;width:100%}
.memory td,.memory th{padding:.15rem .4rem;border-bottom:1px solid var(--line);text-align:left;overflow-wrap:anywhere}
.memory th{font-weight:600;color:var(--dim)}
.memory td.n,.memory th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums})";

// For each pixel the point of the greatest total in it, so that no peak is lost.
std::vector<MemoryByCategory> ColumnsOf(const MemoryReport& report) {
  std::vector<MemoryByCategory> columns(kPlotWidth);
  const double span = std::max<double>(1, static_cast<double>((report.end() - report.begin()).value));
  const auto column_of = [&](Nanos when) {
    const double at = static_cast<double>((when - report.begin()).value) / span * kPlotWidth;
    return static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(kPlotWidth - 1)));
  };
  const auto total = [](const MemoryByCategory& bytes) { return MemoryPoint{{}, bytes}.total(); };
  size_t next = 0;
  MemoryByCategory now{};
  for (size_t column = 0; column < columns.size(); ++column) {
    MemoryByCategory most = now;
    for (; next < report.curve().size() && column_of(report.curve()[next].when) <= column; ++next) {
      now = report.curve()[next].bytes;
      most = total(now) > total(most) ? now : most;
    }
    columns[column] = most;
  }
  return columns;
}

double HeightOf(int64_t bytes, int64_t most) {
  return most > 0 ? static_cast<double>(bytes) / static_cast<double>(most) * kPlotHeight : 0;
}

void WriteAreas(const MemoryReport& report, int64_t most, Output& out) {
  const std::vector<MemoryByCategory> columns = ColumnsOf(report);
  std::vector<int64_t> below(columns.size(), 0);
  for (const Layer& layer : kLayers) {
    std::string upper;
    std::string lower;
    bool is_empty = true;
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t bytes = std::max<int64_t>(columns[i][static_cast<size_t>(layer.category)], 0);
      is_empty = is_empty && bytes == 0;
      const double bottom = kPlotTop + kPlotHeight - HeightOf(below[i], most);
      below[i] += bytes;
      const double top = kPlotTop + kPlotHeight - HeightOf(below[i], most);
      const size_t x = static_cast<size_t>(kPlotLeft) + i;
      upper += fmt::format("{},{:.1f} {},{:.1f} ", x, top, x + 1, top);
      lower = fmt::format("{},{:.1f} {},{:.1f} ", x + 1, bottom, x, bottom) + lower;
    }
    if (!is_empty) {
      out.Write(fmt::format("<polygon fill=\"{}\" points=\"{}{}\"><title>{}</title></polygon>\n", layer.colour, upper,
                            lower, NameOf(layer.category)));
    }
  }
}

// Two to four lines, at whole powers of two.
void WriteLines(int64_t most, Output& out) {
  int64_t step = 1;
  while (most / step >= 4) {
    step *= 2;
  }
  for (int64_t bytes = 0; bytes <= most; bytes += step) {
    const double y = kPlotTop + kPlotHeight - HeightOf(bytes, most);
    out.Write(
        fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
                    "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
                    kPlotLeft, kPlotLeft + kPlotWidth, y, kPlotLeft - 8, y + 4, BytesText(bytes)));
  }
}

void WritePlot(const MemoryReport& report, Output& out) {
  const int64_t most = report.peak().bytes;
  out.Write(fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Memory over time by category\">\n",
                        kPlotLeft + kPlotWidth + 10, kPlotTop + kPlotHeight + kPlotBottom));
  WriteAreas(report, most, out);
  WriteLines(most, out);
  for (int i = 0; i <= kTicks; ++i) {
    const int x = kPlotLeft + i * kPlotWidth / kTicks;
    out.Write(fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, kPlotTop + kPlotHeight + 18,
                          i == 0        ? "start"
                          : i == kTicks ? "end"
                                        : "middle",
                          DurationText(Nanos((report.end() - report.begin()).value * i / kTicks))));
  }
  const double span = std::max<double>(1, static_cast<double>((report.end() - report.begin()).value));
  const double x = kPlotLeft + static_cast<double>((report.peak().when - report.begin()).value) / span * kPlotWidth;
  out.Write(
      fmt::format("<line class=\"peak\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"><title>the peak"
                  "</title></line>\n</svg>\n",
                  x, kPlotTop, kPlotTop + kPlotHeight));
}

void WriteKey(const MemoryReport& report, Output& out) {
  MemoryByCategory most{};
  for (const MemoryPoint& point : report.curve()) {
    for (size_t i = 0; i < most.size(); ++i) {
      most[i] = std::max(most[i], point.bytes[i]);
    }
  }
  out.Write("<ul class=\"key\">");
  for (const Layer& layer : kLayers) {
    if (most[static_cast<size_t>(layer.category)] > 0) {
      out.Write(fmt::format("<li><i style=\"background:{}\"></i>{}, at most {}</li>", layer.colour,
                            NameOf(layer.category), BytesText(most[static_cast<size_t>(layer.category)])));
    }
  }
  out.Write("</ul>\n");
}

void WriteShares(std::string_view title, const std::vector<MemoryShare>& shares, int64_t whole, Output& out) {
  out.Write(
      fmt::format("<section><h2>{}</h2><table><tr><th></th><th class=\"n\">bytes</th><th class=\"n\">share</th>"
                  "<th class=\"n\">blocks</th></tr>\n",
                  title));
  const size_t rows = std::min(shares.size(), kMostRows);
  for (size_t i = 0; i < rows; ++i) {
    const MemoryShare& share = shares[i];
    out.Write(fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                          EscapeMarkup(share.name), BytesText(share.bytes),
                          PercentText(static_cast<uint64_t>(share.bytes), static_cast<uint64_t>(whole)),
                          WithCommas(share.blocks)));
  }
  out.Write("</table>");
  if (rows < shares.size()) {
    out.Write(fmt::format("<p>and {} more</p>", WithCommas(shares.size() - rows)));
  }
  out.Write("</section>\n");
}

}  // namespace

void WriteMemorySection(const MemoryReport& report, Output& out) {
  const MemoryPeak& peak = report.peak();
  out.Write(fmt::format("<div class=\"memory\"><style>{}</style>\n", kSectionStyle));
  if (report.curve().empty()) {
    out.Write("<p>No allocation was recorded.</p>\n");
  } else {
    out.Write(fmt::format("<p>Memory of {}: at most {}, {} after the begin.</p>\n", DeviceName(report.device()),
                          BytesText(peak.bytes), DurationText(peak.when - report.begin())));
    WritePlot(report, out);
    WriteKey(report, out);
    out.Write("<div class=\"tables\">\n");
    WriteShares("At the peak, by category", peak.by_category, peak.bytes, out);
    WriteShares("At the peak, by operator", peak.by_operator, peak.bytes, out);
    WriteShares("At the peak, by line of Python", peak.by_line, peak.bytes, out);
    WriteShares("At the peak, the largest blocks", peak.largest, peak.bytes, out);
    out.Write("</div>\n");
  }
  for (const std::string& note : report.Notes()) {
    out.Write(fmt::format("<p>{}</p>\n", EscapeMarkup(note)));
  }
  out.Write("</div>\n");
}

void WriteMemoryPage(const std::string& title, const MemoryReport& report, Output& out) {
  out.Write(
      fmt::format("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Memory: {0}</title>"
                  "<meta name=\"viewport\" content=\"width=device-width\"><style>{1}</style></head><body>\n"
                  "<h1>Memory of {0}</h1>\n",
                  EscapeMarkup(CleanText(title)), kPageStyle));
  WriteMemorySection(report, out);
  out.Write("</body></html>\n");
}

}  // namespace ptrace_prof
