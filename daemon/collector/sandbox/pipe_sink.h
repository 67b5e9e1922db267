// The collector's end of the trace pipe. Blocks while the pipe is full: a slow reader slows us down but does not make
// us grow.
//
// Owns the descriptor. SIGPIPE must be ignored. Returns kCancelled forever once the reader is gone.
#pragma once

#include "attach/base/unique_fd.h"
#include "daemon/trace/write/byte_sink.h"

namespace ptrace_prof {

class PipeSink : public ByteSink {
 public:
  explicit PipeSink(UniqueFd fd) : fd_(std::move(fd)) {}
  Result<void> Write(std::span<const std::byte> bytes) override;

 private:
  UniqueFd fd_;
};

}  // namespace ptrace_prof
