// Writes into the memory of a target; no other code does.
//
// It uses process_vm_writev(2), so nothing is written to pages that the target itself may not write. Callers may write
// unused memory (code_cave.h), our own memory (the stub's block), or while all threads are stopped. A write of at most
// kUnbrokenBytes is done whole or not at all, even if we are killed meanwhile: the kernel checks for a signal only once
// for so many pages. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr size_t kUnbrokenBytes = 15 * 4096;

class RemoteWriter {
 public:
  explicit RemoteWriter(Pid pid) : pid_(pid) {}

  // kGone, kPermissionDenied; kFailedPrecondition: not all of it is mapped writable.
  Result<void> Write(RemoteAddr to, std::span<const uint8_t> bytes);

  template <typename T>
  Result<void> WriteValue(RemoteAddr to, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return Write(to, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
  }

  Pid pid() const { return pid_; }

 private:
  Pid pid_;
};

}  // namespace ptrace_prof
