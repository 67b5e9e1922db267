#include "attach/inject/propagating_text.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "attach/inject/frame_thunk.h"
#include "attach/inject/queued_call.h"
#include "attach/inject/text_thunk.h"
#include "attach/proc/call_queue_image.h"
#include "attach/ptrace/tracee_code.h"

namespace ptrace_prof {
namespace {}  // namespace

PropagatingText::PropagatingText(const InjectionTarget& target, RemoteMemory& memory, CodeCave text, CodeCave context,
                                 RemoteAddr code)
    : target_(target), memory_(memory), text_(std::move(text)), context_(std::move(context)), code_(code) {}

Result<std::unique_ptr<PropagatingText>> PropagatingText::Put(const InjectionTarget& target, RemoteMemory& memory,
                                                              std::string_view text, const Patience& patience) {
  const std::optional<TextRunner>& runner = target.text_runner;
  if (!runner || target.no_queue || TextThunk().empty()) {
    return Error{Code::kUnimplemented, "nothing has to pass", ""};
  }
  RemoteAddr code;
  for (const MemoryTail& tail : runner->code_tails) {
    code = code.IsNull() ? FindZeros(memory, tail, TextThunk().size()) : code;
  }
  if (code.IsNull()) {
    return Error{Code::kResourceExhausted, "there is no unused memory for code", ""};
  }
  PP_ASSIGN_OR_RETURN(CodeCave place, CodeCave::Borrow(target.pid, memory, target.tails, text.size() + 1));
  PP_RETURN_IF_ERROR(place.Put(text));
  const RemoteAddr at = place.address();
  PP_ASSIGN_OR_RETURN(CodeCave data, CodeCave::Borrow(target.pid, memory, target.tails, sizeof(TextThunkContext) + 1));
  TextThunkContext context;
  context.add_module = runner->add_module.value;
  context.get_dictionary = runner->get_dictionary.value;
  context.run_string = runner->run_string.value;
  context.release = runner->release.value;
  context.text = at.value;
  PP_RETURN_IF_ERROR(data.Put({reinterpret_cast<const char*>(&context), sizeof context}));
  std::unique_ptr<PropagatingText> made(new PropagatingText(target, memory, std::move(place), std::move(data), code));
  made->guard_ = {at, {}, at};
  std::memcpy(made->guard_.bytes.data(), text.data(), std::min(made->guard_.bytes.size(), text.size()));
  PP_RETURN_IF_ERROR(RetryStops([&] { return made->TryWriteCode(); }, NotStopped(), patience));
  return made;
}

PropagatingText::~PropagatingText() {
  const bool wiped =
      !written_ || RetryStops([&] { return TryWipe(); }, NotStopped(), MonotonicNow() + kWipePatience).has_value();
  if (!wiped) {
    context_.LeaveText();
    text_.LeaveText();
  }
}

Result<bool> PropagatingText::TryWriteCode() {
  PP_ASSIGN_OR_RETURN(StoppedThreads threads, StopForAMoment(target_.pid));
  const TimedStop stop(std::move(threads), cost_);
  if (!GuardHolds(memory_, guard_)) {
    return Error{Code::kGone, "the target has become another program", ""};
  }
  written_ = true;
  PP_RETURN_IF_ERROR(WriteCode(stop.any(), code_, TextThunk()));
  return true;
}

bool PropagatingText::WasRun() const {
  uint32_t state = 0;
  return memory_.ReadValue(context_.address() + offsetof(TextThunkContext, state), &state) == ReadStatus::kOk &&
         state == static_cast<uint32_t>(ThunkState::kDone);
}

// Call it under a stop. True if no call is queued that would run the instructions, and none is running them.
bool PropagatingText::IsOver() {
  uint32_t state = 0;
  if (memory_.ReadValue(context_.address() + offsetof(TextThunkContext, state), &state) != ReadStatus::kOk ||
      state == static_cast<uint32_t>(ThunkState::kCalling) ||
      (may_be_called_ && state != static_cast<uint32_t>(ThunkState::kDone))) {
    return false;
  }
  const Result<CallQueueImage> queue = CallQueueImage::Read(memory_, target_.queue);
  for (uint32_t slot = 0; queue.has_value() && slot < target_.queue.slots; ++slot) {
    if (queue.value().Waits(slot) && queue.value().At(slot).function == code_) {
      return false;
    }
  }
  return queue.has_value();
}

Result<bool> PropagatingText::TryWipe() {
  PP_ASSIGN_OR_RETURN(StoppedThreads threads, StopForAMoment(target_.pid));
  const TimedStop stop(std::move(threads), cost_);
  std::vector<uint8_t> now(TextThunk().size());
  if (memory_.Read(code_, now.data(), now.size()) != ReadStatus::kOk || !std::ranges::equal(now, TextThunk())) {
    return true;  // the target has called exec meanwhile
  }
  if (!IsOver() || stop.PointsInto(target_.pid, code_, code_ + TextThunk().size())) {
    return false;
  }
  PP_RETURN_IF_ERROR(WriteCode(stop.any(), code_, std::vector<uint8_t>(TextThunk().size())));
  return true;
}

}  // namespace ptrace_prof
