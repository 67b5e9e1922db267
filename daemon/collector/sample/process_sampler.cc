#include "daemon/collector/sample/process_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attach/proc/maps.h"
#include "daemon/collector/target/patient_open.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostWaiting = 4096;  // instants

bool MapsCuda(Pid pid) {
  const auto maps = ReadMaps(pid);
  return maps.has_value() && std::any_of(maps.value().begin(), maps.value().end(), [](const MemoryRegion& region) {
           return region.path.find("/libcuda.so") != std::string::npos;
         });
}

}  // namespace

Result<std::unique_ptr<ProcessSampler>> ProcessSampler::Open(Pid pid, Pid parent, const CaptureContext& context) {
  PP_ASSIGN_OR_RETURN(OpenedProcess process, OpenedProcess::Open(pid, parent, context.judge));
  std::unique_ptr<ProcessSampler> sampler(new ProcessSampler(std::move(process), context));
  context.writer.AddProcess(sampler->process_.info);
  if (const ReadStatus read = sampler->roster_.Refresh(MonotonicNow(), sampler->watch_); read != ReadStatus::kOk) {
    return LostWhileOpened(pid);
  }
  if (sampler->roster_.left_out() > 0 && sampler->reader_.ReadWords() == InstantReader::Outcome::kTaken) {
    (void)sampler->roster_.Refresh(MonotonicNow(), sampler->watch_);  // now it is known which threads hold a GIL
  }
  if (context.request.spec().sample().gil_only() && sampler->RunsWithoutGil()) {
    return Error{Code::kInvalidArgument,
                 fmt::format("process {} runs CPython {} without a GIL: no thread would ever be recorded", pid.value,
                             sampler->process_.python.version_text),
                 "Leave --gil out."};
  }
  return sampler;
}

bool ProcessSampler::RunsWithoutGil() {
  const auto& interpreters = watch_.interpreters();
  return !interpreters.empty() && IsGilOff(memory_, process_.python.layout, interpreters.back().entry.gil);
}

ProcessSampler::ProcessSampler(OpenedProcess process, const CaptureContext& context)
    : process_(std::move(process)),
      pid_(process_.info.pid),
      context_(context),
      memory_(pid_),
      space_(memory_),
      codes_(space_, process_.python.layout, process_.python.code_type),
      builder_(codes_, context.stacks, context.request.verb() == CaptureTask::DUMP),
      buffer_(codes_, builder_),
      watch_(process_.python.layout, process_.python.runtime),
      roster_(pid_, process_.info.ns_pid, space_, process_.python, context.request, context.writer),
      reader_({process_, memory_, watch_, roster_, codes_, builder_, context.accounting,
               context.request.spec().sample().gil_only()}),
      has_cuda_(MapsCuda(pid_)),
      watched_(pid_) {
  process_.Anchor(space_);
  reader_.on_move = [this](ThreadTrack& track) {
    if (track.watch.has_value() && track.watch->is_blocked()) {
      track.watch->StackMoved();
    }
    watched_.Wake(track);
  };
}

ProcessSampler::~ProcessSampler() = default;

std::optional<size_t> ProcessSampler::IndexOf(RemoteAddr gil) const {
  const auto& gils = watch_.gils();
  const auto found = std::ranges::find(gils, gil, &GilView::address);
  return found == gils.end() || !found->is_enabled ? std::nullopt
                                                   : std::optional(static_cast<size_t>(found - gils.begin()));
}

// Existing groups keep their instants; each new one draws its first.
void ProcessSampler::FollowGils(Nanos now, Pacer& pacer) {
  std::vector<RemoteAddr> wanted;
  for (size_t i = 0; i < watch_.interpreters().size(); ++i) {
    const GilView* gil = watch_.gil_of(i);
    const RemoteAddr address = gil == nullptr ? RemoteAddr() : gil->address;
    if (std::ranges::find(wanted, address) == wanted.end()) {
      wanted.push_back(address);
    }
  }
  std::erase_if(groups_, [&](const Group& group) { return std::ranges::find(wanted, group.gil) == wanted.end(); });
  for (const RemoteAddr address : wanted) {
    if (std::ranges::find(groups_, address, &Group::gil) == groups_.end()) {
      groups_.push_back({address, pacer.First(now)});
    }
  }
}

Nanos ProcessSampler::NextInstant() const {
  Nanos next(INT64_MAX);
  for (const Group& group : groups_) {
    next = std::min(next, group.next);
  }
  return groups_.empty() ? Nanos() : next;
}

