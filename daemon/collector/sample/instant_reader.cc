#include "daemon/collector/sample/instant_reader.h"

#include <time.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "attach/proc/memory_grants.h"
#include "daemon/collector/sample/two_reads.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kAtOnce = Nanos(50'000);               // by then a thread that runs on another CPU has stopped
constexpr Nanos kSoon = Nanos::FromMillis(1);          // after that, other threads are served meanwhile
constexpr Nanos kLongestFirst = Nanos::FromMillis(1);  // limit of the read while a stop is pending
constexpr int kTries = 4;                              // attempts to stop a thread that another tracer holds
constexpr int kHandOvers = 4;                          // of the GIL between look and stop, followed at one instant
constexpr int kRereads = 8;                            // of waiting threads, if the GIL was taken meanwhile
constexpr size_t kManyThreads = 256;                   // going through so many costs more than the rest of a stop
constexpr size_t kFewPieces = 256;                     // pieces of memory of such a stack
constexpr size_t kFewThreads = 16;  // reading so many more under the stop costs less than another call

using Frames = std::vector<RawFrame>;

}  // namespace

InstantReader::InstantReader(const Parts& parts)
    : process_(parts.process),
      memory_(parts.memory),
      watch_(parts.watch),
      roster_(parts.roster),
      codes_(parts.codes),
      builder_(parts.builder),
      accounting_(parts.accounting),
      holder_only_(parts.holder_only),
      pid_(parts.process.info.pid),
      via_(IsReadByGrant(pid_) ? StopVia::kGrant : StopVia::kOwnRight),
      frame_codes_(codes_, memory_),
      mark_word_(process_.mark.word) {}

size_t InstantReader::AppendWords() {
  BeginBatch();
  AddWords();
  return batch_.size();
}

void InstantReader::BeginBatch() {
  batch_.clear();
  in_batch_.clear();
  ends_.clear();
}

void InstantReader::AddWords() {
  watch_.AppendRequests(&batch_);
  if (process_.mark.is_known()) {
    batch_.push_back({process_.mark.where, &mark_word_, sizeof mark_word_});
  }
}

void InstantReader::AppendTrack(ThreadTrack& track) {
  track.stack.AppendRequests(&batch_);
  in_batch_.push_back(&track);
  ends_.push_back(batch_.size());
}

// Reads the batch. False: the process is gone or is another program.
bool InstantReader::ReadTogether(size_t words) {
  const ReadStatus status = memory_.ReadBatch(batch_, &filled_);
  if (status == ReadStatus::kGone || status == ReadStatus::kDenied || mark_word_ != process_.mark.word) {
    return false;
  }
  if (filled_ < words) {
    return words == 0 || !process_.HasExeced(memory_);  // one interpreter is gone, or all of them
  }
  words_read_ = MonotonicNow();
  if (watch_.Update()) {
    roster_.RefreshSoon();
  }
  return true;
}

bool InstantReader::IsOf(const ThreadTrack& track, std::optional<size_t> gil) const {
  const GilView* own = GilOf(track);
  return gil.has_value() ? own == &watch_.gils()[*gil] : own == nullptr;
}

// Whether the thread can have moved since it was read: its frames change only while it has the GIL.
bool InstantReader::MayHaveMoved(const ThreadTrack& track) const {
  const GilView* gil = GilOf(track);
  // Up to 3.11 a thread enters and leaves a subinterpreter without any change in the GIL.
  const bool is_unsaid =
      process_.python.layout.Has(&Layout::runtime_gil) && track.info.interpreter_id != kMainInterpreter;
  if (!track.has_last || gil == nullptr || gil->holder == track.entry.state.value || is_unsaid) {
    return true;
  }
  const uint64_t switches = gil->switches - track.seen_switches;
  return switches > 1 || (switches == 1 && track.was_holder);
}

