#include "daemon/collector/torch/torch_capture.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "attach/proc/maps.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/calls/stub_boot.h"
#include "daemon/collector/target/start_wait.h"
#include "daemon/collector/torch/torch_boot.h"
#include "daemon/collector/torch/torch_groups.h"
#include "daemon/collector/torch/torch_import.h"
#include "daemon/collector/torch/torch_memory_slots.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kPatience = Nanos::FromSeconds(10);
// For a PyTorch that comes later: nothing else is recorded while we try to enter.
constexpr Nanos kLatePatience = Nanos::FromMillis(300);
constexpr Nanos kFirstPause = Nanos::FromSeconds(1);
constexpr Nanos kLongestPause = Nanos::FromSeconds(30);
constexpr Nanos kSoon = Nanos::FromMillis(50);
constexpr Nanos kLongestLook = Nanos::FromSeconds(1);
constexpr int64_t kLooksInAll = 50;  // the longer we wait, the less often we look
constexpr Nanos kLease = Nanos::FromSeconds(3);
constexpr Nanos kFirstLook = Nanos::FromMillis(5);
constexpr Nanos kLeavesByItself = Nanos::FromMillis(20);  // at its next operator
constexpr size_t kMostOutside = size_t{1} << 20;          // blocks
constexpr Nanos kCompletesTrace = Nanos::FromSeconds(2);
constexpr Nanos kStepOfTrace = Nanos::FromMillis(150);  // after kGrace of torch_boot.cc
constexpr Nanos kComesLate = Nanos::FromMillis(20);     // a thread may write a record that long after its time
constexpr timespec kBetweenLooks{0, 200'000};
constexpr size_t kRecordsAtOnce = 16384;
constexpr double kMostCost = 1e5;      // ns of an operator; a target may write anything
constexpr size_t kBusyRecords = 2048;  // of one ring, at one look
constexpr Nanos kCounterPause(100'000);
constexpr Nanos kBusyPause = Nanos::FromMillis(1);
constexpr Nanos kIdlePause =
    Nanos::FromMillis(5);  // a full ring of a thread that runs an operator each us lasts longer

std::string MemoryCounterName(const TorchDevice& device) {
  if (device.is_cpu()) {
    return "CPU memory allocated since the begin";
  }
  return fmt::format("{} {} memory", device.type == 1 ? "CUDA" : fmt::format("device type {}", device.type),
                     device.index);
}

}  // namespace

bool RecordsTorch(const CaptureTask& request) {
  const v1::CaptureSpec& spec = request.spec();
  return WantsTorch(spec) || (spec.mode() == v1::MODE_TRACE && spec.torch() != v1::TORCH_OFF);
}

TorchCapture::TorchCapture(const RecordedProcess& target, const CaptureContext& context, RecordedAt recorded_at)
    : target_(target),
      context_(context),
      recorded_at_(std::move(recorded_at)),
      writer_(target.pid),
      decoder_(target.memory, {[this](Tid tid, const Operator& one) { Take(tid, one); },
                               [this](Tid tid, const Allocation& one) { Take(tid, one); }}),
      records_(kRecordsAtOnce) {}

Result<void> TorchCapture::Enter(const GoOn& go_on, Nanos patience) {
  PP_ASSIGN_OR_RETURN(pp_torch_boot boot,
                      DescribeForTorch(target_.pid, target_.memory, target_.process.python, clock_,
                                       {.inputs = context_.request.spec().record_shapes(),
                                        .memory = WithMemory(),
                                        .execution_trace = context_.request.spec().execution_trace()}));
  if (WithMemory()) {
    PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(target_.pid));
    if (auto set = SetMemorySlots(target_.pid, target_.memory, regions, boot); set.has_error()) {
      memory_refusal_ = set.error();
    }
    held_.emplace(
        target_, [this](const HeldTensor& tensor) { Take(tensor); }, (boot.flags & PP_TORCH_BOOT_OLD_STRINGS) != 0);
    memory_slots_ = static_cast<uint64_t>(
        std::ranges::count_if(boot.memory, [](const pp_torch_slot_of& slot) { return slot.at != 0; }));
  }
  PP_ASSIGN_OR_RETURN(InjectionTarget into, DescribeForInjection(target_.pid, target_.memory, target_.process.python));
  into.force = context_.request.spec().force();
  into.script_files = context_.scripts;
  PP_ASSIGN_OR_RETURN(TorchHookFile hook, TorchHookFile::Carried());
  hook.Fill(boot);
  PP_ASSIGN_OR_RETURN(
      TorchInjection injection,
      InjectTorch(into, target_.memory, hook,
                  {MonotonicNow() + patience, go_on, StartedStill(target_.pid, target_.memory, target_.process)}));
  injection_.emplace(std::move(injection));
  into_ = into;
  nonce_ = boot.nonce;
  if (context_.request.spec().execution_trace()) {
    trace_.emplace(target_.pid, boot.nonce, injection_->arena, context_.writer);
  }
  return {};
}

