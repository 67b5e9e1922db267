// The memory of a process as long as it runs the program that was found: a program that replaces it by exec is not
// read.
//
// Each read also fetches a word with a known value, in the same system call; the kernel serves one call from one
// address space. If the word has changed, the read returns kGone. Until it is anchored, it reads like the memory below
// it. Owned by the owner of that memory; not thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class AnchoredMemory final : public RemoteMemory {
 public:
  explicit AnchoredMemory(RemoteMemory& below) : below_(below) {}

  // `is_ours`: called with the word at `where` after each read.
  void Anchor(RemoteAddr where, std::function<bool(uint64_t)> is_ours);
  // False once the word has changed or is unmapped; true for a process that has ended.
  bool IsInPlace();

  ReadStatus Read(RemoteAddr from, void* to, size_t size) override;
  ReadStatus ReadBatch(std::span<const ReadRequest> requests, size_t* filled) override;

 private:
  RemoteMemory& below_;
  RemoteAddr where_;
  std::function<bool(uint64_t)> is_ours_;
  std::vector<ReadRequest> requests_;
};

}  // namespace ptrace_prof
