#include "daemon/collector/calls/call_tracer.h"

#include <fmt/format.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "attach/inject/signal_handlers.h"
#include "attach/inject/stub_kind.h"
#include "daemon/collector/calls/module_call.h"
#include "daemon/collector/calls/stub_boot.h"
#include "daemon/collector/target/patient_open.h"
#include "daemon/collector/target/start_wait.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kLease = Nanos::FromMillis(800);  // short, but not so short that a busy machine starves it
// The lease while the threads are stopped one by one, each of which may wait for a CPU. Nothing is recorded yet.
constexpr Nanos kArmingLease = Nanos::FromSeconds(3);
constexpr Nanos kEntryPatience = Nanos::FromSeconds(10);
constexpr Nanos kLeavesByItself = Nanos::FromMillis(2);  // at its next event, which needs no stop
constexpr timespec kShortPause{0, 50'000};
constexpr int kLeavePauseMs = 1;
constexpr uint32_t kLeastRings = 8;
constexpr uint32_t kRingsPerThread = 2;  // threads end, and others begin
constexpr size_t kMaxModuleCodes = std::size(pp_channel{}.module_code);
constexpr size_t kRecordsAtOnce = 2048;  // 32 KiB: what was copied is still in the cache when it is read
constexpr size_t kTurn = 65'536;         // records of a ring, while threads wait for room in others
constexpr int kLooks = 3;                // at a thread that has just begun
constexpr Nanos kLongestHold = Nanos::FromMillis(250);
constexpr uint64_t kBeginningBytes = 8;  // from the first instruction to the one that reports the call

// The frame of the text that brought the stub in, and of the one that called it.
void MarkOwn(RemoteAddr text, std::vector<SnapshotFrame>& frames) {
  const auto loads = std::ranges::find(frames, text, &SnapshotFrame::code);
  if (!text.IsNull() && loads != frames.end()) {
    loads->is_ours = true;
    std::prev(loads, loads != frames.begin())->is_ours = true;
  }
}

}  // namespace

Result<std::unique_ptr<CallTracer>> CallTracer::Open(Pid pid, const CaptureContext& context) {
  PP_ASSIGN_OR_RETURN(OpenedProcess process, OpenedProcess::Open(pid, Pid(), context.judge));
  std::unique_ptr<CallTracer> tracer(new CallTracer(std::move(process), context));
  PP_RETURN_IF_ERROR(tracer->CheckBudget());
  return tracer;
}

Result<void> CallTracer::Install(const std::function<bool()>& go_on) {
  PP_RETURN_IF_ERROR(BringIn(go_on));
  if (auto kept = CheckBudget(); kept.has_error()) {
    Leave(kEntryPatience);
    return kept;
  }
  context_.writer.AddProcess(process_.info);
  return {};
}

CallTracer::CallTracer(OpenedProcess process, const CaptureContext& context)
    : process_(std::move(process)),
      pid_(process_.info.pid),
      context_(context),
      memory_(pid_),
      watch_(process_.python.layout, process_.python.runtime),
      roster_(pid_, process_.info.ns_pid, space_, process_.python, context.request, context.writer),
      codes_(space_, process_.python.layout, process_.python.code_type),
      objects_(space_, process_.python.layout, codes_),
      landmarks_(objects_, [this](Landmark landmark, RemoteAddr code) { OnLandmark(landmark, code); }),
      filter_(context.request.spec().trace()),
      budget_(context.request.spec().trace().max_overhead(), BudgetWorld()),
      names_(context.stacks, landmarks_, &filter_, [this](RemoteAddr code, LeftOutBy by) { LeaveOut(code, by); }),
      calls_{.names = names_,
             .generators = {},
             .counts = {},
             .step_code = {},
             .budget = budget_.IsInUse() ? &budget_ : nullptr},
      steps_(context.request.spec().trace()),
      remote_(pid_),
      records_(kRecordsAtOnce) {
  process_.Anchor(space_);
}

