#include "daemon/server/policy/policy_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostBytes = 1 << 20;

Result<std::string> ReadAll(int fd, const std::string& file) {
  std::string text;
  for (;;) {
    char buffer[16 * 1024];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return ErrnoError(errno, fmt::format("cannot read the policy {}", file));
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kMostBytes) {
      return Error{Code::kInvalidArgument, fmt::format("the policy {} is larger than {} bytes", file, kMostBytes),
                   "write fewer rules: a pattern or a group stands for many"};
    }
  }
}

}  // namespace

Result<Policy> ReadPolicy(const std::string& file, Uid owner) {
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat there {};
  if (!opened.is_open() || ::fstat(opened.get(), &there) != 0) {
    Error error = ErrnoError(errno, fmt::format("cannot open the policy {}", file),
                             errno == EACCES ? fmt::format("ptrace-profd reads it as user {}, and it holds no secret: "
                                                           "chmod a+r {} (and a+x its folders)",
                                                           ::geteuid(), file)
                                             : "give another file with --policy");
    error.code = errno == ENOENT ? Code::kNotFound : error.code;
    return error;
  }
  if (!S_ISREG(there.st_mode) || (there.st_uid != 0 && there.st_uid != owner.value) || (there.st_mode & 022) != 0) {
    return Error{Code::kPermissionDenied,
                 fmt::format("the policy {} is not safe from changes by other users: it must be a regular file of user "
                             "{} that no other user can write, but it belongs to user {} with mode {:o}",
                             file, owner.value == 0 ? "root" : fmt::format("root or {}", owner.value), there.st_uid,
                             there.st_mode & 07777),
                 fmt::format("check its contents; then chown {} {} && chmod 644 {}", owner.value, file, file)};
  }
  PP_ASSIGN_OR_RETURN(const std::string text, ReadAll(opened.get(), file));
  return ParsePolicy(text, file);
}

}  // namespace ptrace_prof
