// What the job says of itself by NVTX, out of CUPTI's records of begins, ends and marks: puts begins and ends together
// and writes the ranges into the trace.
//
// A begin and its end are records of their own with the same number, and come in no order. A range is written once both
// are there, on the track of the thread that began it; what had begun before has no name and is only counted, what goes
// on at the end is written up to there, unless its end may be among records that were lost. Bounded whatever the target
// says. One per target; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collector/gpu/gpu_clock.h"
#include "daemon/collector/gpu/gpu_joiner.h"
#include "daemon/collector/gpu/gpu_names.h"
#include "daemon/collector/gpu/gpu_record.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

class GpuAnnotations {
 public:
  // All must outlive it.
  GpuAnnotations(TraceWriter& writer, GpuNames& names, const GpuClock& clock, GpuCallSites& sites)
      : writer_(writer), names_(names), clock_(clock), sites_(sites) {}

  void Take(const GpuRecord& record);
  // What ended before is not of this capture.
  void Open(Nanos when) { opened_ = when; }
  // What begins later is not of it, and what goes on is cut there. The first time counts.
  void Close(Nanos when) { closed_ = std::min(closed_, when); }
  // Writes what is whole.
  void Settle();
  // No more will come: writes everything. `lacks`: how many records of the process, or buffers of them, were lost.
  void Finish(Nanos now, uint64_t lacks);

  bool has_seen_any() const { return has_seen_any_; }
  // The counters of this side; the others are left alone.
  void CountInto(GpuAccounting& accounting) const;

 private:
  struct Half {
    Nanos when;
    uint32_t thread = 0;  // of a begin, as are the next two
    std::string_view name;
    std::string_view domain;
  };
  struct Whole {
    GpuAnnotation annotation;
    uint32_t thread = 0;
  };
  using Halves = std::unordered_map<uint32_t, Half>;  // by the range's number

  void Begin(uint32_t number, const Half& begin);
  void End(uint32_t number, const Half& end);
  void Add(const Half& begin, Nanos end, GpuAnnotationKind kind);

  TraceWriter& writer_;
  GpuNames& names_;
  const GpuClock& clock_;
  GpuCallSites& sites_;
  Halves begins_;
  Halves ends_;
  std::vector<Whole> whole_;
  Nanos opened_{INT64_MIN};
  Nanos closed_{INT64_MAX};
  bool has_seen_any_ = false;
  uint64_t written_ = 0;
  uint64_t without_begin_ = 0;
  uint64_t without_end_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace ptrace_prof
