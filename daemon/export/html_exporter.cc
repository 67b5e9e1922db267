// One self-contained page: the trace as JSON, and the viewer in viewer/. Works offline and opens no connection.
//
// Data from the trace never becomes markup: it is JSON in a script element that does not run, with '<' escaped, and the
// viewer puts it into text nodes. A content security policy forbids everything but the viewer itself.
#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cmath>
#include <cstring>

#include "daemon/export/call_table.h"
#include "daemon/export/format_exporter.h"
#include "daemon/export/json_output.h"
#include "daemon/export/memory_page.h"
#include "daemon/export/memory_report.h"
#include "daemon/export/number_text.h"
#include "daemon/export/page_counters.h"
#include "daemon/export/page_gpu.h"
#include "daemon/export/page_tree.h"
#include "daemon/export/span_spool.h"
#include "daemon/export/span_thinner.h"
#include "daemon/export/viewer_assets.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kMaxSpans = 1'000'000;       // in a page, of all threads
constexpr uint64_t kMinSpansOfThread = 10'000;  // regardless of the number of threads

// Only scripts with this nonce run; a trace cannot know it in advance.
std::string Nonce() {
  std::array<unsigned char, 16> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    const int64_t now = MonotonicNow().value;
    std::memcpy(random.data(), &now, sizeof(now));
  }
  return fmt::format("{:02x}", fmt::join(random, ""));
}

int64_t WholeMicros(Nanos time) { return time.value / 1000; }

// The weight of a span on the page.
uint64_t WeightOf(const Span& span, bool exact) {
  return exact ? static_cast<uint64_t>(std::max<int64_t>((span.end - span.start).value, 0)) : span.samples;
}

class HtmlExporter : public FormatExporter {
 public:
  explicit HtmlExporter(ExportContext context)
      : context_(std::move(context)), tree_(context_.stacks), spool_(context_.temporary_folder), json_(context_.out) {}

  void OnSpan(const Span& span) override {
    spool_.Append(span);
    memory_.OnSpan(span);
  }
  void OnSample(TrackId track, Nanos when, StackId stack) override { memory_.OnSample(track, when, stack); }
  void OnOperator(TrackId track, const Operator& one) override { memory_.OnOperator(track, one); }
  void OnAllocation(TrackId track, const Allocation& one) override { memory_.OnAllocation(track, one); }
  void OnHeldTensor(const HeldTensor& tensor) override { memory_.OnHeldTensor(tensor); }
  void OnGpuOperation(GpuQueueId queue, const GpuOperation& operation) override { gpu_.Add(queue, operation); }
  Result<void> Finish() override;

 private:
  void WriteHead(const std::string& nonce);
  Result<void> WriteTrace();
  void WriteFacts();
  Result<void> WriteThread(TrackId track, uint64_t max_spans);
  Result<void> WriteSpans(TrackId track, uint64_t max_spans);
  void WriteTime(Nanos time);
  Nanos OnPage(Nanos time) const { return context_.recording.exact ? time : Nanos(WholeMicros(time) * 1000); }
  // For one node on one thread.
  struct Total {
    uint64_t weight = 0;
    uint64_t idle = 0;
    uint64_t calls = 0;
    uint64_t stretches = 0;
  };
  Result<void> WriteTotals(TrackId track);
  void WriteCorrected(const std::vector<Total>& totals);
  void WriteTree();
  void WriteNumbers(std::string_view name, int64_t (*of)(const PageTree::Node&));

  ExportContext context_;
  PageTree tree_;
  SpanSpool spool_;
  PageGpu gpu_{context_.recording, context_.stacks};
  MemoryReport memory_{context_.recording, context_.stacks};
  JsonOutput json_;
};

void HtmlExporter::WriteHead(const std::string& nonce) {
  context_.out.Write(fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{}'; "
      "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"generator\" content=\"ptrace-prof\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>ptrace-prof</title>\n<style>\n",
      nonce));
  context_.out.Write(kViewerStyle);
  context_.out.Write("</style>\n</head>\n<body>\n");
  context_.out.Write(kViewerPage);
}

void HtmlExporter::WriteFacts() {
  const Recording& recording = context_.recording;
  json_.Member("title", TitleOf(recording, context_.options.title));
  json_.Name("facts");
  json_.StartArray();
  for (const auto& [name, value] : FactsOf(recording)) {
    json_.StartArray();
    json_.Text(name);
    json_.Text(value);
    json_.EndArray();
  }
  json_.EndArray();
  json_.Name("cautions");
  json_.StartArray();
  for (const std::string& caution : CautionsOf(recording)) {
    json_.Text(caution);
  }
  json_.EndArray();
}

