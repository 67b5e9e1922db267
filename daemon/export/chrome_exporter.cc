// Chrome's trace JSON: nested begin and end events per thread, made from neighbouring samples with common callers, or
// the calls if they were traced (python_calls.h). Also GPU work (kineto_gpu.h).
//
// Written while the trace is read. Viewers of this format hold everything in memory, so the number of events is
// limited. An event, the metadata and a note report what is left out.
#include <fmt/format.h>

#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/json_output.h"
#include "daemon/export/kineto_gpu.h"
#include "daemon/export/kineto_operators.h"
#include "daemon/export/number_text.h"
#include "daemon/export/python_calls.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kMaxEvents = 2'000'000;

class ChromeExporter : public FormatExporter {
 public:
  explicit ChromeExporter(ExportContext context)
      : context_(std::move(context)),
        functions_(context_.stacks, context_.options.lines.value_or(false)),
        json_(context_.out) {
    json_.StartObject();
    json_.Member("displayTimeUnit", "ms");
    json_.Name("traceEvents");
    json_.StartArray();
  }

  void OnSpan(const Span& span) override;
  void OnGpuOperation(GpuQueueId queue, const GpuOperation& operation) override { gpu_.OnOperation(queue, operation); }
  void OnGpuApiCall(TrackId track, const GpuApiCall& call) override { gpu_.OnApiCall(track, call); }
  void OnGpuAnnotation(TrackId track, const GpuAnnotation& annotation) override {
    gpu_.OnAnnotation(track, annotation);
  }
  void OnOperator(TrackId track, const Operator& one) override { operators_.OnOperator(track, one); }
  void OnAllocation(TrackId track, const Allocation& one) override { operators_.OnAllocation(track, one); }
  Result<void> Finish() override;

 private:
  struct Track {
    std::vector<uint32_t> open;  // functions whose begin was written, root first
    Nanos end;
  };

  std::string_view NameOf(uint32_t function) const {
    const std::string& name = functions_.function(function).name;
    return name.empty() ? std::string_view("<unnamed>") : name;
  }
  void StartEvent(std::string_view phase, TrackId track, Nanos when);
  void Begin(TrackId track, uint32_t function, Nanos when);
  void CloseTo(TrackId track, size_t depth, Nanos when);
  void WriteNames();
  void WriteName(std::string_view what, Pid pid, Tid tid, const std::string& name);
  void WriteCapMarker();
  void WriteDistributedInfo();
  void WriteFlags();

  ExportContext context_;
  FunctionTable functions_;
  JsonOutput json_;
  KinetoWriter kineto_{context_.recording, json_, kMaxEvents};
  RangeEdges edges_;
  PythonCalls calls_{context_, functions_, json_, kineto_, edges_};
  OperatorLinks links_;
  KinetoGpu gpu_{context_, functions_, json_, kineto_, links_};
  KinetoOperators operators_{context_, json_, kineto_, links_, edges_};
  std::vector<Track> tracks_;
  std::vector<uint32_t> path_;
  uint64_t events_ = 0;
  uint64_t open_ = 0;  // begin events without their end yet
  std::optional<Nanos> capped_at_;
};

void ChromeExporter::StartEvent(std::string_view phase, TrackId track, Nanos when) {
  const ThreadInfo& thread = context_.recording.threads[track.value].info;
  json_.StartObject();
  json_.Member("ph", phase);
  json_.Member("pid", thread.pid.value);
  json_.Member("tid", thread.tid.value);
  json_.Name("ts");
  const std::string microseconds = fmt::format("{}.{:03}", when.value / 1000, when.value % 1000);
  json_.RawValue(microseconds.data(), microseconds.size(), rapidjson::kNumberType);
  ++events_;
}

void ChromeExporter::Begin(TrackId track, uint32_t function, Nanos when) {
  const Function& info = functions_.function(function);
  StartEvent("B", track, when);
  json_.Member("name", NameOf(function));
  json_.Member("cat", "python");
  if (!info.file.empty()) {
    json_.Name("args");
    json_.StartObject();
    json_.Member("file", info.file);
    json_.Member("line", info.line);
    json_.EndObject();
  }
  json_.EndObject();
  ++open_;
}

void ChromeExporter::CloseTo(TrackId track, size_t depth, Nanos when) {
  auto& open = tracks_[track.value].open;
  for (; open.size() > depth; open.pop_back(), --open_) {
    StartEvent("E", track, when);
    json_.Member("name", NameOf(open.back()));  // speedscope matches ends by name
    json_.EndObject();
  }
}

void ChromeExporter::OnSpan(const Span& span) {
  if (context_.recording.exact) {
    calls_.OnSpan(span);
    return;
  }
  if (capped_at_) {
    return;
  }
  if (span.track.value >= tracks_.size()) {
    tracks_.resize(span.track.value + 1);
  }
  Track& track = tracks_[span.track.value];
  functions_.PathOf(span.stack, path_);
  if (events_ + open_ + 2 * path_.size() > kMaxEvents) {  // each begin needs its end
    capped_at_ = span.start;
    return;
  }
  size_t common = 0;
  if (span.start <= track.end) {
    while (common < path_.size() && common < track.open.size() && path_[common] == track.open[common]) {
      ++common;
    }
  }
  CloseTo(span.track, common, track.end);
  for (; common < path_.size(); ++common) {
    Begin(span.track, path_[common], span.start);
    track.open.push_back(path_[common]);
  }
  track.end = span.end;
}

