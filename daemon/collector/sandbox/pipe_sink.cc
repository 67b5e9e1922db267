#include "daemon/collector/sandbox/pipe_sink.h"

#include <unistd.h>

#include <cerrno>

namespace ptrace_prof {

Result<void> PipeSink::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(written));
    } else if (errno == EPIPE || errno == EBADF) {
      fd_.reset();
      return Error{Code::kCancelled, "the reader of the trace has gone", ""};
    } else if (errno != EINTR) {
      return ErrnoError(errno, "cannot write to the trace pipe");
    }
  }
  return {};
}

}  // namespace ptrace_prof
