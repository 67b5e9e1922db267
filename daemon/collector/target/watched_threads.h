// Chooses the threads of a process that each instant goes through: all if there are few, otherwise those that may have
// changed.
//
// A thread is passed over if it waits, waited at its last looks, and its samples would be left out. It is watched again
// when its stack moves, when it takes the GIL, or when the process used CPU that the watched threads did not use
// (cpu_of_others.h). The first thread is always watched: it shows whether the process stands still. Owned by
// ProcessSampler; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collector/target/cpu_of_others.h"
#include "daemon/collector/target/thread_track.h"

namespace ptrace_prof {

class WatchedThreads {
 public:
  using Tracks = std::vector<std::unique_ptr<ThreadTrack>>;
  using Foresee = std::function<Passed(const ThreadTrack&)>;  // for a waiting thread

  explicit WatchedThreads(Pid pid) : others_(pid) {}

  // At each instant, before the threads are gone through. `changes`: ThreadRoster::changes().
  void Choose(Nanos now, const Tracks& tracks, uint64_t changes, const Foresee& foresee);
  // At each instant, after the running threads were checked. `stands`: the process stands still.
  void Judge(Nanos now, bool stands);
  // The thread may have changed: it is gone through at this instant and checked.
  void Wake(ThreadTrack& track);
  // A thread was checked, and had used so much CPU since the last check.
  void NoteCpu(Nanos used) { known_ = known_ + used; }

  const std::vector<ThreadTrack*>& watched() const { return watched_; }
  // By interpreter: number of passed-over threads of which each has a sample that is left out.
  const std::vector<uint64_t>& skipped() const { return skipped_; }

 private:
  CpuOfOthers others_;
  Nanos known_;  // CPU that all threads had used at their last looks
  Nanos next_choice_;
  Nanos next_judgement_;
  bool all_ = true;
  uint64_t changes_ = UINT64_MAX;
  std::vector<ThreadTrack*> watched_;
  size_t passed_ = 0;
  std::vector<uint64_t> skipped_;
};

}  // namespace ptrace_prof