std::vector<ThreadTrack*> InstantReader::Movers(std::optional<size_t> gil, const ThreadTrack* without) {
  std::vector<ThreadTrack*> movers;
  bool all = true;
  Standing standing{.changes = roster_.changes(), .without = without};
  if (gil.has_value()) {
    standing.switches = watch_.gils()[*gil].switches;
    standing.holder = watch_.gils()[*gil].holder;
    unmoved_.resize(watch_.gils().size());
    if (unmoved_[*gil] == standing) {
      return movers;
    }
  }
  for (size_t i = 0; i < roster_.tracks().size(); ++i) {
    ThreadTrack& track = *roster_.tracks()[i];
    if (&track == without || !track.wanted || holder_only_ || !IsOf(track, gil) ||
        !(track.is_stale || MayHaveMoved(track))) {
      continue;
    }
    track.is_stale = roster_.tracks().size() > kVeryManyThreads && IsPassed(track, i);
    all = all && !track.is_stale;
    if (!track.is_stale) {
      movers.push_back(&track);
    }
  }
  if (gil.has_value() && movers.empty() && all) {
    unmoved_[*gil] = standing;
  }
  return movers;
}

// The movers of all GILs and their holders.
std::vector<ThreadTrack*> InstantReader::LooseMovers() {
  std::vector<ThreadTrack*> movers = Movers(std::nullopt, nullptr);
  for (size_t gil = 0; gil < watch_.gils().size(); ++gil) {
    ThreadTrack* holder = watch_.gils()[gil].is_enabled ? roster_.Find(watch_.gils()[gil].holder) : nullptr;
    if (holder != nullptr && holder->wanted && IsOf(*holder, gil)) {
      movers.push_back(holder);
    }
    const std::vector<ThreadTrack*> others = Movers(gil, holder);
    movers.insert(movers.end(), others.begin(), others.end());
  }
  return movers;
}

RunProbe& InstantReader::ProbeOf(ThreadTrack& track) const {
  if (!track.probe.has_value()) {
    track.probe.emplace(pid_, track.info.tid);
  }
  return *track.probe;
}

bool InstantReader::MayStop(ThreadTrack& track) {
  return track.info.tid != Tid() && !late_.has_value() && ProbeOf(track).Look() != RunProbe::State::kGone;
}

void InstantReader::Show(ThreadTrack& track, const TakenStack& taken) {
  const GilView* gil = GilOf(track);
  track.seen_switches = gil == nullptr ? 0 : gil->switches;
  track.was_holder = gil != nullptr && gil->holder == track.entry.state.value;
  if (track.has_last && taken.leaf != track.last.leaf && on_move) {
    on_move(track);
  }
  track.moved = track.has_last && taken.leaf != track.last.leaf ? words_read_ : track.moved;
  track.last = taken;
  track.has_last = true;
  track.is_stale = false;
}

bool InstantReader::LacksCaller(ThreadTrack& track, const std::vector<CodeId>& names) const {
  const bool may_suspend = !names.empty() && names.back() != kNoCode && codes_.info(names.back()).may_suspend;
  return track.doubt.LacksCaller(track.chain, track.stack.frames(), may_suspend || track.stack.lacks_base());
}

// The root of a stack in a subinterpreter: the leaf of the thread's state that called into it.
NodeId InstantReader::RootOf(const ThreadTrack& track) const {
  for (const ThreadTrack* caller = track.caller; caller != nullptr; caller = caller->caller) {
    if (caller->has_last && caller->last.stack != kEmptyStack) {
      return caller->last.leaf;
    }
  }
  return kRootNode;
}

// Accepts the stacks, callers first.
void InstantReader::AcceptAll(const std::vector<ThreadTrack*>& read, const std::vector<CollectStatus>& statuses,
                              bool count_lost) {
  size_t left = read.size();
  for (int depth = 0; left > 0; ++depth) {
    for (size_t i = 0; i < read.size(); ++i) {
      if (read[i]->depth() == depth) {
        --left;
        const bool taken = Accept(*read[i], statuses[i]);
        accounting_.lost += count_lost && !taken ? 1 : 0;
      }
    }
  }
}

// Takes what was read as the thread's stack at one instant. False: nothing could be read.
bool InstantReader::Accept(ThreadTrack& track, CollectStatus collected) {
  if (collected == CollectStatus::kNoState || collected == CollectStatus::kGone) {
    track.has_last = false;
    unmoved_.clear();
    roster_.RefreshSoon();
    return false;
  }
  const Frames& frames = track.stack.frames();
  const std::vector<CodeId>& names = frame_codes_.Name(frames);
  TakenStack taken;
  const bool lacks_caller = LacksCaller(track, names);
  const bool is_cut = collected == CollectStatus::kTooDeep || collected == CollectStatus::kTooLong;
  taken.leaf =
      builder_.Build(frames, names, is_cut || lacks_caller, &track.chain, frames.empty() ? kRootNode : RootOf(track));
  taken.stack = builder_.stack(taken.leaf);
  if (collected == CollectStatus::kBroken || collected == CollectStatus::kTooLong ||
      lacks_caller) {  // the leaf side is there, its callers are missing
    taken.quality = SampleQuality::kTruncated;
  } else if (collected == CollectStatus::kTooDeep) {
    taken.quality = SampleQuality::kTooDeep;
  } else if (frame_codes_.gone() > 0) {
    taken.quality = SampleQuality::kStaleNames;
  }
  Show(track, taken);
  return true;
}

