#include "daemon/collector/target/thread_roster.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attach/proc/procfs.h"
#include "daemon/collector/target/stack_history.h"
#include "symbolizer/cpython/thread_names.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kRefreshEvery = Nanos::FromMillis(250);
constexpr Nanos kRefreshSeldom = Nanos::FromSeconds(1);
constexpr int64_t kRefreshShare = 500;                   // at most 1/500 of the time goes into lists without changes
constexpr Nanos kFirstNamings = Nanos::FromMillis(100);  // a thread sets its name shortly after it starts
constexpr Nanos kLaterNamings = Nanos::FromMillis(5000);
constexpr uint32_t kQuickNamings = 2;
constexpr int64_t kQuickShare = 100;  // at most 1/100 of the time for names while threads are new
constexpr int64_t kLaterShare = 500;  // and at most 1/500 when none is
constexpr size_t kMaxThreads = 4096;  // per process; further threads are not followed
constexpr size_t kMaxHolders = 64;    // GIL holders that are followed beyond that

// Drops the states of threads that have not begun. Up to CPython 3.11 they still have the idents of the thread that
// started them, later none at all. If the end of the list is missing, it is not known whose ident a state has.
void DropUnborn(bool complete, std::vector<ThreadEntry>& newest_first) {
  std::unordered_set<uint64_t> older;
  const auto kept = std::remove_if(newest_first.rbegin(), newest_first.rend(), [&](const ThreadEntry& entry) {
    const bool has_own_ident = older.insert(entry.ident).second;
    const bool has_own_id = entry.native_id == 0 || older.insert(entry.native_id).second;  // set after the ident
    const bool is_own = has_own_ident && has_own_id && complete;
    return entry.ident == 0 || (!is_own && !entry.has_frames);
  });
  newest_first.erase(newest_first.begin(), kept.base());
}

}  // namespace

ThreadRoster::ThreadRoster(Pid pid, Pid ns_pid, RemoteMemory& memory, const PythonProcess& python,
                           const CaptureTask& request, TraceWriter& writer)
    : pid_(pid), ns_pid_(ns_pid), memory_(memory), python_(python), request_(request), writer_(writer) {}

ThreadTrack* ThreadRoster::Find(uint64_t state) {
  const auto found = by_state_.find(state);
  return found == by_state_.end() ? nullptr : found->second;
}

void ThreadRoster::ReadTids() {
  host_tids_.clear();
  if (pid_ == ns_pid_) {
    return;
  }
  const auto tids = ListThreads(pid_);
  if (tids.has_error()) {
    return;
  }
  for (const Tid tid : tids.value()) {
    if (const auto inner = ReadNamespacedTid(pid_, tid); inner.has_value()) {
      host_tids_[inner.value()] = tid;
    }
  }
}

// The tid in the thread's own namespace.
Tid ThreadRoster::InnerTid(const ThreadEntry& entry) {
  if (python_.layout.Has(&Layout::thread_native_id)) {
    return Tid(static_cast<int32_t>(entry.native_id));
  }
  if (!tid_finder_.has_value() || !tid_finder_->is_able()) {
    tid_finder_.emplace(memory_, entries_.empty() ? entry.ident : entries_.back().ident, ns_pid_);
  }
  return tid_finder_->Find(entry.ident).value_or(Tid());
}

// If C code forks without PyOS_AfterFork_Child, the child's state still has the tid of the parent's thread.
Tid ThreadRoster::TidOf(const ThreadEntry& entry) {
  const Tid inner = InnerTid(entry);
  const bool may_be_forked = entries_.size() == 1 && interpreters_.size() == 1 && inner != Tid() && tracks_.empty();
  if (may_be_forked && pid_ == ns_pid_ && inner != Tid(pid_.value)) {
    const auto tids = ListThreads(pid_);
    if (tids.has_value() && std::ranges::find(tids.value(), inner) == tids.value().end()) {
      return Tid(pid_.value);  // the forking thread is the only one that the child began with
    }
  }
  return inner;
}

Tid ThreadRoster::HostTid(Tid inner) const {
  if (pid_ == ns_pid_) {
    return inner;
  }
  const auto found = host_tids_.find(inner);
  return found == host_tids_.end() ? Tid() : found->second;
}

