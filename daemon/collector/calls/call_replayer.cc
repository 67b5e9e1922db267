#include "daemon/collector/calls/call_replayer.h"

#include <algorithm>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxDepth = size_t{1} << 20;      // per thread
constexpr size_t kMaxOpenCalls = size_t{4} << 20;  // of all threads of a process
constexpr size_t kMaxSearch = 1024;                // open calls that are compared with an end

CallExit ExitOf(uint32_t tag) {
  return tag == PP_TAG_YIELD                             ? CallExit::kYield
         : tag == PP_TAG_UNWIND || tag == PP_TAG_C_RAISE ? CallExit::kUnwind
                                                         : CallExit::kReturn;
}

CallEntry EntryOf(uint32_t tag) {
  return tag == PP_TAG_RESUME ? CallEntry::kResume : tag == PP_TAG_THROW ? CallEntry::kThrow : CallEntry::kCall;
}

bool IsBegin(uint32_t tag) { return PP_TAG_IS(tag, PP_OF_FRAME | PP_BEGINS) != 0; }
bool IsEnd(uint32_t tag) { return PP_TAG_IS(tag, PP_OF_FRAME | PP_ENDS) != 0; }

}  // namespace

CallReplayer::CallReplayer(CallContext& context, CallSink& sink, Nanos begin)
    : context_(context), sink_(sink), now_(begin), last_(begin) {}

void CallReplayer::Start(const ThreadSnapshot& snapshot) {
  for (const SnapshotFrame& frame : snapshot.frames) {
    const CalledName name =
        frame.is_ours ? CalledName{FrameId(), kOurOwn} : NameOf(frame.code, frame.self, snapshot.when);
    PushNamed({.identity = frame.code.value, .address = frame.address.value}, name, CallEntry::kRunning, last_);
  }
  if (stack_.empty() || overflow_ > 0) {
    is_first_ = false;
    return;
  }
  root_ = stack_.front().address;
  top_may_report_ = snapshot.frames.back().at_beginning;
  if (snapshot.unarmed_frame.IsNull() || snapshot.unarmed_frame != snapshot.frames.back().address) {
    return;
  }
  if (IsBegin(snapshot.unarmed_tag)) {
    top_may_report_ = snapshot.unarmed_pending;
  } else if (IsEnd(snapshot.unarmed_tag) && !snapshot.unarmed_pending) {
    ++context_.counts.reconciled;  // its end was reported before the stop
    Pop(ExitOf(snapshot.unarmed_tag), last_);
    is_first_ = false;
  }
}

void CallReplayer::Feed(std::span<const pp_record> records, const TickMap& ticks, Nanos now) {
  ticks_ = ticks;
  now_ = std::max(now, last_);
  for (size_t at = TakeExtended(records); at < records.size(); ++at) {
    const pp_record& record = records[at];
    switch (PP_TAG(record.when_tag)) {
      case PP_TAG_FRAME: pending_.frame = record.value; break;
      case PP_TAG_SELF: pending_.self = record.value; break;
      case PP_TAG_CODE: pending_.method = record.value; break;
      case PP_TAG_CALLER: pending_.caller = record.value; break;
      case PP_TAG_BELOW:
        EndOfEvent();
        if (below_.size() < PP_MAX_TOLD) {
          below_.push_back(record.value);
        }
        break;
      case PP_TAG_EXTENDED: at += BeginExtended(record, records.subspan(at + 1)); break;
      default: Settle(); pending_ = {.when_tag = record.when_tag, .value = record.value};
    }
  }
}

size_t CallReplayer::BeginExtended(const pp_record& head, std::span<const pp_record> next) {
  if (!extended_.Begin(head)) {
    ++context_.counts.strange;
    return 0;
  }
  return TakeExtended(next);
}

// Returns how many of these records are payload.
size_t CallReplayer::TakeExtended(std::span<const pp_record> next) {
  if (!extended_.is_open()) {
    return 0;
  }
  const size_t taken = extended_.Take(next);
  if (!extended_.is_open()) {
    ++context_.counts.unknown;  // no kinds are defined yet
  }
  return taken;
}

Nanos CallReplayer::At(uint64_t when_tag) {
  last_ = std::clamp(ticks_.ToNanos(PP_WHEN(when_tag)), last_, now_);
  return last_;
}

