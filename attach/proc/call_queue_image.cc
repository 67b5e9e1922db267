#include "attach/proc/call_queue_image.h"

#include <cerrno>
#include <cstring>

namespace ptrace_prof {
namespace {

Error Unreadable(ReadStatus status) {
  switch (status) {
    case ReadStatus::kGone: return ErrnoError(ESRCH, "cannot read the target's pending calls");
    case ReadStatus::kDenied: return ErrnoError(EPERM, "cannot read the target's pending calls");
    case ReadStatus::kOk:
    case ReadStatus::kFault: break;
  }
  return Because(Reason::kPythonDamaged, "the target's pending calls were not found where CPython keeps them");
}

}  // namespace

Result<bool> CallQueueImage::IsUnlocked(RemoteMemory& memory, const CallQueue& queue) {
  uint32_t lock = 0;
  const ReadStatus status = memory.Read(queue.lock, &lock, queue.lock_width);
  if (status != ReadStatus::kOk) {
    return Unreadable(status);
  }
  return lock == queue.lock_free;
}

Result<CallQueueImage> CallQueueImage::Read(RemoteMemory& memory, const CallQueue& queue) {
  CallQueueImage image(queue);
  const bool shaped = queue.size() <= kMaxCallQueueBytes && queue.calls > queue.count && queue.first > queue.calls &&
                      queue.call_size >= sizeof(QueuedFunction) && queue.limit <= queue.slots &&
                      image.SlotAt(queue.slots) <= image.FirstAt();
  if (!shaped) {
    return Unreadable(ReadStatus::kFault);
  }
  const ReadStatus status = memory.Read(queue.count, image.bytes_.data(), queue.size());
  if (status != ReadStatus::kOk) {
    return Unreadable(status);
  }
  if (!image.InOrder()) {
    return Because(Reason::kPythonDamaged, "the target's pending calls do not look like a queue");
  }
  return image;
}

bool CallQueueImage::InOrder() const {
  const uint32_t first = Word(FirstAt());
  const uint32_t last = Word(LastAt());
  const uint32_t count = Word(0);
  if (first >= queue_.slots || last >= queue_.slots) {
    return false;
  }
  const uint32_t between = (last + queue_.slots - first) % queue_.slots;
  return queue_.counts ? count <= queue_.limit && count % queue_.slots == between : count <= 1;
}

uint32_t CallQueueImage::waiting() const {
  if (queue_.counts) {
    return Word(0);
  }
  return (Word(LastAt()) + queue_.slots - Word(FirstAt())) % queue_.slots;
}

bool CallQueueImage::Waits(uint32_t slot) const {
  return slot < queue_.slots && (slot + queue_.slots - Word(FirstAt())) % queue_.slots < waiting();
}

QueuedFunction CallQueueImage::At(uint32_t slot) const {
  QueuedFunction call;
  std::memcpy(&call.function.value, bytes_.data() + SlotAt(slot), sizeof(uint64_t));
  std::memcpy(&call.argument.value, bytes_.data() + SlotAt(slot) + sizeof(uint64_t), sizeof(uint64_t));
  return call;
}

uint32_t CallQueueImage::flags(uint32_t slot) const {
  return queue_.call_size > sizeof(QueuedFunction) ? Word(SlotAt(slot) + sizeof(QueuedFunction)) : 0;
}

uint32_t CallQueueImage::Append(const QueuedFunction& call) {
  const uint32_t slot = next_slot();
  SetSlot(slot, call);
  SetWord(LastAt(), (slot + 1) % queue_.slots);
  SetWord(0, queue_.counts ? Word(0) + 1 : 1);
  return slot;
}

bool CallQueueImage::TakeBack(uint32_t slot, const QueuedFunction& call) {
  if (!Waits(slot) || next_slot() != (slot + 1) % queue_.slots || At(slot) != call) {
    return false;
  }
  SetSlot(slot, {});
  SetWord(LastAt(), slot);
  if (queue_.counts) {
    SetWord(0, Word(0) - 1);
  }
  return true;
}

uint32_t CallQueueImage::Word(size_t at) const {
  uint32_t value = 0;
  std::memcpy(&value, bytes_.data() + at, sizeof value);
  return value;
}

void CallQueueImage::SetWord(size_t at, uint32_t value) { std::memcpy(bytes_.data() + at, &value, sizeof value); }

void CallQueueImage::SetSlot(uint32_t slot, const QueuedFunction& call) {
  uint8_t* at = bytes_.data() + SlotAt(slot);
  std::memset(at, 0, queue_.call_size);
  std::memcpy(at, &call.function.value, sizeof(uint64_t));
  std::memcpy(at + sizeof(uint64_t), &call.argument.value, sizeof(uint64_t));
}

}  // namespace ptrace_prof
