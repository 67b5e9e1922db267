#include "daemon/collector/target/watched_threads.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kCheapThreads = 32;                // going through so few costs next to nothing
constexpr Nanos kRestless = Nanos::FromSeconds(2);  // time since the last move, with very many threads
constexpr Nanos kChooseEvery = Nanos::FromMillis(250);
constexpr Nanos kJudgeOften = Nanos::FromMillis(40);
constexpr Nanos kJudgeSeldom = Nanos::FromMillis(300);
constexpr int64_t kShareOfPasses =
    600;  // at most 1/600 of the time, if a process with very many threads makes its clock slow

}  // namespace

void WatchedThreads::Judge(Nanos now, bool stands) {
  if (now < next_judgement_ && (all_ || !stands)) {
    return;
  }
  const Nanos begin = MonotonicNow();
  const bool all = watched_.size() + passed_ <= kCheapThreads || others_.HaveRun(known_) || stands;
  next_judgement_ = now + std::clamp(Nanos((MonotonicNow() - begin).value * kShareOfPasses), kJudgeOften, kJudgeSeldom);
  next_choice_ = all && !all_ ? Nanos() : next_choice_;
  all_ = all;
}

void WatchedThreads::Choose(Nanos now, const Tracks& tracks, uint64_t changes, const Foresee& foresee) {
  if (now < next_choice_ && changes == changes_) {
    return;
  }
  next_choice_ = now + kChooseEvery;
  changes_ = changes;
  passed_ = 0;
  watched_.clear();
  skipped_.clear();
  for (const auto& track : tracks) {
    const bool is_restless = tracks.size() > kVeryManyThreads && now - track->moved < kRestless;
    const bool may_pass =
        !all_ && !is_restless && track != tracks.front() && track->watch.has_value() && track->watch->is_calm();
    track->passed = may_pass ? foresee(*track) : Passed::kNot;
    passed_ += track->passed == Passed::kNot ? 0 : 1;
    if (track->passed == Passed::kNot) {
      watched_.push_back(track.get());
    } else if (track->passed == Passed::kAsSkipped) {
      skipped_.resize(std::max(skipped_.size(), track->interpreter + 1));
      ++skipped_[track->interpreter];
    }
  }
}

void WatchedThreads::Wake(ThreadTrack& track) {
  if (track.passed == Passed::kAsSkipped && track.interpreter < skipped_.size() && skipped_[track.interpreter] > 0) {
    --skipped_[track.interpreter];
  }
  if (track.passed != Passed::kNot) {
    track.passed = Passed::kNot;
    --passed_;
    watched_.push_back(&track);
  }
}

}  // namespace ptrace_prof