// Up to CPython 3.11, what makes a thread run our call may hold one whose calls are traced.
Result<void> TorchCapture::MayEnterLate() const {
  if (context_.request.spec().mode() != v1::MODE_TRACE ||
      FactsOf(target_.process.python.layout.version).has_monitoring) {
    return {};
  }
  return Because(
      Reason::kTorchUnsupported,
      fmt::format("process {} loaded PyTorch after the begin, and CPython {} lets nothing in while its calls "
                  "are traced",
                  target_.pid.value, target_.process.python.version_text),
      "record it again now, or without --mode trace", ThingOf(target_.pid));
}

Result<void> TorchCapture::Prepare(const GoOn& go_on) {
  const bool is_late = waiting_.has_value();
  const Nanos now = MonotonicNow();
  if (!is_late) {
    const TorchImport import = LookAtTorchImport(target_.pid, target_.memory, target_.process.python);
    if (import == TorchImport::kNone || import == TorchImport::kUnderWay) {
      waiting_ = {.since = now, .next_look = now + kSoon, .pause = kFirstPause};
      return {};
    }
  }
  auto entered = is_late ? MayEnterLate() : Result<void>();
  if (entered.has_value()) {
    entered = Enter(go_on, is_late ? kLatePatience : kPatience);
  }
  if (entered.has_value()) {
    if (is_late) {
      waited_since_ = waiting_->since;
    }
    waiting_.reset();
    Renew();
    clock_.AddAnchor();
    return {};
  }
  Error error = std::move(entered).error();
  if (is_late && error.reason != Reason::kTorchUnsupported) {  // its threads may be busy elsewhere
    waiting_->failure = error;
    waiting_->next_look = MonotonicNow() + waiting_->pause;
    waiting_->pause = std::min(Nanos(2 * waiting_->pause.value), kLongestPause);
    return error;
  }
  refusal_ = error;
  is_over_ = true;
  if (is_late) {
    EndWaiting();
  }
  return error;
}

bool TorchCapture::HasCome(Nanos now) {
  if (!waiting_.has_value() || now < waiting_->next_look) {
    return false;
  }
  waiting_->next_look = now + std::clamp(Nanos((now - waiting_->since).value / kLooksInAll), kSoon, kLongestLook);
  return LookAtTorchImport(target_.pid, target_.memory, target_.process.python) == TorchImport::kDone;
}

// Says why nothing was recorded, if it was to be.
void TorchCapture::EndWaiting() {
  std::optional<Error> failure = refusal_.has_value() ? refusal_ : waiting_->failure;
  if (!failure.has_value() &&
      LookAtTorchImport(target_.pid, target_.memory, target_.process.python) == TorchImport::kDone) {
    const auto may = MayEnterLate();
    failure = may.has_error() ? may.error()
                              : Because(Reason::kTorchUnsupported,
                                        fmt::format("process {} loaded PyTorch just before the end", target_.pid.value),
                                        "record it again now", ThingOf(target_.pid));
  }
  waiting_.reset();
  is_over_ = true;
  if (failure.has_value()) {
    Refuse(*failure);
  } else if (WantsTorch(context_.request.spec())) {
    Refuse(NoTorch(target_.pid));
  }
}

// The job may make groups at any time.
void TorchCapture::TellGroups() {
  std::string groups = ReadProcessGroups(target_.memory, target_.process.python);
  if (!groups.empty() && groups != groups_) {
    groups_ = std::move(groups);
    ProcessInfo info = target_.process.info;
    info.process_groups = groups_;
    context_.writer.AddProcess(info);
  }
}

void TorchCapture::Renew() { injection_->arena.RenewLease(clock_.Ticks() + clock_.TicksIn(kLease)); }

void TorchCapture::KeepAlive() {
  if (injection_.has_value()) {
    Renew();
  }
}

