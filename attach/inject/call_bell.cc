#include "attach/inject/call_bell.h"

#include <array>
#include <cstring>

namespace ptrace_prof {
namespace {

constexpr int kMaxElements = 16384;
constexpr size_t kElementBytes = 256;  // of an element, at most, are read

Result<void> SetBits(RemoteMemory& memory, RemoteWriter& writer, const CallBell& bell, RemoteAddr at) {
  uint64_t word = 0;
  if (memory.Read(at, &word, bell.width) != ReadStatus::kOk) {
    return {};  // it is gone, and with it who would have listened
  }
  word |= bell.bits;
  return writer.Write(at, {reinterpret_cast<const uint8_t*>(&word), bell.width});
}

struct Element {
  uint64_t next = 0;
  uint64_t owner = 0;
};

bool ReadElement(RemoteMemory& memory, const CallBell& bell, RemoteAddr at, Element* element) {
  std::array<uint8_t, kElementBytes> bytes{};
  const size_t size = std::max(bell.list_next, bell.list_owner) + sizeof(uint64_t);
  if (size > bytes.size() || memory.Read(at, bytes.data(), size) != ReadStatus::kOk) {
    return false;
  }
  std::memcpy(&element->next, bytes.data() + bell.list_next, sizeof element->next);
  std::memcpy(&element->owner, bytes.data() + bell.list_owner, sizeof element->owner);
  return true;
}

}  // namespace

Result<void> RingBell(RemoteMemory& memory, RemoteWriter& writer, const CallBell& bell) {
  if (!bell.word.IsNull()) {
    return SetBits(memory, writer, bell, bell.word);
  }
  uint64_t at = 0;
  if (memory.ReadValue(bell.list_head, &at) != ReadStatus::kOk) {
    return {};
  }
  for (int count = 0; at != 0 && count < kMaxElements; ++count) {
    Element element;
    if (!ReadElement(memory, bell, RemoteAddr(at), &element) || element.owner != bell.owner.value) {
      break;
    }
    PP_RETURN_IF_ERROR(SetBits(memory, writer, bell, RemoteAddr(at) + bell.list_word));
    at = element.next;
  }
  return {};
}

Result<void> QuietBell(RemoteMemory& memory, RemoteWriter& writer, const CallBell& bell) {
  if (!bell.holds_traced || bell.word.IsNull()) {
    return {};
  }
  for (const RemoteAddr reason : bell.reasons) {
    int32_t value = 0;
    if (reason.IsNull() || memory.ReadValue(reason, &value) != ReadStatus::kOk || value != 0) {
      return {};
    }
  }
  return writer.WriteValue(bell.word, uint32_t{0});
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
