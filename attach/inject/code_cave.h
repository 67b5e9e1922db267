// A code cave: unused zero bytes in a target, borrowed for a text and made zero again afterwards.
//
// The cave is the end of the last page of a writable segment. The caller finds the candidates in the ELF files. The
// destructor zeroes the bytes again, so that a call that is still queued runs an empty text. It does so only if the
// bytes are still those that Put wrote, because the target may have become another program. left_texts.h clears what a
// killed collector left. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/remote_writer.h"
#include "attach/proc/memory_tail.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// The address of the last `size` zero bytes of a tail (at a multiple of 16), so as far as possible from the object's
// own data. Null: none.
RemoteAddr FindZeros(RemoteMemory& memory, const MemoryTail& tail, size_t size);

class CodeCave {
 public:
  // kResourceExhausted: no candidate has `size` zero bytes (one of them stays behind the text).
  static Result<CodeCave> Borrow(Pid pid, RemoteMemory& memory, std::span<const MemoryTail> candidates, size_t size);

  CodeCave(CodeCave&& other) noexcept;
  CodeCave& operator=(CodeCave&&) = delete;
  ~CodeCave();

  RemoteAddr address() const { return address_; }
  size_t size() const { return size_; }
  // Writes a zero-terminated string at the first byte.
  Result<void> Put(std::string_view text);
  // Zeroes the cave. The destructor does this too.
  Result<void> Clear();
  // Keeps the text for good, because a thread may be reading it now.
  void LeaveText() { text_.clear(); }

 private:
  CodeCave(Pid pid, RemoteMemory& memory, RemoteAddr address, size_t size)
      : memory_(&memory), writer_(pid), address_(address), size_(size) {}

  // Whether the cave still has the text, apart from its first word, which others may have cleared.
  bool HoldsText() const;

  RemoteMemory* memory_;
  RemoteWriter writer_;
  RemoteAddr address_;  // null: moved from
  size_t size_;
  std::string text_;  // the text that Put wrote
};

}  // namespace ptrace_prof
