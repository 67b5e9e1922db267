// The memory timeline of a training job, in the formats of torch.profiler's export_memory_timeline, by the end of the
// output's name:
//   .html            a page
//   .raw.json[.gz]   [[time in ns, action, bytes, category], …]; -1: before the recording
//   others, .gz      [[time in us, …], [[0, bytes of each category…], …]]
// Times are those of the day.
#include <fmt/format.h>

#include "daemon/export/format_exporter.h"
#include "daemon/export/json_output.h"
#include "daemon/export/memory_curve.h"
#include "daemon/export/memory_ledger.h"
#include "daemon/export/memory_page.h"
#include "daemon/export/memory_peak.h"
#include "daemon/export/number_text.h"
#include "daemon/export/thread_stacks.h"

namespace ptrace_prof {
namespace {

bool EndsWith(std::string_view path, std::string_view ending) {
  return path.ends_with(ending) || path.ends_with(fmt::format("{}.gz", ending));
}

class MemoryTimelineExporter : public FormatExporter {
 public:
  explicit MemoryTimelineExporter(ExportContext context)
      : context_(std::move(context)), ledger_(context_.recording), threads_(context_.recording) {}

  void OnSpan(const Span& span) override { threads_.OnSpan(span); }
  void OnSample(TrackId track, Nanos when, StackId stack) override { threads_.OnSample(track, when, stack); }
  void OnOperator(TrackId track, const Operator& one) override { ledger_.OnOperator(track, one); }
  void OnAllocation(TrackId track, const Allocation& one) override { ledger_.OnAllocation(track, one); }
  void OnHeldTensor(const HeldTensor& tensor) override { ledger_.OnHeldTensor(tensor); }

  Result<void> Finish() override {
    ledger_.Finish();
    AddNotes();
    const TorchDevice device = MainDeviceOf(ledger_);
    const std::vector<MemoryEvent> events = MemoryEventsOf(ledger_, device);
    if (EndsWith(context_.output_path, ".html")) {
      WritePage(device, MemoryCurveOf(events));
    } else if (EndsWith(context_.output_path, ".raw.json")) {
      WriteEvents(events);
    } else {
      WriteCurve(MemoryCurveOf(events));
    }
    return {};
  }

 private:
  int64_t TimeOfDay(Nanos when) const { return (when + context_.recording.clock_offset.value_or(Nanos())).value; }

  void AddNotes() {
    if (ledger_.blocks().empty()) {
      context_.notes.push_back("The trace has no memory of PyTorch: record with --profile-memory --record-shapes.");
    } else if (!ledger_.has_storages()) {
      context_.notes.push_back(
          "Only what models and optimizers hold has a category: record with --record-shapes, too, for the others.");
    }
    if (ledger_.left_out() > 0) {
      context_.notes.push_back(
          fmt::format("{} events had no room: shorten the recording.", WithCommas(ledger_.left_out())));
    }
    const Accounting totals = context_.recording.accounting.value_or(Accounting());
    if (totals.operators_lost > 0) {
      context_.notes.push_back(
          fmt::format("{} events of PyTorch were lost while it was recorded: memory may be wrong "
                      "from then on. Record with a larger --buffer.",
                      WithCommas(totals.operators_lost)));
    }
  }

  void WritePage(TorchDevice device, const std::vector<MemoryPoint>& curve) {
    const MemoryPeak peak = PeakOf(ledger_, device, curve, threads_, context_.stacks);
    WriteMemoryPage({.title = TitleOf(context_.recording, context_.options.title),
                     .device = device,
                     .curve = curve,
                     .peak = peak,
                     .begin = ledger_.begin(),
                     .end = ledger_.end(),
                     .notes = context_.notes},
                    context_.out);
  }

  void WriteEvents(const std::vector<MemoryEvent>& events) {
    JsonOutput json(context_.out);
    json.StartArray();
    for (const MemoryEvent& event : events) {
      json.StartArray();
      json.Int64(event.action == MemoryAction::kPreexisting ? -1 : TimeOfDay(event.when));
      json.Int64(static_cast<int64_t>(event.action));
      json.Int64(event.bytes);
      json.Int64(static_cast<int64_t>(event.category));
      json.EndArray();
    }
    json.EndArray();
  }

  void WriteCurve(const std::vector<MemoryPoint>& curve) {
    JsonOutput json(context_.out);
    json.StartArray();
    json.StartArray();
    for (const MemoryPoint& point : curve) {
      json.Int64(TimeOfDay(point.when) / 1000);
    }
    json.EndArray();
    json.StartArray();
    for (const MemoryPoint& point : curve) {
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
  MemoryLedger ledger_;
  ThreadStacks threads_;
};

}  // namespace

std::unique_ptr<FormatExporter> MakeMemoryTimelineExporter(ExportContext context) {
  return std::make_unique<MemoryTimelineExporter>(std::move(context));
}

}  // namespace ptrace_prof