void ChromeExporter::WriteName(std::string_view what, Pid pid, Tid tid, const std::string& name) {
  json_.StartObject();
  json_.Member("ph", "M");
  json_.Member("pid", pid.value);
  json_.Member("tid", tid.value);
  json_.Member("name", what);
  json_.Name("args");
  json_.StartObject();
  json_.Member("name", name);
  json_.EndObject();
  json_.EndObject();
}

void ChromeExporter::WriteNames() {
  const Recording& recording = context_.recording;
  std::optional<Pid> last;
  for (const TrackId track : recording.ThreadsInOrder()) {
    const RecordedThread& thread = recording.threads[track.value];
    if (last != thread.info.pid) {
      const auto process = recording.processes.find(thread.info.pid);
      WriteName("process_name", thread.info.pid, thread.info.tid,
                process == recording.processes.end() ? "process" : CommandLine(process->second));
      last = thread.info.pid;
    }
    WriteName("thread_name", thread.info.pid, thread.info.tid, ThreadLabel(thread));
  }
}

// HolisticTraceAnalysis searches for exactly these characters, blank included (get_trace_files: `"rank": (\d+)`), and
// takes the first match. So nothing is written if the processes have several ranks.
void ChromeExporter::WriteDistributedInfo() {
  const ProcessInfo* found = nullptr;
  for (const auto& [pid, process] : context_.recording.processes) {
    const bool has_rank = process.rank.value_or(-1) >= 0;
    if (!has_rank && process.process_groups.empty()) {
      continue;
    }
    if (found != nullptr && process.rank != found->rank) {
      return;
    }
    found = found == nullptr || found->process_groups.empty() ? &process : found;
  }
  if (found == nullptr) {
    return;
  }
  std::vector<std::string> members;
  if (found->rank.value_or(-1) >= 0) {
    members.push_back(fmt::format(R"("rank": {})", *found->rank));
  }
  if (IsJson(found->process_groups, '{')) {
    members.push_back(found->process_groups.substr(1, found->process_groups.size() - 2));
  } else if (found->world_size.has_value()) {
    members.push_back(fmt::format(R"("world_size": {})", *found->world_size));
  }
  const std::string info = fmt::format("{{{}}}", fmt::join(members, ", "));
  json_.Name("distributedInfo");
  json_.RawValue(info.data(), info.size(), rapidjson::kObjectType);
}

// What the file holds, as torch.profiler says it: 1, or nothing.
void ChromeExporter::WriteFlags() {
  if (operators_.is_empty()) {
    return;
  }
  const std::pair<const char*, bool> flags[] = {{"with_stack", context_.recording.exact},
                                                {"profile_memory", operators_.has_memory()},
                                                {"record_shapes", operators_.has_inputs()},
                                                {"with_modules", context_.recording.exact},
                                                {"with_flops", operators_.has_inputs()}};
  for (const auto& [name, is_set] : flags) {
    if (is_set) {
      json_.Member(name, int64_t{1});
    }
  }
}

void ChromeExporter::WriteCapMarker() {
  const std::string note = fmt::format(
      "Only the first {} are in this file: it is limited to {} events. Choose another format, or fewer "
      "threads.",
      DurationText(*capped_at_ - context_.recording.first), WithCommas(kMaxEvents));
  json_.StartObject();
  json_.Member("ph", "i");
  json_.Member("s", "g");
  json_.Member("pid", int64_t{0});
  json_.Member("tid", int64_t{0});
  json_.Member("ts", capped_at_->value / 1000);
  json_.Member("name", "ptrace-prof: " + note);
  json_.EndObject();
  context_.notes.push_back(note);
}

Result<void> ChromeExporter::Finish() {
  for (uint32_t i = 0; i < tracks_.size(); ++i) {
    CloseTo(TrackId(i), 0, tracks_[i].end);
  }
  calls_.Finish();
  operators_.Finish();
  gpu_.Finish();
  WriteNames();
  gpu_.WriteNames();
  if (!capped_at_) {
    capped_at_ = kineto_.capped_at();
  }
  if (capped_at_) {
    WriteCapMarker();
  }
  json_.EndArray();
  if (context_.recording.exact || !gpu_.is_empty() || !operators_.is_empty()) {
    kineto_.WriteBase();
  }
  if (!gpu_.is_empty()) {
    gpu_.WriteDeviceProperties();
  }
  WriteFlags();
  for (const auto& [key, value] : context_.recording.metadata) {
    json_.Member(key, value);
  }
  WriteDistributedInfo();
  json_.Name("otherData");
  json_.StartObject();
  json_.Member("exporter", "ptrace-prof");
  json_.Member("command", TitleOf(context_.recording, context_.options.title));
  for (const auto& [name, value] : FactsOf(context_.recording)) {
    json_.Member(name, value);
  }
  size_t number = 0;
  for (const std::string& caution : CautionsOf(context_.recording)) {
    json_.Member(fmt::format("note {}", ++number), caution);
  }
  json_.EndObject();
  json_.EndObject();
  context_.out.Put('\n');
  return {};
}

}  // namespace

std::unique_ptr<FormatExporter> MakeChromeExporter(ExportContext context) {
  return std::make_unique<ChromeExporter>(std::move(context));
}

}  // namespace ptrace_prof
