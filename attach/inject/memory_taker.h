// Takes the memory that a stub has made for one capture: finds it by name, locks, checks and maps it.
//
// `Memory` is a Channel or a GpuArena: its Take(file, shape) returns kUnavailable while the memory is not ready. Reads
// the target without stopping it. For a stub that could not make the memory, see `failure`. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/file_lock.h"
#include "attach/inject/stub_kind.h"
#include "attach/inject/target_files.h"

namespace ptrace_prof {

template <typename Memory, typename Shape>
class MemoryTaker {
 public:
  // The reason why the stub with this nonce has no memory; kOk: no reason is known.
  using Failure = std::function<Result<void>()>;

  MemoryTaker(Pid pid, const TargetFiles& files, const StubKind& kind, const Shape& shape, Failure failure)
      : pid_(pid),
        files_(files),
        shape_(shape),
        name_(StubMemoryName(kind, shape.nonce)),
        failure_(std::move(failure)) {}

  // Returns false if it is not ready yet.
  Result<bool> Look() {
    constexpr int kAllEvery = 16;  // also look at known numbers: one may be reused after a close
    if (!file_.is_open()) {
      const bool all = ++looks_ % kAllEvery == 0;
      PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> found, files_.FindMemfds(name_, all));
      if (found.empty() && all) {  // a stub that fails closes its file at once
        PP_RETURN_IF_ERROR(failure_());
      }
      Result<UniqueFd> taken = found.empty() ? UniqueFd() : files_.Take(found.front());
      if (taken.has_error() || !taken.value().is_open()) {
        return false;
      }
      file_ = std::move(taken).value();
      PP_RETURN_IF_ERROR(LockFile(pid_, file_));
    }
    Result<Memory> memory = Memory::Take(file_, shape_);
    if (memory.has_error()) {
      return memory.error().code == Code::kUnavailable ? Result<bool>(false) : std::move(memory).error();
    }
    memory_ = std::move(memory).value();
    return true;
  }

  // Valid once Look has returned true.
  Memory& memory() { return *memory_; }
  UniqueFd& file() { return file_; }

 private:
  Pid pid_;
  const TargetFiles& files_;
  Shape shape_;
  std::string name_;
  Failure failure_;
  int looks_ = 0;
  UniqueFd file_;
  std::optional<Memory> memory_;
};

}  // namespace ptrace_prof
