#include "attach/proc/process_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attach/proc/memory_grants.h"
#include "attach/proc/proc_file.h"

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

int ProcessMemory::TakeGrant() {
  granted_.reset();
  return AskForMemory(pid_, granted_);
}

// The right to look at a process is the right to read it, apart from Yama. So this detects that it has become another
// user's, or has made itself non-dumpable.
ReadStatus ProcessMemory::ReadGranted(std::span<const ReadRequest> requests, size_t* filled) {
  char link = 0;
  if (::readlink(ProcPath(pid_, "exe").c_str(), &link, 1) < 0) {
    return errno == ENOENT ? ReadStatus::kGone : StatusOf(errno);
  }
  for (const ReadRequest& request : requests) {
    ++calls_;
    ssize_t got = ::pread(granted_.get(), request.to, request.size, static_cast<off_t>(request.from.value));
    if (got == 0 && request.size > 0 && *filled == 0) {  // that program is gone: we may have a grant for its successor
      if (const int refused = TakeGrant(); refused != 0) {
        return StatusOf(refused);
      }
      got = ::pread(granted_.get(), request.to, request.size, static_cast<off_t>(request.from.value));
    }
    if (got != static_cast<ssize_t>(request.size)) {
      return got == 0 ? ReadStatus::kGone : ReadStatus::kFault;
    }
    ++*filled;
  }
  return ReadStatus::kOk;
}

ReadStatus ProcessMemory::Read(RemoteAddr from, void* to, size_t size) {
  if (granted_.is_open()) {
    const ReadRequest request{from, to, static_cast<uint32_t>(size)};
    size_t filled = 0;
    return size > UINT32_MAX ? ReadStatus::kFault : ReadGranted({&request, 1}, &filled);
  }
  const iovec local{to, size};
  const iovec remote{reinterpret_cast<void*>(from.value), size};
  ++calls_;
  const ssize_t got = ::process_vm_readv(pid_.value, &local, 1, &remote, 1, 0);
  if (got < 0) {
    const int refused = errno;
    return refused == EPERM && HasMemoryGrants() && TakeGrant() == 0 ? Read(from, to, size) : StatusOf(refused);
  }
  return static_cast<size_t>(got) == size ? ReadStatus::kOk : ReadStatus::kFault;
}

ReadStatus ProcessMemory::ReadBatch(std::span<const ReadRequest> requests, size_t* filled) {
  *filled = 0;
  if (granted_.is_open()) {
    return ReadGranted(requests, filled);
  }
  const size_t widest = std::min(requests.size(), kRequestsPerCall);
  if (local_.size() < widest) {
    local_.resize(widest);
    remote_.resize(widest);
  }
  const auto first_to_last = requests;
  while (!requests.empty()) {
    const auto part = requests.first(std::min(requests.size(), kRequestsPerCall));
    for (size_t i = 0; i < part.size(); ++i) {
      local_[i] = {part[i].to, part[i].size};
      remote_[i] = {reinterpret_cast<void*>(part[i].from.value), part[i].size};
    }
    const ssize_t got = Transfer(part.size());
    if (got == -EPERM && HasMemoryGrants() && TakeGrant() == 0) {
      *filled = 0;  // restart at the first request, so that all bytes come from one program
      return ReadGranted(first_to_last, filled);
    }
    // The kernel stops at the first page that it cannot read. This may be inside a request, which then counts as not
    // filled.
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
