// What is asked of a collector, from the command line or over RPC: one struct, checked once.
//
// It travels to the collector process as "key=value" arguments (EncodeRequest/DecodeRequest) and is repeated in
// the trace's first packet. Unknown keys and values out of range are errors: nothing from a caller is trusted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/step_schedule.h"

namespace ptrace_prof {

enum class CaptureVerb : uint8_t {
  kRecord,  // sample or trace for a duration
  kDump,    // one sample of every thread, idle ones included
  kList,    // every Python process of the node, as ProcessEntry; pid is 0
  kDoctor,  // what works here and what not, as Check: of the node, and of `pid` where it is not 0
};

enum class IdlePolicy : uint8_t {
  kMain,  // idle samples of the main thread only: its waits are what a job is slow on
  kAll,
  kNone,
};

// What stands still while a sample is taken.
enum class StopPolicy : uint8_t {
  kBrief,  // a thread that runs, for tens of microseconds
  kNone,   // nothing: a stack that moves meanwhile is torn
  kAll,    // the whole process
};

enum class CaptureMode : uint8_t {
  kSample,  // looks at the stacks many times a second, from outside
  kTrace,   // every call and return, told by a stub inside the target
  kAuto,    // kTrace where the target can be traced without harm, else kSample; a trace is never of this mode
};

// Numbers about the node's GPUs beside what is recorded, by NVIDIA's management library.
enum class GpuCounters : uint8_t {
  kAuto,  // where there are some; nothing is said where not
  kOn,    // and a notice says why where there are none
  kOff,
};

// What is done when the buffer of a traced thread is full.
enum class OnFull : uint8_t {
  kDrop,      // events are lost until there is room: a gap
  kStop,      // the capture ends
  kThrottle,  // the thread waits for room, for a bounded time
};

// What is recorded of the GPU beside Python.
enum class GpuCaptureDetail : uint8_t {
  kOff,
  kCoarse,   // kernels and the calls that launch them
  kDefault,  // and copies, memsets, synchronisations, memory calls
  kFull,     // and events
};

// Of kTrace, and of kAuto as far as it comes to that.
struct CallTraceOptions {
  bool c_calls = false;                        // calls of C functions too
  uint64_t buffer_bytes = uint64_t{64} << 20;  // memory shared with the target, for all its threads
  Nanos min_duration;                          // calls that take less are left out, and counted
  uint64_t steps = 0;                          // end after that many whole steps of the job; 0: by time
  std::optional<StepSchedule> schedule;        // which steps are recorded; empty: all. Not with `steps`
  OnFull on_full = OnFull::kDrop;
  Nanos longest;                     // where no duration is asked for: the most that there may be, 0: no limit
  std::vector<std::string> filter;   // patterns (NameGlob): only functions that one of them matches; empty: all
  std::vector<std::string> exclude;  // but none of these
  double max_overhead = 0;           // what telling may cost the target, as a share of one core; 0 = no limit
};
// max_overhead of kAuto where nothing is said of it: who leaves the choice to us is not to be slowed down much.
inline constexpr double kAutoTraceOverhead = 0.05;
inline constexpr uint64_t kMinBufferBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxBufferBytes = uint64_t{4} << 30;

// Of sampled_because.
inline constexpr size_t kMaxSentence = 1000;

inline constexpr double kDefaultRateHz = 100;
inline constexpr double kMaxRateHz = 200'000;
inline constexpr uint32_t kDefaultMaxDepth = 4096;

struct CaptureRequest {
  CaptureVerb verb = CaptureVerb::kRecord;
  CaptureMode mode = CaptureMode::kSample;
  std::string sampled_because;  // of a trace: why kAuto came to kSample; empty: it was not asked, or could trace
  CallTraceOptions trace;
  GpuCaptureDetail gpu = GpuCaptureDetail::kOff;  // of the process itself, not of its children
  // Comes in even where the job disabled remote debugging, or where what we know of CUPTI or its GPU speaks against it.
  // Only where something comes in: with calls that are traced, or a GPU.
  bool force = false;
  Pid pid;
  uint64_t start_ticks = 0;  // of the process that is meant, in clock ticks since boot; 0 = whichever has that pid
  Nanos duration;            // 0 = until the target ends or the reader of the pipe goes away
  double rate_hz = kDefaultRateHz;  // 0 = as fast as possible
  double max_overhead = 0;          // CPU of the collector as a share of one core; 0 = no limit
  double max_stopped = 0.01;        // time for which a process stands still for its samples, as a share; 0 = no limit
  uint32_t max_depth = kDefaultMaxDepth;
  IdlePolicy idle = IdlePolicy::kMain;
  std::vector<Tid> threads;  // only these (host tids); empty = all
  bool gil_only = false;     // only the thread that holds the GIL
  bool subprocesses = true;
  StopPolicy stops = StopPolicy::kBrief;
  bool locals = false;                            // dump only
  GpuCounters gpu_counters = GpuCounters::kAuto;  // kRecord only
  bool wait_for_python = false;  // the target is still starting: wait until it, or a child, is a Python process
  // Of the administrator, for the collector alone, which is given it beside the words below: no caller can say it, no
  // trace has it (daemon/policy/child_rules.h).
  std::string child_rules;
};

std::vector<std::string> EncodeRequest(const CaptureRequest& request);
// kInvalidArgument names the key, the value and the allowed range.
Result<CaptureRequest> DecodeRequest(const std::vector<std::string>& arguments);

// Frames of a stack that are read. What is open when a trace of calls begins has its ends in there, so that is more.
// The target stands still meanwhile: 11 ms for 32,000 frames, but 1.4 s for 90,000 (measured).
inline uint32_t DepthOf(const CaptureRequest& request) {
  constexpr uint32_t kOfTraces = 32'768;
  return request.mode == CaptureMode::kTrace ? std::max(request.max_depth, kOfTraces) : request.max_depth;
}

}  // namespace ptrace_prof
