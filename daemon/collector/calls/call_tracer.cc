#include "daemon/collector/calls/call_tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/collector/calls/known_methods.h"
#include "daemon/collector/target/patient_open.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kEntryPatience = Nanos::FromSeconds(10);
constexpr size_t kMaxSelfCodes = std::size(pp_channel{}.self_code);
constexpr size_t kRecordsAtOnce = 2048;  // 32 KiB: what was copied is still in the cache when it is read
constexpr size_t kTurn = 65'536;         // records of a ring, while threads wait for room in others

}  // namespace

Result<std::unique_ptr<CallTracer>> CallTracer::Open(Pid pid, const CaptureContext& context) {
  PP_ASSIGN_OR_RETURN(OpenedProcess process, OpenedProcess::Open(pid, Pid(), context.judge));
  std::unique_ptr<CallTracer> tracer(new CallTracer(std::move(process), context));
  PP_RETURN_IF_ERROR(tracer->CheckBudget());
  return tracer;
}

Result<void> CallTracer::Install(const std::function<bool()>& go_on) {
  PP_RETURN_IF_ERROR(stub_.BringIn(filter_.IsInUse() || budget_.IsInUse(), go_on));
  names_.WatchFreed(stub_.channel().freed_code());
  rings_.resize(stub_.channel().shape().rings);
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
      stub_(process_, context),
      watch_(process_.python.layout, process_.python.runtime),
      roster_(pid_, process_.info.ns_pid, stub_.space(), process_.python, context.request, context.writer),
      codes_(stub_.space(), process_.python.layout, process_.python.code_type),
      objects_(stub_.space(), process_.python.layout, codes_),
      landmarks_(objects_, context.request.spec().trace(),
                 [this](Landmark landmark, RemoteAddr code) { OnLandmark(landmark, code); }),
      filter_(context.request.spec().trace()),
      budget_(context.request.spec().trace().max_overhead(), BudgetWorld()),
      names_(context.stacks, landmarks_, &filter_, [this](RemoteAddr code, LeftOutBy by) { LeaveOut(code, by); }),
      calls_{.names = names_,
             .generators = {},
             .counts = {},
             .steps = {},
             .budget = budget_.IsInUse() ? &budget_ : nullptr},
      steps_(context.request.spec().trace()),
      threads_(context, {pid_, process_.python.layout, roster_, watch_, codes_, calls_, steps_}),
      records_(kRecordsAtOnce) {}

CallTracer::~CallTracer() = default;

// Runs before the first record, so that the first call of a module has its name. If the job imports PyTorch later,
// landmarks_ finds the calls.
void CallTracer::FindLandmarks() {
  for (const InterpreterView& view : watch_.interpreters()) {
    if (view.entry.id == kMainInterpreter) {
      FindKnownMethods(stub_.space(), process_.python.layout, view.entry.address,
                       [this](Landmark landmark, RemoteAddr code) { OnLandmark(landmark, code); });
    }
  }
}

Result<void> CallTracer::Arm() {
  Channel& channel = stub_.channel();
  stub_.Renew(TracerStub::Lease::kArming);
  if (roster_.Refresh(MonotonicNow(), watch_) != ReadStatus::kOk) {
    return LostWhileOpened(pid_);
  }
  stub_.clock().AddAnchor();
  ArmingInstant at;
  at.rings.reserve(rings_.size());
  FindLandmarks();
  const ThreadsToArm threads{
      pid_, stub_.memory(), process_.python.layout, watch_, roster_, DepthOf(context_.request), self_codes_};
  auto stop = ArmUnderStop(threads, [&]() -> Result<void> {
    at.rings.clear();  // of an earlier try
    for (const RingReader& ring : channel.rings()) {
      at.rings.push_back(ring.Facts());
    }
    at.ticks = stub_.clock().Ticks();
    at.own_text = channel.own_text();
    return stub_.Arm();
  });
  PP_RETURN_IF_ERROR(stop);
  stub_.Renew(TracerStub::Lease::kUsual);
  begin_ = at.time = stop.value().when;
  // With a plan of steps, the ring of the thread that takes them must be read to the end first, so no turns are taken.
  takes_turns_ = context_.request.spec().trace().on_full() == v1::ON_FULL_THROTTLE && !steps_.has_plan();
  arming_stop_ = stop.value().stopped;
  threads_.Begin(std::move(at), stop.value().threads);
  return {};
}

void CallTracer::TakeTenant(Ring& ring, const RingFacts& facts) {
  if (ring.thread != nullptr && ring.thread_state == facts.thread_state && ring.tid == facts.tid) {
    return;
  }
  ring = {facts.thread_state, facts.tid, threads_.Of(facts)};
}

void CallTracer::OnLandmark(Landmark landmark, RemoteAddr code) {
  if (landmark == Landmark::kOptimizer && context_.request.spec().trace().step_function_size() > 0) {
    return;  // optimizers make no steps
  }
  calls_.steps.Know(code, landmark == Landmark::kStep        ? StepRole::kStep
                          : landmark == Landmark::kOptimizer ? StepRole::kOptimizer
                                                             : StepRole::kNone);
  const bool is_module_call =
      landmark == Landmark::kModuleCall || (landmark == Landmark::kInnerModuleCall && !knows_module_call_);
  if (is_module_call || landmark == Landmark::kOptimizer) {
    WantSelf(code);
    knows_module_call_ = knows_module_call_ || is_module_call;
  }
}

void CallTracer::WantSelf(RemoteAddr code) {
  if (self_codes_.size() < kMaxSelfCodes && std::ranges::find(self_codes_, code) == self_codes_.end()) {
    stub_.channel().WantSelf(self_codes_.size(), code);
    self_codes_.push_back(code);
  }
}

// From now on the interpreter reports no events of the function, if it can switch single functions off.
bool CallTracer::Mute(RemoteAddr code, MutedEvents events) {
  const CodeId id = codes_.Find(code.value);
  if (id == kNoCode || calls_.steps.RoleOf(code.value) != StepRole::kNone) {  // counts even if it is not shown
    return false;
  }
  const CodeInfo& info = codes_.info(id);
  const CodeFields fields{info.name_object.value, info.file_object.value, info.first_line};
  return stub_.channel().Mute(code, fields, events);
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
          .is_open = [this](RemoteAddr code) { return threads_.HasOpen(code); },
          .name_of =
              [this](RemoteAddr code) {
                const CodeId id = codes_.Find(code.value);
                return id == kNoCode ? std::string()
                                     : fmt::format("{} ({}:{})", codes_.info(id).function, codes_.info(id).file,
                                                   codes_.info(id).first_line);
              }};
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
  if (stub_.IsIn() && stub_.channel().event_ticks().frame <= 0) {
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
  RingReader& reader = stub_.channel().rings()[index];
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
    replayer.Feed({records_.data(), count}, stub_.clock().Line(), now);
    stub_.Renew(TracerStub::Lease::kUsual);  // a full ring takes longer than the lease
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
      rings_[index].thread->Finish(now);
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
  const std::vector<RingReader>& rings = stub_.channel().rings();
  const Tid main(process_.info.ns_pid.value);
  const auto found = std::ranges::find_if(rings, [&](const RingReader& ring) { return ring.Facts().tid == main; });
  return found != rings.end() ? static_cast<size_t>(found - rings.begin()) : 0;
}

size_t CallTracer::Drain() {
  stub_.clock().AddAnchor();
  stub_.Renew(TracerStub::Lease::kUsual);
  names_.Revalidate();
  // The ring with the steps decides what of the other rings is recorded. Its size is taken last and its records are
  // read first, so no record of another ring is later than what is known of the steps.
  waiting_.resize(rings_.size());
  for (size_t i = 0; i < rings_.size(); ++i) {
    waiting_[i] = stub_.channel().rings()[i].Waiting();
  }
  is_behind_ =
      std::ranges::any_of(waiting_, [&](uint64_t records) { return records >= stub_.channel().shape().records / 2; });
  const size_t first = RingOfSteps();
  waiting_[first] = stub_.channel().rings()[first].Waiting();
  const Nanos now = MonotonicNow();  // no record read below is later
  size_t drained = DrainRing(first, waiting_[first], now);
  for (size_t i = 0; i < rings_.size(); ++i) {
    drained += i != first ? DrainRing(i, waiting_[i], now) : 0;
  }
  if (budget_.IsInUse()) {
    budget_.SetEventCost(stub_.FrameEventCost());
    budget_.Weigh(now, calls_.counts.events + lost_events());  // a lost event costs as much
  }
  return drained;
}

size_t CallTracer::CountOtherInterpreters() {
  std::vector<InterpreterEntry> entries;
  if (ReadInterpreters(stub_.memory(), process_.python.layout, process_.python.runtime, &entries) == ReadStatus::kOk) {
    for (const InterpreterEntry& entry : entries) {
      if (entry.id != kMainInterpreter) {
        other_interpreters_.insert(entry.id);
      }
    }
  }
  return other_interpreters_.size();
}

// A thread reports a gap when its ring has room again. After its last event that does not happen.
void CallTracer::CloseGap(size_t index) {
  const RingFacts facts = stub_.channel().rings()[index].Facts();
  if (rings_[index].thread == nullptr || rings_[index].thread->finished || facts.lost == 0) {
    return;
  }
  rings_[index].thread->replayer.EndOfEvent();
  const pp_record gap{PP_WHEN_TAG(facts.lost_since, PP_TAG_LOST), facts.lost};
  rings_[index].thread->replayer.Feed({&gap, 1}, stub_.clock().Line(), MonotonicNow());
}

void CallTracer::Leave(Nanos patience) {
  takes_turns_ = false;
  stub_.Leave(patience, [this] { Drain(); });
}

void CallTracer::Finish(Nanos when) {
  for (size_t i = 0; i < rings_.size(); ++i) {
    CloseGap(i);
  }
  threads_.Finish(when);
  roster_.EndAll(when);
  roster_.AnnounceEnded(context_.history);
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
  threads_.CountInto(accounting);
  stub_.CountInto(begin_, accounting);
  accounting.steps = steps_.recorded_steps();
  accounting.left_out = filter_.rows();
  std::ranges::move(budget_.Rows(), std::back_inserter(accounting.left_out));
  accounting.processes = 1;
  ++accounting.stops;
  accounting.stopped_total = accounting.stopped_total + arming_stop_;
  accounting.stopped_longest = std::max(accounting.stopped_longest, arming_stop_);
}

}  // namespace ptrace_prof