// Processes the pending record, now that the fields after it are complete.
void CallReplayer::Settle() {
  const auto tag = PP_TAG(pending_.when_tag);
  if (tag == PP_TAG_NONE) {
    context_.counts.strange += pending_.when_tag != PP_TAG_NONE ? 1 : 0;
    return;
  }
  const Nanos when = At(pending_.when_tag);
  if (in_gap_ && tag != PP_TAG_LOST_END) {
    ++context_.counts.strange;
    EndGap(when, 0, 0);
  }
  if (tag != PP_TAG_SWITCH) {
    left_.reset();
  }
  switch (tag) {
    case PP_TAG_START:
    case PP_TAG_RESUME:
    case PP_TAG_THROW: SettleBegin(tag, when); break;
    case PP_TAG_RETURN:
    case PP_TAG_YIELD:
    case PP_TAG_UNWIND: SettleEnd(tag, when); break;
    case PP_TAG_C_CALL: BeginC(when); break;
    case PP_TAG_C_RETURN:
    case PP_TAG_C_RAISE: EndC(tag, when); break;
    case PP_TAG_SWITCH: SettleSwitch(when); break;
    case PP_TAG_LEAVES: left_ = when; break;
    case PP_TAG_LOST: BeginGap(when); break;
    case PP_TAG_LOST_END:
      if (in_gap_) {
        EndGap(when, PP_GAP_NET(pending_.value), PP_GAP_LOWEST(pending_.value));
        break;
      }
      [[fallthrough]];
    default: ++context_.counts.strange;
  }
}

void CallReplayer::SettleBegin(uint32_t tag, Nanos when) {
  ++context_.counts.events;
  if (tag == PP_TAG_THROW && context_.names.IsExcluded(RemoteAddr(pending_.value))) {
    ++context_.counts.ends_of_excluded;  // its end is not reported, or is to be ignored
    return;
  }
  const bool is_first = is_first_;
  is_first_ = false;
  if (is_first && Adopt(tag)) {
    return;
  }
  Call call{.identity = pending_.value, .address = pending_.frame, .c_call_known = true};
  if (pending_.frame != 0) {
    const RemoteAddr frame(pending_.frame);
    call.generator = tag == PP_TAG_START ? context_.generators.Begin(frame) : context_.generators.Of(frame);
  }
  const CalledName name = NameOf(RemoteAddr(pending_.value), RemoteAddr(pending_.self), PP_WHEN(pending_.when_tag));
  PushNamed(call, name, EntryOf(tag), when);
}

// `self`: its first local; null: not reported.
CalledName CallReplayer::NameOf(RemoteAddr code, RemoteAddr self, uint64_t when) {
  if (self.IsNull()) {
    return context_.names.OfCode(code, when);
  }
  if (context_.steps.RoleOf(code.value) == StepRole::kOptimizer) {
    optimizer_ = self;
    return context_.names.OfCode(code, when);
  }
  return context_.names.OfModule(code, self, when);
}

RemoteAddr CallReplayer::FrameOfFirst() const {
  return pending_.frame != 0 ? RemoteAddr(pending_.frame) : first_frame_;
}

// Whether this first event belongs to the frame that the snapshot found on top.
bool CallReplayer::Adopt(uint32_t tag) {
  if (stack_.empty() || overflow_ > 0) {
    return false;
  }
  Call& top = stack_.back();
  const RemoteAddr begun = FrameOfFirst();
  const bool frames_known = !begun.IsNull() && top.address != 0;
  // A running frame cannot begin again.
  const bool is_top = frames_known ? begun.value == top.address : top_may_report_;
  if (!is_top || top.identity != pending_.value) {
    return false;
  }
  if (pending_.frame != 0) {
    const RemoteAddr frame(pending_.frame);
    top.generator = tag == PP_TAG_START ? context_.generators.Begin(frame) : context_.generators.Of(frame);
  }
  ++context_.counts.reconciled;
  return true;
}

void CallReplayer::SettleEnd(uint32_t tag, Nanos when) {
  ++context_.counts.events;
  if (is_first_) {
    is_first_ = false;
    DropReturned(when);
  }
  if (pending_.frame != 0 && tag != PP_TAG_YIELD) {
    context_.generators.End(RemoteAddr(pending_.frame));
  }
  if (overflow_ > 0) {
    --overflow_;
    return;
  }
  const uint64_t code = pending_.value;
  if (!stack_.empty() && stack_.back().kind == Kind::kUnknown) {
    Pop(CallExit::kReturn, when);
    return;
  }
  // The begin of an excluded function was not reported, unless it is the innermost open call.
  const bool is_top = !stack_.empty() && stack_.back().identity == code;
  if (!is_top && context_.names.IsExcluded(RemoteAddr(code))) {
    ++context_.counts.ends_of_excluded;
  } else if (!PopTo(code, Kind::kPython, ExitOf(tag), when)) {
    ++context_.counts.unmatched_ends;
  }
}

