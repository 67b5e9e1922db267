#include "attach/inject/eval_breaker.h"

#include <array>
#include <cstring>

namespace ptrace_prof {
namespace {

constexpr int kMaxElements = 16384;
constexpr size_t kElementBytes = 256;  // at most this much of an element is read

Result<void> SetBits(RemoteMemory& memory, RemoteWriter& writer, const EvalBreaker& breaker, RemoteAddr at) {
  uint64_t word = 0;
  if (memory.Read(at, &word, breaker.width) != ReadStatus::kOk) {
    return {};  // the thread has ended, so no bits are needed
  }
  word |= breaker.bits;
  return writer.Write(at, {reinterpret_cast<const uint8_t*>(&word), breaker.width});
}

struct Element {
  uint64_t next = 0;
  uint64_t owner = 0;
};

bool ReadElement(RemoteMemory& memory, const EvalBreaker& breaker, RemoteAddr at, Element* element) {
  std::array<uint8_t, kElementBytes> bytes{};
  const size_t size = std::max(breaker.list_next, breaker.list_owner) + sizeof(uint64_t);
  if (size > bytes.size() || memory.Read(at, bytes.data(), size) != ReadStatus::kOk) {
    return false;
  }
  std::memcpy(&element->next, bytes.data() + breaker.list_next, sizeof element->next);
  std::memcpy(&element->owner, bytes.data() + breaker.list_owner, sizeof element->owner);
  return true;
}

}  // namespace

Result<void> SetEvalBreaker(RemoteMemory& memory, RemoteWriter& writer, const EvalBreaker& breaker) {
  if (!breaker.word.IsNull()) {
    return SetBits(memory, writer, breaker, breaker.word);
  }
  uint64_t at = 0;
  if (memory.ReadValue(breaker.list_head, &at) != ReadStatus::kOk) {
    return {};
  }
  for (int count = 0; at != 0 && count < kMaxElements; ++count) {
    Element element;
    if (!ReadElement(memory, breaker, RemoteAddr(at), &element) || element.owner != breaker.owner.value) {
      break;
    }
    PP_RETURN_IF_ERROR(SetBits(memory, writer, breaker, RemoteAddr(at) + breaker.list_word));
    at = element.next;
  }
  return {};
}

Result<void> ClearEvalBreaker(RemoteMemory& memory, RemoteWriter& writer, const EvalBreaker& breaker) {
  if (!breaker.holds_traced || breaker.word.IsNull()) {
    return {};
  }
  for (const RemoteAddr reason : breaker.reasons) {
    int32_t value = 0;
    if (reason.IsNull() || memory.ReadValue(reason, &value) != ReadStatus::kOk || value != 0) {
      return {};
    }
  }
  return writer.WriteValue(breaker.word, uint32_t{0});
}

bool HoldsAThread(RemoteMemory& memory, const CallQueue& queue) {
  uint64_t at = 0;
  if (!queue.traced.has_value() || memory.ReadValue(queue.traced->head, &at) != ReadStatus::kOk) {
    return false;
  }
  for (int count = 0; at != 0 && count < kMaxElements; ++count) {
    const RemoteAddr thread(at);
    uint64_t native_id = 0;
    uint64_t frame = 0;
    uint8_t is_traced = 0;
    if (memory.ReadValue(thread + queue.traced->native_id, &native_id) != ReadStatus::kOk ||
        memory.ReadValue(thread + queue.traced->frame, &frame) != ReadStatus::kOk ||
        memory.ReadValue(thread + queue.traced->next, &at) != ReadStatus::kOk) {
      return false;
    }
    if (native_id != queue.traced->runner && memory.ReadValue(RemoteAddr(frame), &is_traced) == ReadStatus::kOk &&
        is_traced != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace ptrace_prof
