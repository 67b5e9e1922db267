#include "daemon/collect/call_replayer.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxDepth = size_t{1} << 20;      // of one thread
constexpr size_t kMaxOpenCalls = size_t{4} << 20;  // of all threads of a process
constexpr size_t kMaxSearch = 1024;                // calls looked at for one that an end may fit
constexpr size_t kMaxAssumed = 1024;               // calls shown again after a gap

CallExit ExitOf(uint32_t tag) {
  return tag == PP_TAG_YIELD                             ? CallExit::kYield
         : tag == PP_TAG_UNWIND || tag == PP_TAG_C_RAISE ? CallExit::kUnwind
                                                         : CallExit::kReturn;
}

CallEntry EntryOf(uint32_t tag) {
  return tag == PP_TAG_RESUME ? CallEntry::kResume : tag == PP_TAG_THROW ? CallEntry::kThrow : CallEntry::kCall;
}

bool IsBegin(uint32_t tag) { return tag == PP_TAG_START || tag == PP_TAG_RESUME || tag == PP_TAG_THROW; }
bool IsEnd(uint32_t tag) { return tag == PP_TAG_RETURN || tag == PP_TAG_YIELD || tag == PP_TAG_UNWIND; }

}  // namespace

CallReplayer::CallReplayer(CallContext& context, CallSink& sink, Nanos begin)
    : context_(context), sink_(sink), now_(begin), last_(begin) {}

CallReplayer::~CallReplayer() { context_.open_calls -= stack_.size(); }

void CallReplayer::Start(const ThreadSnapshot& snapshot) {
  for (const SnapshotFrame& frame : snapshot.frames) {
    Push({.identity = frame.code.value, .address = frame.address.value, .function = context_.names.OfCode(frame.code)},
         CallEntry::kRunning, last_);
  }
  if (stack_.empty() || overflow_ > 0) {
    is_first_ = false;
    return;
  }
  top_at_beginning_ = snapshot.frames.back().at_beginning;
  const bool about_top = !snapshot.unarmed_frame.IsNull() && snapshot.unarmed_frame == snapshot.frames.back().address;
  if (about_top && IsEnd(snapshot.unarmed_tag)) {
    ++context_.counts.reconciled;  // it was on its way out, and has said so already
    Pop(ExitOf(snapshot.unarmed_tag), last_);
    is_first_ = false;
  } else if (about_top) {
    unarmed_tag_ = snapshot.unarmed_tag;
  }
}

void CallReplayer::Feed(std::span<const pp_record> records, const TickMap& ticks, Nanos now) {
  ticks_ = ticks;
  now_ = std::max(now, last_);
  for (const pp_record& record : records) {
    switch (record.when_tag & PP_TAG_MASK) {
      case PP_TAG_FRAME: pending_.frame = record.value; break;
      case PP_TAG_SELF: pending_.self = record.value; break;
      case PP_TAG_CODE: pending_.method = record.value; break;
      default: Settle(); pending_ = {.when_tag = record.when_tag, .value = record.value};
    }
  }
}

Nanos CallReplayer::At(uint64_t when_tag) {
  last_ = std::clamp(ticks_.ToNanos(when_tag >> PP_TAG_BITS), last_, now_);
  return last_;
}

// Carries out the record that was waiting for what the ones after it say of it.
void CallReplayer::Settle() {
  const auto tag = static_cast<uint32_t>(pending_.when_tag & PP_TAG_MASK);
  if (tag == PP_TAG_NONE) {
    context_.counts.strange += pending_.when_tag != PP_TAG_NONE ? 1 : 0;
    return;
  }
  const Nanos when = At(pending_.when_tag);
  if (in_gap_ && tag != PP_TAG_LOST_END) {
    ++context_.counts.strange;
    EndGap(when, 0);
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
    case PP_TAG_LOST: BeginGap(when); break;
    case PP_TAG_LOST_END:
      if (in_gap_) {
        EndGap(when, static_cast<int64_t>(pending_.value));
        break;
      }
      [[fallthrough]];
    default: ++context_.counts.strange;
  }
}

