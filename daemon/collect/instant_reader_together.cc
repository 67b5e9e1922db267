// Instants at which several threads stand still at once.
#include <algorithm>

#include "daemon/collect/instant_reader.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kAllAtOnce = Nanos(100'000);

}  // namespace

// Which thread has that GIL: threads stop one after another, and who goes on meanwhile may give it away. A thread that
// waits cannot.
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

// Of the threads of one GIL, those that run or want it; the others wait for something else, and are left alone.
std::vector<Tid> InstantReader::ThreadsToStop(const std::vector<ThreadTrack*>& tracks) {
  std::vector<Tid> tids;
  left_alone_.clear();
  for (ThreadTrack* track : tracks) {
    const bool is_listed = std::ranges::find(tids, track->info.tid) != tids.end();  // by another state of it
    if (track->info.tid == Tid() || is_listed || !ProbeOf(*track).is_there()) {
      continue;
    }
    if (ProbeOf(*track).WaitsForEvents()) {
      left_alone_.push_back(track);
    } else {
      tids.push_back(track->info.tid);
    }
  }
  return tids;
}

// Those threads of that GIL; nullopt: all of the process, those without Python too.
Result<StoppedThreads> InstantReader::StopTogether(const std::optional<size_t>& gil, const std::vector<Tid>& tids) {
  const auto holder = [&] { return HolderNow(gil.value_or(0)); };
  return gil.has_value() ? StoppedThreads::StopAtOnce(pid_, tids, kAllAtOnce, holder)
                         : StoppedThreads::StopAllAtOnce(pid_, kAllAtOnce, holder);
}

// Whether one that was left alone has woken up, and taken the GIL, since the words were read.
bool InstantReader::HaveOthersGoneOn(size_t gil) {
  const uint64_t switches = watch_.gils()[gil].switches;
  return !left_alone_.empty() && (!ReadTogether(AppendWords()) || watch_.gils()[gil].switches != switches);
}

// The words, and of each thread whether its stack could be read. False: the process has ended.
bool InstantReader::ReadAllStacks(const std::vector<ThreadTrack*>& tracks, std::optional<size_t> gil) {
  const bool there = ReadTogether(AppendWords());
  frame_codes_.Begin(watch_.code_generation());
  statuses_.clear();
  for (ThreadTrack* track : tracks) {
    statuses_.push_back(track->stack.ReadAgain(memory_));
    frame_codes_.Note(track->stack.frames());
  }
  if (!there || !gil.has_value() || !HaveOthersGoneOn(*gil)) {
    left_alone_.clear();  // they stood still
  }
  return there;
}

// Which threads stand still, or did: all of that GIL, and those that called into its interpreter.
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

InstantReader::Outcome InstantReader::TakeAllStopped(Nanos now, std::optional<size_t> gil) {
  const std::vector<ThreadTrack*> tracks = TracksOf(gil);
  const std::vector<Tid> tids = gil.has_value() ? ThreadsToStop(tracks) : std::vector<Tid>();
  bool there = false;
  if (gil.has_value() && tids.empty()) {
    there = ReadAllStacks(tracks, gil);  // they all wait
  } else {
    const Nanos begin = MonotonicNow();
    {
      const auto stopped = StopTogether(gil, tids);
      if (stopped.has_error()) {
        return RefusedAll(stopped.error(), now);
      }
      refusal_.reset();
      there = ReadAllStacks(tracks, gil);
    }
    times_.Add(MonotonicNow() - begin);
  }
  if (!there) {
    return Outcome::kEnded;
  }
  for (ThreadTrack* track : left_alone_) {  // which of them has gone on is not known
    track->has_last = false;
    statuses_[static_cast<size_t>(std::ranges::find(tracks, track) - tracks.begin())] = CollectStatus::kNoState;
  }
  AcceptAll(tracks, statuses_, true);
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
