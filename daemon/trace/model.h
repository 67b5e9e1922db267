// What a trace says besides stacks: processes, threads, thread states, sample quality, accounting, the end.
//
// The same structs go into TraceWriter (in the collector) and come out of TraceReader (in exporters).
// Pure data. All times are CLOCK_MONOTONIC of the recorded host.
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

struct ProcessInfo {
  Pid pid;
  Pid ns_pid;  // pid inside the process's own PID namespace; equal to pid outside containers
  Pid parent_pid;
  std::string name;  // comm
  std::vector<std::string> cmdline;
  std::string python;           // "3.11.7", "3.14.2 free-threaded"
  Nanos start_time;             // since boot
  std::optional<int32_t> rank;  // among the processes of its job, as its environment said when it started
  std::optional<int32_t> world_size;
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

// What a sample is. One that is not marked is a fact: the whole stack of the thread at one instant.
enum class SampleQuality : uint8_t {
  kSeen,
  kFormerlyStopped,     // of traces before format 2; not written any more
  kTruncated,           // callers, or the youngest frames, could not be read: a "[truncated]" frame stands for them
  kTooDeep,             // deeper than the limit; carries a "[truncated]" root
  kFormerlyUnverified,  // of traces before format 2; not written any more
  kTorn,                // read without a stop while it moved; carries a "[torn]" leaf above what stood still
  kStaleNames,          // whole, but code of it was freed before its name could be read
};
inline constexpr size_t kSampleQualityCount = 7;

// What a thread was doing when sampled. Combined from several signals; kUnknown is an honest answer.
enum class ThreadState : uint8_t {
  kUnknown,
  kRunning,     // on a CPU (or runnable)
  kGilWait,     // waiting for the GIL
  kIdle,        // blocked in a wait: sleep, poll, lock, read
  kGpuWait,     // blocked inside the CUDA driver or runtime
  kDiskWait,    // uninterruptible
  kJobStopped,  // stands still whatever it would do: SIGSTOP, a debugger, a frozen cgroup
};

struct StateInfo {
  ThreadState state = ThreadState::kUnknown;
  bool holds_gil = false;
  std::string_view detail;  // static text: "futex", "epoll_wait", "nanosleep", "cudaStreamSynchronize"; may be empty
};

// What kept the rate below the one that was asked for.
enum class RateLimit : uint8_t { kNone, kCpu, kStops };

// Running totals, written about once a second and at the end; the last one wins.
struct Accounting {
  uint64_t rounds = 0;   // sampling instants
  uint64_t samples = 0;  // thread-samples written, all qualities
  std::array<uint64_t, kSampleQualityCount> by_quality{};
  uint64_t idle_skipped = 0;   // thread-samples left out because the thread was idle (see --idle)
  uint64_t late = 0;           // instants at which we woke more than 200 us late
  uint64_t missed = 0;         // instants never taken because we were late or backed off
  uint64_t lost = 0;           // thread-samples that could not be read at all
  uint64_t state_unknown = 0;  // thread-samples of which it is not known whether the thread ran
  Nanos stood_still;           // for which processes were stopped by a signal or a debugger, or frozen: all together
  uint64_t stale_code = 0;     // samples that lost names because a code object was freed before they were written out
  uint64_t stops = 0;          // brief stops of a thread, or of all
  Nanos stopped_total;
  Nanos stopped_longest;
  Nanos stopped_median;            // half of the stops took no longer
  Nanos stopped_p90;               // nine of ten took no longer
  uint64_t refused_stops = 0;      // of which the kernel allowed none: another tracer had the thread
  uint64_t late_stops = 0;         // that came later than 50 us: the thread was off its CPU or in the kernel
  uint64_t interrupted_waits = 0;  // system calls of the target that a stop ended early (EINTR)
  uint64_t holder_changes = 0;     // the GIL had gone to another thread between the look and the stop
  uint64_t missed_instants = 0;    // at which the thread that runs could not be taken
  Nanos starting_cpu;              // of collector_cpu: until the first sample
  RateLimit limit = RateLimit::kNone;
  Nanos collector_cpu;
  Nanos wall;
  double asked_rate_hz = 0;
  double actual_rate_hz = 0;
  uint64_t read_calls = 0;  // process_vm_readv calls
  uint64_t processes = 0;
  uint64_t threads = 0;
  // Of exact calls; 0 where calls were not traced.
  uint64_t call_events = 0;           // begins and ends that threads told of
  uint64_t call_events_lost = 0;      // that a thread's buffer had no room for
  uint64_t call_gaps = 0;             // stretches in which such were lost
  uint64_t holds = 0;                 // how often a thread waited for room in its buffer
  Nanos held_total;                   // how long, all of them together
  uint64_t unmatched_ends = 0;        // ends of calls that had not begun: left out
  uint64_t implied_ends = 0;          // calls that ended only because a caller did
  uint64_t ends_of_excluded = 0;      // ends of functions that are left out by a filter
  uint64_t calls_without_name = 0;    // whose code, or what was called, is gone
  uint64_t calls_too_deep = 0;        // deeper than is kept
  uint64_t nonsense = 0;              // what the process told of its calls and cannot be: left out
  uint64_t calls_left_out = 0;        // shorter than was asked for
  uint64_t events_outside_steps = 0;  // told while no step was to be recorded: not in the trace
  uint64_t steps = 0;                 // whole steps of the job that were recorded
  uint64_t children_not_traced = 0;   // of the process, seen while its calls were traced
  double event_cost_ns = 0;    // what an event of a Python function costs the target, as measured; 0 = not measured
  double c_event_cost_ns = 0;  // the same of a C function
  // On which the job had set or cleared a profile function at the end, up to 3.11: calls of theirs are missing.
  uint64_t threads_displaced = 0;
  std::vector<LeftOut> left_out;  // what filters and --max-overhead kept out
};

// Notices of a trace that are kept by those who read it; a collector says a handful.
inline constexpr size_t kMaxNotices = 64;

// Why and how the recording ended. A trace without one was cut off.
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
  std::string value;  // short repr; "<type at 0x…>" where we cannot say more
  bool is_argument = false;
};

}  // namespace ptrace_prof
