#include "daemon/server/program/spool_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "attach/base/unique_fd.h"
#include "daemon/server/captures/trace_spool.h"

namespace ptrace_prof {

Result<void> PrepareSpoolFolder(const std::string& path, const DaemonUser& user) {
  const bool made = ::mkdir(path.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) {
    return ErrnoError(errno, fmt::format("cannot make the folder {} for traces", path),
                      "make its parent folder, or choose another with --spool");
  }
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat there {};
  if (!folder.is_open() || ::fstat(folder.get(), &there) != 0) {
    return ErrnoError(errno, fmt::format("cannot use {} as the folder for traces", path),
                      "choose another with --spool; it must not be a link");
  }
  if (made && ::geteuid() == 0 && ::fchown(folder.get(), user.uid.value, user.gid.value) != 0) {
    return ErrnoError(errno, fmt::format("cannot give the folder {} to the user {}", path, user.name));
  }
  if (!made && (there.st_uid != user.uid.value || (there.st_mode & 077) != 0)) {
    return Error{Code::kPermissionDenied,
                 fmt::format("the folder for traces, {}, belongs to user {} with mode {:o}: it must belong to user {} "
                             "with mode 700",
                             path, there.st_uid, there.st_mode & 07777, user.uid.value),
                 fmt::format("chown {0} {1} && chmod 700 {1}, or choose another with --spool", user.uid.value, path)};
  }
  return {};
}

Result<void> TrySpoolFolder(const std::string& path) {
  auto tried = TraceSpool::Create(path);
  if (tried.has_error()) {
    Error error = std::move(tried).error();
    error.remedy += error.remedy.empty() ? "choose another folder with --spool" : "; or choose another with --spool";
    return error;
  }
  return {};
}

}  // namespace ptrace_prof