void ThreadRoster::Add(Tid inner, const ThreadEntry& entry, size_t interpreter, const InterpreterWatch& watch) {
  const InterpreterEntry& owner = watch.interpreters()[interpreter].entry;
  auto track = std::make_unique<ThreadTrack>(
      entry, interpreter, ThreadStack(python_.layout, entry.state, owner.address, DepthOf(request_)));
  const Tid tid = HostTid(inner);
  track->info.pid = pid_;
  track->info.tid = tid;
  track->info.ns_tid = inner;
  track->info.python_ident = entry.ident;
  track->info.interpreter_id = owner.id;
  track->info.is_main = tid.value == pid_.value && owner.id == 0;
  track->info.name = NameOf(*track, {});
  const auto& wanted = request_.spec().sample().threads();
  track->wanted = wanted.empty() || std::find(wanted.begin(), wanted.end(), tid.value) != wanted.end();
  if (tid != Tid()) {
    track->watch.emplace(pid_, tid);
  }
  track->written_state = std::make_shared<std::optional<StateInfo>>();
  by_state_[entry.state.value] = track.get();
  tracks_.push_back(std::move(track));
  ++changes_;
  next_naming_ = std::min(next_naming_, last_naming_ + quick_naming_);
  quick_namings_ = 0;
}

ReadStatus ThreadRoster::Refresh(Nanos now, InterpreterWatch& watch) {
  const Nanos begin = MonotonicNow();
  next_refresh_ = now + kRefreshEvery;
  soonest_refresh_ = next_refresh_;
  ReadStatus status = ReadInterpreters(memory_, python_.layout, python_.runtime, &interpreters_);
  if (status != ReadStatus::kOk) {
    return status;
  }
  const bool same = std::equal(interpreters_.begin(), interpreters_.end(), watch.interpreters().begin(),
                               watch.interpreters().end(), [](const InterpreterEntry& a, const InterpreterView& b) {
                                 return a.address == b.entry.address && a.id == b.entry.id && a.gil == b.entry.gil;
                               });
  if (!same) {
    settled_.clear();
    MoveTracks(now, watch);
  }
  for (auto& track : tracks_) {
    track->listed = false;
  }
  bool all_complete = true;
  left_out_ = 0;
  tids_are_read_ = false;
  for (size_t i = 0; i < interpreters_.size(); ++i) {
    if (IsSettled(i)) {
      continue;
    }
    entries_.clear();
    bool complete = true;
    status = ReadThreads(memory_, python_.layout, interpreters_[i].address, &entries_, &complete);
    if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
      return status;
    }
    all_complete = all_complete && complete && status == ReadStatus::kOk;
    const std::vector<ThreadEntry> all = entries_;
    DropUnborn(complete && status == ReadStatus::kOk, entries_);
    FollowEntries(now, i, complete, watch);
    if (all_complete && all.size() == entries_.size() &&
        std::ranges::all_of(all, [this](const ThreadEntry& entry) { return by_state_.contains(entry.state.value); })) {
      settled_[interpreters_[i].address.value] = all;
    }
  }
  if (all_complete && AreMissing()) {
    std::erase_if(tracks_, [&](const std::unique_ptr<ThreadTrack>& track) {
      if (track->listed) {
        return false;
      }
      End(now, *track);
      return true;
    });
  }
  LinkStates(now);
  next_refresh_ =
      now + std::clamp(Nanos((MonotonicNow() - begin).value * kRefreshShare), kRefreshEvery, kRefreshSeldom);
  NameThreads(now, watch);
  return ReadStatus::kOk;
}

// True: all of its threads are followed, and the list has not changed.
bool ThreadRoster::IsSettled(size_t interpreter) {
  const auto found = settled_.find(interpreters_[interpreter].address.value);
  if (found == settled_.end()) {
    return false;
  }
  if (!AreStillThreads(memory_, python_.layout, interpreters_[interpreter].address, found->second)) {
    settled_.erase(found);
    return false;
  }
  for (auto& track : tracks_) {
    track->listed = track->listed || track->interpreter == interpreter;
  }
  return true;
}

