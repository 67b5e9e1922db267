// A ByteSink that keeps everything in memory: for small traces.
#pragma once

#include <string>

#include "daemon/trace/write/byte_sink.h"

namespace ptrace_prof {

class MemorySink : public ByteSink {
 public:
  Result<void> Write(std::span<const std::byte> bytes) override {
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace ptrace_prof
