// The threads of one process: which exist, their names, and their kernel threads.
//
// Refresh reads the lists of all interpreters again and reports new and ended threads to the TraceWriter. It costs a
// read per thread, so it is called when a list head changed and a few times a second. Names come from Python's
// `threading`, otherwise from the kernel. One per process; same thread as the sampler.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/target/interpreter_watch.h"
#include "daemon/collector/target/thread_track.h"
#include "daemon/trace/write/trace_writer.h"
#include "rpc/messages/capture_task.h"
#include "symbolizer/cpython/native_tid.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

class StackHistory;

class ThreadRoster {
 public:
  ThreadRoster(Pid pid, Pid ns_pid, RemoteMemory& memory, const PythonProcess& python, const CaptureTask& request,
               TraceWriter& writer);

  // Reads interpreters (into `watch`) and threads again. With a status other than kOk nothing changed here.
  ReadStatus Refresh(Nanos now, InterpreterWatch& watch);
  bool IsRefreshDue(Nanos now) const { return now >= next_refresh_; }
  // If threads are left out, the missing one may be among them; then the next refresh is not at once but some time
  // after the last one.
  void RefreshSoon() { next_refresh_ = std::min(next_refresh_, left_out_ > 0 ? soonest_refresh_ : Nanos()); }
  void EndAll(Nanos now);
  // Reports ended threads to the writer and to the history (may be null). Call after their last samples were written.
  void AnnounceEnded(StackHistory* history);

  std::vector<std::unique_ptr<ThreadTrack>>& tracks() { return tracks_; }
  const std::vector<std::unique_ptr<ThreadTrack>>& tracks() const { return tracks_; }
  ThreadTrack* Find(uint64_t state);
  size_t thread_count() const { return thread_count_; }  // counts a thread with a state in a subinterpreter once
  size_t left_out() const { return left_out_; }          // thread states beyond the limit, not followed
  // Changes whenever the list of tracks changes or what was seen of its threads is forgotten.
  uint64_t changes() const { return changes_; }
  // Discards the last stack of each thread.
  void ForgetStacks();

 private:
  void Add(Tid inner, const ThreadEntry& entry, size_t interpreter, const InterpreterWatch& watch);
  bool IsOnItsWay(Tid inner, bool complete) const;
  void FollowEntries(Nanos now, size_t interpreter, bool complete, const InterpreterWatch& watch);
  bool Follow(Nanos now, const ThreadEntry& entry, size_t most, size_t interpreter, bool complete,
              const InterpreterWatch& watch);
  bool AreMissing();
  bool IsSettled(size_t interpreter);
  bool AreOneThread(const std::vector<ThreadTrack*>& states) const;
  void LinkStates(Nanos now);
  void Announce(Nanos now, ThreadTrack& track, const ThreadTrack* outer);
  void MoveTracks(Nanos now, InterpreterWatch& watch);
  Tid InnerTid(const ThreadEntry& entry);
  Tid HostTid(Tid inner) const;
  void ReadTids();
  Tid TidOf(const ThreadEntry& entry);
  void NameThreads(Nanos now, const InterpreterWatch& watch);
  void End(Nanos now, const ThreadTrack& track);
  std::string NameOf(const ThreadTrack& track, const std::unordered_map<uint64_t, std::string>& names) const;

  const Pid pid_;
  const Pid ns_pid_;
  RemoteMemory& memory_;
  const PythonProcess& python_;
  const CaptureTask& request_;
  TraceWriter& writer_;
  std::vector<std::unique_ptr<ThreadTrack>> tracks_;
  std::unordered_map<uint64_t, ThreadTrack*> by_state_;
  std::unordered_map<Tid, Tid> host_tids_;  // by tid in the target's namespace
  bool tids_are_read_ = false;              // in this Refresh
  std::optional<NativeTidFinder> tid_finder_;
  std::vector<InterpreterEntry> interpreters_;
  std::vector<ThreadEntry> entries_;
  std::unordered_map<uint64_t, std::vector<ThreadEntry>> settled_;  // by interpreter: fully followed lists
  uint64_t changes_ = 0;
  size_t thread_count_ = 0;
  size_t left_out_ = 0;
  Nanos next_refresh_;
  Nanos soonest_refresh_;
  std::vector<std::pair<ThreadHandle, Nanos>> ended_;
  Nanos next_naming_;
  Nanos last_naming_;
  Nanos quick_naming_;  // delay before a new thread's name is looked up
  uint32_t quick_namings_ = 0;
};

}  // namespace ptrace_prof