CallTracer::~CallTracer() = default;

ChannelShape CallTracer::Shape() const {
  const auto listed = ListThreads(pid_);
  const auto threads = static_cast<uint32_t>(listed.has_value() ? listed.value().size() : 1);
  ChannelShape shape;
  shape.rings = std::clamp(threads * kRingsPerThread, kLeastRings, PP_MAX_RINGS);
  const uint64_t each = context_.request.spec().trace().buffer_bytes() / shape.rings / sizeof(pp_record);
  shape.records =
      static_cast<uint32_t>(std::bit_floor(std::clamp<uint64_t>(each, PP_MIN_RING_RECORDS, PP_MAX_RING_RECORDS)));
  shape.nonce = MakeNonce();
  shape.mutes = (filter_.IsInUse() || budget_.IsInUse()) && FactsOf(process_.python.layout.version).has_monitoring;
  return shape;
}

Result<void> CallTracer::BringIn(const std::function<bool()>& go_on) {
  auto brought = TryToBringIn(go_on);
  // The target may just have set up its first signal handlers. With handlers the text goes another way: try again.
  if (brought.has_error() && brought.error().code == Code::kUnavailable && !target_.signal_handlers) {
    const Result<bool> handlers = HasSignalHandlers(pid_);
    if (handlers.has_value() && handlers.value()) {
      brought = TryToBringIn(go_on);
    }
  }
  if (brought.has_error() && HasExeced()) {
    return LostWhileOpened(pid_);  // facts of two programs, mixed, look like an unknown version
  }
  return brought;
}

Result<void> CallTracer::TryToBringIn(const std::function<bool()>& go_on) {
  const auto has_started = StartedStill(pid_, memory_, process_);
  PP_RETURN_IF_ERROR(AwaitStart(pid_, {MonotonicNow() + kEntryPatience, go_on, has_started}));
  PP_ASSIGN_OR_RETURN(target_, DescribeForInjection(pid_, memory_, process_.python));
  target_.force = context_.request.spec().force();
  target_.script_files = context_.scripts;
  PP_ASSIGN_OR_RETURN(pp_boot boot, DescribeForStub(pid_, memory_, process_.python));
  const ChannelShape shape = Shape();
  boot.nonce = shape.nonce;
  boot.ring_count = shape.rings;
  boot.ring_records = shape.records;
  boot.clock = clock_.source() == TickSource::kCounter ? PP_CLOCK_TSC : PP_CLOCK_MONOTONIC;
  boot.flags = (context_.request.spec().trace().c_calls() ? uint32_t{PP_BOOT_C_CALLS} : 0) |
               (shape.mutes ? uint32_t{PP_BOOT_MUTES} : 0);
  boot.lease = clock_.Ticks() + clock_.TicksIn(kEntryPatience);
  boot.longest_hold =
      context_.request.spec().trace().on_full() == v1::ON_FULL_THROTTLE ? clock_.TicksIn(kLongestHold) : 0;
  PP_ASSIGN_OR_RETURN(StubFile stub, StubFile::Carried());
  stub.Fill(boot);
  PP_ASSIGN_OR_RETURN(injection_,
                      Inject(target_, memory_, stub, {MonotonicNow() + kEntryPatience, go_on, has_started}));
  RenewLease(kArmingLease);  // the lease during the injection is longer
  injection_->channel.TouchAll();
  names_.WatchFreed(injection_->channel.freed_code());
  rings_.resize(shape.rings);
  if (!process_.mark.is_known()) {  // the stub clears the page when it has left
    space_.Anchor(injection_->channel.private_page(),
                  [this](uint64_t word) { return word == PP_PRIVATE_MAGIC || (word == 0 && has_left()); });
  }
  return {};
}

