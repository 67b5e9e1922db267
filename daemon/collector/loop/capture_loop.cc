#include "daemon/collector/loop/capture_loop.h"

#include <memory>
#include <optional>

#include "attach/ptrace/traced_threads.h"
#include "daemon/collector/nvml/nvml_counters.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kAccountEvery = Nanos::FromMillis(500);
constexpr Nanos kLeavePatience = Nanos::FromSeconds(5);
constexpr Nanos kStackSourcePatience = Nanos::FromSeconds(1);

// For all that takes longer than a thread of the target may stand still.
std::unique_ptr<LettingGo> LetGoMeanwhile(const StackSource& stacks) {
  return stacks.HoldsThreads() ? std::make_unique<LettingGo>(LetGoOf::kAll) : nullptr;
}

}  // namespace

CaptureLoop::CaptureLoop(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop,
                         const CaptureAids& aids)
    : stop_(stop),
      aids_(aids),
      writer_(sink, stack_table_, request),
      context_{request,        stack_table_,  writer_,
               accounting_,    aids_.scripts, HasGpu(request.spec()) ? &history_ : nullptr,
               aids_.counters, &aids_.judge} {}

Result<void> CaptureLoop::Run(StackSource& stacks, const MakeOthers& make_others) {
  stacks_ = &stacks;
  make_others_ = &make_others;
  stacks.SetOnGone([this] {
    LeaveOthers(Nanos());
    FinishOthers(MonotonicNow());
  });
  auto ran = Begin();
  if (ran.has_value()) {
    has_begun_ = true;
    ran = Record();
    const auto letting_go = LetGoMeanwhile(stacks);
    const EndInfo end = stacks.WhyOver();
    stacks.Flush();
    LeaveOthers(Patience());
    stacks.Disarm(kStackSourcePatience, [] {});
    if (ran.has_value()) {  // otherwise the reader is gone
      ran = Finish(end);
    }
  }
  stacks.SetOnGone({});
  others_.clear();  // before the process that they refer to
  return ran;
}

Result<void> CaptureLoop::Begin() {
  PP_RETURN_IF_ERROR(stacks_->Open());
  PrepareOthers();
  PP_RETURN_IF_ERROR(PrepareAll());
  const auto armed = stacks_->Arm(Nanos());
  if (armed.has_error()) {
    LeaveOthers(Patience());
    return armed.error();
  }
  ArmOthers(armed.value());
  next_flush_ = armed.value() + stacks_->pace().first_flush;
  return {};
}

Result<void> CaptureLoop::PrepareAll() {
  auto prepared = stacks_->Prepare([this] {
    KeepOthersAlive();
    return is_wanted();
  });
  if (prepared.has_error()) {
    for (const auto& other : others_) {
      other->Abandon();
    }
  }
  return prepared;
}

// As soon as the process is open, and before its calls are traced: up to CPython 3.11 nothing could come in later, and
// what is called in the target for it would be in the trace. Returns whether there was anything to prepare.
bool CaptureLoop::PrepareOthers() {
  if (has_made_others_) {
    return false;
  }
  const auto process = stacks_->process();
  if (!process.has_value()) {
    return false;
  }
  has_made_others_ = true;
  const auto letting_go = LetGoMeanwhile(*stacks_);
  others_ = (*make_others_)(*process, context_);
  for (const auto& other : others_) {
    (void)other->Prepare([this] { return is_wanted(); });
  }
  return !others_.empty();
}

void CaptureLoop::ArmOthers(Nanos begun) {
  for (const auto& other : others_) {
    (void)other->Arm(begun);
  }
}

void CaptureLoop::KeepOthersAlive() {
  for (const auto& other : others_) {
    other->KeepAlive();
  }
}

// Those whose subject has come meanwhile.
void CaptureLoop::LetOthersIn(Nanos now) {
  for (const auto& other : others_) {
    if (!other->HasCome(now)) {
      continue;
    }
    const auto letting_go = LetGoMeanwhile(*stacks_);
    const auto prepared = other->Prepare([this] {
      stacks_->KeepUp();
      KeepOthersAlive();
      return is_wanted();
    });
    if (prepared.has_value()) {
      (void)other->Arm(MonotonicNow());
    }
  }
}

void CaptureLoop::PollOthers(Nanos now, bool is_all) {
  if (others_.empty()) {
    return;
  }
  const Nanos known_until = stacks_->KnownUntil(now);
  for (const auto& other : others_) {
    if (is_all || other->PollWithin().has_value()) {
      other->Poll(now, known_until);
    }
  }
}

Nanos CaptureLoop::Patience() const { return stacks_->process().has_value() ? kLeavePatience : Nanos(); }

void CaptureLoop::LeaveOthers(Nanos patience) {
  for (const auto& other : others_) {
    other->Disarm(patience, [this] { stacks_->KeepUp(); });
  }
}

void CaptureLoop::FinishOthers(Nanos now) {
  for (const auto& other : others_) {
    other->Finish(now);
  }
  others_.clear();
}

Nanos CaptureLoop::NextTurn(Nanos now) const {
  Nanos next = next_flush_;
  for (const auto& other : others_) {
    if (const auto within = other->PollWithin(); within.has_value()) {
      next = std::min(next, now + *within);
    }
  }
  return next;
}

Result<void> CaptureLoop::Record() {
  const StackSource::Pace pace = stacks_->pace();
  Nanos now = MonotonicNow();
  while (is_wanted() && stacks_->Look(now)) {
    if (PrepareOthers()) {  // here only where the process was not open at the begin
      const Nanos ready = MonotonicNow();
      ArmOthers(ready);
      stacks_->Delay(ready - now);
      now = ready;
    }
    LetOthersIn(now);
    stacks_->Poll(now, now);
    PollOthers(now, pace.polls_others_each_turn);
    if (stacks_->IsOver(now)) {
      break;
    }
    if (now >= next_flush_ || stacks_->MustFlush()) {
      const auto letting_go = LetGoMeanwhile(*stacks_);
      if (!pace.polls_others_each_turn) {
        PollOthers(now, true);
      }
      PP_RETURN_IF_ERROR(Flush(now));
      next_flush_ = now + pace.flush_every;
    }
    now = stacks_->Wait(NextTurn(now));
  }
  return {};
}

void CaptureLoop::ReadCounters() {
  if (aids_.counters != nullptr) {
    aids_.counters->Read(writer_);
  }
}

Result<void> CaptureLoop::Flush(Nanos now) {
  stacks_->Flush();
  ReadCounters();
  if (now >= next_account_) {
    stacks_->CountInto(accounting_, now);
    writer_.SetAccounting(accounting_);
    next_account_ = now + kAccountEvery;
  }
  PP_RETURN_IF_ERROR(writer_.Flush());
  stacks_->Flushed();
  return {};
}

Result<void> CaptureLoop::Finish(const EndInfo& end) {
  const Nanos now = MonotonicNow();
  FinishOthers(now);
  stacks_->Finish(now);
  ReadCounters();
  stacks_->CountInto(accounting_, now);
  return writer_.End(now, accounting_, end);
}

}  // namespace ptrace_prof
