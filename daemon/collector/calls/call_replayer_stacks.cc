// The part of CallReplayer for threads with several stacks.
#include <algorithm>
#include <utility>

#include "daemon/collector/calls/call_replayer.h"

namespace ptrace_prof {

CallReplayer::~CallReplayer() {
  context_.open_calls -= stack_.size();
  DropParked();
}

void CallReplayer::DropParked() {
  for (const auto& [root, calls] : parked_) {
    context_.open_calls -= calls.size();
  }
  parked_.clear();
}

bool CallReplayer::HasOpen(RemoteAddr code) const {
  const auto is_it = [code](const Call& call) { return call.identity == code.value && call.kind == Kind::kPython; };
  return std::ranges::any_of(stack_, is_it) ||
         std::ranges::any_of(parked_, [&](const auto& one) { return std::ranges::any_of(one.second, is_it); });
}

// Also reported without a change of the stack, because the target does not know what the collector knows.
void CallReplayer::SettleSwitch(Nanos when) {
  constexpr uint64_t kIsNew = 1;
  const bool is_new = (pending_.value & kIsNew) != 0;
  const uint64_t root = pending_.value & ~kIsNew;
  const bool is_same = root_ == 0 || (root == root_ && !is_new);
  if (!is_same && (!stack_.empty() || !parked_.empty())) {
    has_switched_ = true;
    is_first_ = false;
    Park(left_.value_or(when));
    TakeUp(root, is_new, when);
  }
  follows_ = true;
  root_ = root;
  if ((is_doubtful_ || stack_.empty()) && !below_.empty()) {
    Resync(is_same ? CallEntry::kRunning : CallEntry::kResume, when);
  }
  is_doubtful_ = false;
  left_.reset();
  below_.clear();
}

// Puts the old stack aside, unless its content is uncertain.
void CallReplayer::Park(Nanos when) {
  for (size_t i = stack_.size(); i-- > 0;) {
    if (stack_[i].shown) {
      sink_.End(when, CallExit::kYield);
    }
  }
  overflow_ = 0;
  if (!stack_.empty() && !is_doubtful_) {
    NameStack();
    std::vector<Call>& place = parked_[root_];
    context_.open_calls -= place.size();
    place = std::exchange(stack_, {});
  }
  context_.open_calls -= stack_.size();
  stack_.clear();
}

void CallReplayer::TakeUp(uint64_t root, bool is_new, Nanos when) {
  if (const auto found = parked_.find(root); found != parked_.end()) {
    stack_ = std::move(found->second);
    parked_.erase(found);
  }
  if (is_new) {  // reuses the address of another one
    context_.open_calls -= stack_.size();
    stack_.clear();
    context_.generators.Begin(RemoteAddr(root));
  }
  for (const Call& call : stack_) {
    if (call.shown) {
      sink_.Begin(when, call.function, CallEntry::kResume, call.generator);
    }
  }
}

// Adjusts the stack to the reported frames, innermost first, which have no C functions.
void CallReplayer::Resync(CallEntry entry, Nanos when) {
  size_t same = 0;
  size_t reported = below_.size();
  for (size_t i = 0; i < stack_.size() && reported > 0 && stack_[i].kind != Kind::kUnknown; ++i) {
    if (stack_[i].kind == Kind::kC) {
      continue;
    }
    if (stack_[i].identity != below_[reported - 1]) {
      break;
    }
    --reported;
    same = i + 1;
  }
  if (reported == 0 && same + 1 == stack_.size() && stack_.back().kind == Kind::kC) {
    ++same;  // it may be in that C function
  }
  while (stack_.size() > same) {
    Pop(CallExit::kLost, when);
  }
  overflow_ = 0;
  while (reported > 0) {
    const uint64_t code = below_[--reported];
    const CalledName name = context_.names.OfCode(RemoteAddr(code), PP_WHEN(pending_.when_tag));
    PushNamed({.identity = code}, name, entry, when);
  }
}

// Events were lost, perhaps switches too: the frames of a stack will be reported again.
void CallReplayer::ForgetStacks() {
  below_.clear();
  if (gap_events_ == 0) {
    return;
  }
  DropParked();
  is_doubtful_ = follows_;
}

// The outermost slice of a stack identifies it, unless it is a generator's. Returns the id of the innermost call.
GeneratorId CallReplayer::NameStack() {
  const auto first = std::ranges::find_if(stack_, &Call::shown);
  if (first != stack_.end() && first->generator.value == 0) {
    first->generator = context_.generators.Of(RemoteAddr(root_));
  }
  return stack_.back().generator;
}

// The next stack that C code calls has another address.
void CallReplayer::EndStack() {
  if (has_switched_) {
    context_.generators.End(RemoteAddr(root_));
  }
  root_ = follows_ ? root_ : 0;
}

}  // namespace ptrace_prof
