// A ByteSink that keeps everything in memory: for tests and small traces. Fails from `fail_after` bytes on, if set.
#pragma once

#include <optional>
#include <string>

#include "daemon/trace/write/byte_sink.h"

namespace ptrace_prof {

class MemorySink : public ByteSink {
 public:
  Result<void> Write(std::span<const std::byte> bytes) override {
    if (fail_after && bytes_.size() + bytes.size() > *fail_after) {
      return Error{Code::kCancelled, "the memory sink was told to fail", {}};
    }
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  const std::string& bytes() const { return bytes_; }

  std::optional<size_t> fail_after;

 private:
  std::string bytes_;
};

}  // namespace ptrace_prof
