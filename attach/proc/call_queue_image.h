// A copy of the bytes of a call queue: the calls that wait in it, and the bytes after adding or removing one.
//
// The bytes are hostile: Read() refuses an inconsistent queue. Changes are made to the copy; attach/inject writes it
// back whole, in one piece, while all threads are stopped.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/call_queue.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct QueuedFunction {
  RemoteAddr function;
  RemoteAddr argument;
  bool operator==(const QueuedFunction&) const = default;
};

class CallQueueImage {
 public:
  // kDataLoss: the queue is inconsistent (a thread may be changing it now). kGone, kPermissionDenied.
  static Result<CallQueueImage> Read(RemoteMemory& memory, const CallQueue& queue);
  // True if the lock is free.
  static Result<bool> IsUnlocked(RemoteMemory& memory, const CallQueue& queue);

  uint32_t waiting() const;
  bool full() const { return waiting() >= queue_.limit; }
  bool Waits(uint32_t slot) const;
  QueuedFunction At(uint32_t slot) const;
  uint32_t flags(uint32_t slot) const;  // 0 if calls have none
  uint32_t next_slot() const { return Word(LastAt()); }

  // Returns the slot of the call. Precondition: not full.
  uint32_t Append(const QueuedFunction& call);
  // Undoes Append(), if that call is still the last waiting one.
  bool TakeBack(uint32_t slot, const QueuedFunction& call);

  RemoteAddr address() const { return queue_.count; }
  std::span<const uint8_t> bytes() const { return {bytes_.data(), queue_.size()}; }

 private:
  explicit CallQueueImage(const CallQueue& queue) : queue_(queue) {}

  size_t FirstAt() const { return queue_.first - queue_.count; }
  size_t LastAt() const { return FirstAt() + 4; }
  size_t SlotAt(uint32_t slot) const { return (queue_.calls - queue_.count) + size_t{slot} * queue_.call_size; }
  uint32_t Word(size_t at) const;
  void SetWord(size_t at, uint32_t value);
  void SetSlot(uint32_t slot, const QueuedFunction& call);
  bool InOrder() const;

  CallQueue queue_;
  std::array<uint8_t, kMaxCallQueueBytes> bytes_{};
};

}  // namespace ptrace_prof
