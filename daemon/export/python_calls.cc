#include "daemon/export/python_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ptrace_prof {
namespace {

// Steps end in the middle of calls, and slices of one thread must nest. So steps get a thread id of their own, above
// the kernel's (PID_MAX_LIMIT).
constexpr int64_t kStepTid = 4'194'304;
// They begin that much later, so that a step that is added up in doubles ends before the next one begins.
constexpr Nanos kStepGap(2);

}  // namespace

void PythonCalls::OnSpan(const Span& span) {
  if (span.track.value >= tracks_.size()) {
    tracks_.resize(span.track.value + 1);
  }
  Track& track = tracks_[span.track.value];
  if (span.samples > 0) {
    Begin(track, span);
  }
  track.end = span.end;
  if (span.ends) {
    End(track, span.track, span.end, span.exit);
  }
}

void PythonCalls::Begin(Track& track, const Span& span) {
  if (!writer_.TakeRoom(span.start)) {
    ++track.skipped;
    return;
  }
  track.open.push_back({++last_id_, context_.stacks.leaf(span.stack), span.start, span.entry});
}

void PythonCalls::End(Track& track, TrackId id, Nanos when, std::optional<CallExit> exit) {
  if (track.skipped > 0) {
    --track.skipped;
  } else if (!track.open.empty()) {
    WriteCall(track, id, when, exit);
    track.open.pop_back();
  }
}

std::string PythonCalls::NameOf(FrameId frame) {
  const Function& function = functions_.function(functions_.IdOf(frame));
  const std::string& name = function.name.empty() ? "<unnamed>" : function.name;
  switch (function.kind) {
    case FrameKind::kC: return fmt::format("<built-in function {}>", name);
    case FrameKind::kModule:
    case FrameKind::kMarker: return name;
    case FrameKind::kPython: break;
  }
  return fmt::format("{}({}): {}", ShortPath(function.file), function.line, name);
}

void PythonCalls::WriteCall(const Track& track, TrackId id, Nanos when, std::optional<CallExit> exit) {
  const Call& call = track.open.back();
  const ThreadInfo& thread = context_.recording.threads[id.value].info;
  if (RangeEdges::Matters(functions_.function(functions_.IdOf(call.frame)).name)) {
    edges_.AddCall({thread.pid.value, thread.tid.value}, call.start, std::max(when, call.start));
  }
  writer_.Start({thread.pid.value, thread.tid.value}, call.entry == CallEntry::kGap ? "overhead" : "python_function",
                NameOf(call.frame), call.start, std::max(when, call.start));
  json_.Name("args");
  json_.StartObject();
  json_.Member("Python id", static_cast<int64_t>(call.id));
  json_.Name("Python parent id");
  if (track.open.size() > 1) {
    json_.Uint64(track.open[track.open.size() - 2].id);
  } else {
    json_.Null();
  }
  if (context_.stacks.frame(call.frame).kind == FrameKind::kModule) {
    const auto module = module_ids_.try_emplace(call.frame.value, module_ids_.size()).first;
    json_.Member("Python module id", static_cast<int64_t>(module->second));
  }
  const bool finished = exit && *exit != CallExit::kCut && *exit != CallExit::kLost;
  if (!finished) {
    json_.Name("finished");
    json_.Bool(false);
  }
  if (exit == CallExit::kYield || call.entry == CallEntry::kResume || call.entry == CallEntry::kThrow) {
    json_.Name("suspended");  // a stretch of a generator or coroutine that continues elsewhere
    json_.Bool(true);
  }
  json_.EndObject();
  json_.EndObject();
}

void PythonCalls::Finish() {
  for (uint32_t i = 0; i < tracks_.size(); ++i) {
    tracks_[i].skipped = 0;
    while (!tracks_[i].open.empty()) {
      End(tracks_[i], TrackId(i), tracks_[i].end, std::nullopt);
    }
  }
  std::set<TrackId> named;
  for (const RecordedStep& step : context_.recording.steps) {
    const RecordedThread& thread = context_.recording.threads[step.track.value];
    const KinetoPlace where{thread.info.pid.value, kStepTid + thread.info.tid.value};
    if (!thread.selected) {
      continue;
    }
    writer_.Start(where, "user_annotation", fmt::format("ProfilerStep#{}", step.number),
                  std::min(step.begin + kStepGap, step.end), step.end);
    json_.EndObject();
    if (named.insert(step.track).second) {
      writer_.Name(where, "thread_name", "steps of " + ThreadLabel(thread));
    }
  }
}

}  // namespace ptrace_prof
