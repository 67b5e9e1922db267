// Files without a name, for data that is on its way: the kernel frees one with its last descriptor, also when we are
// killed. Stateless.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// `message` with the folder and the errno; DISK_FULL or STORAGE_FAILED.
[[nodiscard]] Error StorageError(int err, const std::string& folder, std::string_view message, std::string_view remedy);

// In `folder`, which must exist; for reading and writing, of its owner alone. Fails with a StorageError.
Result<UniqueFd> OpenAnonymousFile(const std::string& folder);

// Gives such a file a name after all, which nobody may have yet. 0, or the errno: ENOENT on a file system that has no
// files without a name. Async-signal-safe.
[[nodiscard]] int NameFile(int fd, const char* path);

}  // namespace ptrace_prof
