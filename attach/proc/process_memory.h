// RemoteMemory of a live process, by process_vm_readv(2): no stop, no open file, one system call per batch.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class ProcessMemory final : public RemoteMemory {
 public:
  explicit ProcessMemory(Pid pid) : pid_(pid) {}

  ReadStatus Read(RemoteAddr from, void* to, size_t size) override;
  // One call per 1024 (IOV_MAX) requests.
  ReadStatus ReadBatch(std::span<const ReadRequest> requests, size_t* filled) override;

  uint64_t calls() const { return calls_; }  // system calls so far

 private:
  Pid pid_;
  uint64_t calls_ = 0;
};

}  // namespace ptrace_prof