// Runs before the first record, so that the first call of a module has its name. If the job imports PyTorch later,
// landmarks_ finds the calls.
void CallTracer::FindModuleCalls() {
  for (const InterpreterView& view : watch_.interpreters()) {
    if (view.entry.id == kMainInterpreter) {
      if (const auto code = FindModuleCall(space_, process_.python.layout, view.entry.address)) {
        OnLandmark(Landmark::kModuleCall, *code);
      }
    }
  }
}

Result<void> CallTracer::Arm() {
  Channel& channel = injection_->channel;
  RenewLease(kArmingLease);
  if (roster_.Refresh(MonotonicNow(), watch_) != ReadStatus::kOk) {
    return LostWhileOpened(pid_);
  }
  clock_.AddAnchor();
  std::vector<RingFacts> rings;
  rings.reserve(rings_.size());
  FindModuleCalls();
  const ThreadsToArm threads{pid_,         memory_, process_.python.layout, watch_, roster_, DepthOf(context_.request),
                             module_codes_};
  auto stop = ArmUnderStop(threads, [&]() -> Result<void> {
    for (const RingReader& ring : channel.rings()) {
      rings.push_back(ring.Facts());
    }
    armed_at_ = clock_.Ticks();
    own_text_ = channel.own_text();
    Result<void> armed = channel.Arm(memory_, remote_);
    return armed.has_error() && has_left() ? channel.Reason() : std::move(armed);
  });
  PP_RETURN_IF_ERROR(stop);
  RenewLease(kLease);
  begin_ = stop.value().when;
  // With a plan of steps, the ring of the thread that takes them must be read to the end first, so no turns are taken.
  takes_turns_ = context_.request.spec().trace().on_full() == v1::ON_FULL_THROTTLE && !steps_.has_plan();
  arming_stop_ = stop.value().stopped;
  const auto is_known = [this](const ThreadAtArming& at) { return TrackOf(at.entry) != nullptr; };
  if (!std::ranges::all_of(stop.value().threads, is_known)) {
    roster_.Refresh(MonotonicNow(), watch_);  // some threads began while the others were being stopped
  }
  for (const ThreadAtArming& at : stop.value().threads) {
    AddSnapshot(at, rings);
  }
  return {};
}

ThreadTrack* CallTracer::TrackOf(const ThreadEntry& entry) {
  ThreadTrack* track = roster_.Find(entry.state.value);
  return track != nullptr && track->entry.IsSameThread(entry) ? track : nullptr;
}

// For a thread that ended before it could be looked at.
ThreadHandle CallTracer::AddUnseen(Tid tid) {
  return context_.writer.AddThread(
      {.pid = pid_, .tid = tid, .ns_tid = tid, .name = fmt::format("thread {}", tid.value)});
}

SnapshotFrame CallTracer::DescribeFrame(const RawFrame& frame) {
  SnapshotFrame described{.code = RemoteAddr(frame.code), .address = RemoteAddr(frame.address)};
  const Layout& layout = process_.python.layout;
  if (layout.Has(&Layout::code_instructions)) {
    const CodeId known = codes_.Find(frame.code);
    const CodeId code = known == kNoCode ? codes_.Read(frame.code) : known;
    const uint64_t at =
        code == kNoCode ? frame.instruction : codes_.Locate(code, frame.instruction).value_or(UINT64_MAX);
    described.at_beginning = at <= frame.code + layout.code_instructions + kBeginningBytes;
  } else {
    described.at_beginning = static_cast<int64_t>(frame.instruction) < 0;
  }
  return described;
}

