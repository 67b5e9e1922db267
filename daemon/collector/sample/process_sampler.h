// Samples one process. This is the loop to read first.
//
// Each GIL of the process has its own instants, drawn beforehand by the Pacer; the threads without a GIL together have
// one more set. At an instant InstantReader takes the stacks, and each thread gets one buffered entry. Flush checks
// that the code objects still exist and writes the buffered samples. The mark of the program (OpenedProcess) is read
// with the stacks, so that an old and a new program (exec) are not mixed up. Owned by ProcessTree; one thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/anchored_memory.h"
#include "attach/proc/process_memory.h"
#include "daemon/collector/sample/instant_reader.h"
#include "daemon/collector/sample/pacer.h"
#include "daemon/collector/sample/sample_buffer.h"
#include "daemon/collector/sample/standstill.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/interpreter_watch.h"
#include "daemon/collector/target/opened_process.h"
#include "daemon/collector/target/stack_builder.h"
#include "daemon/collector/target/thread_roster.h"
#include "daemon/collector/target/watched_threads.h"
#include "daemon/trace/model.h"
#include "symbolizer/cpython/code_cache.h"

namespace ptrace_prof {

class ProcessSampler {
 public:
  // Errors as PythonProcess::Open. Announces the process and its threads to the writer.
  static Result<std::unique_ptr<ProcessSampler>> Open(Pid pid, Pid parent, const CaptureContext& context);
  ~ProcessSampler();

  // The next instant of any of its GILs. A time in the past means at once.
  Nanos NextInstant() const;
  // Takes what is due. False: the process ended or has exec'ed another program; call Finish.
  bool Sample(Pacer& pacer);
  // A thread was asked to stop and has not yet: call PollLate soon.
  bool is_waiting() const { return reader_.is_waiting(); }
  bool PollLate();
  void Flush();
  // Call it after Flush and before StackTable::Clear.
  void ForgetStacks();
  void Finish(Nanos now, bool exec);

  Pid pid() const { return pid_; }
  bool HasExited() const { return process_.HasExited(); }
  bool HasExeced() { return process_.HasExeced(memory_); }
  // Set while the kernel refuses to stop the process: another tracer holds it, perhaps only briefly.
  const std::optional<StopRefusal>& stop_refusal() const { return reader_.refusal(); }
  const OpenedProcess& process() const { return process_; }
  size_t thread_count() const { return roster_.thread_count(); }
  size_t node_count() const { return builder_.node_count(); }
  uint64_t read_calls() const { return memory_.calls(); }
  const StopTimes& stop_times() const { return reader_.stop_times(); }
  const Standstill& standstill() const { return standstill_; }
  ThreadRoster& roster() { return roster_; }
  RemoteMemory& memory() { return memory_; }

 private:
  ProcessSampler(OpenedProcess process, const CaptureContext& context);

  // A sequence of instants: of one GIL, or (gil null) of the threads without one.
  struct Group {
    RemoteAddr gil;
    Nanos next;
  };

  enum class Verdict : uint8_t { kNothing, kSkip, kSample };  // kSkip: it waits; it is left out and counted

  bool RunsWithoutGil();
  void ReportLeftOut(Nanos now);
  void FollowGils(Nanos now, Pacer& pacer);
  std::optional<size_t> IndexOf(RemoteAddr gil) const;
  bool SampleGroup(RemoteAddr gil, Nanos now);
  bool SampleAll(Nanos now);
  bool Judge(InstantReader::Outcome outcome, Nanos now);
  void Emit(Nanos now, const std::optional<RemoteAddr>& gil);
  void EmitTrack(Nanos now, ThreadTrack& track);
  Passed Foresee(const ThreadTrack& track) const;
  Verdict VerdictOn(const ThreadTrack& track, bool holds_gil) const;
  void WakeHolders();
  bool HoldsGil(const ThreadTrack& track) const;
  bool IsSaidByOther(const ThreadTrack& track) const;
  bool HasNewStates(Nanos now);
  InstantReader::Outcome TakeTogether(Nanos now);
  void LookAtState(Nanos now, ThreadTrack& track);
  void WatchState(Nanos now, ThreadTrack& track, bool holds_gil);

  const OpenedProcess process_;
  const Pid pid_;
  const CaptureContext context_;
  ProcessMemory memory_;
  AnchoredMemory space_;  // refuses to look up names and thread lists in another program
  CodeCache codes_;
  StackBuilder builder_;
  SampleBuffer buffer_;
  InterpreterWatch watch_;
  ThreadRoster roster_;
  InstantReader reader_;
  std::vector<Group> groups_;
  std::vector<Nanos> instants_;  // waiting for the late thread, which has not run since the first of them
  RemoteAddr group_;             // the group of instants_
  uint64_t checked_generation_ = 0;
  size_t reported_left_out_ = 0;
  bool has_reported_turns_ = false;
  bool has_cuda_ = false;
  Standstill standstill_;
  WatchedThreads watched_;
};

}  // namespace ptrace_prof
