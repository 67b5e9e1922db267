// The part of InstantReader for instants at which several threads are stopped at once.
#include <algorithm>
#include <functional>

#include "daemon/collector/sample/instant_reader.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kAllAtOnce = Nanos(100'000);
// A thread that wants the GIL checks at least every 5 ms (sys.getswitchinterval).
constexpr Nanos kIdle = Nanos::FromMillis(20);
constexpr size_t kMostTogether = 64;  // the first one stands still until the last has stopped

}  // namespace

// The present holder of the GIL. Threads stop one after another, and one that still runs may give the GIL away. A
// waiting thread cannot.
Tid InstantReader::HolderNow(size_t gil) {
  uint64_t state = 0;
  if (gil >= watch_.gils().size() ||
      memory_.ReadValue(watch_.gils()[gil].address + process_.python.layout.gil_last_holder, &state) !=
          ReadStatus::kOk) {
    return {};
  }
  const ThreadTrack* holder = roster_.Find(state);
  return holder == nullptr ? Tid() : holder->info.tid;
}

// It has not been scheduled for so long that it is not waiting for the GIL.
bool InstantReader::IsIdle(ThreadTrack& track, Nanos now) const {
  const std::optional<uint64_t> slices = ProbeOf(track).Slices();
  if (slices.has_value() && slices == track.idle_slices) {
    return now - track.idle_since > kIdle;
  }
  const bool waits = ProbeOf(track).Look() == RunProbe::State::kWaits;
  track.idle_slices = waits ? slices : std::nullopt;
  track.idle_since = now;
  return false;
}

// Threads whose samples are left out (watched_threads.h) are checked in turns. One that may have moved is not shown
// before it is read again.
bool InstantReader::IsPassed(const ThreadTrack& track, size_t place) const {
  constexpr size_t kTurns = 16;
  const GilView* gil = GilOf(track);
  const bool holds = gil != nullptr && gil->holder == track.entry.state.value;
  return track.passed != Passed::kNot && track.has_last && !holds && (place + turn_) % kTurns != 0;
}

// Chooses the threads of a GIL to stop: those that run or may want it. The others wait for something else and are left
// alone, because each stop takes time for which the threads stopped before stand still. Threads that are passed over
// (watched_threads.h) are checked in turns.
InstantReader::Together InstantReader::ChooseTogether(size_t gil, Nanos now) {
  const std::vector<ThreadTrack*> tracks = TracksOf(gil);
  Together chosen;
  const bool are_many = tracks.size() > kMostTogether;  // with fewer, the looks take longer than they save
  left_alone_.clear();
  ++turn_;
  for (size_t i = 0; i < tracks.size(); ++i) {
    ThreadTrack& track = *tracks[i];
    if (IsPassed(track, i)) {
      track.is_stale = true;
      continue;
    }
    // The thread may be listed through another of its states.
    const bool is_listed = std::ranges::find(chosen.tids, track.info.tid) != chosen.tids.end();
    if (track.info.tid == Tid() || is_listed || !ProbeOf(track).is_there()) {
      chosen.tracks.push_back(&track);
    } else if ((are_many && IsIdle(track, now)) || ProbeOf(track).WaitsForEvents()) {
      left_alone_.push_back(&track);
    } else {
      chosen.tracks.push_back(&track);
      chosen.tids.push_back(track.info.tid);
    }
  }
  return chosen;
}

// Stops `tids` of that GIL; nullopt: all threads of the process, those without Python too.
Result<StoppedThreads> InstantReader::StopTogether(const std::optional<size_t>& gil, const std::vector<Tid>& tids) {
  const auto holder = [&] { return HolderNow(gil.value_or(0)); };
  return gil.has_value() ? StoppedThreads::StopAtOnce(pid_, tids, kAllAtOnce, holder)
                         : StoppedThreads::StopAllAtOnce(pid_, kAllAtOnce, holder);
}

// Collects the chains of the batch and the headers of new code objects. Their threads must be stopped.
void InstantReader::CollectAll(std::vector<CollectStatus>& collected, Nanos deadline) {
  frame_codes_.Begin(watch_.code_generation());
  for (size_t i = 0; i < in_batch_.size(); ++i) {
    collected.push_back(in_batch_[i]->stack.Collect(memory_, ends_[i] <= filled_, deadline));
    frame_codes_.Note(in_batch_[i]->stack.frames());
  }
}

