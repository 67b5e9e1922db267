#include "attach/proc/process_memory.h"

#include <algorithm>
#include <cerrno>

namespace ptrace_prof {
namespace {

constexpr size_t kRequestsPerCall = 1024;  // IOV_MAX: the kernel refuses more (EINVAL)

ReadStatus StatusOf(int err) {
  switch (err) {
    case ESRCH: return ReadStatus::kGone;
    case EPERM:
    case EACCES:
    case ENOSYS: return ReadStatus::kDenied;  // ENOSYS: a seccomp filter, or a kernel without the call
    default: return ReadStatus::kFault;
  }
}

}  // namespace

ssize_t ProcessMemory::Transfer(size_t count) {
  ++calls_;
  const ssize_t got = ::process_vm_readv(pid_.value, local_.data(), count, remote_.data(), count, 0);
  return got < 0 ? -errno : got;
}

ReadStatus ProcessMemory::Read(RemoteAddr from, void* to, size_t size) {
  const iovec local{to, size};
  const iovec remote{reinterpret_cast<void*>(from.value), size};
  ++calls_;
  const ssize_t got = ::process_vm_readv(pid_.value, &local, 1, &remote, 1, 0);
  if (got < 0) {
    return StatusOf(errno);
  }
  return static_cast<size_t>(got) == size ? ReadStatus::kOk : ReadStatus::kFault;
}

ReadStatus ProcessMemory::ReadBatch(std::span<const ReadRequest> requests, size_t* filled) {
  *filled = 0;
  const size_t widest = std::min(requests.size(), kRequestsPerCall);
  if (local_.size() < widest) {
    local_.resize(widest);
    remote_.resize(widest);
  }
  while (!requests.empty()) {
    const auto part = requests.first(std::min(requests.size(), kRequestsPerCall));
    for (size_t i = 0; i < part.size(); ++i) {
      local_[i] = {part[i].to, part[i].size};
      remote_[i] = {reinterpret_cast<void*>(part[i].from.value), part[i].size};
    }
    const ssize_t got = Transfer(part.size());
    // The kernel stops at the first page that it cannot read, which may be inside a request: that one is not filled.
    uint64_t left = got > 0 ? static_cast<uint64_t>(got) : 0;
    size_t complete = 0;
    while (complete < part.size() && part[complete].size <= left) {
      left -= part[complete++].size;
    }
    *filled += complete;
    if (complete < part.size()) {
      return StatusOf(got < 0 ? static_cast<int>(-got) : EFAULT);
    }
    requests = requests.subspan(part.size());
  }
  return ReadStatus::kOk;
}

}  // namespace ptrace_prof
