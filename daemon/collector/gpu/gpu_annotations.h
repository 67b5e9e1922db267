// Pairs CUPTI's records of the begins, ends and marks of the job's NVTX annotations, and writes the ranges into the
// trace.
//
// A begin and its end are separate records with the same number, in any order. A range is written once both are there,
// on the track of the thread that began it. A range that began before has no name and is only counted. One that is
// still open at the end is written up to there, unless its end may be among lost records. Bounded whatever the target
// reports. One per target; one thread.
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
  // All arguments must outlive it.
  GpuAnnotations(TraceWriter& writer, GpuNames& names, const GpuClock& clock, GpuCallSites& sites)
      : writer_(writer), names_(names), clock_(clock), sites_(sites) {}

  void Take(const GpuRecord& record);
  // Drops what ended before `when`, the beginning of the capture.
  void Open(Nanos when) { opened_ = when; }
  // Drops what begins later, and cuts open ranges there. Only the first call counts.
  void Close(Nanos when) { closed_ = std::min(closed_, when); }
  // Writes the complete ranges.
  void Settle();
  // Writes everything; no more records may come. `lacks`: number of lost records, or lost buffers of them, of the
  // process.
  void Finish(Nanos now, uint64_t lacks);

  bool has_seen_any() const { return has_seen_any_; }
  // Sets the counters of annotations only.
  void CountInto(GpuAccounting& accounting) const;

 private:
  struct Half {
    Nanos when;
    uint32_t thread = 0;  // set only for a begin, as the next two
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