void TorchCapture::Abandon() {
  if (injection_.has_value()) {
    injection_->arena.AskToLeave();
  }
}

void TorchCapture::Refuse(const Error& error) {
  is_over_ = true;
  Note("operators are", error);
}

void TorchCapture::Note(std::string_view what, const Error& error) {
  context_.writer.AddNotice(MonotonicNow(), fmt::format("PyTorch's {} not recorded: {}{}{}", what, error.message,
                                                        error.remedy.empty() ? "" : "; ", error.remedy));
}

Result<Nanos> TorchCapture::Arm(Nanos begun) {
  if (waiting_.has_value()) {
    return begun;
  }
  if (refusal_.has_value()) {
    Refuse(*refusal_);
    return begun;
  }
  clock_.AddAnchor();
  if (auto armed = injection_->arena.SetArmed(target_.memory, writer_, true); armed.has_error()) {
    Refuse(armed.error());
    return begun;
  }
  if (waited_since_.has_value()) {
    const Nanos came = MonotonicNow();
    context_.writer.AddNotice(came, fmt::format("PyTorch was loaded after the begin: its operators are recorded from "
                                                "{:.1f} s on",
                                                (came - *waited_since_).seconds()));
  }
  if (memory_refusal_.has_value()) {
    Note("memory is", *memory_refusal_);
  } else if (injection_->arena.memory_slots() != memory_slots_) {
    Note("memory is", {Code::kUnimplemented,
                       "the process may not make its tables of functions writable (mprotect: a system call filter)",
                       "allow that call"});
  }
  // Whole objects fill the buffers fast, so a process that runs operators now learns the layout as soon as possible.
  // But if it depends on steps what is recorded, these must be known first.
  for (const Nanos deadline = MonotonicNow() + kFirstLook; !recorded_at_ && !has_row_ && MonotonicNow() < deadline;) {
    ::nanosleep(&kBetweenLooks, nullptr);
    Drain(Nanos());
  }
  TellGroups();
  return begun;
}

// Threads that Python does not know (of autograd, of an engine) get their name from the kernel.
ThreadHandle TorchCapture::ThreadOf(Tid inner) {
  for (const auto& track : target_.roster.tracks()) {
    if (track->info.ns_tid == inner) {
      return track->handle;
    }
  }
  if (const auto known = unknown_.find(inner); known != unknown_.end()) {
    return known->second;
  }
  const auto host = hosts_.find(inner);
  const ThreadInfo info =
      host != hosts_.end()
          ? host->second
          : ThreadInfo{
                .pid = target_.pid, .tid = inner, .ns_tid = inner, .name = fmt::format("thread {}", inner.value)};
  return unknown_.emplace(inner, context_.writer.AddThread(info)).first->second;
}

// While it is still there: who has that number in the target's namespace.
void TorchCapture::Meet(Tid inner) {
  unknown_.erase(inner);  // the number may have been another thread's
  hosts_.erase(inner);
  const auto threads = ListThreads(target_.pid);
  for (const Tid tid : threads.has_value() ? threads.value() : std::vector<Tid>()) {
    const auto as_target = ReadNamespacedTid(target_.pid, tid);
    if (as_target.has_value() && as_target.value() == inner) {
      const auto comm = ReadThreadName(target_.pid, tid);
      hosts_[inner] = {.pid = target_.pid,
                       .tid = tid,
                       .ns_tid = inner,
                       .name = comm.has_value() ? comm.value() : fmt::format("thread {}", tid.value)};
      return;
    }
  }
}

void TorchCapture::Take(Tid tid, const Operator& one) {
  if (!IsRecorded(one.begin)) {
    ++operators_left_out_;
    return;
  }
  context_.writer.AddOperator(ThreadOf(tid), one);
}

// What happens between recorded steps is kept for the next ones. False: the free of a block that is in the trace, which
// must have an end.
bool TorchCapture::KeepOutside(Tid tid, const Allocation& one) {
  if (one.bytes <= 0) {
    return outside_.erase(one.address) > 0;
  }
  if (outside_.size() < kMostOutside) {
    outside_[one.address] = {tid, one};
  }
  return true;
}

// What was allocated between recorded steps and is still there when the next ones begin was there before.
void TorchCapture::WriteOutside(Nanos when) {
  for (auto& [address, block] : outside_) {
    auto& [tid, one] = block;
    one.when = when;
    one.was_there = true;
    context_.writer.AddAllocation(ThreadOf(tid), one);
    if (were_there_.size() < kMostOutside) {
      were_there_.insert(address);
    }
  }
  outside_.clear();
}

