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

constexpr Nanos kLease = Nanos::FromMillis(800);  // gone within a second, yet not for being starved on a busy machine
// While its threads are being stopped one by one, on a machine where each waits for a CPU; it tells nothing as yet.
constexpr Nanos kArmingLease = Nanos::FromSeconds(3);
constexpr Nanos kEntryPatience = Nanos::FromSeconds(10);
constexpr Nanos kLeavesByItself = Nanos::FromMillis(2);  // at its next event: no stop for that
constexpr timespec kShortPause{0, 50'000};
constexpr int kLeavePauseMs = 1;
constexpr uint32_t kLeastRings = 8;
constexpr uint32_t kRingsPerThread = 2;  // threads end, and others begin
constexpr size_t kMaxModuleCodes = std::size(pp_channel{}.module_code);
constexpr size_t kRecordsAtOnce = 2048;  // 32 KiB: what was copied is still in the cache when it is read
constexpr size_t kTurn = 65'536;         // records of a ring, while threads wait for room in others
constexpr int kLooks = 3;                // for a thread that has just begun
constexpr Nanos kLongestHold = Nanos::FromMillis(250);
constexpr uint64_t kBeginningBytes = 8;  // from the first instruction to the one that tells of the call

// The text that has brought the stub in, and the one that has called that.
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
  // It may just have set up its first signal handlers, for which a text goes another way: it is looked at anew.
  if (brought.has_error() && brought.error().code == Code::kUnavailable && !target_.signal_handlers) {
    const Result<bool> handlers = HasSignalHandlers(pid_);
    if (handlers.has_value() && handlers.value()) {
      brought = TryToBringIn(go_on);
    }
  }
  if (brought.has_error() && HasExeced()) {
    return LostWhileOpened(pid_);  // what was read of two programs may look like one of a version that nobody knows
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
  RenewLease(kArmingLease);  // that of the way in is long
  injection_->channel.TouchAll();
  names_.WatchFreed(injection_->channel.freed_code());
  rings_.resize(shape.rings);
  if (!process_.mark.is_known()) {  // the stub empties the page when it has left
    space_.Anchor(injection_->channel.private_page(),
                  [this](uint64_t word) { return word == PP_PRIVATE_MAGIC || (word == 0 && has_left()); });
  }
  return {};
}

// Before anything is told, so that the first call of a module has its name; of a job that imports PyTorch later,
// landmarks_ finds them.
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
  // What the thread that takes the steps says must be read to the end first.
  takes_turns_ = context_.request.spec().trace().on_full() == v1::ON_FULL_THROTTLE && !steps_.has_plan();
  arming_stop_ = stop.value().stopped;
  const auto is_known = [this](const ThreadAtArming& at) { return TrackOf(at.entry) != nullptr; };
  if (!std::ranges::all_of(stop.value().threads, is_known)) {
    roster_.Refresh(MonotonicNow(), watch_);  // some began while the others were being stopped
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

// Of a thread that was over before it could be looked at.
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
    return;  // nothing to say of it yet
  }
  const Tid tid = track != nullptr ? track->info.ns_tid : Tid(static_cast<int32_t>(at.entry.native_id));
  if (!at.is_whole) {
    context_.writer.AddNotice(begin_, fmt::format("of the stack of thread {} at the beginning, only the innermost {} "
                                                  "frames are known: ends of the others are counted as unmatched",
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
  // A ring of a thread that ended may name the same state still.
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

// Nothing is told of it from now on, where the interpreter can do so.
bool CallTracer::Mute(RemoteAddr code, MutedEvents events) {
  const CodeId id = codes_.Find(code.value);
  if (id == kNoCode || code == calls_.step_code) {  // its calls are not shown, but they are steps
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

// In nanoseconds; 0: not measured, or nothing that an event could cost.
double CallTracer::EventCost(double ticks) const {
  constexpr double kMostBelieved = 1e5;
  const double cost = ticks * static_cast<double>(clock_.Line().nanos_per_tick) / 4294967296.0;
  return cost > 0 && cost < kMostBelieved ? cost : 0;
}

// Before anything is told: is it possible to keep to what was asked for?
Result<void> CallTracer::CheckBudget() {
  if (!budget_.IsInUse()) {
    return {};
  }
  constexpr char kRemedy[] = "leave --max-overhead out (--min-duration and --exclude make a trace smaller), or sample";
  if (!FactsOf(process_.python.layout.version).has_monitoring) {
    return Error{Code::kFailedPrecondition,
                 fmt::format("process {} runs CPython {}, which cannot have single functions not tell of their calls: "
                             "--max-overhead needs {} or later",
                             pid_.value, FactsOf(process_.python.layout.version).name(),
                             FirstWith(&VersionFacts::has_monitoring)),
                 kRemedy};
  }
  if (injection_.has_value() && injection_->channel.event_ticks().frame <= 0) {
    return Error{
        Code::kFailedPrecondition,
        fmt::format("what an event costs could not be measured in process {}, so that --max-overhead cannot be "
                    "kept",
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
      replayer.EndOfEvent();  // what was to come is lost
      break;
    }
    names_.TakeFreed();  // whoever freed an address had told so before the next one there told anything
    replayer.Feed({records_.data(), count}, clock_.Line(), now);
    RenewLease(kLease);  // a full ring takes longer than the lease
    drained += count;
    left -= std::min(left, count);
  }
  if (drained > 0 && left == 0 && !is_turn) {
    replayer.EndOfEvent();  // a thread publishes whole events only, and a step's end is to be known at once
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

// Before the first step has ended it is not known: nearly always it is the main thread that takes them.
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
  // What the thread that takes the steps says decides what of the others is recorded: it is looked at last and read
  // first, so that of no other thread anything later is read.
  waiting_.resize(rings_.size());
  for (size_t i = 0; i < rings_.size(); ++i) {
    waiting_[i] = injection_->channel.rings()[i].Waiting();
  }
  is_behind_ = std::ranges::any_of(
      waiting_, [&](uint64_t records) { return records >= injection_->channel.shape().records / 2; });
  const size_t first = RingOfSteps();
  waiting_[first] = injection_->channel.rings()[first].Waiting();
  const Nanos now = MonotonicNow();  // nothing of it came later
  size_t drained = DrainRing(first, waiting_[first], now);
  for (size_t i = 0; i < rings_.size(); ++i) {
    drained += i != first ? DrainRing(i, waiting_[i], now) : 0;
  }
  if (budget_.IsInUse()) {
    budget_.SetEventCost(EventCost(injection_->channel.event_ticks().frame));
    budget_.Weigh(now, calls_.counts.events + lost_events());  // one that is lost costs as much
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

// A thread tells of a gap when it has room again, which after its last event never comes.
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
  (void)channel.Disarm(memory_, remote_);  // a target that is gone needs none of this
  // What is freed is told until the target leaves: only so long are names that are read now those of then.
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
  while (call.has_value() && MonotonicNow() < deadline) {  // before it goes, else it is withdrawn, which costs a stop
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

// What the target says of itself: of no ring more than there was time.
void CallTracer::CountWhatItTells(Accounting& accounting) const {
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
  CountWhatItTells(accounting);
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
