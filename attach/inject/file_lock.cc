#include "attach/inject/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ptrace_prof {
namespace {

struct flock WriteLock() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Only root and the user of the holding process may learn which process holds the lock.
bool MayName(pid_t holder) {
  struct stat process {};
  return holder > 0 && (::geteuid() == 0 || (::stat(fmt::format("/proc/{}", holder).c_str(), &process) == 0 &&
                                             process.st_uid == ::geteuid()));
}

}  // namespace

Result<void> LockFile(Pid pid, const UniqueFd& file) {
  struct flock lock = WriteLock();
  if (::fcntl(file.get(), F_SETLK, &lock) == 0) {
    return {};
  }
  if (errno != EACCES && errno != EAGAIN) {
    return ErrnoError(errno, "cannot lock the file that is shared with the target");
  }
  lock = WriteLock();
  const bool named = ::fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && MayName(lock.l_pid);
  return Because(Reason::kBeingTraced,
                 named ? fmt::format("process {} is being traced already, by process {}", pid.value, lock.l_pid)
                       : fmt::format("process {} is being traced already", pid.value),
                 "Wait for the end of that capture, or cancel it.", ThingOf(pid));
}

Result<std::vector<int32_t>> FindStrays(Pid pid, const TargetFiles& files, std::string_view prefix, int32_t own) {
  PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> found, files.FindMemfds(prefix, true));
  std::vector<int32_t> strays;
  for (const TargetFile& file : found) {
    const Result<UniqueFd> taken = file.number != own ? files.Take(file) : UniqueFd();
    if (taken.has_error() || !taken.value().is_open()) {
      continue;  // ours, or closed meanwhile
    }
    PP_RETURN_IF_ERROR(LockFile(pid, taken.value()));
    strays.push_back(file.number);
  }
  return strays;
}

Result<void> CheckSoleUser(Pid pid, const TargetFiles& files, const StubKind& kind) {
  for (const std::string_view prefix : {kind.file_prefix, kind.memory_prefix}) {
    PP_ASSIGN_OR_RETURN([[maybe_unused]] const auto strays, FindStrays(pid, files, prefix, -1));
  }
  return {};
}

}  // namespace ptrace_prof