// False: the process is gone.
bool ProcessSampler::Judge(InstantReader::Outcome outcome, Nanos now) {
  if (outcome == InstantReader::Outcome::kEnded) {
    if (HasExited() || HasExeced()) {
      return false;
    }
    ++context_.accounting.lost;  // one interpreter is gone, or all of them
    return roster_.Refresh(now, watch_) == ReadStatus::kOk;
  }
  return true;
}

// After new threads are found, all are taken once more, so that this instant has them.
bool ProcessSampler::SampleGroup(RemoteAddr gil, Nanos now) {
  InstantReader::Outcome outcome = reader_.Take(IndexOf(gil), now);
  if (outcome == InstantReader::Outcome::kTaken && HasNewStates(now)) {
    outcome = reader_.Take(IndexOf(gil), now);
  }
  if (!Judge(outcome, now)) {
    return false;
  }
  if (outcome == InstantReader::Outcome::kTaken) {
    Emit(now, gil);
  } else if (outcome == InstantReader::Outcome::kLate) {
    instants_.assign(1, now);
    group_ = gil;
  } else if (outcome == InstantReader::Outcome::kMissed) {
    ++context_.accounting.missed_instants;
  }
  return true;
}

InstantReader::Outcome ProcessSampler::TakeTogether(Nanos now) {
  return StopsOf(context_.request.spec().sample()) == StopPolicy::kAll ? reader_.TakeAllStopped(now)
                                                                       : reader_.TakeLoosely(now);
}

// A thread that enters a subinterpreter has a new state there (or one that another thread had). Its stack so far ends
// where it entered, which is not where it is.
bool ProcessSampler::HasNewStates(Nanos now) {
  return watch_.interpreters().size() > 1 && roster_.IsRefreshDue(now) &&
         roster_.Refresh(now, watch_) == ReadStatus::kOk;
}

bool ProcessSampler::SampleAll(Nanos now) {
  if (StopsOf(context_.request.spec().sample()) == StopPolicy::kAll) {
    for (const auto& track : roster_.tracks()) {
      LookAtState(now, *track);  // before the stop, as a wait that we interrupt looks like running
    }
  }
  InstantReader::Outcome outcome = TakeTogether(now);
  if (outcome == InstantReader::Outcome::kTaken && HasNewStates(now)) {
    outcome = TakeTogether(now);
  }
  if (!Judge(outcome, now)) {
    return false;
  }
  if (outcome == InstantReader::Outcome::kTaken) {
    Emit(now, std::nullopt);
  } else if (outcome == InstantReader::Outcome::kMissed) {
    ++context_.accounting.missed_instants;
  }
  return true;
}

bool ProcessSampler::Sample(Pacer& pacer) {
  Nanos now = MonotonicNow();
  if (roster_.IsRefreshDue(now) && !reader_.is_waiting()) {  // a late stop refers to a listed thread: keep the list
    const ReadStatus status = roster_.Refresh(now, watch_);
    if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
      return false;
    }
  }
  if (watch_.is_unread() && !Judge(reader_.ReadWords(), now)) {
    return false;
  }
  FollowGils(now, pacer);
  const bool together = StopsOf(context_.request.spec().sample()) != StopPolicy::kBrief;
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].next > now) {
      continue;
    }
    if (reader_.is_waiting() && !PollLate()) {
      return false;
    }
    now = MonotonicNow();
    groups_[i].next = pacer.Next(groups_[i].next, now);
    if (reader_.is_waiting()) {
      if (groups_[i].gil == group_ && instants_.size() < kMostWaiting) {
        instants_.push_back(now);
      } else {
        ++context_.accounting.missed_instants;
      }
      continue;
    }
    if (!(together ? SampleAll(now) : SampleGroup(groups_[i].gil, now))) {
      return false;
    }
    if (together) {
      std::ranges::for_each(groups_, [&](Group& group) { group.next = groups_[i].next; });
      break;
    }
  }
  return true;
}

bool ProcessSampler::PollLate() {
  const InstantReader::Outcome outcome = reader_.PollLate();
  if (outcome == InstantReader::Outcome::kTaken) {
    for (const Nanos instant : instants_) {
      Emit(instant, group_);
    }
    instants_.clear();
  } else if (outcome == InstantReader::Outcome::kMissed) {
    context_.accounting.missed_instants += std::exchange(instants_, {}).size();
  }
  return Judge(outcome, MonotonicNow());
}

