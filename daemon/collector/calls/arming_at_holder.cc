#include "daemon/collector/calls/arming_at_holder.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "attach/base/real_time.h"
#include "attach/proc/run_probe.h"
#include "attach/ptrace/brief_stop.h"
#include "attach/ptrace/stopped_threads.h"
#include "daemon/collector/calls/thread_at_arming.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kPatience = Nanos::FromSeconds(2);
constexpr Nanos kQuiet = Nanos::FromMillis(50);   // nobody has taken the GIL for so long: there is no holder to come
constexpr Nanos kComes = Nanos::FromMillis(1);    // who has not stopped by then is in the kernel
constexpr Nanos kShort = Nanos::FromSeconds(1);   // for so long only short stops are tried
constexpr Nanos kLongest = Nanos::FromMillis(4);  // that the holder stands for us
constexpr size_t kFewMoved = 16;                  // of them the stacks are read in a fraction of that
constexpr Nanos kLongestAfter = Nanos::FromMillis(20);
constexpr int kPasses = 8;
constexpr size_t kFollowEvery = 32;  // threads: the GIL may change hands while they are gone through
constexpr timespec kNap{0, 200'000};

// One after the other all of a GIL that say who has it. The holder is written a moment after `locked`: what is the same
// at two looks is true.
struct GilWords {
  int32_t locked = 0;
  uint64_t holder = 0;
  uint64_t switches = 0;
  bool operator==(const GilWords&) const = default;
};

struct Standing {
  ThreadEntry entry;
  ThreadTrack* track = nullptr;
  std::optional<uint64_t> slices;  // with which it waited when it was read; nullopt: it ran
  std::optional<ThreadAtArming> copy;
};

class HolderArming {
 public:
  HolderArming(const ThreadsToArm& from, RemoteAddr interpreter, RemoteAddr gil)
      : from_(from), interpreter_(interpreter), gil_(gil) {}
  ~HolderArming() { CloseProbes(); }

  Result<std::optional<ArmingStop>> Run(const std::function<Result<void>()>& arm) {
    const Nanos begin = MonotonicNow();
    while (MonotonicNow() < begin + kPatience) {
      longest_ = MonotonicNow() < begin + kShort ? kLongest : kLongestAfter;
      if (!List()) {
        return std::optional<ArmingStop>();
      }
      for (int pass = 0; pass < kPasses && CopyMoved(kNoDeadline) > kFewMoved; ++pass) {
      }
      PP_ASSIGN_OR_RETURN(const GilWords words, FollowGil());
      auto armed = words.locked == 1 ? ArmWithHolder(words, arm) : ArmWithNone(words, arm);
      if (armed.has_error() || armed.value().has_value()) {
        return armed;
      }
      ::nanosleep(&kNap, nullptr);
    }
    return std::optional<ArmingStop>();
  }

 private:
  Result<GilWords> ReadWords() {
    GilWords words;
    const ReadRequest batch[] = {{gil_ + from_.layout.gil_locked, &words.locked, sizeof words.locked},
                                 {gil_ + from_.layout.gil_last_holder, &words.holder, sizeof words.holder},
                                 {gil_ + from_.layout.gil_switch_number, &words.switches, sizeof words.switches}};
    size_t filled = 0;
    if (from_.memory.ReadBatch(batch, &filled) != ReadStatus::kOk) {
      return ErrnoError(ESRCH, fmt::format("cannot read process {}", from_.pid.value));
    }
    return words;
  }

  // Who is there. False: not all of them can be watched.
  bool List() {
    if (!threads_.empty() && AreStillThreads(from_.memory, from_.layout, interpreter_, entries_)) {
      return true;
    }
    std::vector<ThreadEntry> entries;
    bool complete = false;
    for (int look = 0; look < kPasses && !complete; ++look) {
      entries.clear();
      complete = true;
      if (ReadThreads(from_.memory, from_.layout, interpreter_, &entries, &complete) != ReadStatus::kOk) {
        return false;
      }
    }
    entries_ = std::move(entries);
    threads_.clear();
    CloseProbes();
    from_.roster.Refresh(MonotonicNow(), from_.watch);
    return complete && std::ranges::all_of(entries_, [this](const ThreadEntry& entry) { return Watch(entry); });
  }

  bool Watch(const ThreadEntry& entry) {
    ThreadTrack* track = from_.roster.Find(entry.state.value);
    if (track == nullptr || !track->entry.IsSameThread(entry) || track->info.tid == Tid()) {
      return false;
    }
    if (!track->probe.has_value()) {
      track->probe.emplace(from_.pid, track->info.tid);
      opened_.push_back(track->entry.state.value);
    }
    threads_.push_back({entry, track, std::nullopt, std::nullopt});
    return track->probe->is_there() && track->probe->Slices().has_value();
  }

  void CloseProbes() {
    for (const uint64_t state : opened_) {
      if (ThreadTrack* track = from_.roster.Find(state)) {
        track->probe.reset();
      }
    }
    opened_.clear();
  }

  void Copy(Standing& one, std::optional<uint64_t> slices, Nanos deadline) {
    one.slices = one.track->probe->Look() == RunProbe::State::kWaits ? slices : std::nullopt;
    one.copy = CopyThread(from_, one.entry, interpreter_, deadline);
  }

  // Reads who may have moved since it was read. How many that were.
  size_t CopyMoved(Nanos deadline) {
    holders_.clear();
    size_t moved = 0;
    for (size_t i = 0; i < threads_.size(); ++i) {
      if (i % kFollowEvery == 0) {
        (void)FollowGil();
      }
      Standing& one = threads_[i];
      const std::optional<uint64_t> slices = one.track->probe->Slices();
      if (!slices.has_value() || one.slices != slices) {
        Copy(one, slices, deadline);
        ++moved;
      }
    }
    return moved;
  }

  // Who has had the GIL since the last pass began: nobody else has moved. Each that takes it from another counts on.
  Result<GilWords> FollowGil() {
    auto words = ReadWords();
    if (words.has_error()) {
      return words;
    }
    const GilWords& now = words.value();
    if (holders_.empty()) {
      are_known_ = true;
    } else if (now.switches - switches_ > 1) {
      are_known_ = false;
    }
    switches_ = now.switches;
    if (std::ranges::find(holders_, now.holder) == holders_.end()) {
      holders_.push_back(now.holder);
    }
    return words;
  }

  void CopyHolders(Nanos deadline) {
    for (Standing& one : threads_) {
      if (std::ranges::find(holders_, one.entry.state.value) != holders_.end()) {
        Copy(one, one.track->probe->Slices(), deadline);
      }
    }
  }

  // Since its stack was read. Who had the GIL last may take it again, and the words are as before.
  bool HasWaited(uint64_t state) {
    const auto its =
        std::ranges::find_if(threads_, [state](const Standing& one) { return one.entry.state.value == state; });
    return its == threads_.end() || (its->slices.has_value() && its->slices == its->track->probe->Slices());
  }

  using Armed = Result<std::optional<ArmingStop>>;

  Armed ArmWithHolder(const GilWords& words, const std::function<Result<void>()>& arm) {
    ThreadTrack* holder = from_.roster.Find(words.holder);
    if (holder == nullptr || holder->info.tid == Tid()) {
      return std::optional<ArmingStop>();  // it is not listed yet, or not any more
    }
    holder->stack.Prime(from_.memory);
    Armed armed = std::optional<ArmingStop>();
    {
      const UrgentPriority urgent;
      BriefStop stop(from_.pid, holder->info.tid, StopVia::kOwnRight);
      switch (stop.Await(kComes)) {
        case BriefStop::State::kRefused:  // another capture has it for a moment; else it is refused at the end, in
                                          // words
        case BriefStop::State::kNone:
        case BriefStop::State::kGone: return armed;
        case BriefStop::State::kComing:  // it stands in the kernel
        case BriefStop::State::kStopped: break;
      }
      armed = ArmNow(words, MonotonicNow(), arm);
    }
    StoppedThreads::ReleaseLate();
    return armed;
  }

  Armed ArmWithNone(const GilWords& words, const std::function<Result<void>()>& arm) {
    const Nanos now = MonotonicNow();
    if (!(words == quiet_)) {
      quiet_ = words;
      quiet_since_ = now;
    }
    return now - quiet_since_ > kQuiet ? ArmNow(words, now, arm) : Armed(std::optional<ArmingStop>());
  }

  Armed ArmNow(const GilWords& words, Nanos begin, const std::function<Result<void>()>& arm) {
    PP_RETURN_IF_ERROR(FollowGil());
    if (are_known_) {
      CopyHolders(begin + kLongestRead);
    } else {
      CopyMoved(begin + kLongestRead);
    }
    const bool are_all = AreStillThreads(from_.memory, from_.layout, interpreter_, entries_);
    PP_ASSIGN_OR_RETURN(const GilWords before, ReadWords());
    const bool is_held = words.locked == 1;
    if (!(before == words) || !are_all || MonotonicNow() - begin > longest_ || (!is_held && !HasWaited(words.holder))) {
      return std::optional<ArmingStop>();
    }
    ArmingStop stop;
    stop.when = MonotonicNow();
    PP_RETURN_IF_ERROR(arm());
    PP_ASSIGN_OR_RETURN(const GilWords after, ReadWords());
    if (!(after == words) || (!is_held && !HasWaited(words.holder))) {
      return Error{Code::kUnavailable,
                   fmt::format("threads of process {} went on just as their tracing began", from_.pid.value),
                   "Try again."};
    }
    stop.stopped = is_held ? MonotonicNow() - begin : Nanos();
    for (Standing& one : threads_) {
      if (one.copy.has_value()) {
        stop.threads.push_back(*std::move(one.copy));
      }
    }
    return std::optional<ArmingStop>(std::move(stop));
  }

  const ThreadsToArm& from_;
  const RemoteAddr interpreter_;
  const RemoteAddr gil_;
  std::vector<ThreadEntry> entries_;
  std::vector<Standing> threads_;
  std::vector<uint64_t> opened_;   // states of threads whose probes are ours
  std::vector<uint64_t> holders_;  // states
  uint64_t switches_ = 0;          // of the GIL, when it was followed last
  bool are_known_ = false;         // there was no other holder
  Nanos longest_ = kLongest;
  GilWords quiet_{.locked = -1};
  Nanos quiet_since_;
};

// Which GILs are in use.
bool ReadWatched(const ThreadsToArm& threads) {
  std::vector<ReadRequest> batch;
  threads.watch.AppendRequests(&batch);
  size_t filled = 0;
  if (threads.memory.ReadBatch(batch, &filled) != ReadStatus::kOk || filled < batch.size()) {
    return false;
  }
  threads.watch.Update();
  return true;
}

}  // namespace

Result<std::optional<ArmingStop>> ArmAtHolder(const ThreadsToArm& threads, const std::function<Result<void>()>& arm) {
  const std::vector<InterpreterView>& interpreters = threads.watch.interpreters();
  const auto main =
      std::ranges::find(interpreters, kMainInterpreter, [](const InterpreterView& view) { return view.entry.id; });
  if (main == interpreters.end() || !ReadWatched(threads)) {
    return std::optional<ArmingStop>();
  }
  const GilView* gil = threads.watch.gil_of(static_cast<size_t>(main - interpreters.begin()));
  if (gil == nullptr) {
    return std::optional<ArmingStop>();
  }
  return HolderArming(threads, main->entry.address, gil->address).Run(arm);
}

}  // namespace ptrace_prof
