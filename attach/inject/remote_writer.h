// Writes into the memory of a target: the one place that does.
//
// By process_vm_writev(2); where a page is not writable for the target itself nothing is written. Who writes says why
// it may: what is nobody's (code_cave.h), what is ours (the stub's own block), or while all threads are stopped. One
// piece that spans no more than kUnbrokenBytes is written whole or not at all, even if we are killed meanwhile: the
// kernel looks for a signal only once for so many pages. Not thread-safe.
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

  // kGone, kPermissionDenied; kFailedPrecondition: not (all) mapped writable.
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
