#include "attach/inject/remote_writer.h"

#include <fmt/format.h>
#include <sys/uio.h>

#include <cerrno>

namespace ptrace_prof {

Result<void> RemoteWriter::Write(RemoteAddr to, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const iovec local{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    const iovec remote{reinterpret_cast<void*>(to.value), bytes.size()};
    const ssize_t written = ::process_vm_writev(pid_.value, &local, 1, &remote, 1, 0);
    if (written < 0 && errno != EFAULT) {
      return ErrnoError(errno, fmt::format("cannot write into process {}", pid_.value));
    }
    if (written <= 0) {
      return Error{Code::kFailedPrecondition,
                   fmt::format("process {} has no writable memory at {:#x}", pid_.value, to.value), ""};
    }
    to = to + static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace ptrace_prof
