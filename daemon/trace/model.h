// The data in a trace besides stacks: processes, threads, thread states, sample quality, accounting, the end.
//
// TraceWriter (in the collector) takes these structs and TraceReader (in exporters) returns them. Plain data. All times
// are CLOCK_MONOTONIC of the recorded host.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/left_out.h"

namespace ptrace_prof {

struct TimeRange {
  Nanos begin;
  Nanos end;
};

struct ProcessInfo {
  Pid pid;
  Pid ns_pid;  // pid inside the process's own PID namespace; equal to pid outside containers
  Pid parent_pid;
  std::string name;  // comm
  std::vector<std::string> cmdline;
  std::string python;           // "3.11.7", "3.14.2 free-threaded"
  Nanos start_time;             // since boot
  std::optional<int32_t> rank;  // among the processes of its job, from its environment at its start
  std::optional<int32_t> world_size;
  std::string process_groups;  // of torch.distributed: a JSON object with members of Kineto's distributedInfo
};

struct ThreadInfo {
  Pid pid;
  Tid tid;  // host namespace
  Tid ns_tid;
  std::string name;  // Python's name, else the kernel's
  uint64_t python_ident = 0;
  int64_t interpreter_id = 0;
  bool is_main = false;
};

// The quality of a sample. An unmarked sample is a fact: the whole stack of the thread at one instant.
enum class SampleQuality : uint8_t {
  kSeen,
  kFormerlyStopped,     // in traces before format 2; not written any more
  kTruncated,           // callers, or the youngest frames, could not be read: a "[truncated]" frame stands for them
  kTooDeep,             // deeper than the limit; has a "[truncated]" root
  kFormerlyUnverified,  // in traces before format 2; not written any more
  kTorn,                // read without a stop while it changed; has a "[torn]" leaf above the unchanged part
  kStaleNames,          // whole, but some of its code was freed before its name could be read
};
inline constexpr size_t kSampleQualityCount = 7;

// What a thread was doing when sampled, derived from several signals. kUnknown: they do not decide it.
enum class ThreadState : uint8_t {
  kUnknown,
  kRunning,     // on a CPU (or runnable)
  kGilWait,     // waiting for the GIL
  kIdle,        // blocked in a wait: sleep, poll, lock, read
  kGpuWait,     // blocked inside the CUDA driver or runtime
  kDiskWait,    // uninterruptible
  kJobStopped,  // stopped from outside: SIGSTOP, a debugger, a frozen cgroup
};

struct StateInfo {
  ThreadState state = ThreadState::kUnknown;
  bool holds_gil = false;
  std::string_view detail;  // static text: "futex", "epoll_wait", "nanosleep", "cudaStreamSynchronize"; may be empty
};

// The limit that kept the rate below the requested one.
enum class RateLimit : uint8_t { kNone, kCpu, kStops };

// Running totals, written about once a second and at the end; the last one is valid. Its counters are in counters.inc.
struct Accounting {
#define PP_COUNT(name, ...) uint64_t name = 0;
#define PP_TIME(name, ...) Nanos name;
#define PP_RATE(name, ...) double name = 0;
#include "daemon/trace/counters.inc"
  std::array<uint64_t, kSampleQualityCount> by_quality{};
  RateLimit limit = RateLimit::kNone;
  std::vector<LeftOut> left_out;  // by filters and --max-overhead
};

// The number of notices that readers of a trace keep; a collector writes only a few.
inline constexpr size_t kMaxNotices = 64;

// Why and how the recording ended. A trace without it was cut off.
struct EndInfo {
  Code code = Code::kOk;  // kGone: the target ended first (a success for the user)
  std::string message;    // a sentence; empty for a plain end
  std::string remedy;
  Reason reason = Reason::kUnspecified;
  std::string thing = {};
};

inline EndInfo EndOf(const Error& error) {
  return {error.code, error.message, error.remedy, error.reason, error.thing};
}
inline Error ErrorOf(const EndInfo& end) { return {end.code, end.message, end.remedy, end.reason, end.thing}; }

// One local variable, for dump --locals.
struct LocalVariable {
  std::string name;
  std::string value;  // short repr; "<type at 0x…>" if nothing more is known
  bool is_argument = false;
};

}  // namespace ptrace_prof
