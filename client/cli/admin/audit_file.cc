#include "client/cli/admin/audit_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kBuffer = 64 * 1024;
constexpr size_t kLongestLine = 1024 * 1024;  // the rest of a longer line counts as another line, not a record
constexpr size_t kRemembered = 64;

Error CannotRead(const std::string& path, int error) {
  const char* remedy = error == EACCES || error == EPERM
                           ? "only root and the user who started ptrace-profd can read the audit log: try sudo"
                       : error == ENOENT ? "with --file, give the file that ptrace-profd writes with --audit"
                                         : "give another file with --file";
  return ErrnoError(error, fmt::format("cannot read the audit log {}", CleanText(path)), remedy);
}

Result<UniqueFd> OpenPlain(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat there {};
  if (!fd.is_open() || ::fstat(fd.get(), &there) != 0) {
    return CannotRead(path, errno);
  }
  if (!S_ISREG(there.st_mode)) {
    return Error{Code::kInvalidArgument, fmt::format("{} is not a regular file", CleanText(path)),
                 "give the file that ptrace-profd writes with --audit"};
  }
  return fd;
}

}  // namespace

Result<AuditFile> AuditFile::Open(const std::string& path) {
  PP_ASSIGN_OR_RETURN(UniqueFd fd, OpenPlain(path));
  return AuditFile(path, std::move(fd));
}

bool AuditFile::Take(std::string_view bytes, const Show& show) {
  last_ = (last_ + std::string(bytes.substr(bytes.size() - std::min(bytes.size(), kRemembered))));
  last_.erase(0, last_.size() - std::min(last_.size(), kRemembered));
  offset_ += static_cast<int64_t>(bytes.size());
  for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    rest_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (!show(std::exchange(rest_, {}))) {
      return false;
    }
  }
  rest_ += bytes;
  return rest_.size() <= kLongestLine || show(std::exchange(rest_, {}));
}

Result<bool> AuditFile::ReadToEnd(const Show& show) {
  static thread_local std::array<char, kBuffer> buffer;
  for (;;) {
    const ssize_t got = ::pread(fd_.get(), buffer.data(), buffer.size(), offset_);
    if (got < 0 && errno != EINTR) {
      return CannotRead(path_, errno);
    }
    if (got == 0) {
      return true;
    }
    if (got > 0 && !Take({buffer.data(), static_cast<size_t>(got)}, show)) {
      return false;
    }
  }
}

bool AuditFile::IsCutShort() const {
  std::array<char, kRemembered> there{};
  const auto size = static_cast<int64_t>(last_.size());
  const ssize_t got = ::pread(fd_.get(), there.data(), last_.size(), offset_ - size);
  return got != size || last_ != std::string_view(there.data(), last_.size());
}

bool AuditFile::IsReplaced() const {
  struct stat ours {};
  struct stat named {};
  return ::fstat(fd_.get(), &ours) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         (ours.st_ino != named.st_ino || ours.st_dev != named.st_dev);
}

// An incomplete line at the end of the old file never gets completed.
bool AuditFile::BeginAgain(const Show& show) {
  offset_ = 0;
  last_.clear();
  return rest_.empty() || show(std::exchange(rest_, {}));
}

Result<AuditFile::Change> AuditFile::ReadOn(const Show& show) {
  const bool was_cut = IsCutShort();
  if (was_cut && !BeginAgain(show)) {
    return Change::kCutShort;
  }
  const bool is_replaced = IsReplaced();  // before the last read: the old file grows no more after that
  PP_ASSIGN_OR_RETURN(const bool more, ReadToEnd(show));
  if (more && is_replaced) {
    if (auto next = OpenPlain(path_); !next.has_error()) {  // if it is gone again, the next call retries
      (void)BeginAgain(show);
      fd_ = std::move(next).value();
      return Change::kReplaced;
    }
  }
  return was_cut ? Change::kCutShort : Change::kNone;
}

}  // namespace ptrace_prof