// A first end may belong to a frame below the snapshot's top, if the top had reported its end before.
void CallReplayer::DropReturned(Nanos when) {
  if (stack_.size() < 2 || overflow_ > 0) {
    return;
  }
  const Call& top = stack_[stack_.size() - 1];
  const Call& below = stack_[stack_.size() - 2];
  if (!FrameOfFirst().IsNull() && top.address != 0) {
    DropAbove(FrameOfFirst(), when);
  } else if (below.identity == pending_.value && top.identity != pending_.value) {
    ++context_.counts.reconciled;
    Pop(CallExit::kReturn, when);
  }
}

// Ends the snapshot's frames above `frame`, if that is one of them.
void CallReplayer::DropAbove(RemoteAddr frame, Nanos when) {
  const size_t lowest = stack_.size() - std::min(stack_.size(), kMaxSearch);
  for (size_t i = stack_.size(); i-- > lowest;) {
    if (stack_[i].address == frame.value) {
      for (; stack_.size() > i + 1; ++context_.counts.reconciled) {
        Pop(CallExit::kReturn, when);
      }
      return;
    }
  }
}

void CallReplayer::BeginC(Nanos when) {
  CalledName name = context_.names.OfCallable({.callable = RemoteAddr(pending_.value),
                                               .method = RemoteAddr(pending_.method),
                                               .owner = RemoteAddr(pending_.self)},
                                              PP_WHEN(pending_.when_tag));
  ++context_.counts.events;
  is_first_ = false;
  if (!stack_.empty()) {
    stack_.back().c_call_known = true;
  }
  if (name.left_out == kShown) {
    name.left_out = LeftOutWithCaller();
  }
  PushNamed({.identity = pending_.value, .kind = Kind::kC, .c_call_known = true}, name, CallEntry::kCall, when);
}

// The record may name the caller, because a call that is left out may have ended unreported.
LeftOutBy CallReplayer::LeftOutWithCaller() {
  const Call* top = stack_.empty() ? nullptr : &stack_.back();
  if (pending_.caller == 0) {
    return top == nullptr || top->left_out == kNoCall ? kShown : top->left_out;
  }
  const RemoteAddr caller(pending_.caller);
  if (top != nullptr && top->left_out == kOurOwn) {
    return kOurOwn;
  }
  const LeftOutBy by = context_.names.OfCode(caller, PP_WHEN(pending_.when_tag)).left_out;
  const bool is_open = top != nullptr && top->kind == Kind::kPython && top->identity == caller.value;
  return by == kShown && !is_open && context_.names.IsExcluded(caller) ? kNoCall : by;
}

void CallReplayer::EndC(uint32_t tag, Nanos when) {
  ++context_.counts.events;
  is_first_ = false;
  if (overflow_ > 0) {
    --overflow_;
    return;
  }
  if (!stack_.empty() && stack_.back().kind == Kind::kUnknown) {
    Pop(CallExit::kReturn, when);
    return;
  }
  if (!stack_.empty() && stack_.back().kind == Kind::kPython && !stack_.back().c_call_known) {
    stack_.back().c_call_known = true;
    ++context_.counts.reconciled;
    return;
  }
  if (!PopTo(pending_.value, Kind::kC, ExitOf(tag), when)) {
    ++context_.counts.unmatched_ends;
  }
}

void CallReplayer::BeginGap(Nanos when) {
  in_gap_ = true;
  gap_from_ = when;
  gap_events_ = pending_.value;
  is_first_ = is_first_ && gap_events_ == 0;
}

// `net` and `lowest`: depth at the end of the gap and at its lowest, relative to the gap's beginning.
void CallReplayer::EndGap(Nanos when, int32_t net, int32_t lowest) {
  JudgeGap(when);
  lowest = std::min(lowest, 0);
  uint64_t gone = uint64_t{0} - static_cast<uint64_t>(int64_t{lowest});
  const uint64_t not_kept = std::min(overflow_, gone);
  overflow_ -= not_kept;
  gone = std::min<uint64_t>(gone - not_kept, stack_.size());
  for (; gone > 0; --gone) {
    Pop(CallExit::kLost, gap_from_);
  }
  ShowGap(when);
  if (net > lowest) {
    AddUnknown(static_cast<uint64_t>(int64_t{net} - lowest));
  }
}