// The stack moved between two reads: `first` and the one that `track` holds now.
void InstantReader::AcceptTorn(ThreadTrack& track, const Frames& first) {
  const size_t certain = CertainFrames(first, track.stack.frames());
  const Frames kept(first.end() - static_cast<ptrdiff_t>(certain), first.end());
  const std::vector<CodeId>& names = frame_codes_.Name(kept);
  TakenStack taken;
  taken.leaf = builder_.Build(kept, names, false, &track.chain, kept.empty() ? kRootNode : RootOf(track));
  taken.stack = builder_.WithMarker(builder_.stack(taken.leaf), kTornMarker);
  taken.quality = SampleQuality::kTorn;
  Show(track, taken);
}

InstantReader::Outcome InstantReader::Refused(const BriefStop& stop, ThreadTrack& track, Nanos now) {
  if (stop.state() == BriefStop::State::kGone || StoppedThreads::HasEnded(pid_, track.info.tid)) {
    roster_.RefreshSoon();
    return Outcome::kMissed;
  }
  Remember(StoppedThreads::ExplainRefusal(pid_, track.info.tid, stop.refusal()), now);
  // If the process is not traced already, it may be in an exec.
  accounting_.refused_stops += refusal_->error.reason == Reason::kAlreadyTraced ? 1 : 0;
  return Outcome::kMissed;
}

void InstantReader::Remember(Error refusal, Nanos now) {
  refusal_ = refusal_.has_value() ? StopRefusal{std::move(refusal), refusal_->since, refusal_->times + 1}
                                  : StopRefusal{std::move(refusal), now};
}

// The thread is stopped: reads it and the threads that cannot take the GIL meanwhile, then releases it. `first`: what
// was read before a late stop.
InstantReader::Outcome InstantReader::ReadHeld(BriefStop& stop, ThreadTrack& track, std::optional<size_t> gil,
                                               Nanos since, const First* first) {
  const size_t words = AppendWords();
  AppendTrack(track);
  for (ThreadTrack* caller = track.caller; caller != nullptr; caller = caller->caller) {
    AppendTrack(*caller);
  }
  const size_t own = in_batch_.size();
  if (gil.has_value() && roster_.tracks().size() <= kManyThreads) {
    const std::vector<ThreadTrack*> movers = Movers(gil, &track);
    for (size_t i = 0; movers.size() <= kFewThreads && i < movers.size(); ++i) {
      if (movers[i]->stack.is_known() && movers[i]->stack.pieces() < kFewPieces) {
        AppendTrack(*movers[i]);
      }
    }
  }
  const bool there = ReadTogether(words);
  std::vector<CollectStatus> collected;
  collected.reserve(in_batch_.size());
  if (there) {
    const bool is_holder = !gil.has_value() || watch_.gils()[*gil].holder == track.entry.state.value;
    in_batch_.resize(is_holder ? in_batch_.size() : own);  // otherwise the GIL was taken and the others may have moved
    CollectAll(collected, since + kLongestRead);
  }
  accounting_.interrupted_waits += stop.HasInterruptedCall() ? 1 : 0;
  stop.Release();
  times_.Add(MonotonicNow() - since);
  refusal_.reset();
  if (!there) {
    return Outcome::kEnded;
  }
  for (size_t i = own; i-- > 1;) {
    Accept(*in_batch_[i], collected[i]);  // outermost first
  }
  bool taken = true;
  if (first != nullptr && first->is_usable &&
      (!IsUsable(collected.front()) || !AreSameCalls(first->frames, track.stack.frames()))) {
    AcceptTorn(track, first->frames);
  } else {
    taken = Accept(track, collected.front());
  }
  in_batch_.erase(in_batch_.begin(), in_batch_.begin() + static_cast<ptrdiff_t>(own));
  collected.erase(collected.begin(), collected.begin() + static_cast<ptrdiff_t>(own));
  AcceptAll(in_batch_, collected, false);
  return taken ? Outcome::kTaken : Outcome::kMissed;
}

