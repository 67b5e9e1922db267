// Samples one process: the loop that everybody should read first.
//
// Each GIL of the process (and the threads that run without one, together) has instants of its own, drawn beforehand by
// the Pacer. At an instant InstantReader takes the stacks, and one buffered entry per thread is made of them. Flush
// writes the buffered samples out after checking that their code objects still exist. The mark of the program
// (OpenedProcess) is read with the stacks: what an exec left of it is not taken for its successor, nor the other way
// round. Owned by ProcessTree; one thread.
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
  // As PythonProcess::Open. The process and its threads are announced to the writer.
  static Result<std::unique_ptr<ProcessSampler>> Open(Pid pid, Pid parent, const CaptureContext& context);
  ~ProcessSampler();

  // The next instant of one of its GILs; the past: at once.
  Nanos NextInstant() const;
  // Takes what is due. false: the process ended, or is another program now (exec): call Finish.
  bool Sample(Pacer& pacer);
  // A thread was asked to stop and has not yet: it must be looked after soon.
  bool is_waiting() const { return reader_.is_waiting(); }
  bool PollLate();
  void Flush();
  // After a Flush that precedes StackTable::Clear.
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

  // Who draws instants: a GIL, or (gil null) the threads without one.
  struct Group {
    RemoteAddr gil;
    Nanos next;
  };

  enum class Verdict : uint8_t { kNothing, kSkip, kSample };  // kSkip: it waits, is left out and counted

  bool RunsWithoutGil();
  void TellLeftOut(Nanos now);
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
  AnchoredMemory space_;  // names and lists of threads are not looked up in another program
  CodeCache codes_;
  StackBuilder builder_;
  SampleBuffer buffer_;
  InterpreterWatch watch_;
  ThreadRoster roster_;
  InstantReader reader_;
  std::vector<Group> groups_;
  std::vector<Nanos> instants_;  // for which the thread that stops late stands: it has not run since the first of them
  RemoteAddr group_;             // and whose they are
  uint64_t checked_generation_ = 0;
  size_t told_left_out_ = 0;
  bool has_told_turns_ = false;
  bool has_cuda_ = false;
  Standstill standstill_;
  WatchedThreads watched_;
};

}  // namespace ptrace_prof
