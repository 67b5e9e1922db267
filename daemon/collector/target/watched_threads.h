// Which threads of a process are gone through at each instant: where there are few, all; where there are many, those
// that may have news.
//
// A thread that waits, did at its last looks, and whose samples would be left out is passed over until its stack moves,
// it takes the GIL, or the threads of the process used CPU that those which are watched did not (cpu_of_others.h). The
// first thread is always watched: it tells whether the process stands still. Owned by ProcessSampler; one thread.
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
  using Foresee = std::function<Passed(const ThreadTrack&)>;  // of a thread that waits

  explicit WatchedThreads(Pid pid) : others_(pid) {}

  // At each instant, before the threads are gone through. `changes`: of the list of threads.
  void Choose(Nanos now, const Tracks& tracks, uint64_t changes, const Foresee& foresee);
  // And after that, when those that run were looked at. `stands`: the process does.
  void Judge(Nanos now, bool stands);
  // It has news: it is gone through at this instant and looked at.
  void Wake(ThreadTrack& track);
  // A thread was looked at, and had used so much CPU since the look before.
  void NoteCpu(Nanos used) { known_ = known_ + used; }

  const std::vector<ThreadTrack*>& watched() const { return watched_; }
  // By interpreter: how many threads are passed over of which each makes a sample that is left out.
  const std::vector<uint64_t>& skipped() const { return skipped_; }

 private:
  CpuOfOthers others_;
  Nanos known_;  // what all threads had used when each was looked at last
  Nanos next_choice_;
  Nanos next_judgement_;
  bool all_ = true;
  uint64_t changes_ = UINT64_MAX;
  std::vector<ThreadTrack*> watched_;
  size_t passed_ = 0;
  std::vector<uint64_t> skipped_;
};

}  // namespace ptrace_prof
