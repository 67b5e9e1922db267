// RemoteMemory of a live process, by process_vm_readv(2): no stop, no open file, one system call per batch.
//
// Costs nothing while unused. Allocates only when a batch is larger than every batch before it. Follows the pid through
// exec: put AnchoredMemory above it if the new program must not be read. If only Yama forbids reading, and that rule
// was waived (memory_grants.h), it reads through a granted open file, with one call per request. Before each batch it
// asks the kernel whether we may still look at the process.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
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
  // Returns the bytes that one call transferred, or the negative errno.
  ssize_t Transfer(size_t count);
  // Gets a grant to read by. Returns 0, or an errno.
  int TakeGrant();
  ReadStatus ReadGranted(std::span<const ReadRequest> requests, size_t* filled);

  Pid pid_;
  uint64_t calls_ = 0;
  UniqueFd granted_;          // open: the memory, which the kernel does not let us read otherwise
  std::vector<iovec> local_;  // for the current call; kept for its capacity
  std::vector<iovec> remote_;
};

}  // namespace ptrace_prof
