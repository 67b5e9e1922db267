// Exact calls as complete events of Chrome's trace JSON, in the shape in which PyTorch's profiler (Kineto) writes the
// calls of Python functions: category python_function, an id of each call and its caller's.
//
// Part of the chrome format, which owns the JSON around it. An event is written when its call ends, callees before
// callers. Times are microseconds since Kineto's base: the time of day, cut down to whole trimesters, so that ranks on
// several hosts share it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/json_output.h"

namespace ptrace_prof {

class PythonCalls {
 public:
  // All must outlive it. Writes no more than `max_events`.
  PythonCalls(const ExportContext& context, FunctionTable& functions, JsonOutput& json, uint64_t max_events)
      : context_(context), functions_(functions), json_(json), max_events_(max_events) {}

  void OnSpan(const Span& span);
  // The calls that are still open, and the job's steps.
  void Finish();
  void WriteBase();  // members of the file's outermost object
  std::optional<Nanos> capped_at() const { return capped_at_; }

 private:
  struct Call {
    uint64_t id = 0;
    FrameId frame;
    Nanos start;
    CallEntry entry{};
  };
  struct Track {
    std::vector<Call> open;
    uint32_t skipped = 0;  // open calls above those, left out
    Nanos end;
  };

  struct Where {
    int64_t pid = 0;
    int64_t tid = 0;
  };

  void Begin(Track& track, const Span& span);
  void End(Track& track, TrackId id, Nanos when, std::optional<CallExit> exit);
  void WriteCall(const Track& track, TrackId id, Nanos when, std::optional<CallExit> exit);
  void WriteTimes(const Where& where, std::string_view category, const std::string& name, Nanos start, Nanos end);
  void WriteThreadName(const Where& where, const std::string& name);
  void WriteMicros(std::string_view member, Nanos time);
  std::string NameOf(FrameId frame);

  const ExportContext& context_;
  FunctionTable& functions_;
  JsonOutput& json_;
  const uint64_t max_events_;
  uint64_t events_ = 0;
  uint64_t last_id_ = 0;
  std::optional<Nanos> base_;  // to be taken off CLOCK_MONOTONIC
  std::optional<Nanos> capped_at_;
  std::vector<Track> tracks_;
  std::unordered_map<uint32_t, uint64_t> module_ids_;  // by frame
};

}  // namespace ptrace_prof
