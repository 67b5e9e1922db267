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
constexpr Nanos kQuiet = Nanos::FromMillis(50);   // if no thread has taken the GIL for so long, there is no holder
constexpr Nanos kComes = Nanos::FromMillis(1);    // a thread that has not stopped by then is in the kernel
constexpr Nanos kShort = Nanos::FromSeconds(1);   // for that long only short stops are tried
constexpr Nanos kLongest = Nanos::FromMillis(4);  // longest stop of the holder
constexpr size_t kFewMoved = 16;                  // so many stacks are read in a fraction of that
constexpr Nanos kLongestAfter = Nanos::FromMillis(20);
constexpr int kPasses = 8;
constexpr size_t kFollowEvery = 32;  // threads: the GIL may change hands while they are gone through
constexpr timespec kNap{0, 200'000};

// The words of a GIL that say which thread has it. The holder is written a moment after `locked`, so they are right
// only if two reads agree.
struct GilWords {
  int32_t locked = 0;
  uint64_t holder = 0;
  uint64_t switches = 0;
  bool operator==(const GilWords&) const = default;
};

struct Standing {
  ThreadEntry entry;
  ThreadTrack* track = nullptr;
  std::optional<uint64_t> slices;  // slices at its last read, if it waited; nullopt: it ran
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

  // Lists the threads. False: not all of them can be watched.
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

  // Reads the threads that may have moved since their last read; returns their number.
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

  // Notes the holders since the last pass began, as only they can have moved. Each take-over increments `switches`.
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

  // Whether the thread has waited since its stack was read. The last holder may take the GIL again without a change of
  // the words.
  bool HasWaited(uint64_t state) {
    const auto its =
        std::ranges::find_if(threads_, [state](const Standing& one) { return one.entry.state.value == state; });
    return its == threads_.end() || (its->slices.has_value() && its->slices == its->track->probe->Slices());
  }

  using Armed = Result<std::optional<ArmingStop>>;

  Armed ArmWithHolder(const GilWords& words, const std::function<Result<void>()>& arm) {
    ThreadTrack* holder = from_.roster.Find(words.holder);
    if (holder == nullptr || holder->info.tid == Tid()) {
      return std::optional<ArmingStop>();  // it is not listed yet, or has ended
    }
    holder->stack.Prime(from_.memory);
    Armed armed = std::optional<ArmingStop>();
    {
      const UrgentPriority urgent;
      BriefStop stop(from_.pid, holder->info.tid, StopVia::kOwnRight);
      switch (stop.Await(kComes)) {
        // Refused: another capture may have it for a moment. A lasting refusal is reported at the end.
        case BriefStop::State::kRefused:
        case BriefStop::State::kNone:
        case BriefStop::State::kGone: return armed;
        case BriefStop::State::kComing:  // it is in the kernel
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
                   fmt::format("threads of process {} resumed while tracing was being set up", from_.pid.value),
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
  std::vector<uint64_t> opened_;   // states of threads whose probes were opened here
  std::vector<uint64_t> holders_;  // states
  uint64_t switches_ = 0;          // of the GIL, when last followed
  bool are_known_ = false;         // holders_ is complete
  Nanos longest_ = kLongest;
  GilWords quiet_{.locked = -1};
  Nanos quiet_since_;
};

// Reads which GILs are in use.
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