void CallTracer::AddSnapshot(const ThreadAtArming& at, const std::vector<RingFacts>& rings) {
  const ThreadTrack* track = TrackOf(at.entry);
  if (track == nullptr && at.frames.empty()) {
    return;  // there is nothing to write about it yet
  }
  const Tid tid = track != nullptr ? track->info.ns_tid : Tid(static_cast<int32_t>(at.entry.native_id));
  if (!at.is_whole) {
    context_.writer.AddNotice(begin_, fmt::format("the first stack of thread {} is incomplete: only its innermost {} "
                                                  "frames are known; returns from the others are counted as unmatched",
                                                  tid.value, at.frames.size()));
  }
  ThreadSnapshot snapshot;
  snapshot.when = PP_AS_WHEN(armed_at_);
  snapshot.frames.reserve(at.frames.size());
  for (auto frame = at.frames.rbegin(); frame != at.frames.rend(); ++frame) {
    snapshot.frames.push_back(DescribeFrame(*frame));
  }
  MarkOwn(own_text_, snapshot.frames);
  for (const CalledModule& module : at.modules) {
    snapshot.frames[at.frames.size() - 1 - module.frame].self = module.self;
  }
  // A ring of a thread that has ended may still name the same state.
  const auto ring = std::ranges::find_if(rings, [&](const RingFacts& facts) {
    return facts.state == RingState::kLive && facts.thread_state == at.entry.state &&
           (tid == Tid() || facts.tid == tid);
  });
  if (ring != rings.end() && (ring->last_unarmed & PP_UNARMED_PENDING) == 0) {
    snapshot.SetUnarmed(ring->last_unarmed);
  }
  auto thread = std::make_unique<TracedThread>(context_, track != nullptr ? track->handle : AddUnseen(tid), calls_,
                                               steps_, begin_);
  thread->replayer.Start(snapshot);
  threads_.Put(at.entry.state, tid, std::move(thread));
}

CallTracer::TracedThread* CallTracer::ThreadOf(const RingFacts& facts) {
  TracedThread* known = threads_.Find(facts.thread_state, facts.tid);
  if (known != nullptr && !known->finished) {
    return known;
  }
  const ThreadTrack* track = roster_.Find(facts.thread_state.value);
  const auto is_its = [&facts](const ThreadTrack* found) {
    return found != nullptr && found->info.ns_tid == facts.tid;
  };
  for (int look = 0; look < kLooks && !is_its(track); ++look) {  // the list of threads may change under a look
    roster_.Refresh(MonotonicNow(), watch_);
    track = roster_.Find(facts.thread_state.value);
  }
  const bool is_it = is_its(track);
  const ThreadHandle handle = is_it ? track->handle : AddUnseen(facts.tid);
  auto thread = std::make_unique<TracedThread>(context_, handle, calls_, steps_, begin_);
  return &threads_.Put(facts.thread_state, facts.tid, std::move(thread));
}

void CallTracer::TakeTenant(Ring& ring, const RingFacts& facts) {
  if (ring.thread != nullptr && ring.thread_state == facts.thread_state && ring.tid == facts.tid) {
    return;
  }
  ring = {facts.thread_state, facts.tid, ThreadOf(facts)};
}

void CallTracer::OnLandmark(Landmark landmark, RemoteAddr code) {
  switch (landmark) {
    case Landmark::kInnerModuleCall:
      if (!module_codes_.empty()) {
        break;
      }
      [[fallthrough]];
    case Landmark::kModuleCall:
      if (module_codes_.size() < kMaxModuleCodes && std::ranges::find(module_codes_, code) == module_codes_.end()) {
        injection_->channel.SetModuleCode(module_codes_.size(), code);
        module_codes_.push_back(code);
      }
      break;
    case Landmark::kOptimizerStep: calls_.step_code = code; break;
  }
}

// From now on the interpreter reports no events of the function, if it can switch single functions off.
bool CallTracer::Mute(RemoteAddr code, MutedEvents events) {
  const CodeId id = codes_.Find(code.value);
  if (id == kNoCode || code == calls_.step_code) {  // its calls are steps, even if they are not shown
    return false;
  }
  const CodeInfo& info = codes_.info(id);
  const CodeFields fields{info.name_object.value, info.file_object.value, info.first_line};
  return injection_->channel.Mute(code, fields, events);
}

void CallTracer::LeaveOut(RemoteAddr code, LeftOutBy by) {
  if (Mute(code, MutedEvents::kAll)) {
    filter_.NoteSwitchedOff(by);
  }
}

