#include "attach/proc/wait_reason.h"

#include <algorithm>
#include <charconv>

namespace ptrace_prof {
namespace {

constexpr size_t kArguments = 6;

// Numbers as the kernel writes them in this file: decimal for the call, 0x… for the others.
bool TakeNumber(std::string_view* text, uint64_t* to) {
  text->remove_prefix(std::min(text->find_first_not_of(' '), text->size()));
  const int base = text->starts_with("0x") ? 16 : 10;
  text->remove_prefix(base == 16 ? 2 : 0);
  const auto [end, status] = std::from_chars(text->data(), text->data() + text->size(), *to, base);
  if (status != std::errc()) {
    return false;
  }
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

const SyscallWait* FindCall(uint64_t number) {
  const auto calls = SyscallWaits();
  const auto found = std::lower_bound(calls.begin(), calls.end(), number, [](const SyscallWait& call, uint64_t n) {
    return static_cast<uint64_t>(call.number) < n;
  });
  return found != calls.end() && static_cast<uint64_t>(found->number) == number ? &*found : nullptr;
}

}  // namespace

WaitReason ParseSyscallFile(std::string_view text) {
  WaitReason reason;
  if (text.starts_with("running")) {
    reason.kind = WaitKind::kRunning;
    return reason;
  }
  uint64_t stack_pointer = 0;
  if (text.starts_with("-1 ")) {  // blocked outside of a system call, usually by a page fault
    reason.kind = WaitKind::kOther;
    text.remove_prefix(3);
    if (TakeNumber(&text, &stack_pointer)) {
      TakeNumber(&text, &reason.instruction_pointer.value);
    }
    return reason;
  }
  uint64_t number = 0;
  uint64_t arguments[kArguments] = {};
  if (!TakeNumber(&text, &number) ||
      !std::all_of(std::begin(arguments), std::end(arguments), [&](uint64_t& a) { return TakeNumber(&text, &a); })) {
    return reason;
  }
  if (TakeNumber(&text, &stack_pointer)) {
    TakeNumber(&text, &reason.instruction_pointer.value);
  }
  reason.kind = WaitKind::kOther;
  if (const SyscallWait* call = FindCall(number)) {
    const bool sleeps = call->count_argument >= 0 && arguments[call->count_argument] == 0;
    reason.kind = sleeps ? WaitKind::kSleep : call->kind;
    reason.call = call->name;
    reason.futex_address = call->kind == WaitKind::kFutex ? arguments[0] : 0;
  }
  return reason;
}

WaitKind WaitKindOfRestart(std::string_view wchan) {
  // Three families of calls have a restart function: futex, poll, and the sleeps. The restart function of a sleep is
  // often not on the stack (a tail call), so the entry of the system call is named instead. "0": the kernel does not
  // say.
  if (wchan.empty() || wchan == "0") {
    return WaitKind::kOther;
  }
  if (wchan.find("futex") != std::string_view::npos) {
    return WaitKind::kFutex;
  }
  return wchan.find("poll") != std::string_view::npos ? WaitKind::kPoll : WaitKind::kSleep;
}

std::string_view StopperOfState(char state) { return state == 't' ? "a debugger" : "a signal"; }

bool IsFrozen(std::string_view wchan) {
  // The version 2 freezer's function is often inlined into its caller. A thread waits in that caller only when frozen,
  // or in stops whose state is T or t.
  return wchan.find("refrigerator") != std::string_view::npos || wchan.find("freez") != std::string_view::npos ||
         wchan == "get_signal";
}

WaitKind WaitKindOfState(char state) {
  switch (state) {
    case 'R': return WaitKind::kRunning;
    case 'T':
    case 't': return WaitKind::kStopped;
    case 'Z':
    case 'X': return WaitKind::kDead;
    default: return WaitKind::kUnknown;
  }
}

}  // namespace ptrace_prof