InstantReader::Outcome InstantReader::TakeRunning(ThreadTrack& track, std::optional<size_t> gil, Nanos now) {
  for (ThreadTrack* one = &track; one != nullptr; one = one->caller) {
    one->stack.Prime(memory_);
  }
  BriefStop stop(pid_, track.info.tid, via_);
  for (int tries = 1; stop.state() == BriefStop::State::kRefused && tries < kTries; ++tries) {
    const timespec nap{0, kAtOnce.value};
    ::nanosleep(&nap, nullptr);  // another capture holds it briefly, whatever the thread does: no bias
    stop = BriefStop(pid_, track.info.tid, via_);
  }
  BriefStop::State state = stop.Await(kAtOnce);
  if (state == BriefStop::State::kComing) {
    const CollectStatus collected = track.stack.ReadAgain(memory_, stop.asked() + kLongestFirst);
    First first{IsUsable(collected), track.stack.frames()};
    if (stop.Await(kSoon) == BriefStop::State::kComing || stop.state() == BriefStop::State::kStopped) {
      late_.emplace(Late{std::move(stop), &track, gil, std::move(first)});
      return PollLate();
    }
    state = stop.state();
  }
  return state == BriefStop::State::kStopped ? ReadHeld(stop, track, gil, stop.asked(), nullptr)
                                             : Refused(stop, track, now);
}

InstantReader::Outcome InstantReader::PollLate() {
  if (!late_.has_value()) {
    return Outcome::kTaken;
  }
  const BriefStop::State state = late_->stop.Await(Nanos());
  if (state == BriefStop::State::kComing) {
    return Outcome::kLate;
  }
  Late late = std::move(*late_);
  late_.reset();
  if (state != BriefStop::State::kStopped) {
    roster_.RefreshSoon();
    return Outcome::kMissed;
  }
  ++accounting_.late_stops;
  const Outcome outcome = ReadHeld(late.stop, *late.track, late.gil, MonotonicNow(), &late.first);
  const bool may_follow = outcome == Outcome::kTaken && late.gil.has_value() && *late.gil < watch_.gils().size();
  return may_follow ? TakeOthers(*late.gil, late.track) : outcome;
}

// Reads the waiting holder and all threads that may have moved. `stood`: the holder waited throughout and no thread
// took the GIL. Usually it waits without the GIL; then it is enough that the words, read after the frames in the same
// call, show the GIL as free. Further checks would bias against waiting threads: those that wake up meanwhile are
// stopped instead.
InstantReader::Outcome InstantReader::TakeStanding(ThreadTrack* holder, std::optional<size_t> gil, bool* stood) {
  const uint64_t switches = gil.has_value() ? watch_.gils()[*gil].switches : 0;
  const Outcome outcome = ReadStanding(holder, gil);
  const bool is_same = !gil.has_value() || watch_.gils()[*gil].switches == switches;
  *stood = is_same && (holder == nullptr || (gil.has_value() && !watch_.gils()[*gil].locked));
  if (outcome != Outcome::kTaken || *stood || !is_same) {
    return outcome == Outcome::kTaken && *stood ? AcceptStanding() : outcome;
  }
  // It waits with the GIL: it stood still if its time slices are the same before and after the read.
  const std::optional<uint64_t> slices = ProbeOf(*holder).Slices();
  if (!slices.has_value() || ProbeOf(*holder).Look() != RunProbe::State::kWaits) {
    return Outcome::kTaken;
  }
  if (ReadStanding(holder, gil) != Outcome::kTaken) {
    return Outcome::kEnded;
  }
  *stood = (!gil.has_value() || watch_.gils()[*gil].switches == switches) && ProbeOf(*holder).Slices() == slices;
  return *stood ? AcceptStanding() : Outcome::kTaken;
}

InstantReader::Outcome InstantReader::ReadStanding(ThreadTrack* holder, std::optional<size_t> gil) {
  BeginBatch();
  for (ThreadTrack* track = holder; track != nullptr && track->wanted; track = track->caller) {
    AppendTrack(*track);
  }
  for (ThreadTrack* mover : Movers(gil, holder)) {
    AppendTrack(*mover);
  }
  AddWords();
  if (!ReadTogether(batch_.size())) {
    return Outcome::kEnded;
  }
  standing_ = in_batch_;
  const bool whole = filled_ == batch_.size();
  statuses_.clear();
  CollectAll(statuses_, kNoDeadline);
  const bool pieced =
      std::ranges::any_of(standing_, [](const ThreadTrack* track) { return track->stack.was_pieced(); });
  return (whole && !pieced) || ReadTogether(AppendWords()) ? Outcome::kTaken : Outcome::kEnded;
}

