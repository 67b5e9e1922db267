// Where trace bytes are written: a pipe, a file, or memory in tests. One owner, one thread.
#pragma once

#include <cstddef>
#include <span>

#include "attach/base/result.h"

namespace ptrace_prof {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // Writes all bytes or fails for good. kCancelled: the reader of the pipe is gone.
  virtual Result<void> Write(std::span<const std::byte> bytes) = 0;
};

}  // namespace ptrace_prof