void ProcessSampler::LookAtState(Nanos now, ThreadTrack& track) {
  if (!track.watch.has_value() || track.passed != Passed::kNot || !track.watch->IsDue(now)) {
    return;
  }
  const GilView* gil = watch_.gil_of(track.interpreter);
  const Nanos before = track.watch->cpu();
  track.watch->Look(now, gil == nullptr ? RemoteAddr() : gil->address, has_cuda_);
  // With several states it is not clear which one stands for the thread.
  if (track.caller == nullptr && track.callee == nullptr) {
    watched_.NoteCpu(track.watch->cpu() - before);
  }
}

void ProcessSampler::WatchState(Nanos now, ThreadTrack& track, bool holds_gil) {
  if (!track.watch.has_value()) {
    return;
  }
  if (StopsOf(context_.request.spec().sample()) != StopPolicy::kAll) {
    LookAtState(now, track);
  }
  StateInfo state = track.watch->state();
  standstill_.Saw(state.state == ThreadState::kRunning, track.watch->stands_still() ? state.detail : "");
  if (holds_gil && state.state == ThreadState::kGilWait) {
    state = {.state = ThreadState::kRunning};  // it got the GIL since the look
  }
  state.holds_gil = holds_gil;
  const auto& written = *track.written_state;
  if (!written.has_value() || written->state != state.state || written->detail != state.detail) {
    context_.writer.SetState(track.handle, now, state);
    *track.written_state = state;
  }
}

// What this instant makes of the last stack of the thread.
ProcessSampler::Verdict ProcessSampler::VerdictOn(const ThreadTrack& track, bool holds_gil) const {
  if (!track.wanted || !track.has_last || IsSaidByOther(track)) {
    return Verdict::kNothing;
  }
  if (context_.request.verb() == CaptureTask::DUMP) {
    return Verdict::kSample;
  }
  if (track.last.stack == kEmptyStack || (context_.request.spec().sample().gil_only() && !holds_gil)) {
    return Verdict::kNothing;
  }
  const bool wants_all = context_.request.spec().sample().idle() == v1::IDLE_POLICY_ALL;
  if (wants_all || !track.watch.has_value()) {
    return Verdict::kSample;
  }
  const bool wants_idle = context_.request.spec().sample().idle() == v1::IDLE_POLICY_MAIN && track.info.is_main;
  const bool is_left_out = track.watch->stands_still() || (!wants_idle && !holds_gil && track.watch->is_idle());
  return is_left_out ? Verdict::kSkip : Verdict::kSample;
}

// The verdict on a thread that goes on waiting at the same place.
Passed ProcessSampler::Foresee(const ThreadTrack& track) const {
  const auto& written = *track.written_state;
  const StateInfo& state = track.watch->state();
  const bool is_reported = written.has_value() && written->state == state.state && written->detail == state.detail;
  if (!is_reported || (track.wanted && !track.has_last)) {
    return Passed::kNot;
  }
  switch (VerdictOn(track, false)) {
    case Verdict::kNothing: return Passed::kSilently;
    case Verdict::kSkip: return Passed::kAsSkipped;
    case Verdict::kSample: break;
  }
  return Passed::kNot;
}

// If a thread enters a subinterpreter that shares the GIL, CPython up to 3.11 keeps the outer state as holder.
bool ProcessSampler::HoldsGil(const ThreadTrack& track) const {
  const GilView* gil = watch_.gil_of(track.interpreter);
  if (gil == nullptr || !gil->locked) {
    return false;
  }
  bool holds = gil->holder == track.entry.state.value;
  if (process_.python.layout.Has(&Layout::runtime_gil)) {
    for (const ThreadTrack* caller = track.caller; caller != nullptr; caller = caller->caller) {
      holds = holds || gil->holder == caller->entry.state.value;
    }
  }
  return holds;
}

// Another state of the same thread stands for it now. From 3.12 on a thread that has a GIL is not in another
// interpreter.
bool ProcessSampler::IsSaidByOther(const ThreadTrack& track) const {
  const bool is_outside = track.caller != nullptr && (!track.has_last || track.last.stack == kEmptyStack);
  const bool is_here = !process_.python.layout.Has(&Layout::runtime_gil) && HoldsGil(track);
  return is_outside || (!is_here && track.is_inside());
}

