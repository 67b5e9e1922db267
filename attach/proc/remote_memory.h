// The interface to the memory of a target: a live process, a core file, or a fake in a fuzzer.
//
// Readers never know which one it is. The bytes are hostile. Reads are whole or failed: a short read is a failure,
// except in ReadBatch, which reports how many requests were filled completely. Not thread-safe: one object belongs to
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "attach/base/types.h"

namespace ptrace_prof {

enum class ReadStatus : uint8_t {
  kOk,
  kFault,   // some address is not mapped (or not readable)
  kGone,    // the process ended
  kDenied,  // the kernel refused
};

// One piece of a scatter read: `size` bytes at `from` go to `to`.
struct ReadRequest {
  RemoteAddr from;
  void* to = nullptr;
  uint32_t size = 0;
};

class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;

  // Fills `size` bytes at `to`, or fails as a whole.
  [[nodiscard]] virtual ReadStatus Read(RemoteAddr from, void* to, size_t size) = 0;

  // Reads the requests in order, in as few system calls as possible, and stops at the first one that faults.
  // `filled` is the number of leading requests that were read completely; kOk only if that is all of them.
  [[nodiscard]] virtual ReadStatus ReadBatch(std::span<const ReadRequest> requests, size_t* filled) = 0;

  template <typename T>
  [[nodiscard]] ReadStatus ReadValue(RemoteAddr from, T* to) {
    static_assert(std::is_trivially_copyable_v<T>);
    return Read(from, to, sizeof(T));
  }
};

}  // namespace ptrace_prof
