// The memory timeline of a training job, in the formats of torch.profiler's export_memory_timeline, by the end of the
// output's name:
//   .html            a page
//   .raw.json[.gz]   [[time in ns, action, bytes, category], …]; -1: before the recording
//   others, .gz      [[time in us, …], [[0, bytes of each category…], …]]
// Times are those of the day.
#include <fmt/format.h>

#include "daemon/export/format_exporter.h"
#include "daemon/export/json_output.h"
#include "daemon/export/memory_page.h"
#include "daemon/export/memory_report.h"

namespace ptrace_prof {
namespace {

bool EndsWith(std::string_view path, std::string_view ending) {
  return path.ends_with(ending) || path.ends_with(fmt::format("{}.gz", ending));
}

class MemoryTimelineExporter : public FormatExporter {
 public:
  explicit MemoryTimelineExporter(ExportContext context)
      : context_(std::move(context)), report_(context_.recording, context_.stacks) {}

  void OnSpan(const Span& span) override { report_.OnSpan(span); }
  void OnSample(TrackId track, Nanos when, StackId stack) override { report_.OnSample(track, when, stack); }
  void OnOperator(TrackId track, const Operator& one) override { report_.OnOperator(track, one); }
  void OnAllocation(TrackId track, const Allocation& one) override { report_.OnAllocation(track, one); }
  void OnHeldTensor(const HeldTensor& tensor) override { report_.OnHeldTensor(tensor); }

  Result<void> Finish() override {
    report_.Finish();
    for (std::string& note : report_.Notes()) {
      context_.notes.push_back(std::move(note));
    }
    if (EndsWith(context_.output_path, ".html")) {
      WriteMemoryPage(TitleOf(context_.recording, context_.options.title), report_, context_.out);
    } else if (EndsWith(context_.output_path, ".raw.json")) {
      WriteEvents();
    } else {
      WriteCurve();
    }
    return {};
  }

 private:
  int64_t TimeOfDay(Nanos when) const { return (when + context_.recording.clock_offset.value_or(Nanos())).value; }

  void WriteEvents() {
    JsonOutput json(context_.out);
    json.StartArray();
    for (const MemoryEvent& event : report_.events()) {
      json.StartArray();
      json.Int64(event.action == MemoryAction::kPreexisting ? -1 : TimeOfDay(event.when));
      json.Int64(static_cast<int64_t>(event.action));
      json.Int64(event.bytes);
      json.Int64(static_cast<int64_t>(event.category));
      json.EndArray();
    }
    json.EndArray();
  }

  void WriteCurve() {
    JsonOutput json(context_.out);
    json.StartArray();
    json.StartArray();
    for (const MemoryPoint& point : report_.curve()) {
      json.Int64(TimeOfDay(point.when) / 1000);
    }
    json.EndArray();
    json.StartArray();
    for (const MemoryPoint& point : report_.curve()) {
      json.StartArray();
      json.Int64(0);
      for (const int64_t bytes : point.bytes) {
        json.Int64(bytes);
      }
      json.EndArray();
    }
    json.EndArray();
    json.EndArray();
  }

  ExportContext context_;
  MemoryReport report_;
};

}  // namespace

std::unique_ptr<FormatExporter> MakeMemoryTimelineExporter(ExportContext context) {
  return std::make_unique<MemoryTimelineExporter>(std::move(context));
}

}  // namespace ptrace_prof
