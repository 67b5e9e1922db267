// The memory of a process as long as it is the one that was found: a program that replaces it by exec is not read.
//
// Each read also fetches a word whose value is known, in the same system call, and the kernel takes a call's bytes from
// one address space. Where the word is not as it was, kGone. Reads like the memory below it until it is anchored. Owned
// by whoever owns that memory; not thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class AnchoredMemory final : public RemoteMemory {
 public:
  explicit AnchoredMemory(RemoteMemory& below) : below_(below) {}

  // `is_ours`: asked about the word at `where` after each read.
  void Anchor(RemoteAddr where, std::function<bool(uint64_t)> is_ours);
  // False once something else is there, or nothing; true of a process that ended.
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