// Reads the words and the stacks; statuses_ has one status per thread. False: the process has ended.
bool InstantReader::ReadAllStacks(const std::vector<ThreadTrack*>& tracks) {
  const bool there = ReadTogether(AppendWords());
  frame_codes_.Begin(watch_.code_generation());
  statuses_.clear();
  const Nanos deadline = MonotonicNow() + kLongestRead;
  for (ThreadTrack* track : tracks) {
    statuses_.push_back(track->stack.ReadAgain(memory_, deadline));
    frame_codes_.Note(track->stack.frames());
  }
  return there;
}

// The GIL changes hands faster than all threads can be read: reads each one while it waits. Descriptors do not suffice
// to keep a probe for each.
void InstantReader::TakeOneByOne(const std::vector<ThreadTrack*>& tracks) {
  for (ThreadTrack* track : tracks) {
    const bool had_probe = track->probe.has_value();
    accounting_.lost += TakeWaiting(*track) ? 0 : 1;
    if (!had_probe) {
      track->probe.reset();
    }
  }
}

// Reads the waiting threads without a stop, except those that were read since they began to wait.
void InstantReader::TakeLeftAlone() {
  std::ranges::stable_sort(left_alone_, std::greater(),
                           &ThreadTrack::depth);  // is_inside() of callers depends on inner states
  for (ThreadTrack* track : left_alone_) {
    const bool is_known = track->has_last && track->idle_slices.has_value() && track->idle_slices == track->seen_slices;
    if (!is_known && !track->is_inside() && !TakeWaiting(*track)) {
      ++accounting_.lost;  // it has run, and its stack at the instant is not known
      track->has_last = false;
    }
  }
}

// The threads that are stopped with that GIL: all of the GIL, and those that called into its interpreter.
std::vector<ThreadTrack*> InstantReader::TracksOf(std::optional<size_t> gil) const {
  std::vector<ThreadTrack*> tracks;
  for (const auto& track : roster_.tracks()) {
    if (!gil.has_value() || IsOf(*track, gil)) {
      tracks.push_back(track.get());
      for (ThreadTrack* caller = track->caller; gil.has_value() && caller != nullptr; caller = caller->caller) {
        if (!IsOf(*caller, gil)) {
          tracks.push_back(caller);
        }
      }
    }
  }
  return tracks;
}

// nullopt: there are too many, and the first would stand still for too long.
std::optional<InstantReader::Outcome> InstantReader::TakeHandedOn(size_t gil, Nanos now) {
  const Together chosen = ChooseTogether(gil, now);
  size_t pieces = 0;
  for (const ThreadTrack* track : chosen.tracks) {
    pieces += track->stack.pieces();
  }
  if (chosen.tids.size() > kMostTogether || pieces > kMostPieces) {
    return std::nullopt;
  }
  ++accounting_.holder_changes;
  const Outcome outcome = TakeTogether(chosen, gil, now);
  if (outcome == Outcome::kTaken) {
    TakeLeftAlone();
  }
  return outcome;
}

InstantReader::Outcome InstantReader::TakeAllStopped(Nanos now) {
  return TakeTogether({TracksOf(std::nullopt), {}}, std::nullopt, now);
}

InstantReader::Outcome InstantReader::TakeTogether(const Together& chosen, std::optional<size_t> gil, Nanos now) {
  bool there = false;
  if (gil.has_value() && chosen.tids.empty()) {
    there = ReadAllStacks(chosen.tracks);  // they all wait
  } else {
    for (ThreadTrack* track : chosen.tracks) {
      track->stack.Prime(memory_);
    }
    const Nanos begin = MonotonicNow();
    {
      const auto stopped = StopTogether(gil, chosen.tids);
      if (stopped.has_error()) {
        return RefusedAll(stopped.error(), now);
      }
      refusal_.reset();
      there = ReadAllStacks(chosen.tracks);
    }
    times_.Add(MonotonicNow() - begin);
  }
  if (!there) {
    return Outcome::kEnded;
  }
  AcceptAll(chosen.tracks, statuses_, true);
  return Outcome::kTaken;
}

InstantReader::Outcome InstantReader::RefusedAll(const Error& error, Nanos now) {
  if (error.reason == Reason::kAlreadyTraced || error.code == Code::kPermissionDenied) {
    Remember(error, now);
  } else {
    refusal_.reset();
  }
  accounting_.refused_stops += error.reason == Reason::kAlreadyTraced ? 1 : 0;
  return error.code == Code::kGone ? Outcome::kEnded : Outcome::kMissed;
}

}  // namespace ptrace_prof
