#include "daemon/collect/process_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attach/proc/maps.h"
#include "attach/ptrace/stopped_threads.h"

namespace ptrace_prof {
namespace {

constexpr size_t kFewThreads = 8;             // reading so many costs less than a second call
constexpr Nanos kOneMoment = Nanos(200'000);  // for one batch: what takes longer was put to sleep in its middle
constexpr int kReads = 3;
constexpr Nanos kWatchOneThreadEvery = Nanos::FromMillis(1);
constexpr Nanos kStopAllTimeout = Nanos::FromMillis(100);

bool MapsCuda(Pid pid) {
  const auto maps = ReadMaps(pid);
  return maps.has_value() && std::any_of(maps.value().begin(), maps.value().end(), [](const MemoryRegion& region) {
           return region.path.find("/libcuda.so") != std::string::npos;
         });
}

VerifierRules RulesFor(const CaptureRequest& request) {
  return {.allow_stops = request.allow_stops,
          .is_only_sample = request.verb == CaptureVerb::kDump,
          .looks_are_scarce = request.rate_hz <= 0};
}

}  // namespace

Result<std::unique_ptr<ProcessSampler>> ProcessSampler::Open(Pid pid, Pid parent, const CaptureContext& context,
                                                             SharedLinks* shared) {
  PP_ASSIGN_OR_RETURN(OpenedProcess process, OpenedProcess::Open(pid, parent, context.judge));
  std::unique_ptr<ProcessSampler> sampler(new ProcessSampler(std::move(process), context, shared));
  context.writer.AddProcess(sampler->process_.info);
  if (const ReadStatus read = sampler->roster_.Refresh(MonotonicNow(), sampler->watch_); read != ReadStatus::kOk) {
    return Because(Reason::kTargetExited, ThingOf(pid) + " ended while it was being opened", "", ThingOf(pid));
  }
  if (context.request.gil_only && sampler->RunsWithoutGil()) {
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

ProcessSampler::ProcessSampler(OpenedProcess process, const CaptureContext& context, SharedLinks* shared)
    : process_(std::move(process)),
      pid_(process_.info.pid),
      context_(context),
      memory_(pid_),
      space_(memory_),
      codes_(space_, process_.python.layout, process_.python.code_type),
      linker_(codes_, context.stacks, context.request.verb == CaptureVerb::kDump, shared),
      verifier_(pid_, memory_, linker_, RulesFor(context.request)),
      buffer_(codes_, linker_),
      watch_(process_.python.layout, process_.python.runtime),
      roster_(pid_, process_.info.ns_pid, space_, process_.python, context.request, context.writer),
      mark_word_(process_.mark.word),
      has_cuda_(MapsCuda(pid_)) {
  process_.Anchor(space_);
}

ProcessSampler::~ProcessSampler() = default;

bool ProcessSampler::Sample(Nanos now) { return context_.request.blocking ? SampleStopped(now) : SampleLive(now); }

void ProcessSampler::AppendTrack(ThreadTrack& track) {
  track.stack.AppendRequests(&batch_);
  in_batch_.push_back({&track, batch_.size()});
}

// Can the thread's stack differ from what the last sample saw, given how often the GIL changed hands since?
bool ProcessSampler::MayHaveMoved(const ThreadTrack& track, uint64_t switches) const {
  if (!track.wanted) {
    return false;
  }
  const GilView* gil = watch_.gil_of(track.interpreter);
  const bool is_holder = gil != nullptr && gil->holder == track.entry.state.value;
  if (context_.request.gil_only) {
    return is_holder || gil == nullptr;
  }
  return !track.has_last || gil == nullptr || is_holder || switches > 1;
}

// A stack that was read half now and half a time slice later may be none. When we are put to sleep has nothing to do
// with what the target does: to read again does not bias.
ReadStatus ProcessSampler::ReadBatch(size_t* filled) {
  for (int read = 1;; ++read) {
    batch_read_at_ = MonotonicNow();
    const ReadStatus status = memory_.ReadBatch(batch_, filled);
    batch_read_by_ = MonotonicNow();
    if (read == kReads || batch_read_by_ - batch_read_at_ < kOneMoment) {
      return status;
    }
  }
}

bool ProcessSampler::CollectTrack(ThreadTrack& track, Nanos read_at) {
  return Judge(track, track.stack.Collect(memory_, read_at));
}

// false: the process is gone.
bool ProcessSampler::Judge(ThreadTrack& track, CollectStatus collected) {
  const NodeId before = track.last.leaf;
  track.last = verifier_.Verify(track.info.tid, collected, track.stack, track.chain);
  track.has_last = track.last.readable;
  if (!track.last.readable) {
    ++context_.accounting.lost;
    roster_.RefreshSoon();
  }
  if (track.last.leaf != before && track.watch.has_value() && track.watch->is_blocked()) {
    track.watch->StackMoved();
  }
  return !track.last.gone;
}

// Threads that the first batch left out although the GIL changed hands meanwhile.
bool ProcessSampler::CollectMoved() {
  first_.clear();
  for (const InBatch& read : in_batch_) {
    first_.push_back(read.track);
  }
  batch_.clear();
  in_batch_.clear();
  for (const auto& track : roster_.tracks()) {
    const GilView* gil = watch_.gil_of(track->interpreter);
    if (gil != nullptr && gil->moved != 0 && MayHaveMoved(*track, gil->moved) &&
        std::find(first_.begin(), first_.end(), track.get()) == first_.end()) {
      AppendTrack(*track);
    }
  }
  if (in_batch_.empty()) {
    return true;
  }
  size_t filled = 0;
  const ReadStatus status = ReadBatch(&filled);
  if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
    return false;
  }
  return CollectBatch(filled);
}

bool ProcessSampler::CollectBatch(size_t filled) {
  for (const InBatch& read : in_batch_) {
    if (!CollectTrack(*read.track, read.end <= filled ? batch_read_at_ : Nanos())) {
      return false;
    }
  }
  return true;
}

// The interpreter's words tell which of several threads to read. With one thread they may be a little old.
bool ProcessSampler::NeedsWatch(Nanos now) const {
  return roster_.tracks().size() != 1 || context_.request.gil_only || now - watched_ >= kWatchOneThreadEvery;
}

// How many requests that were.
size_t ProcessSampler::AppendWords() {
  watch_.AppendRequests(&batch_);
  if (process_.mark.is_known()) {
    batch_.push_back({process_.mark.where, &mark_word_, sizeof mark_word_});
  }
  return batch_.size();
}

bool ProcessSampler::IsSameProgram() const { return mark_word_ == process_.mark.word; }

void ProcessSampler::AppendFirst() {
  const bool few = roster_.tracks().size() <= kFewThreads;
  for (const auto& track : roster_.tracks()) {
    // Where the GIL went from hand to hand lately it will have done so again: one call for all, if they are few.
    const GilView* gil = watch_.gil_of(track->interpreter);
    if (MayHaveMoved(*track, few && gil != nullptr ? gil->moved : 0)) {
      AppendTrack(*track);
    }
  }
}

bool ProcessSampler::SampleLive(Nanos now) {
  batch_.clear();
  in_batch_.clear();
  const bool watching = NeedsWatch(now);
  const size_t words = watching ? AppendWords() : 0;
  AppendFirst();
  size_t filled = 0;
  const ReadStatus status = ReadBatch(&filled);
  if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
    return false;
  }
  if (watching && !IsSameProgram()) {
    return false;
  }
  if (filled < words) {  // an interpreter is gone, or all of them
    if (HasExeced()) {
      return false;
    }
    ++context_.accounting.lost;
    return roster_.Refresh(now, watch_) == ReadStatus::kOk;
  }
  bool heads_changed = false;
  if (watching) {
    watched_ = now;
    heads_changed = watch_.Update();
  }
  if (!CollectBatch(filled) || (watching && !CollectMoved())) {
    return false;
  }
  if ((heads_changed || roster_.IsRefreshDue(now)) && !RefreshThreads(now)) {
    return false;
  }
  Emit(now);
  return true;
}

// Reads the lists again and samples the threads that are new.
bool ProcessSampler::RefreshThreads(Nanos now) {
  const ReadStatus status = roster_.Refresh(now, watch_);
  if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
    return false;
  }
  for (const auto& track : roster_.tracks()) {
    if (!track->has_last && track->wanted && !CollectTrack(*track, Nanos())) {
      return false;
    }
  }
  return true;
}

// --blocking: the whole process stands still while its stacks are copied; names are looked up afterwards.
void ProcessSampler::NoteRefusal(const Error& error, Nanos now) {
  const bool by_kernel = error.reason == Reason::kAlreadyTraced || error.code == Code::kPermissionDenied;
  const Nanos since = stop_refusal_.has_value() ? stop_refusal_->since : now;
  stop_refusal_ = by_kernel ? std::optional(StopRefusal{error, since}) : std::nullopt;
}

bool ProcessSampler::SampleStopped(Nanos now) {
  if (roster_.IsRefreshDue(now) && roster_.Refresh(now, watch_) == ReadStatus::kGone) {
    return false;
  }
  batch_.clear();
  const size_t words = AppendWords();
  collected_.clear();
  size_t filled = 0;
  const Nanos begin = MonotonicNow();
  {
    const auto stopped = StoppedThreads::StopAll(pid_, kStopAllTimeout);
    if (stopped.has_error()) {
      ++context_.accounting.lost;
      NoteRefusal(stopped.error(), begin);
      return stopped.error().code != Code::kGone;
    }
    stop_refusal_.reset();
    (void)memory_.ReadBatch(batch_, &filled);
    for (const auto& track : roster_.tracks()) {
      collected_.push_back(track->stack.ReadAgain(memory_, false));
    }
  }
  ++context_.accounting.stops;
  const Nanos stopped_for = MonotonicNow() - begin;
  context_.accounting.stopped_total = context_.accounting.stopped_total + stopped_for;
  context_.accounting.stopped_longest = std::max(context_.accounting.stopped_longest, stopped_for);
  if (filled < words || !IsSameProgram()) {
    return false;
  }
  watched_ = now;
  if (watch_.Update()) {
    roster_.RefreshSoon();
  }
  for (size_t i = 0; i < collected_.size(); ++i) {
    ThreadTrack& track = *roster_.tracks()[i];
    track.has_last = collected_[i] == CollectStatus::kWhole || collected_[i] == CollectStatus::kTooDeep;
    if (track.has_last) {
      track.last = verifier_.Accept(collected_[i], track.stack, track.chain);
    } else {
      ++context_.accounting.lost;
    }
  }
  Emit(now);
  return true;
}

void ProcessSampler::WatchState(Nanos now, ThreadTrack& track, bool holds_gil) {
  if (!track.watch.has_value()) {
    return;
  }
  if (track.watch->IsDue(now)) {
    const GilView* gil = watch_.gil_of(track.interpreter);
    track.watch->Look(now, gil == nullptr ? RemoteAddr() : gil->address, has_cuda_);
  }
  StateInfo state = track.watch->state();
  if (holds_gil && state.state == ThreadState::kGilWait) {
    state = {.state = ThreadState::kRunning};  // it got the GIL since the look
  }
  state.holds_gil = holds_gil;
  const auto& written = track.written_state;
  if (!written.has_value() || written->state != state.state || written->detail != state.detail) {
    context_.writer.SetState(track.handle, now, state);
    track.written_state = state;
  }
}

void ProcessSampler::EmitTrack(Nanos now, ThreadTrack& track) {
  const GilView* gil = watch_.gil_of(track.interpreter);
  const bool holds_gil = gil != nullptr && gil->locked && gil->holder == track.entry.state.value;
  WatchState(now, track, holds_gil);
  if (!track.wanted || !track.has_last) {
    return;
  }
  const bool is_dump = context_.request.verb == CaptureVerb::kDump;
  if (!is_dump) {
    if (track.last.stack == kEmptyStack || (context_.request.gil_only && !holds_gil)) {
      return;
    }
    const bool idle_wanted =
        context_.request.idle == IdlePolicy::kAll || (context_.request.idle == IdlePolicy::kMain && track.info.is_main);
    if (!idle_wanted && !holds_gil && track.watch.has_value() && track.watch->is_idle()) {
      ++context_.accounting.idle_skipped;
      return;
    }
  }
  StackId stack = track.last.stack;
  DoubtfulId doubtful = track.last.doubtful;
  if (holds_gil && watch_.interpreters()[track.interpreter].collecting) {
    stack = linker_.WithMarker(stack, kGcMarker);
    doubtful = kNotDoubtful;
  }
  buffer_.Add({track.handle, track.last.quality, now, stack, track.last.leaf, doubtful});
}

void ProcessSampler::Emit(Nanos now) {
  for (const auto& track : roster_.tracks()) {
    EmitTrack(now, *track);
  }
}

void ProcessSampler::Flush() {
  if (context_.request.verb != CaptureVerb::kDump && HasExeced()) {
    return;  // the next round sees it, and Finish writes what is left
  }
  const uint64_t generation = watch_.code_generation();
  const bool trusted = generation != 0 && generation == checked_generation_;
  checked_generation_ = generation;
  const bool stale = buffer_.Settle(trusted, verifier_.doubtful(), context_);
  for (const auto& track : roster_.tracks()) {
    track->last.doubtful = kNotDoubtful;
  }
  if (stale) {
    for (const auto& track : roster_.tracks()) {
      track->chain.Clear();
      track->has_last = false;
    }
  }
  roster_.AnnounceEnded(context_.history);
}

void ProcessSampler::ForgetStacks() {
  linker_.ClearStacks();
  for (const auto& track : roster_.tracks()) {
    track->chain.Clear();
    track->has_last = false;
  }
}

void ProcessSampler::Finish(Nanos now, bool exec) {
  if (exec) {
    // What was read after the last look at the mark, of that round too, may be of both programs.
    context_.accounting.lost += buffer_.DropSince(watched_);
  }
  buffer_.Settle(true, verifier_.doubtful(), context_);
  roster_.EndAll(now);
  roster_.AnnounceEnded(context_.history);
  context_.writer.EndProcess(pid_, now, exec ? "replaced itself by another program (exec)" : "exited");
}

}  // namespace ptrace_prof