void TorchCapture::Take(Tid tid, Allocation one) {
  if (!IsRecorded(one.when)) {
    if (KeepOutside(tid, one)) {
      ++allocations_left_out_;
      return;
    }
  } else {
    WriteOutside(one.when);
  }
  one.was_there = (were_there_.erase(one.address) > 0 && one.bytes <= 0) || one.was_there;
  context_.writer.AddAllocation(ThreadOf(tid), one);
  if (one.was_there) {
    return;
  }
  const auto [device, is_new] = devices_.try_emplace({one.device.type, one.device.index});
  DeviceCounter& counter = device->second;
  if (is_new) {
    counter.id = context_.writer.AddCounter(
        {.group = "PyTorch", .name = MemoryCounterName(one.device), .unit = CounterUnit::kBytes});
  }
  // All allocations are in the trace; this is the curve, with its peaks.
  counter.last = std::max(counter.last, one.when);
  counter.value = one.allocated;
  counter.is_behind = true;
  if (is_new || counter.last >= counter.written + kCounterPause || one.allocated > counter.most) {
    Write(counter);
  }
}

void TorchCapture::Take(const HeldTensor& tensor) {
  context_.writer.AddHeldTensor(tensor);
  decoder_.Meet(Tid(target_.pid.value), {tensor.address, tensor.bytes, tensor.device}, tensor.when);
}

void TorchCapture::Write(DeviceCounter& counter) {
  counter.written = counter.last;
  counter.most = std::max(counter.most, counter.value);
  counter.is_behind = false;
  context_.writer.AddCount(counter.id, counter.last, static_cast<int64_t>(counter.value));
}

void TorchCapture::DrainRing(size_t index) {
  RingReader& reader = injection_->arena.rings()[index];
  const RingFacts facts = reader.Facts();
  if (facts.state != RingState::kLive && facts.state != RingState::kEnded) {
    return;
  }
  if (std::exchange(owners_[index], facts.thread_state.value) != facts.thread_state.value) {
    Meet(facts.tid);
  }
  uint64_t left = reader.Waiting();
  is_busy_ = is_busy_ || left > kBusyRecords;
  while (left > 0) {
    const size_t count = reader.Drain(std::span(records_).first(std::min<uint64_t>(left, records_.size())));
    if (count == 0) {
      break;
    }
    left -= std::min<uint64_t>(left, count);
    const auto records = std::span(records_).first(count);
    if (Merges()) {
      merge_.Add(index, facts.tid, facts.thread_state.value, records);
    } else {
      Feed(index, facts.tid, facts.thread_state.value, records);
    }
  }
  if (facts.state == RingState::kEnded && reader.Waiting() == 0 && merge_.IsEmpty(index)) {
    decoder_.EndRing(index, MonotonicNow(), OperatorEnd::kOpen);
    reader.Free();
  }
}

std::optional<Nanos> TorchCapture::PollWithin() const {
  if (is_over_) {
    return std::nullopt;
  }
  return waiting_.has_value() ? kSoon : is_busy_ ? kBusyPause : kIdlePause;
}

void TorchCapture::Feed(size_t ring, Tid tid, uint64_t thread, std::span<const pp_record> records) {
  decoder_.Feed(ring, tid, thread, records, clock_.Line(), MonotonicNow());  // no record is younger
}

// What is younger than `late` waits.
void TorchCapture::Drain(Nanos late, bool is_last) {
  is_busy_ = false;
  clock_.AddAnchor();
  const uint64_t settled = clock_.Ticks() - clock_.TicksIn(std::max(late, kComesLate));
  for (size_t i = 0; i < injection_->arena.rings().size(); ++i) {
    DrainRing(i);
  }
  const auto feed = [this](auto... what) { Feed(what...); };
  if (is_last) {
    merge_.TakeAll(feed);
  } else {
    merge_.Take(PP_AS_WHEN(settled), feed);
  }
  for (auto& [device, counter] : devices_) {
    if (counter.is_behind) {  // its value holds until the next one
      Write(counter);
    }
  }
  if (!has_row_ && decoder_.row() != nullptr) {
    has_row_ = true;
    injection_->arena.SetRow(decoder_.row()->fields);
  }
  Account();
}

