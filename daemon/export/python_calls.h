// Exact calls as complete events of Chrome's trace JSON, as PyTorch's profiler (Kineto) writes calls of Python
// functions: category python_function, with the ids of the call and of its caller.
//
// Part of the chrome format, which owns the surrounding JSON. An event is written when its call ends, callees before
// callers.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/json_output.h"
#include "daemon/export/kineto_writer.h"
#include "daemon/export/range_edges.h"

namespace ptrace_prof {

class PythonCalls {
 public:
  // All must outlive it.
  PythonCalls(const ExportContext& context, FunctionTable& functions, JsonOutput& json, KinetoWriter& writer,
              RangeEdges& edges)
      : context_(context), functions_(functions), json_(json), writer_(writer), edges_(edges) {}

  void OnSpan(const Span& span);
  // Writes the calls that are still open, and the job's steps.
  void Finish();

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

  void Begin(Track& track, const Span& span);
  void End(Track& track, TrackId id, Nanos when, std::optional<CallExit> exit);
  void WriteCall(const Track& track, TrackId id, Nanos when, std::optional<CallExit> exit);
  std::string NameOf(FrameId frame);

  const ExportContext& context_;
  FunctionTable& functions_;
  JsonOutput& json_;
  KinetoWriter& writer_;
  RangeEdges& edges_;
  uint64_t last_id_ = 0;
  std::vector<Track> tracks_;
  std::unordered_map<uint32_t, uint64_t> module_ids_;  // by frame
};

}  // namespace ptrace_prof