CallBudget::World CallTracer::BudgetWorld() {
  return {.switch_off =
              [this](RemoteAddr code, CallBudget::Step step) {
                const bool is_last = step == CallBudget::Step::kAll;
                const bool is_off = Mute(code, is_last ? MutedEvents::kAll : MutedEvents::kBegins);
                if (is_off) {
                  names_.Exclude(code);
                }
                return is_off;
              },
          .is_open =
              [this](RemoteAddr code) {
                bool is_open = false;
                threads_.ForEach([&](const TracedThread& one) { is_open = is_open || one.replayer.HasOpen(code); });
                return is_open;
              },
          .name_of =
              [this](RemoteAddr code) {
                const CodeId id = codes_.Find(code.value);
                return id == kNoCode ? std::string()
                                     : fmt::format("{} ({}:{})", codes_.info(id).function, codes_.info(id).file,
                                                   codes_.info(id).first_line);
              }};
}

// In nanoseconds; 0: it was not measured, or the measured value is implausible.
double CallTracer::EventCost(double ticks) const {
  constexpr double kMostBelieved = 1e5;
  const double cost = ticks * static_cast<double>(clock_.Line().nanos_per_tick) / 4294967296.0;
  return cost > 0 && cost < kMostBelieved ? cost : 0;
}

// Runs before the first record: whether the requested limit can be kept at all.
Result<void> CallTracer::CheckBudget() {
  if (!budget_.IsInUse()) {
    return {};
  }
  constexpr char kRemedy[] = "leave --max-overhead out (--min-duration and --exclude make a trace smaller), or sample";
  if (!FactsOf(process_.python.layout.version).has_monitoring) {
    return Error{Code::kFailedPrecondition,
                 fmt::format("process {} runs CPython {}, which cannot switch off tracing for single functions: "
                             "--max-overhead needs {} or later",
                             pid_.value, FactsOf(process_.python.layout.version).name(),
                             FirstWith(&VersionFacts::has_monitoring)),
                 kRemedy};
  }
  if (injection_.has_value() && injection_->channel.event_ticks().frame <= 0) {
    return Error{
        Code::kFailedPrecondition,
        fmt::format(
            "the cost of a trace event could not be measured in process {}, so --max-overhead cannot be enforced",
            pid_.value),
        kRemedy};
  }
  return {};
}

size_t CallTracer::DrainRing(size_t index, uint64_t waiting, Nanos now) {
  RingReader& reader = injection_->channel.rings()[index];
  const RingFacts facts = reader.Facts();
  if (facts.state != RingState::kLive && facts.state != RingState::kEnded) {
    return 0;
  }
  TakeTenant(rings_[index], facts);
  CallReplayer& replayer = rings_[index].thread->replayer;
  replayer.SetFirstFrame(facts.first_frame);
  const std::optional<uint64_t> step = steps_.step();
  size_t drained = 0;
  const bool is_turn = takes_turns_ && waiting > kTurn;
  size_t left = is_turn ? kTurn : waiting;
  while (left > 0) {
    const size_t count = reader.Drain({records_.data(), std::min(left, records_.size())});
    if (count == 0) {
      replayer.EndOfEvent();  // the rest of the event is lost
      break;
    }
    names_.TakeFreed();  // a free is reported before the next object at that address reports anything
    replayer.Feed({records_.data(), count}, clock_.Line(), now);
    RenewLease(kLease);  // a full ring takes longer than the lease
    drained += count;
    left -= std::min(left, count);
  }
  if (drained > 0 && left == 0 && !is_turn) {
    replayer.EndOfEvent();  // threads publish whole events only, and the end of a step must be known at once
  }
  if (steps_.step() != step) {
    step_ring_ = index;
  }
  if (facts.state == RingState::kEnded && reader.Waiting() == 0) {
    if (!rings_[index].thread->finished) {
      CloseGap(index);
      replayer.Finish(now);
      rings_[index].thread->finished = true;
    }
    rings_[index] = {};
    reader.Free();
  }
  return drained;
}

