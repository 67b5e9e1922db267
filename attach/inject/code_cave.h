// A code cave: unused zero bytes in a target, borrowed for a text and made zero again afterwards.
//
// The cave is the end of the last page of a writable segment; the caller finds the candidates in the ELF files. The
// destructor makes the bytes zero again, so that a call that is still queued runs an empty text, but only where they
// are still what Put wrote: the target may have become another program. left_texts.h clears what a killed collector
// left. Not thread-safe.
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

// Where the last `size` zero bytes of a tail begin (at a multiple of 16): as far from what the object counts as its own
// as can be. Null: there are none.
RemoteAddr FindZeros(RemoteMemory& memory, const MemoryTail& tail, size_t size);

class CodeCave {
 public:
  // kResourceExhausted: none of the candidates has `size` zero bytes (one of which stays behind the text).
  static Result<CodeCave> Borrow(Pid pid, RemoteMemory& memory, std::span<const MemoryTail> candidates, size_t size);

  CodeCave(CodeCave&& other) noexcept;
  CodeCave& operator=(CodeCave&&) = delete;
  ~CodeCave();

  RemoteAddr address() const { return address_; }
  size_t size() const { return size_; }
  // As a zero-terminated string, from the first byte.
  Result<void> Put(std::string_view text);
  // All zero again. Also done at the end.
  Result<void> Clear();
  // The text stays for good: somebody may be reading it at this very moment.
  void LeaveText() { text_.clear(); }

 private:
  CodeCave(Pid pid, RemoteMemory& memory, RemoteAddr address, size_t size)
      : memory_(&memory), writer_(pid), address_(address), size_(size) {}

  // Whether what was put there is there still, apart from its first word, which others may have wiped.
  bool HoldsText() const;

  RemoteMemory* memory_;
  RemoteWriter writer_;
  RemoteAddr address_;  // null: moved from
  size_t size_;
  std::string text_;  // that was put there
};

}  // namespace ptrace_prof