InstantReader::Outcome InstantReader::AcceptStanding() {
  AcceptAll(standing_, statuses_, false);
  return Outcome::kTaken;
}

// Reads the threads that wait for the GIL or do without it, if they are too many to be read under the stop.
InstantReader::Outcome InstantReader::TakeOthers(size_t gil, const ThreadTrack* holder) {
  for (int read = 0; read < (roster_.tracks().size() > kVeryManyThreads ? 1 : kRereads); ++read) {
    const std::vector<ThreadTrack*> movers = Movers(gil, holder);
    if (movers.empty()) {
      return Outcome::kTaken;
    }
    bool stood = false;
    const Outcome outcome = TakeStanding(nullptr, gil, &stood);
    if (outcome != Outcome::kTaken || stood) {
      return outcome;
    }
  }
  TakeOneByOne(Movers(gil, holder));
  return Outcome::kTaken;
}

InstantReader::Outcome InstantReader::TakeHolder(size_t gil, ThreadTrack& holder, Nanos now) {
  bool stood = false;
  const RunProbe::State state = holder.wanted ? ProbeOf(holder).Look() : RunProbe::State::kGone;
  if (state == RunProbe::State::kGone) {  // or it is not wanted; the state of the others is valid all the same
    if (holder.wanted) {
      roster_.RefreshSoon();
    }
    return TakeStanding(nullptr, gil, &stood);
  }
  // A thread that is inside another interpreter with its own GIL may run, but its stack here stands still.
  if (state == RunProbe::State::kWaits || (holder.is_inside() && !watch_.gils()[gil].locked)) {
    const Outcome outcome = TakeStanding(&holder, gil, &stood);
    if (outcome == Outcome::kEnded || stood) {
      return outcome;
    }
  }
  if (!MayStop(holder)) {
    return Outcome::kMissed;
  }
  return TakeRunning(holder, gil, now);
}

// Reads a waiting thread: its stack below those of its callers in other interpreters. Does nothing if it has not run
// since its last read. False: it runs.
bool InstantReader::TakeWaiting(ThreadTrack& track) {
  for (int tries = 0; tries < 2; ++tries) {
    const auto slices = ProbeOf(track).Slices();
    if (ProbeOf(track).Look() != RunProbe::State::kWaits) {
      return false;
    }
    if (track.has_last && slices.has_value() && slices == track.seen_slices) {
      return true;
    }
    statuses_.clear();
    standing_.clear();
    for (ThreadTrack* one = &track; one != nullptr; one = one->caller) {
      standing_.push_back(one);
      statuses_.push_back(one->stack.ReadAgain(memory_));
    }
    if (!slices.has_value() || ProbeOf(track).Slices() != slices) {
      continue;
    }
    frame_codes_.Begin(watch_.code_generation());
    for (const ThreadTrack* one : standing_) {
      frame_codes_.Note(one->stack.frames());
    }
    AcceptAll(standing_, statuses_, false);
    track.seen_slices = slices;
    return true;
  }
  return false;
}

// Takes each thread once, by the innermost of its states that has frames.
InstantReader::Outcome InstantReader::TakeFree(Nanos now) {
  const size_t count = roster_.tracks().size();
  ++turn_;
  if (!ReadTogether(AppendWords())) {
    return Outcome::kEnded;
  }
  std::vector<ThreadTrack*> tracks;
  for (size_t i = 0; i < count && i < roster_.tracks().size(); ++i) {
    tracks.push_back(roster_.tracks()[(i + turn_) % count].get());
  }
  // Inner states first: is_inside() of their callers depends on them.
  std::ranges::stable_sort(tracks, std::greater(), &ThreadTrack::depth);
  for (ThreadTrack* track : tracks) {
    if (!track->wanted || GilOf(*track) != nullptr || track->is_inside() || TakeWaiting(*track)) {
      continue;
    }
    track->seen_slices.reset();
    if (!MayStop(*track)) {
      ++accounting_.lost;
      track->has_last = false;
      continue;
    }
    const Outcome outcome = TakeRunning(*track, std::nullopt, now);
    if (outcome == Outcome::kEnded || outcome == Outcome::kLate) {
      return outcome;
    }
    track->has_last = track->has_last && outcome == Outcome::kTaken;
  }
  return Outcome::kTaken;
}