// Until the first step has ended the ring is unknown; the main thread's is assumed, which nearly always takes the
// steps.
size_t CallTracer::RingOfSteps() const {
  if (step_ring_.has_value()) {
    return *step_ring_;
  }
  const std::vector<RingReader>& rings = injection_->channel.rings();
  const Tid main(process_.info.ns_pid.value);
  const auto found = std::ranges::find_if(rings, [&](const RingReader& ring) { return ring.Facts().tid == main; });
  return found != rings.end() ? static_cast<size_t>(found - rings.begin()) : 0;
}

void CallTracer::RenewLease(Nanos lease) { injection_->channel.RenewLease(clock_.Ticks() + clock_.TicksIn(lease)); }

size_t CallTracer::Drain() {
  clock_.AddAnchor();
  RenewLease(kLease);
  names_.Revalidate();
  // The ring with the steps decides what of the other rings is recorded. Its size is taken last and its records are
  // read first, so no record of another ring is later than what is known of the steps.
  waiting_.resize(rings_.size());
  for (size_t i = 0; i < rings_.size(); ++i) {
    waiting_[i] = injection_->channel.rings()[i].Waiting();
  }
  is_behind_ = std::ranges::any_of(
      waiting_, [&](uint64_t records) { return records >= injection_->channel.shape().records / 2; });
  const size_t first = RingOfSteps();
  waiting_[first] = injection_->channel.rings()[first].Waiting();
  const Nanos now = MonotonicNow();  // no record read below is later
  size_t drained = DrainRing(first, waiting_[first], now);
  for (size_t i = 0; i < rings_.size(); ++i) {
    drained += i != first ? DrainRing(i, waiting_[i], now) : 0;
  }
  if (budget_.IsInUse()) {
    budget_.SetEventCost(EventCost(injection_->channel.event_ticks().frame));
    budget_.Weigh(now, calls_.counts.events + lost_events());  // a lost event costs as much
  }
  return drained;
}

size_t CallTracer::CountOtherInterpreters() {
  std::vector<InterpreterEntry> entries;
  if (ReadInterpreters(memory_, process_.python.layout, process_.python.runtime, &entries) == ReadStatus::kOk) {
    for (const InterpreterEntry& entry : entries) {
      if (entry.id != kMainInterpreter) {
        other_interpreters_.insert(entry.id);
      }
    }
  }
  return other_interpreters_.size();
}

uint64_t CallTracer::lost_events() {
  const Nanos most = MonotonicNow() - begin_;
  const auto believed = [most](uint64_t count) { return CanHaveHappened(count, most) ? count : 0; };
  uint64_t lost = calls_.counts.lost + believed(injection_->channel.events_without_ring());
  for (const RingReader& ring : injection_->channel.rings()) {
    lost += believed(ring.Facts().lost);
  }
  return lost;
}

// A thread reports a gap when its ring has room again. After its last event that does not happen.
void CallTracer::CloseGap(size_t index) {
  const RingFacts facts = injection_->channel.rings()[index].Facts();
  if (rings_[index].thread == nullptr || rings_[index].thread->finished || facts.lost == 0) {
    return;
  }
  rings_[index].thread->replayer.EndOfEvent();
  const pp_record gap{PP_WHEN_TAG(facts.lost_since, PP_TAG_LOST), facts.lost};
  rings_[index].thread->replayer.Feed({&gap, 1}, clock_.Line(), MonotonicNow());
}

