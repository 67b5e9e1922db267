// Finds memfds of a certain name among the open files of a target.
//
// A name is only a hint: a target may give any file any name, so the caller must check the file. Files that are new
// since this object was made are checked first; a process may have many thousands. Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

struct TargetFile {
  int32_t number = -1;  // of the descriptor in the target
  std::string name;     // of the memfd
};

class TargetFiles {
 public:
  // kGone, TARGET_NOT_DUMPABLE; kUnimplemented: a kernel before 5.6, which cannot hand us a descriptor.
  static Result<TargetFiles> Of(Pid pid);

  // The memfds whose names begin with `prefix`. `all`: check every file, otherwise only the new ones.
  Result<std::vector<TargetFile>> FindMemfds(std::string_view prefix, bool all) const;
  // Checks that descriptors of the target may be taken at all. kPermissionDenied, kUnimplemented.
  Result<void> CheckTaking() const;
  // A descriptor of the same open file in this process.
  Result<UniqueFd> Take(const TargetFile& file) const;

 private:
  TargetFiles(Pid pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  Pid pid_;
  UniqueFd pidfd_;
  std::unordered_set<int32_t> known_;
};

}  // namespace ptrace_prof