InstantReader::Outcome InstantReader::ReadWords() {
  return ReadTogether(AppendWords()) ? Outcome::kTaken : Outcome::kEnded;
}

// Whether a GIL changes hands faster than a stop comes. Then each holder has given it away when it stops, and short
// holds would never be seen. Only the time before this instant decides.
bool InstantReader::IsHandedOn(size_t gil, Nanos now) {
  constexpr double kOften = 1e-6;  // per nanosecond: once a millisecond
  constexpr double kRecent = 0.2;
  hands_.resize(watch_.gils().size());
  Hands& hands = hands_[gil];
  const uint64_t switches = watch_.gils()[gil].switches;
  if (hands.at != Nanos() && now > hands.at) {
    const double rate = static_cast<double>(switches - hands.switches) / static_cast<double>((now - hands.at).value);
    hands.rate += kRecent * (rate - hands.rate);
  }
  hands.switches = switches;
  hands.at = now;
  return hands.rate > kOften;
}

InstantReader::Outcome InstantReader::Take(std::optional<size_t> gil, Nanos now) {
  turn_ += gil.has_value() ? 1 : 0;
  if (!gil.has_value()) {
    return TakeFree(now);
  }
  if (via_ == StopVia::kOwnRight && IsHandedOn(*gil, now)) {  // a grantor can stop only one thread at a time
    if (const auto outcome = TakeHandedOn(*gil, now)) {
      return *outcome;
    }
  }
  const bool is_known = roster_.tracks().size() == 1 && watch_.gils()[*gil].holder != 0;
  if (!is_known && !ReadTogether(AppendWords())) {
    return Outcome::kEnded;
  }
  for (int hand_over = 0; hand_over < kHandOvers; ++hand_over) {
    const uint64_t state = watch_.gils()[*gil].holder;
    ThreadTrack* holder = roster_.Find(state);
    if (holder == nullptr) {
      roster_.RefreshSoon();
      bool stood = false;
      return TakeStanding(nullptr, gil, &stood);
    }
    const Outcome outcome = TakeHolder(*gil, *holder, now);
    if (outcome != Outcome::kTaken) {
      return outcome;
    }
    if (watch_.gils()[*gil].holder == state) {
      return TakeOthers(*gil, holder);
    }
    ++accounting_.holder_changes;
  }
  return Outcome::kMissed;
}

InstantReader::Outcome InstantReader::TakeLoosely(Nanos) {
  size_t words = AppendWords();
  if (!ReadTogether(words)) {
    return Outcome::kEnded;
  }
  words = AppendWords();
  std::vector<ThreadTrack*> movers = LooseMovers();
  std::ranges::stable_sort(movers, {}, &ThreadTrack::depth);  // callers first
  for (ThreadTrack* track : movers) {
    AppendTrack(*track);
  }
  if (!ReadTogether(words)) {
    return Outcome::kEnded;
  }
  const std::vector<ThreadTrack*> read = in_batch_;
  std::vector<CollectStatus> statuses;
  std::vector<Frames> first;
  for (size_t i = 0; i < read.size(); ++i) {
    statuses.push_back(read[i]->stack.Collect(memory_, ends_[i] <= filled_));
    first.push_back(read[i]->stack.frames());
  }
  words = AppendWords();
  for (ThreadTrack* track : read) {
    AppendTrack(*track);
  }
  if (!ReadTogether(words)) {
    return Outcome::kEnded;
  }
  for (size_t i = 0; i < read.size(); ++i) {
    ThreadTrack& track = *read[i];
    const CollectStatus again = track.stack.Collect(memory_, ends_[i] <= filled_);
    frame_codes_.Begin(watch_.code_generation());
    frame_codes_.Note(track.stack.frames());
    const bool same = IsUsable(again) && again == statuses[i] && AreSameCalls(first[i], track.stack.frames());
    if (same || again == CollectStatus::kNoState || again == CollectStatus::kGone) {
      Accept(track, again);
    } else {
      AcceptTorn(track, first[i]);
    }
  }
  return Outcome::kTaken;
}

}  // namespace ptrace_prof