void ProcessSampler::EmitTrack(Nanos now, ThreadTrack& track) {
  if (IsSaidByOther(track)) {
    return;
  }
  const bool holds_gil = HoldsGil(track);
  WatchState(now, track, holds_gil);
  if (track.is_stale) {
    return;  // the next instant reads it
  }
  const Verdict verdict = VerdictOn(track, holds_gil);
  if (verdict == Verdict::kSkip) {
    ++context_.accounting.idle_skipped;
  }
  if (verdict != Verdict::kSample) {
    return;
  }
  if (!track.watch.has_value() || track.watch->state().state == ThreadState::kUnknown) {
    ++context_.accounting.state_unknown;
  }
  const bool collecting = holds_gil && watch_.interpreters()[track.interpreter].collecting;
  buffer_.Add({track.handle, track.last.quality, now, track.last.stack, track.last.leaf, collecting});
}

// A thread that has taken a GIL may have moved, wherever it waited before.
void ProcessSampler::WakeHolders() {
  for (const GilView& gil : watch_.gils()) {
    ThreadTrack* holder = gil.locked ? roster_.Find(gil.holder) : nullptr;
    if (holder != nullptr && holder->passed != Passed::kNot) {
      holder->watch->StackMoved();
      watched_.Wake(*holder);
    }
  }
}

// Emits the threads of `gil` (null address: those without a GIL); nullopt: all.
void ProcessSampler::Emit(Nanos now, const std::optional<RemoteAddr>& gil) {
  watched_.Choose(now, roster_.tracks(), roster_.changes(),
                  [this](const ThreadTrack& track) { return Foresee(track); });
  WakeHolders();
  const auto concerns = [&](size_t interpreter) {
    const GilView* own = watch_.gil_of(interpreter);
    return !gil.has_value() || (own == nullptr ? RemoteAddr() : own->address) == *gil;
  };
  for (ThreadTrack* track : watched_.watched()) {
    if (concerns(track->interpreter)) {
      EmitTrack(now, *track);
    }
  }
  for (size_t i = 0; i < watched_.skipped().size(); ++i) {
    context_.accounting.idle_skipped += concerns(i) ? watched_.skipped()[i] : 0;
  }
  const Nanos stood = standstill_.EndRound(now);
  watched_.Judge(now, stood.value > 0);
  context_.accounting.stood_still = context_.accounting.stood_still + stood;
}

// Reported again only if the number has more than doubled.
void ProcessSampler::ReportLeftOut(Nanos now) {
  if (roster_.tracks().size() > kVeryManyThreads && context_.request.verb() != CaptureTask::DUMP &&
      context_.request.spec().sample().idle() != v1::IDLE_POLICY_ALL && !std::exchange(has_reported_turns_, true)) {
    context_.writer.AddNotice(now, fmt::format("process {} has {} threads: after a thread waits for more than 2 s, "
                                               "work of less than 0.2 s without the GIL may be missing",
                                               pid_.value, roster_.tracks().size()));
  }
  const size_t left_out = roster_.left_out();
  if (left_out > 2 * reported_left_out_) {
    reported_left_out_ = left_out;
    context_.writer.AddNotice(now, fmt::format("process {} has too many threads: {} of {} are not recorded (the main "
                                               "thread and threads that held the GIL are)",
                                               pid_.value, left_out, left_out + roster_.tracks().size()));
  }
}

void ProcessSampler::Flush() {
  if (context_.request.verb() != CaptureTask::DUMP && HasExeced()) {
    return;  // the next round sees it, and Finish writes the rest
  }
  const uint64_t generation = watch_.code_generation();
  const bool trusted = generation != 0 && generation == checked_generation_;
  checked_generation_ = generation;
  if (buffer_.Settle(trusted, context_)) {
    roster_.ForgetStacks();
  }
  ReportLeftOut(MonotonicNow());
  roster_.AnnounceEnded(context_.history);
}

void ProcessSampler::ForgetStacks() {
  builder_.ClearStacks();
  roster_.ForgetStacks();
}

void ProcessSampler::Finish(Nanos now, bool exec) {
  if (exec) {
    // Stacks read since the mark was last seen in place, or in that same round, may mix both programs.
    context_.accounting.lost += buffer_.DropSince(reader_.words_read());
  }
  buffer_.Settle(true, context_);
  ReportLeftOut(now);
  roster_.EndAll(now);
  roster_.AnnounceEnded(context_.history);
  context_.writer.EndProcess(pid_, now, exec ? "replaced itself by another program (exec)" : "exited");
}

}  // namespace ptrace_prof