void CallTracer::Leave(Nanos patience) {
  Channel& channel = injection_->channel;
  takes_turns_ = false;
  (void)channel.Disarm(memory_, remote_);  // an error means that the target is gone
  // Frees are reported until the stub leaves. Names read after that may belong to other objects.
  Drain();
  const Nanos deadline = MonotonicNow() + patience;
  channel.AskToLeave();
  for (const Nanos asked = MonotonicNow(); !has_left() && MonotonicNow() < asked + kLeavesByItself;) {
    ::nanosleep(&kShortPause, nullptr);
  }
  std::optional<QueuedCall> call;
  while (!has_left() && !HasEnded() && MonotonicNow() < deadline) {
    if (!call.has_value()) {
      auto queued = QueueLeave(target_, memory_, channel, deadline);
      if (queued.has_value()) {
        call.emplace(std::move(queued).value());
      }
    } else {
      (void)call->Ring();
    }
    Drain();
    ::poll(nullptr, 0, kLeavePauseMs);
  }
  while (call.has_value() && MonotonicNow() < deadline) {  // an untaken call is withdrawn below, which costs a stop
    const auto taken = call->Taken();
    if (taken.has_error() || taken.value()) {
      break;
    }
    (void)call->Ring();
    ::poll(nullptr, 0, kLeavePauseMs);
  }
  Drain();
}

void CallTracer::Finish(Nanos when) {
  for (size_t i = 0; i < rings_.size(); ++i) {
    CloseGap(i);
  }
  threads_.ForEach([when](TracedThread& thread) {
    if (!thread.finished) {
      thread.replayer.Finish(when);
      thread.finished = true;
    }
  });
  roster_.EndAll(when);
  roster_.AnnounceEnded(context_.history);
}

// Counts that the target itself reports, each only as far as there was time for it.
void CallTracer::CountWhatItReports(Accounting& accounting) const {
  const Nanos most = MonotonicNow() - begin_;
  const auto believed = [&](uint64_t count) {
    const bool can_be = CanHaveHappened(count, most);
    accounting.nonsense += can_be ? 0 : 1;
    return can_be ? count : 0;
  };
  accounting.call_events_lost += believed(injection_->channel.events_without_ring());
  accounting.holds = 0;
  accounting.held_total = {};
  for (const RingReader& ring : injection_->channel.rings()) {
    const RingFacts facts = ring.Facts();
    const TickMap from_zero{.nanos_per_tick = clock_.Line().nanos_per_tick};
    accounting.nonsense += ring.skipped();
    accounting.holds += believed(facts.holds);
    accounting.held_total = accounting.held_total + std::min(from_zero.ToNanos(facts.held_time), most);
  }
}

void CallTracer::CountInto(Accounting& accounting) const {
  const CallCounts& counts = calls_.counts;
  accounting.call_events = counts.events;
  accounting.call_events_lost = counts.lost;
  accounting.call_gaps = counts.gaps;
  accounting.unmatched_ends = counts.unmatched_ends;
  accounting.implied_ends = counts.implied_ends;
  accounting.ends_of_excluded = counts.ends_of_excluded;
  accounting.calls_without_name = counts.nameless;
  accounting.calls_too_deep = counts.too_deep;
  accounting.nonsense = counts.strange + counts.unknown;
  accounting.calls_left_out = accounting.events_outside_steps = 0;
  threads_.ForEach([&](const TracedThread& thread) {
    accounting.calls_left_out += thread.filter.left_out();
    accounting.events_outside_steps += thread.gate.left_out();
  });
  accounting.threads_displaced = has_left() ? injection_->channel.hooks_displaced() : 0;
  CountWhatItReports(accounting);
  accounting.steps = steps_.recorded_steps();
  accounting.event_cost_ns = EventCost(injection_->channel.event_ticks().frame);
  accounting.c_event_cost_ns = EventCost(injection_->channel.event_ticks().call);
  accounting.left_out = filter_.rows();
  std::ranges::move(budget_.Rows(), std::back_inserter(accounting.left_out));
  accounting.processes = 1;
  accounting.threads = threads_.size();
  accounting.stops = injection_->report.stops.stops + 1;
  accounting.stopped_total = injection_->report.stops.total + arming_stop_;
  accounting.stopped_longest = std::max(injection_->report.stops.longest, arming_stop_);
}

}  // namespace ptrace_prof
