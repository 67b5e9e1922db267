// A flame graph as one SVG file: a picture in any viewer, interactive (zoom, search, details) in a browser.
//
// Callers below, leaves on top, widest first. Names are escaped text, never markup. Frames too narrow to see are left
// out.
#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"
#include "daemon/export/call_tree.h"
#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/markup.h"
#include "daemon/export/number_text.h"
#include "daemon/export/stack_totals.h"
#include "daemon/export/viewer_assets.h"

namespace ptrace_prof {
namespace {

constexpr double kWidth = 1200;
constexpr double kMargin = 10;
constexpr double kRow = 17;
constexpr double kTop = 74;
constexpr double kBottom = 34;
constexpr double kNarrowest = 0.1;           // pixels
constexpr double kCharacter = 6.9;           // average width of a character, in pixels
constexpr size_t kMaxTitle = 300;            // characters of a title; names have no limit of their own
constexpr uint32_t kProcessName = 1u << 31;  // from here on names are processes, below functions
constexpr uint32_t kNoFrame = kProcessName - 1;

std::string ColourOf(const std::string& label, bool marker) {
  if (marker) {
    return "#b9bcc2";
  }
  uint32_t hash = 2166136261u;
  for (const char c : label) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  }
  return fmt::format("hsl({},{}%,{}%)", 10 + hash % 42, 70 + hash / 64 % 20, 58 + hash / 4096 % 14);
}

class SvgExporter : public FormatExporter {
 public:
  explicit SvgExporter(ExportContext context)
      : context_(std::move(context)), functions_(context_.stacks, context_.options.lines.value_or(false)) {}

  void OnSpan(const Span& span) override { totals_.Add(span); }
  Result<void> Finish() override;

 private:
  void BuildTree();
  std::vector<double> Places();  // x of each node, in samples
  std::string LabelOfName(uint32_t name) const;
  std::string WeightText(uint64_t weight) const {
    return context_.recording.exact ? DurationText(Nanos(static_cast<int64_t>(weight)))
                                    : WithCommas(weight) + " samples";
  }
  void WriteHead(uint32_t depth);
  void WriteFrame(const CallTree::Node& node, double start, uint32_t depth);

  ExportContext context_;
  FunctionTable functions_;
  StackTotals totals_;
  CallTree tree_;
};

void SvgExporter::BuildTree() {
  const Recording& recording = context_.recording;
  const bool several = recording.HasSeveralProcesses();
  std::vector<uint32_t> path;
  for (const StackTotal& total : totals_.Sorted()) {
    functions_.PathOf(total.stack, path);
    if (path.empty()) {
      path.push_back(kNoFrame);
    }
    if (several) {
      const Pid pid = recording.threads[total.track.value].info.pid;
      path.insert(path.begin(), kProcessName | static_cast<uint32_t>(pid.value));
    }
    tree_.Add(path, total.weight(recording.exact));
  }
}

std::string SvgExporter::LabelOfName(uint32_t name) const {
  if ((name & kProcessName) != 0) {
    return ProcessLabel(context_.recording, Pid(static_cast<int32_t>(name & ~kProcessName)));
  }
  return name == kNoFrame ? "[no Python frame]" : LabelOf(functions_.function(name));
}

std::vector<double> SvgExporter::Places() {
  const auto& nodes = tree_.nodes();
  std::vector<uint32_t> order(nodes.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin() + 1, order.end(), [&](uint32_t a, uint32_t b) {
    return nodes[a].depth != nodes[b].depth ? nodes[a].depth < nodes[b].depth : nodes[a].samples > nodes[b].samples;
  });
  std::vector<double> start(nodes.size(), 0);
  std::vector<double> next(nodes.size(), 0);  // where the next child begins
  for (size_t i = 1; i < order.size(); ++i) {
    const uint32_t node = order[i];
    const uint32_t parent = nodes[node].parent;
    start[node] = next[parent];
    next[parent] += static_cast<double>(nodes[node].samples);
    next[node] = start[node];
  }
  return start;
}

void SvgExporter::WriteHead(uint32_t depth) {
  const Recording& recording = context_.recording;
  const double height = kTop + (depth + 1) * kRow + kBottom;
  const std::string title = Shortened(TitleOf(recording, context_.options.title), 150);
  std::string facts;
  for (const auto& [name, value] : FactsOf(recording)) {
    facts += fmt::format("{}{} {}", facts.empty() ? "" : " · ", name, value);
  }
  std::string cautions;
  for (const std::string& caution : CautionsOf(recording)) {
    cautions += (cautions.empty() ? "" : " ") + caution;
  }
  context_.out.Write(
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                  "data-all=\"{2}\">\n<style>\n"
                  "text {{ font: 12px system-ui, Verdana, sans-serif; fill: #1d2127; }} .dim {{ fill: #666c75; "
                  "font-size: 11px; }}\n"
                  ".title {{ font-size: 15px; font-weight: 600; }} .warn {{ fill: #8a5a00; font-size: 11px; }}\n"
                  ".frame {{ cursor: pointer; }} .frame:hover rect {{ stroke: #1d2127; }} rect.match {{ fill: #e0218a "
                  "!important; }}\n"
                  ".button {{ cursor: pointer; fill: #2f6fde; }} .past {{ opacity: .5; }}\n</style>\n"
                  "<rect width=\"100%\" height=\"100%\" fill=\"#fbfaf8\"/>\n",
                  kWidth, height, tree_.nodes()[0].samples));
  context_.out.Write(fmt::format("<text class=\"title\" x=\"{}\" y=\"24\">{}</text>\n", kMargin, EscapeMarkup(title)));
  context_.out.Write(fmt::format("<text class=\"dim\" x=\"{}\" y=\"43\"><title>{}</title>{}</text>\n", kMargin,
                                 EscapeMarkup(facts), EscapeMarkup(Shortened(facts, 205))));
  context_.out.Write(fmt::format("<text class=\"warn\" x=\"{}\" y=\"60\">{}</text>\n", kMargin,
                                 EscapeMarkup(Shortened(cautions, 200))));
  context_.out.Write(
      fmt::format("<text class=\"button\" id=\"search\" x=\"{0}\" y=\"24\" text-anchor=\"end\">Search (Ctrl-F)</text>\n"
                  "<text class=\"button\" id=\"reset\" x=\"{1}\" y=\"24\" text-anchor=\"end\" "
                  "visibility=\"hidden\">Reset zoom</text>\n"
                  "<text id=\"details\" x=\"{2}\" y=\"{3}\"> </text>\n"
                  "<text id=\"matched\" x=\"{0}\" y=\"{3}\" text-anchor=\"end\"> </text>\n<g id=\"frames\">\n",
                  kWidth - kMargin, kWidth - 120, kMargin, height - 12));
}