// In microseconds: whole ones for samples, with nanosecond digits for exact calls.
void HtmlExporter::WriteTime(Nanos time) {
  if (time.value % 1000 == 0) {
    json_.Int64(WholeMicros(time));
    return;
  }
  const std::string text = fmt::format("{}.{:03}", time.value / 1000, time.value % 1000);
  json_.RawValue(text.data(), text.size(), rapidjson::kNumberType);
}

// Spans as numbers: gap before, length (µs), node, weight (samples; for exact calls nanoseconds), state.
Result<void> HtmlExporter::WriteSpans(TrackId track, uint64_t max_spans) {
  const RecordedThread& thread = context_.recording.threads[track.value];
  const bool exact = context_.recording.exact;
  Nanos at = OnPage(context_.recording.first);
  const auto write = [&](const Span& span) {
    const uint64_t weight = WeightOf(span, exact);
    if (weight == 0) {
      return;
    }
    const Nanos start = std::max(at, OnPage(span.start));
    const Nanos end = std::max(start, OnPage(span.end));
    WriteTime(start - at);
    WriteTime(end - start);
    json_.Uint(tree_.NodeOf(span.stack));
    json_.Uint64(weight);
    json_.Uint(static_cast<unsigned>(span.state));
    at = end;
  };
  const bool thinned = spool_.SpansOf(track) > max_spans;
  json_.Name("spans");
  json_.StartArray();
  if (thinned) {
    const Nanos length = thread.last - thread.first;
    SpanThinner thinner(Nanos(length.value / static_cast<int64_t>(max_spans) + 1), write, exact);
    PP_RETURN_IF_ERROR(spool_.ForEach(track, [&](const Span& span) { thinner.Add(span); }));
    thinner.Finish();
  } else {
    PP_RETURN_IF_ERROR(spool_.ForEach(track, write));
  }
  json_.EndArray();
  json_.Name("thinned");
  json_.Bool(thinned);
  if (thinned) {
    context_.notes.push_back(
        fmt::format("{}: the timeline of the page shows a random selection of its {}; the totals are exact.",
                    ThreadLabel(thread), exact ? "calls" : "samples"));
  }
  return {};
}

// Node, weight, weight while idle: exact even if spans are thinned. For exact calls also node and calls.
Result<void> HtmlExporter::WriteTotals(TrackId track) {
  const bool exact = context_.recording.exact;
  std::vector<Total> totals;
  PP_RETURN_IF_ERROR(spool_.ForEach(track, [&](const Span& span) {
    const uint32_t node = tree_.NodeOf(span.stack);
    totals.resize(std::max<size_t>(totals.size(), node + 1));
    const uint64_t weight = WeightOf(span, exact);
    totals[node].weight += weight;
    totals[node].idle += span.state == ThreadState::kIdle || span.state == ThreadState::kJobStopped ? weight : 0;
    totals[node].calls += exact && span.samples > 0 && IsNewCall(span.entry) ? 1 : 0;
    totals[node].stretches += span.samples;
  }));
  json_.Name("totals");
  json_.StartArray();
  for (uint32_t node = 0; node < totals.size(); ++node) {
    if (totals[node].weight > 0) {
      json_.Uint(node);
      json_.Uint64(totals[node].weight);
      json_.Uint64(totals[node].idle);
    }
  }
  json_.EndArray();
  if (!exact) {
    return {};
  }
  json_.Name("calls");
  json_.StartArray();
  for (uint32_t node = 0; node < totals.size(); ++node) {
    if (totals[node].calls > 0) {
      json_.Uint(node);
      json_.Uint64(totals[node].calls);
    }
  }
  json_.EndArray();
  WriteCorrected(totals);
  return {};
}

// Node and weight corrected for the cost of tracing, as in CorrectedTimes (call_table.h), if that cost is known.
void HtmlExporter::WriteCorrected(const std::vector<Total>& totals) {
  const auto& accounting = context_.recording.accounting;
  const EventCost cost = EventCost::Of(accounting ? &*accounting : nullptr);
  if (!cost.is_known()) {
    return;
  }
  std::vector<double> left(totals.size());
  for (uint32_t node = static_cast<uint32_t>(totals.size()); node-- > 0;) {
    const PageTree::Node& place = tree_.nodes()[node];
    const FrameKind kind = node == 0 ? FrameKind::kMarker : tree_.functions().function(place.function).kind;
    const double each = kind == FrameKind::kMarker ? 0 : kind == FrameKind::kC ? cost.c_ns : cost.python_ns;
    const double taken = static_cast<double>(totals[node].stretches) * each;
    left[node] += static_cast<double>(totals[node].weight) - taken;
    left[place.parent] -= node == 0 ? 0 : taken;
  }
  json_.Name("corrected");
  json_.StartArray();
  for (uint32_t node = 0; node < totals.size(); ++node) {
    if (totals[node].weight > 0) {
      json_.Uint(node);
      json_.Uint64(left[node] > 0 ? static_cast<uint64_t>(std::llround(left[node])) : 0);
    }
  }
  json_.EndArray();
}

