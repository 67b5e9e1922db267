// Files without a name, for data in transit: the kernel frees such a file with its last descriptor, even if this
// process is killed. Stateless.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// `message` with the folder and the errno. Reason: DISK_FULL or STORAGE_FAILED.
[[nodiscard]] Error StorageError(int err, const std::string& folder, std::string_view message, std::string_view remedy);

// Creates a file in `folder`, which must exist; only its owner may read and write it. Fails with a StorageError.
Result<UniqueFd> OpenAnonymousFile(const std::string& folder);

// Gives such a file a name that must not exist yet. Returns 0, or the errno: ENOENT on a file system without files that
// have no name. Async-signal-safe.
[[nodiscard]] int NameFile(int fd, const char* path);

}  // namespace ptrace_prof