// If there are too many threads, the main thread, which is the oldest, and the holder of the GIL come first.
void ThreadRoster::FollowEntries(Nanos now, size_t interpreter, bool complete, const InterpreterWatch& watch) {
  const GilView* gil = watch.gil_of(interpreter);
  const uint64_t holder = gil != nullptr ? gil->holder : 0;
  if (entries_.size() > kMaxThreads) {
    (void)Follow(now, entries_.back(), kMaxThreads, interpreter, complete, watch);
  }
  for (const ThreadEntry& entry : entries_) {
    const size_t most = kMaxThreads + (entry.state.value == holder ? kMaxHolders : 0);
    left_out_ += Follow(now, entry, most, interpreter, complete, watch) ? 0 : 1;
  }
}

// False: there is no room for it.
bool ThreadRoster::Follow(Nanos now, const ThreadEntry& entry, size_t most, size_t interpreter, bool complete,
                          const InterpreterWatch& watch) {
  ThreadTrack* known = Find(entry.state.value);
  if (known != nullptr && known->entry.IsSameThread(entry)) {
    known->listed = true;
    return true;
  }
  if (known != nullptr) {  // it ended, and a new thread state has its address
    End(now, *known);
    std::erase_if(tracks_, [known](const std::unique_ptr<ThreadTrack>& track) { return track.get() == known; });
  }
  if (tracks_.size() >= most) {
    return false;
  }
  if (!std::exchange(tids_are_read_, true)) {
    ReadTids();
  }
  if (const Tid inner = TidOf(entry); !IsOnItsWay(inner, complete)) {
    Add(inner, entry, interpreter, watch);
  }
  return true;
}

// Where tids can be found at all, a thread without one is just beginning or ending. The next refresh decides.
bool ThreadRoster::IsOnItsWay(Tid inner, bool complete) const {
  if (inner != Tid()) {
    return HostTid(inner) == Tid() && !host_tids_.empty();
  }
  return !complete || python_.layout.Has(&Layout::thread_native_id) ||
         (tid_finder_.has_value() && tid_finder_->is_able());
}

// Whether threads are really missing. Looks a second time, as a state that was freed and reused while we walked the
// list may have had no successor at that moment.
bool ThreadRoster::AreMissing() {
  const auto is_listed = [](const std::unique_ptr<ThreadTrack>& track) { return track->listed; };
  if (std::ranges::all_of(tracks_, is_listed)) {
    return false;
  }
  for (const InterpreterEntry& interpreter : interpreters_) {
    entries_.clear();
    bool complete = true;
    if (ReadThreads(memory_, python_.layout, interpreter.address, &entries_, &complete) != ReadStatus::kOk ||
        !complete) {
      return false;  // not known: the next refresh decides
    }
    for (const ThreadEntry& entry : entries_) {
      ThreadTrack* known = Find(entry.state.value);
      if (known != nullptr && known->entry.IsSameThread(entry)) {
        known->listed = true;
      }
    }
  }
  return true;
}

// An interpreter was created or finalized, so the others have other places in the list.
void ThreadRoster::MoveTracks(Nanos now, InterpreterWatch& watch) {
  std::erase_if(tracks_, [&](const std::unique_ptr<ThreadTrack>& track) {
    const RemoteAddr owner = watch.interpreters()[track->interpreter].entry.address;
    const auto found = std::find_if(interpreters_.begin(), interpreters_.end(),
                                    [owner](const InterpreterEntry& entry) { return entry.address == owner; });
    if (found == interpreters_.end()) {
      End(now, *track);
      return true;
    }
    track->interpreter = static_cast<size_t>(found - interpreters_.begin());
    track->has_last = false;
    return false;
  });
  ++changes_;
  watch.Follow(interpreters_);
}

void ThreadRoster::ForgetStacks() {
  ++changes_;
  for (const auto& track : tracks_) {
    track->chain.Clear();
    track->has_last = false;
  }
}

// Up to 3.12 a subinterpreter's state names the thread that created it. If there is only one thread, that is the one
// that runs it.
bool ThreadRoster::AreOneThread(const std::vector<ThreadTrack*>& states) const {
  return states.size() > 1 && states.front()->info.tid != Tid() &&
         (python_.layout.state_names_runner || states.size() == tracks_.size());
}