Result<void> HtmlExporter::WriteThread(TrackId track, uint64_t max_spans) {
  const RecordedThread& thread = context_.recording.threads[track.value];
  json_.StartObject();
  json_.Member("label", ThreadLabel(thread));
  json_.Member("process", ProcessLabel(context_.recording, thread.info.pid));
  json_.Member("samples", static_cast<int64_t>(thread.samples));
  PP_RETURN_IF_ERROR(WriteSpans(track, max_spans));
  PP_RETURN_IF_ERROR(WriteTotals(track));
  json_.EndObject();
  return {};
}

void HtmlExporter::WriteNumbers(std::string_view name, int64_t (*of)(const PageTree::Node&)) {
  json_.Name(name);
  json_.StartArray();
  for (const PageTree::Node& node : tree_.nodes()) {
    json_.Int64(of(node));
  }
  json_.EndArray();
}

void HtmlExporter::WriteTree() {
  WriteNumbers("parents", [](const PageTree::Node& node) -> int64_t { return node.parent; });
  WriteNumbers("functionOf", [](const PageTree::Node& node) -> int64_t { return node.function; });
  WriteNumbers("lineOf", [](const PageTree::Node& node) -> int64_t { return node.line; });
  json_.Name("functions");
  json_.StartArray();
  for (uint32_t id = 0; id < tree_.functions().size(); ++id) {
    const Function& function = tree_.functions().function(id);
    json_.StartArray();
    json_.Text(function.name.empty() ? "<unnamed>" : function.name);
    json_.Text(function.file);
    json_.Int(function.line);
    json_.Uint(function.kind == FrameKind::kMarker ? 1 : 0);
    json_.EndArray();
  }
  json_.EndArray();
}

Result<void> HtmlExporter::WriteTrace() {
  const Recording& recording = context_.recording;
  const std::vector<TrackId> threads = recording.ThreadsInOrder();
  const uint64_t max_spans = std::max(kMaxSpans / std::max<uint64_t>(threads.size(), 1), kMinSpansOfThread);
  json_.StartObject();
  WriteFacts();
  Nanos covered;  // time that samples stand for
  Nanos end = std::max(recording.last, recording.gpu_last);
  json_.Name("threads");
  json_.StartArray();
  for (const TrackId track : threads) {
    PP_RETURN_IF_ERROR(WriteThread(track, max_spans));
    PP_RETURN_IF_ERROR(spool_.ForEach(track, [&](const Span& span) {
      covered = covered + (span.end - span.start);
      end = std::max(end, span.end);
    }));
  }
  json_.EndArray();
  WriteTree();
  WriteCounters(recording, end, json_);
  gpu_.Write(recording.first, json_);
  json_.Member("length", std::max<int64_t>(WholeMicros(end) - WholeMicros(recording.first), 1));
  if (recording.exact) {
    json_.Name("exact");
    json_.Bool(true);
  }
  json_.Name("usPerSample");
  json_.Double(recording.exact         ? 1e-3
               : recording.samples > 0 ? covered.seconds() * 1e6 / static_cast<double>(recording.samples)
                                       : 0);
  json_.EndObject();
  return {};
}

Result<void> HtmlExporter::Finish() {
  const std::string nonce = Nonce();
  WriteHead(nonce);
  memory_.Finish();
  if (!memory_.is_empty()) {
    context_.out.Write("<template id=\"memory\">\n");
    WriteMemorySection(memory_, context_.out);
    context_.out.Write("</template>\n");
  }
  context_.out.Write("<script type=\"application/json\" id=\"trace\">");
  PP_RETURN_IF_ERROR(WriteTrace());
  context_.out.Write(fmt::format("</script>\n<script nonce=\"{}\">\n", nonce));
  context_.out.Write(kViewerScript);
  context_.out.Write("</script>\n<script type=\"text/plain\" id=\"licenses\">\n");
  context_.out.Write(kViewerLicenses);
  context_.out.Write("</script>\n</body>\n</html>\n");
  return {};
}

}  // namespace

std::unique_ptr<FormatExporter> MakeHtmlExporter(ExportContext context) {
  return std::make_unique<HtmlExporter>(std::move(context));
}

}  // namespace ptrace_prof
