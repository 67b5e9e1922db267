// speedscope's JSON (https://www.speedscope.app/file-format-schema.json): a sampled profile per thread, in order of
// time, weights in seconds. Stretches without samples (an idle thread) are samples with an empty stack. If calls were
// traced: an evented profile per thread, in nanoseconds. A profile begins when its thread was first seen, on a clock
// shared by all profiles that is 0 at the first sample or call.
#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/json_output.h"
#include "daemon/export/span_spool.h"

namespace ptrace_prof {
namespace {

class SpeedscopeExporter : public FormatExporter {
 public:
  explicit SpeedscopeExporter(ExportContext context)
      : context_(std::move(context)),
        functions_(context_.stacks, context_.options.lines.value_or(false)),
        spool_(context_.temporary_folder),
        json_(context_.out) {
    json_.SetMaxDecimalPlaces(9);
  }

  void OnSpan(const Span& span) override { spool_.Append(span); }
  Result<void> Finish() override;

 private:
  Result<void> WriteProfile(TrackId track);
  Result<void> WriteCalls(TrackId track);
  void WriteEvent(const char* type, FrameId frame, Nanos at);
  void StartProfile(TrackId track, std::string_view type, std::string_view unit);
  void WriteFrames();

  ExportContext context_;
  FunctionTable functions_;
  SpanSpool spool_;
  JsonOutput json_;
};

void SpeedscopeExporter::StartProfile(TrackId track, std::string_view type, std::string_view unit) {
  const Recording& recording = context_.recording;
  const RecordedThread& thread = recording.threads[track.value];
  json_.StartObject();
  json_.Member("type", type);
  json_.Member("name", (recording.HasSeveralProcesses() ? ProcessLabel(recording, thread.info.pid) + " " : "") +
                           ThreadLabel(thread));
  json_.Member("unit", unit);
}

void SpeedscopeExporter::WriteEvent(const char* type, FrameId frame, Nanos at) {
  json_.StartObject();
  json_.Member("type", type);
  json_.Member("frame", static_cast<int64_t>(functions_.IdOf(frame)));
  json_.Member("at", (at - context_.recording.first).value);
  json_.EndObject();
}

Result<void> SpeedscopeExporter::WriteCalls(TrackId track) {
  const StackTable& stacks = context_.stacks;
  StartProfile(track, "evented", "nanoseconds");
  json_.Name("events");
  json_.StartArray();
  std::vector<FrameId> open;
  const Nanos begin = context_.recording.threads[track.value].first;
  Nanos end = begin;
  PP_RETURN_IF_ERROR(spool_.ForEach(track, [&](const Span& span) {
    const FrameId leaf = stacks.leaf(span.stack);
    if (span.samples > 0) {
      WriteEvent("O", leaf, span.start);
      open.push_back(leaf);
    }
    end = span.end;
    if (span.ends && !open.empty()) {
      WriteEvent("C", open.back(), span.end);
      open.pop_back();
    }
  }));
  for (; !open.empty(); open.pop_back()) {
    WriteEvent("C", open.back(), end);  // the trace was cut
  }
  json_.EndArray();
  json_.Member("startValue", (begin - context_.recording.first).value);
  json_.Member("endValue", (end - context_.recording.first).value);
  json_.EndObject();
  return {};
}

Result<void> SpeedscopeExporter::WriteProfile(TrackId track) {
  const Recording& recording = context_.recording;
  if (recording.exact) {
    return WriteCalls(track);
  }
  StartProfile(track, "sampled", "seconds");
  json_.Name("samples");
  json_.StartArray();
  const Nanos begin = recording.threads[track.value].first;
  Nanos at = begin;
  std::vector<uint32_t> path;
  const auto write_sample = [&](const Span& span) {
    if (span.start > at) {
      json_.StartArray();
      json_.EndArray();
    }
    functions_.PathOf(span.stack, path);
    json_.StartArray();
    for (const uint32_t function : path) {
      json_.Uint(function);
    }
    json_.EndArray();
    at = span.end;
  };
  PP_RETURN_IF_ERROR(spool_.ForEach(track, write_sample));
  const Nanos end = at;
  json_.EndArray();
  json_.Name("weights");
  json_.StartArray();
  at = begin;
  const auto write_weight = [&](const Span& span) {
    if (span.start > at) {
      json_.Double((span.start - at).seconds());
    }
    json_.Double((span.end - span.start).seconds());
    at = span.end;
  };
  PP_RETURN_IF_ERROR(spool_.ForEach(track, write_weight));
  json_.EndArray();
  json_.Name("startValue");
  json_.Double((begin - recording.first).seconds());
  json_.Name("endValue");
  json_.Double((end - recording.first).seconds());
  json_.EndObject();
  return {};
}

void SpeedscopeExporter::WriteFrames() {
  json_.Name("shared");
  json_.StartObject();
  json_.Name("frames");
  json_.StartArray();
  for (uint32_t id = 0; id < functions_.size(); ++id) {
    const Function& function = functions_.function(id);
    json_.StartObject();
    json_.Member("name", function.name.empty() ? "<unnamed>" : function.name);
    if (!function.file.empty()) {
      json_.Member("file", function.file);
    }
    if (function.line > 0) {
      json_.Member("line", function.line);
    }
    json_.EndObject();
  }
  json_.EndArray();
  json_.EndObject();
}

Result<void> SpeedscopeExporter::Finish() {
  json_.StartObject();
  json_.Member("$schema", "https://www.speedscope.app/file-format-schema.json");
  json_.Member("exporter", "ptrace-prof");
  json_.Member("name", TitleOf(context_.recording, context_.options.title));
  json_.Member("activeProfileIndex", int64_t{0});
  json_.Name("profiles");
  json_.StartArray();
  for (const TrackId track : context_.recording.ThreadsInOrder()) {
    PP_RETURN_IF_ERROR(WriteProfile(track));
  }
  json_.EndArray();
  WriteFrames();
  json_.EndObject();
  context_.out.Put('\n');
  return {};
}

}  // namespace

std::unique_ptr<FormatExporter> MakeSpeedscopeExporter(ExportContext context) {
  return std::make_unique<SpeedscopeExporter>(std::move(context));
}

}  // namespace ptrace_prof
