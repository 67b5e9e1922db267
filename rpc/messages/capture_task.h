// A collector's task: the message that carries it (ptraceprof/internal/capture_task.proto), and the values that follow
// from several of its fields.
//
// Pure functions on a task that was checked and filled (check_spec.h).
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "ptraceprof/internal/capture_task.pb.h"

namespace ptrace_prof {

namespace v1 = ptraceprof::v1;
using CaptureTask = ptraceprof::internal::CaptureTask;

// What is stopped while a sample is taken.
enum class StopPolicy : uint8_t {
  kBrief,  // a running thread, for tens of microseconds
  kNone,   // nothing: a stack that changes meanwhile is torn
  kAll,    // the whole process
};

inline constexpr double kMostRateHz = 200'000;
// The limit of MODE_AUTO if none is given: a user who leaves the choice to us does not expect much slowdown.
inline constexpr double kAutoTraceOverhead = 0.05;
inline constexpr double kDefaultMaxStopped = 0.01;
// The limit of sampled_because, in bytes.
inline constexpr size_t kMaxSentence = 1000;

Nanos ToNanos(const google::protobuf::Duration& duration);
void SetNanos(Nanos time, google::protobuf::Duration* out);

inline Pid TargetOf(const CaptureTask& task) { return Pid(task.spec().target().pid()); }
void SetTarget(Pid pid, CaptureTask* task);           // 0: no target
std::vector<Tid> ThreadsOf(const CaptureTask& task);  // only these (IDs of the host); empty: all
// Whether the sentences in a task are short and of one line each. A task from a trace may contain anything.
bool IsPrintable(const CaptureTask& task);
// 0: until the target ends or the reader closes the pipe.
inline Nanos DurationOf(const CaptureTask& task) { return ToNanos(task.spec().duration()); }

// Whether the mode traces calls from the start, or may end up doing so.
inline bool MayTrace(v1::Mode mode) { return mode == v1::MODE_TRACE || mode == v1::MODE_AUTO; }
inline bool HasGpu(const v1::CaptureSpec& spec) { return spec.gpu() != v1::GPU_DETAIL_UNSPECIFIED; }
inline bool WantsTorch(const v1::CaptureSpec& spec) {
  return spec.torch() == v1::TORCH_ON || spec.record_shapes() || spec.profile_memory() || spec.execution_trace();
}
// Whether code of ours is brought into the target: a capture that samples only reads it.
inline bool EntersTarget(const v1::CaptureSpec& spec) {
  return MayTrace(spec.mode()) || HasGpu(spec) || WantsTorch(spec);
}
// 0: as fast as possible.
inline double RateOf(const v1::SampleOptions& sample) { return sample.as_fast_as_possible() ? 0 : sample.rate_hz(); }
// CPU time of the collector as a share of one core; 0: no limit.
inline double OverheadLimitOf(const v1::SampleOptions& sample) { return sample.max_overhead(); }
// Time for which a process is stopped for its samples, as a share; 0: no limit.
inline double StoppedLimitOf(const v1::SampleOptions& sample) { return sample.max_stopped(); }
StopPolicy StopsOf(const v1::SampleOptions& sample);
// The frames of a stack that are read. A trace of calls needs more, because it must contain the frames of all calls
// that are open when it begins. The target is stopped meanwhile: 11 ms for 32,000 frames, but 1.4 s for 90,000
// (measured).
uint32_t DepthOf(const CaptureTask& task);

}  // namespace ptrace_prof