void CallReplayer::JudgeGap(Nanos when) {
  if (!CanHaveHappened(gap_events_, when - gap_from_)) {
    gap_events_ = 0;
    ++context_.counts.strange;
  }
}

void CallReplayer::ShowGap(Nanos when) {
  in_gap_ = false;
  context_.counts.gaps += gap_events_ > 0 ? 1 : 0;
  context_.counts.lost += gap_events_;
  sink_.Lost(gap_from_, when, gap_events_);
  ForgetStacks();
}

// Adds calls that began in the gap and are still open. Their ends will come.
void CallReplayer::AddUnknown(uint64_t calls) {
  calls = std::min(calls, gap_events_);
  for (; calls > 0 && stack_.size() < kMaxDepth && context_.open_calls < kMaxOpenCalls && overflow_ == 0; --calls) {
    stack_.push_back({.kind = Kind::kUnknown, .shown = false});
    ++context_.open_calls;
  }
  overflow_ += calls;
}

void CallReplayer::PushNamed(Call call, CalledName name, CallEntry entry, Nanos when) {
  call.function = name.function;
  call.left_out = name.left_out;
  call.shown = name.left_out == kShown;
  context_.counts.nameless += call.shown && name.is_marker ? 1 : 0;
  if (!call.shown && entry == CallEntry::kCall) {
    context_.names.CountLeftOut(name.left_out);
  }
  Push(call, entry, when);
}

void CallReplayer::Push(Call call, CallEntry entry, Nanos when) {
  if (overflow_ > 0 || stack_.size() >= kMaxDepth || context_.open_calls >= kMaxOpenCalls) {
    ++overflow_;
    ++context_.counts.too_deep;
    return;
  }
  if (context_.budget != nullptr && call.kind == Kind::kPython) {
    if (!stack_.empty()) {
      stack_.back().called = true;
    }
    if (entry == CallEntry::kCall) {
      context_.budget->OnBegin(RemoteAddr(call.identity));
    }
  }
  stack_.push_back(call);
  if (has_switched_ && call.shown) {
    call.generator = NameStack();
  }
  ++context_.open_calls;
  if (call.shown) {
    sink_.Begin(when, call.function, entry, call.generator);
  }
}

void CallReplayer::Pop(CallExit exit, Nanos when) {
  const Call call = stack_.back();
  stack_.pop_back();
  --context_.open_calls;
  if (stack_.empty()) {
    EndStack();
  }
  if (call.shown) {
    sink_.End(when, exit);
  }
  if (context_.budget != nullptr && call.kind == Kind::kPython && !call.called) {
    context_.budget->OnLeafEnd(RemoteAddr(call.identity));
  }
  if (call.kind == Kind::kPython && context_.steps.RoleOf(call.identity) == StepRole::kStep) {
    OnStep(exit, when);
  }
}

// A call of a step function has ended.
void CallReplayer::OnStep(CallExit exit, Nanos when) {
  const bool is_within_another = std::ranges::any_of(stack_, [this](const Call& call) {
    return call.kind == Kind::kPython && context_.steps.RoleOf(call.identity) == StepRole::kStep;
  });
  if (is_within_another || exit == CallExit::kYield) {
    return;
  }
  const RemoteAddr optimizer = std::exchange(optimizer_, RemoteAddr());
  if (exit == CallExit::kReturn && context_.steps.OnStep(this, optimizer)) {
    sink_.StepEnded(when);
  }
}

// Ends the innermost call with that identity, after those above it. False: there is none.
bool CallReplayer::PopTo(uint64_t identity, Kind kind, CallExit exit, Nanos when) {
  const size_t lowest = stack_.size() - std::min(stack_.size(), kMaxSearch);
  for (size_t i = stack_.size(); i-- > lowest;) {
    if (stack_[i].identity != identity || stack_[i].kind != kind) {
      continue;
    }
    while (stack_.size() > i + 1) {
      context_.counts.implied_ends += stack_.back().shown ? 1 : 0;
      Pop(CallExit::kReturn, when);
    }
    Pop(exit, when);
    return true;
  }
  return false;
}

void CallReplayer::Finish(Nanos when) {
  now_ = std::max(when, last_);
  EndOfEvent();
  last_ = now_;
  if (in_gap_) {
    JudgeGap(now_);
    ShowGap(now_);
  }
  while (!stack_.empty()) {
    Pop(CallExit::kCut, left_.value_or(now_));
  }
  DropParked();
  overflow_ = 0;
}

}  // namespace ptrace_prof
