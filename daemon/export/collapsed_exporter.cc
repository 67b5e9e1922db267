// "process;thread;frame;frame count": one line per distinct stack, for flamegraph.pl and similar tools.
//
// The count is in samples, or in nanoseconds if calls were traced. Process and thread are root frames if there are
// several. An empty stack (a native thread) is written as "[no Python frame]", so that counts add up. ';' and line
// breaks in names are replaced.
#include <algorithm>
#include <map>

#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/stack_totals.h"

namespace ptrace_prof {
namespace {

std::string Field(std::string text) {
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

class CollapsedExporter : public FormatExporter {
 public:
  explicit CollapsedExporter(ExportContext context)
      : context_(std::move(context)), functions_(context_.stacks, context_.options.lines.value_or(true)) {}

  void OnSpan(const Span& span) override { totals_.Add(span); }
  Result<void> Finish() override;

 private:
  std::string RootOf(TrackId track) const;

  ExportContext context_;
  FunctionTable functions_;
  StackTotals totals_;
};

std::string CollapsedExporter::RootOf(TrackId track) const {
  const Recording& recording = context_.recording;
  const RecordedThread& thread = recording.threads[track.value];
  std::string root;
  if (recording.HasSeveralProcesses()) {
    root += Field(ProcessLabel(recording, thread.info.pid)) + ";";
  }
  if (recording.ThreadsInOrder().size() > 1) {
    root += Field(ThreadLabel(thread)) + ";";
  }
  return root;
}

Result<void> CollapsedExporter::Finish() {
  // Stacks that differ only in columns, which are not shown, share a line. Sorted, so that equal traces give equal
  // files.
  std::map<std::vector<uint32_t>, uint64_t> lines;
  const std::vector<StackTotal> totals = totals_.Sorted();
  std::vector<uint32_t> path;
  for (const TrackId track : context_.recording.ThreadsInOrder()) {
    const std::string root = RootOf(track);
    lines.clear();
    auto at = std::lower_bound(totals.begin(), totals.end(), track,
                               [](const StackTotal& total, TrackId wanted) { return total.track < wanted; });
    for (; at != totals.end() && at->track == track; ++at) {
      functions_.PathOf(at->stack, path);
      lines[path] += at->weight(context_.recording.exact);
    }
    for (const auto& [functions, weight] : lines) {
      if (weight == 0) {
        continue;  // a caller without self time
      }
      std::string text = root;
      for (const uint32_t function : functions) {
        text += Field(LabelOf(functions_.function(function))) + ";";
      }
      if (functions.empty()) {
        text += "[no Python frame];";
      }
      text.back() = ' ';
      context_.out.Write(text + std::to_string(weight) + "\n");
    }
  }
  return {};
}

}  // namespace

std::unique_ptr<FormatExporter> MakeCollapsedExporter(ExportContext context) {
  return std::make_unique<CollapsedExporter>(std::move(context));
}

}  // namespace ptrace_prof
