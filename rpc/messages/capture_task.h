// What a collector is asked to do, as the message that carries it (ptraceprof/internal/capture_task.proto), with the
// values that follow from several of its fields.
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

// What stands still while a sample is taken.
enum class StopPolicy : uint8_t {
  kBrief,  // a thread that runs, for tens of microseconds
  kNone,   // nothing: a stack that moves meanwhile is torn
  kAll,    // the whole process
};

inline constexpr double kMostRateHz = 200'000;
// MODE_AUTO without a limit of its own: a user who leaves the choice to us does not expect to be slowed down much.
inline constexpr double kAutoTraceOverhead = 0.05;
inline constexpr double kDefaultMaxStopped = 0.01;
// Of sampled_because, in bytes.
inline constexpr size_t kMaxSentence = 1000;

Nanos ToNanos(const google::protobuf::Duration& duration);
void SetNanos(Nanos time, google::protobuf::Duration* out);

inline Pid TargetOf(const CaptureTask& task) { return Pid(task.spec().target().pid()); }
void SetTarget(Pid pid, CaptureTask* task);           // 0: none
std::vector<Tid> ThreadsOf(const CaptureTask& task);  // only these (IDs of the host); empty: all
// What a task says in words is short and of one line: one that comes with a trace may say anything.
bool IsPrintable(const CaptureTask& task);
// 0: until the target ends or the reader of the pipe goes away.
inline Nanos DurationOf(const CaptureTask& task) { return ToNanos(task.spec().duration()); }

// With this mode, or once it has come to it.
inline bool MayTrace(v1::Mode mode) { return mode == v1::MODE_TRACE || mode == v1::MODE_AUTO; }
inline bool HasGpu(const v1::CaptureSpec& spec) { return spec.gpu() != v1::GPU_DETAIL_UNSPECIFIED; }
// 0: as fast as possible.
inline double RateOf(const v1::SampleOptions& sample) { return sample.as_fast_as_possible() ? 0 : sample.rate_hz(); }
// CPU of the collector as a share of one core; 0: no limit.
inline double OverheadLimitOf(const v1::SampleOptions& sample) { return sample.max_overhead(); }
// Time for which a process stands still for its samples, as a share; 0: no limit.
inline double StoppedLimitOf(const v1::SampleOptions& sample) { return sample.max_stopped(); }
StopPolicy StopsOf(const v1::SampleOptions& sample);
// Frames of a stack that are read. What is open when a trace of calls begins has its ends in there, so that is more.
// The target stands still meanwhile: 11 ms for 32,000 frames, but 1.4 s for 90,000 (measured).
uint32_t DepthOf(const CaptureTask& task);

}  // namespace ptrace_prof
