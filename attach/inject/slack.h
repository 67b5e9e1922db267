// Some bytes of a target's memory that belong to nobody, borrowed for a text and given back as they were: zero.
//
// The end of the last page of a writable segment (the candidates come from who knows ELF). Only bytes that are zero are
// taken, and zero they become again when this object goes: a call that is still queued then runs an empty text. What a
// killed collector left behind is not zero, so these bytes are left alone. Not thread-safe; outlives no target: giving
// back what is gone does nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/remote_writer.h"
#include "attach/proc/memory_tail.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Where the last `size` zero bytes of a tail begin (at a multiple of 16): as far from what the object counts as its own
// as can be. Null: there are none.
RemoteAddr FindZeros(RemoteMemory& memory, const MemoryTail& tail, size_t size);

class Slack {
 public:
  // kResourceExhausted: none of the candidates has `size` zero bytes (one of which stays behind the text).
  static Result<Slack> Borrow(Pid pid, RemoteMemory& memory, std::span<const MemoryTail> candidates, size_t size);

  Slack(Slack&& other) noexcept;
  Slack& operator=(Slack&&) = delete;
  ~Slack();

  RemoteAddr address() const { return address_; }
  size_t size() const { return size_; }
  // As a zero-terminated string, from the first byte.
  Result<void> Put(std::string_view text);
  // All zero again. Also done at the end.
  Result<void> Clear();
  // The text stays for good: somebody may be reading it at this very moment.
  void LeaveText() { used_ = 0; }

 private:
  Slack(Pid pid, RemoteAddr address, size_t size) : writer_(pid), address_(address), size_(size) {}

  RemoteWriter writer_;
  RemoteAddr address_;  // null: moved from
  size_t size_;
  size_t used_ = 0;
};

}  // namespace ptrace_prof