void SvgExporter::WriteFrame(const CallTree::Node& node, double start, uint32_t depth) {
  const double all = static_cast<double>(std::max<uint64_t>(tree_.nodes()[0].samples, 1));
  const double scale = (kWidth - 2 * kMargin) / all;
  const double width = static_cast<double>(node.samples) * scale;
  if (width < kNarrowest) {
    return;
  }
  const bool root = node.depth == 0;
  const std::string label = root ? "all" : Shortened(LabelOfName(node.name), kMaxTitle);
  const bool marker = root || node.name >= kNoFrame || functions_.function(node.name).kind == FrameKind::kMarker;
  const auto fits = static_cast<size_t>(std::max(0.0, (width - 6) / kCharacter));
  const double y = kTop + (depth - node.depth) * kRow;
  const double x = kMargin + start * scale;
  context_.out.Write(fmt::format(
      "<g class=\"frame\" data-x=\"{:.0f}\" data-w=\"{}\" data-d=\"{}\"><title>{} ({}, {})</title>"
      "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" rx=\"1.5\" fill=\"{}\"/>"
      "<text x=\"{:.2f}\" y=\"{:.0f}\">{}</text></g>\n",
      start, node.samples, node.depth, EscapeMarkup(label), WeightText(node.samples),
      PercentText(node.samples, tree_.nodes()[0].samples), x, y, std::max(width - 0.4, kNarrowest), kRow - 1,
      ColourOf(label, marker), x + 3, y + 12, fits >= 3 ? EscapeMarkup(Shortened(label, fits - 2)) : ""));
}

Result<void> SvgExporter::Finish() {
  BuildTree();
  uint32_t depth = 0;
  const auto& nodes = tree_.nodes();
  const double narrowest = kNarrowest * static_cast<double>(nodes[0].samples) / (kWidth - 2 * kMargin);
  for (const CallTree::Node& node : nodes) {
    depth = static_cast<double>(node.samples) >= narrowest ? std::max(depth, node.depth) : depth;
  }
  WriteHead(depth);
  const std::vector<double> places = Places();
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    WriteFrame(nodes[i], places[i], depth);
  }
  context_.out.Write("</g>\n<script type=\"text/ecmascript\"><![CDATA[\n");
  context_.out.Write(kFlameScript);
  context_.out.Write("]]></script>\n</svg>\n");
  return {};
}

}  // namespace

std::unique_ptr<FormatExporter> MakeSvgExporter(ExportContext context) {
  return std::make_unique<SvgExporter>(std::move(context));
}

}  // namespace ptrace_prof
