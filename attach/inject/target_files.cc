#include "attach/inject/target_files.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "attach/proc/proc_file.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kMemfd = "/memfd:";
constexpr std::string_view kDeleted = " (deleted)";
constexpr size_t kLongestName = 512;

// The name of the memfd behind a descriptor; "" for any other file.
std::string MemfdName(Pid pid, int32_t number) {
  std::array<char, kLongestName> buffer{};
  const std::string link = ProcPath(pid, fmt::format("fd/{}", number));
  const ssize_t size = ::readlink(link.c_str(), buffer.data(), buffer.size());
  if (size <= 0) {
    return "";
  }
  std::string_view text(buffer.data(), static_cast<size_t>(size));
  if (!text.starts_with(kMemfd) || !text.ends_with(kDeleted)) {
    return "";
  }
  text.remove_prefix(kMemfd.size());
  text.remove_suffix(kDeleted.size());
  return std::string(text);
}

// Root may still read its memory by a capability that does not cover its files.
Error KeepsItsFiles(Pid pid) {
  return Because(
      Reason::kTargetNotDumpable,
      fmt::format("process {} is protected from its own user (not dumpable), so memory that it shares cannot be opened",
                  pid.value),
      "sample it: record without --mode trace and without --gpu", ThingOf(pid));
}

}  // namespace

Result<TargetFiles> TargetFiles::Of(Pid pid) {
  PP_ASSIGN_OR_RETURN(UniqueFd pidfd, OpenPidfd(pid));
  TargetFiles files(pid, std::move(pidfd));
  const auto numbers = ListNumericEntries(ProcPath(pid, "fd"));
  if (numbers.has_error()) {
    return numbers.error().code == Code::kPermissionDenied ? KeepsItsFiles(pid) : numbers.error();
  }
  files.known_.insert(numbers.value().begin(), numbers.value().end());
  return files;
}

Result<std::vector<TargetFile>> TargetFiles::FindMemfds(std::string_view prefix, bool all) const {
  PP_ASSIGN_OR_RETURN(const std::vector<int32_t> numbers, ListNumericEntries(ProcPath(pid_, "fd")));
  std::vector<TargetFile> found;
  for (const int32_t number : numbers) {
    if (!all && known_.contains(number)) {
      continue;
    }
    if (std::string name = MemfdName(pid_, number); !name.empty() && name.starts_with(prefix)) {
      found.push_back({number, std::move(name)});
    }
  }
  return found;
}

Result<void> TargetFiles::CheckTaking() const {
  for (const int32_t number : known_) {
    const Result<UniqueFd> taken = Take({number, ""});
    if (taken.has_value()) {
      return {};
    }
    if (taken.error().code == Code::kPermissionDenied || taken.error().code == Code::kUnimplemented) {
      return taken.error();
    }  // otherwise it was closed meanwhile
  }
  return {};
}

Result<UniqueFd> TargetFiles::Take(const TargetFile& file) const {
  UniqueFd taken(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd_.get(), file.number, 0)));
  if (!taken.is_open() && errno == ENOSYS) {
    return Because(Reason::kKernelTooOld, "this kernel cannot share a descriptor of another process",
                   "Tracing needs Linux 5.6 or later; sampling does not.");
  }
  if (!taken.is_open() && errno == EBADF) {
    return Because(
        Reason::kTracerNotLoaded,
        fmt::format("process {} closed descriptor {} while it was being read: it may have become another program",
                    pid_.value, file.number),
        "Try again.", ThingOf(pid_));
  }
  if (!taken.is_open()) {
    return ErrnoError(errno, fmt::format("cannot share descriptor {} of process {}", file.number, pid_.value));
  }
  return taken;
}

}  // namespace ptrace_prof