void ThreadRoster::Announce(Nanos now, ThreadTrack& track, const ThreadTrack* outer) {
  if (outer == nullptr) {
    const bool is_lent = track.is_announced && track.caller != nullptr;
    if (!track.is_announced || is_lent) {  // its handle was that of another thread
      track.handle = writer_.AddThread(track.info);
      track.written_state = std::make_shared<std::optional<StateInfo>>();
    }
  } else if (!track.is_announced || track.handle != outer->handle) {
    if (track.is_announced) {
      ended_.emplace_back(track.handle, now);
    }
    track.handle = outer->handle;
    track.written_state = outer->written_state;
  }
  track.is_announced = true;
}

// Finds the states that belong to one thread (the main interpreter's is the outermost), and gives new threads their
// handles.
void ThreadRoster::LinkStates(Nanos now) {
  std::unordered_map<Tid, std::vector<ThreadTrack*>> by_tid;
  for (auto& track : tracks_) {
    by_tid[track->info.tid].push_back(track.get());
  }
  thread_count_ = 0;
  for (const auto& track : tracks_) {
    std::vector<ThreadTrack*> states = std::exchange(by_tid[track->info.tid], {});
    const bool are_one = interpreters_.size() > 1 && AreOneThread(states);
    std::ranges::sort(states, {}, [](const ThreadTrack* state) {
      return std::pair(state->info.interpreter_id, state->entry.state.value);
    });
    thread_count_ += are_one ? 1 : states.size();
    for (size_t i = 0; i < states.size(); ++i) {
      Announce(now, *states[i], are_one && i > 0 ? states[0] : nullptr);
      states[i]->caller = are_one && i > 0 ? states[i - 1] : nullptr;
      states[i]->callee = are_one && i + 1 < states.size() ? states[i + 1] : nullptr;
    }
  }
}

void ThreadRoster::EndAll(Nanos now) {
  for (const auto& track : tracks_) {
    End(now, *track);
  }
  tracks_.clear();
}

void ThreadRoster::End(Nanos now, const ThreadTrack& track) {
  const bool is_shared = std::ranges::any_of(tracks_, [&](const std::unique_ptr<ThreadTrack>& other) {
    return other != nullptr && other.get() != &track && other->is_announced && other->handle == track.handle &&
           by_state_.contains(other->entry.state.value);
  });
  if (track.is_announced && !is_shared) {
    ended_.emplace_back(track.handle, now);
  }
  by_state_.erase(track.entry.state.value);
  ++changes_;
}

void ThreadRoster::AnnounceEnded(StackHistory* history) {
  for (const auto& [handle, when] : ended_) {
    writer_.EndThread(handle, when);
    if (history != nullptr) {
      history->Drop(handle);
    }
  }
  ended_.clear();
}

std::string ThreadRoster::NameOf(const ThreadTrack& track,
                                 const std::unordered_map<uint64_t, std::string>& names) const {
  if (const auto found = names.find(track.entry.ident); found != names.end()) {
    return found->second;
  }
  if (!track.info.name.empty()) {
    return track.info.name;
  }
  if (track.info.is_main) {
    return "MainThread";
  }
  const auto comm = ReadThreadName(pid_, track.info.tid);
  return comm.has_value() ? comm.value() : "thread " + std::to_string(track.info.tid.value);
}

void ThreadRoster::NameThreads(Nanos now, const InterpreterWatch& watch) {
  if (now < next_naming_) {
    return;
  }
  now = MonotonicNow();
  last_naming_ = now;
  bool all_named = true;
  for (size_t i = 0; i < watch.interpreters().size(); ++i) {
    const auto names = ReadThreadNames(memory_, python_.layout, watch.interpreters()[i].entry.address);
    for (auto& track : tracks_) {
      if (track->interpreter != i || track->caller != nullptr) {
        continue;
      }
      all_named = all_named && names.contains(track->entry.ident);
      if (std::string name = NameOf(*track, names); name != track->info.name) {
        track->info.name = std::move(name);
        writer_.RenameThread(track->handle, track->info.name);
      }
    }
  }
  const Nanos cost = MonotonicNow() - now;
  quick_naming_ = std::max(kFirstNamings, Nanos(cost.value * kQuickShare));
  const Nanos later = std::max(kLaterNamings, Nanos(cost.value * kLaterShare));
  const bool is_done = all_named && quick_naming_ > kFirstNamings;  // looking for changed names is expensive here
  next_naming_ = now + (++quick_namings_ <= kQuickNamings && !is_done ? std::min(quick_naming_, later) : later);
}

}  // namespace ptrace_prof