void TorchCapture::Account() {
  Accounting& totals = context_.accounting;
  totals.operators = decoder_.counts().operators - operators_left_out_;
  totals.operators_lost = decoder_.counts().lost + injection_->arena.without_ring();
  totals.allocations = decoder_.counts().allocations - allocations_left_out_;
  totals.unknown_blocks = decoder_.counts().unknown_blocks;
  const double cost = injection_->arena.CostTicks() * static_cast<double>(clock_.Line().nanos_per_tick) / 4294967296.0;
  totals.operator_cost_ns = cost < kMostCost ? cost : 0;
}

void TorchCapture::Poll(Nanos now, Nanos known_until) {
  if (trace_) {
    trace_->Poll();
  }
  if (is_over_ || waiting_.has_value()) {
    return;
  }
  Renew();
  Drain(recorded_at_ ? MonotonicNow() - known_until : Nanos());
  if (held_) {
    held_->Poll(now);
  }
  if (injection_->arena.is_unreadable()) {
    injection_->arena.AskToLeave();
    Refuse(Because(Reason::kTorchUnsupported,
                   fmt::format("process {} may not read its own memory with process_vm_readv (a system call filter of "
                               "its container)",
                               target_.pid.value),
                   "allow that call"));
  } else if (decoder_.is_hopeless()) {
    injection_->arena.AskToLeave();
    Refuse({Code::kUnimplemented,
            fmt::format("the PyTorch of process {} describes its operators in an unknown way", target_.pid.value),
            "please report its version", Reason::kTorchUnsupported});
  } else if (injection_->arena.has_left()) {
    Refuse(Because(Reason::kTracerLost,
                   injection_->arena.lost_lease() ? "ptrace-prof did not renew the lease of its hook in time"
                                                  : "the hook in the process has ended",
                   "try again when the machine is less busy"));
  }
}

void TorchCapture::AwaitLeft(Nanos patience, const std::function<void()>& meanwhile) {
  const Nanos deadline = MonotonicNow() + patience;
  while (!injection_->arena.has_left() && MonotonicNow() < deadline) {
    ::nanosleep(&kBetweenLooks, nullptr);
    Renew();
    meanwhile();
  }
}

// PyTorch completes the file in two steps, at operators of the job. If none comes, the hook is called for each.
void TorchCapture::CompleteTrace(Nanos deadline, const std::function<void()>& meanwhile) {
  const Patience patience{deadline, [&] {
                            Renew();
                            meanwhile();
                            return true;
                          }};
  const TorchArena& arena = injection_->arena;
  while (!arena.has_left() && MonotonicNow() < deadline) {
    if (arena.trace_state() == PP_TORCH_TRACE_ENDING) {
      AwaitLeft(kStepOfTrace, meanwhile);
    }
    if (!arena.has_left() && LeaveByCall(*into_, target_.memory, *injection_, nonce_, patience).has_error()) {
      break;
    }
  }
  AwaitLeft(deadline - MonotonicNow(), meanwhile);
}

void TorchCapture::Disarm(Nanos patience, const std::function<void()>& meanwhile) {
  if (!injection_.has_value()) {
    return;
  }
  TorchArena& arena = injection_->arena;
  if (patience.value > 0) {
    (void)arena.SetArmed(target_.memory, writer_, false);  // an error means that the target is gone
  }
  end_ = MonotonicNow();
  arena.AskToLeave();
  AwaitLeft(std::min(patience, kLeavesByItself), meanwhile);
  if (trace_ && trace_->IsOpen()) {
    CompleteTrace(end_ + std::min(patience, kCompletesTrace), meanwhile);
  }
  if (!is_over_) {
    Drain(Nanos(), true);
  }
}

void TorchCapture::Finish(Nanos now) {
  if (waiting_.has_value()) {
    EndWaiting();
  }
  if (!injection_.has_value()) {
    return;
  }
  if (injection_->arena.inputs_off()) {
    context_.writer.AddNotice(now,
                              "the inputs of PyTorch's operators are not complete: this version lays out its tensors "
                              "in an unknown way");
  }
  if (trace_) {
    trace_->Finish();
  }
  if (!is_over_) {
    TellGroups();
    decoder_.Finish(end_.value > 0 ? end_ : now);
    Account();
  }
  Forget(*injection_);
  injection_.reset();
}

}  // namespace ptrace_prof