void CallReplayer::SettleBegin(uint32_t tag, Nanos when) {
  ++context_.counts.events;
  if (tag == PP_TAG_THROW && context_.names.IsExcluded(RemoteAddr(pending_.value))) {
    ++context_.counts.ends_of_excluded;  // its end is not told of, or means nothing
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
  const RemoteAddr code(pending_.value);
  call.function =
      pending_.self != 0 ? context_.names.OfModule(code, RemoteAddr(pending_.self)) : context_.names.OfCode(code);
  Push(call, EntryOf(tag), when);
}

// Does this first event only tell of the frame that the snapshot found at its beginning?
bool CallReplayer::Adopt(uint32_t tag) {
  if (stack_.empty() || overflow_ > 0) {
    return false;
  }
  Call& top = stack_.back();
  const bool same_frame = pending_.frame == 0 || top.address == 0 || pending_.frame == top.address;
  if (!top_at_beginning_ || IsBegin(unarmed_tag_) || top.identity != pending_.value || !same_frame) {
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
  if (PopTo(code, Kind::kPython, ExitOf(tag), when)) {
    return;
  }
  if (context_.names.IsExcluded(RemoteAddr(code))) {
    ++context_.counts.ends_of_excluded;
  } else if (!stack_.empty() && stack_.back().assumed) {
    ++context_.counts.corrected;  // something else had taken its place in the gap
    Pop(CallExit::kLost, when);
  } else {
    ++context_.counts.unmatched_ends;
  }
}

// A first end that is about the snapshot's second frame: the top one had said before that it ends.
void CallReplayer::DropReturned(Nanos when) {
  if (stack_.size() < 2 || overflow_ > 0) {
    return;
  }
  const Call& top = stack_[stack_.size() - 1];
  const Call& below = stack_[stack_.size() - 2];
  const bool by_address = pending_.frame != 0 && pending_.frame == below.address && pending_.frame != top.address;
  if (below.identity == pending_.value && (top.identity != pending_.value || by_address)) {
    ++context_.counts.reconciled;
    Pop(CallExit::kReturn, when);
  }
}

void CallReplayer::BeginC(Nanos when) {
  const std::optional<FrameId> function =
      context_.names.OfCallable(RemoteAddr(pending_.value), RemoteAddr(pending_.method));
  if (!function) {
    return;
  }
  ++context_.counts.events;
  if (!stack_.empty()) {
    stack_.back().c_call_known = true;
  }
  Push({.identity = pending_.value, .function = *function, .kind = Kind::kC, .c_call_known = true}, CallEntry::kCall,
       when);
}

void CallReplayer::EndC(uint32_t tag, Nanos when) {
  ++context_.counts.events;
  if (overflow_ > 0) {
    --overflow_;
    return;
  }
  if (!stack_.empty() && stack_.back().kind != Kind::kC && !stack_.back().c_call_known) {
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
  is_first_ = false;
  for (size_t i = stack_.size(); i-- > 0;) {
    if (stack_[i].shown) {
      sink_.End(when, CallExit::kLost);
      stack_[i].shown = false;
    }
  }
}

// What was open goes on, as far as the change of depth allows; what came on top in the gap is not known.
void CallReplayer::EndGap(Nanos when, int64_t depth_change) {
  in_gap_ = false;
  ++context_.counts.gaps;
  context_.counts.lost += gap_events_;
  sink_.Lost(gap_from_, when, gap_events_);
  overflow_ = 0;
  DropLost(depth_change < 0 ? 0 - static_cast<uint64_t>(depth_change) : 0, when);
  for (size_t i = 0; i < stack_.size(); ++i) {
    Call& call = stack_[i];
    call.assumed = true;
    call.c_call_known = false;
    if (i < kMaxAssumed && call.kind != Kind::kUnknown) {
      sink_.Begin(when, call.function, CallEntry::kAssumed, call.generator);
      call.shown = true;
    }
  }
  const uint64_t added = depth_change > 0 ? std::min(static_cast<uint64_t>(depth_change), gap_events_) : 0;
  for (uint64_t i = 0; i < added && stack_.size() < kMaxDepth && context_.open_calls < kMaxOpenCalls; ++i) {
    stack_.push_back({.kind = Kind::kUnknown, .assumed = true});
    ++context_.open_calls;
  }
}

// Takes off as many Python calls as the gap ended, and the C functions on top: a thread that told of events is not
// in one any more.
void CallReplayer::DropLost(uint64_t calls, Nanos when) {
  while (!stack_.empty() && (calls > 0 || stack_.back().kind == Kind::kC)) {
    calls -= stack_.back().kind == Kind::kC ? 0 : 1;
    Pop(CallExit::kLost, when);
  }
}

void CallReplayer::Push(Call call, CallEntry entry, Nanos when) {
  if (overflow_ > 0 || stack_.size() >= kMaxDepth || context_.open_calls >= kMaxOpenCalls) {
    ++overflow_;
    ++context_.counts.too_deep;
    return;
  }
  call.shown = true;
  stack_.push_back(call);
  ++context_.open_calls;
  sink_.Begin(when, call.function, entry, call.generator);
}

void CallReplayer::Pop(CallExit exit, Nanos when) {
  const Call call = stack_.back();
  stack_.pop_back();
  --context_.open_calls;
  if (call.shown) {
    sink_.End(when, exit);
  }
  if (call.identity == context_.step_code.value && call.identity != 0 && exit == CallExit::kReturn) {
    sink_.StepEnded(when);
  }
}

// Ends the innermost call of that identity, and those above it first. False: there is none.
bool CallReplayer::PopTo(uint64_t identity, Kind kind, CallExit exit, Nanos when) {
  const size_t lowest = stack_.size() - std::min(stack_.size(), kMaxSearch);
  for (size_t i = stack_.size(); i-- > lowest;) {
    if (stack_[i].identity != identity || stack_[i].kind != kind) {
      continue;
    }
    context_.counts.implied_ends += stack_.size() - i - 1;
    Truncate(i + 1, when);
    Pop(exit, when);
    return true;
  }
  return false;
}

void CallReplayer::Truncate(size_t depth, Nanos when) {
  while (stack_.size() > depth) {
    Pop(stack_.back().assumed ? CallExit::kLost : CallExit::kReturn, when);
  }
}

void CallReplayer::Finish(Nanos when) {
  now_ = std::max(when, last_);
  Settle();
  pending_ = {};
  last_ = now_;
  if (in_gap_) {
    in_gap_ = false;
    ++context_.counts.gaps;
    context_.counts.lost += gap_events_;
    sink_.Lost(gap_from_, now_, gap_events_);
  }
  while (!stack_.empty()) {
    Pop(CallExit::kCut, now_);
  }
  overflow_ = 0;
}

}  // namespace ptrace_prof
