#include "client/cli/export/source_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "attach/base/clean_text.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {
namespace {

constexpr size_t kTab = 8;  // as Python's tokenizer expands tabs
constexpr size_t kMaxLine = 1000;

// Returns a handle on the file (O_PATH) that does not open it, so that a device or pipe is not affected.
UniqueFd Locate(int folder, const std::string& path, uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = resolve;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)));
}

struct Located {
  UniqueFd file;
  std::string where;
  int error = 0;
};

Located LocateSource(Pid process, const std::string& path) {
  Located located;
  const bool absolute = path.starts_with('/');
  const std::string folder_name = fmt::format("/proc/{}/{}", process.value, absolute ? "root" : "cwd");
  const UniqueFd folder(::open(folder_name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) {
    located.file = Locate(folder.get(), path, absolute ? RESOLVE_IN_ROOT : RESOLVE_NO_MAGICLINKS);
    located.error = errno;
    located.where = absolute ? path : path + " (relative to the working directory of the process)";
  }
  if (!folder.is_open() || (!located.file.is_open() && located.error == ENOSYS)) {
    located.file = UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    located.error = errno;
    located.where = path + " (found outside the process: its root directory cannot be opened)";
  }
  return located;
}

Error Unreadable(const std::string& path, std::string_view reason) {
  return Error{Code::kNotFound, CleanText(fmt::format("no source of {}: {}", path, reason)), ""};
}

Result<std::string> ReadAll(int fd, const std::string& path) {
  std::string text;
  char buffer[64 * 1024];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Unreadable(path, ErrnoError(errno, "it cannot be read").message);
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kMaxSourceBytes) {
      return Unreadable(path, fmt::format("it is larger than {} MiB", kMaxSourceBytes >> 20));
    }
  }
}

std::string ShownLine(std::string_view line) {
  std::string expanded;
  for (const char c : line.substr(0, kMaxLine)) {
    if (c == '\t') {
      expanded.append(kTab - expanded.size() % kTab, ' ');
    } else if (c != '\r' && c != '\f') {
      expanded += c;
    }
  }
  return CleanText(expanded);
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(ShownLine(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

Result<SourceFile> ReadSourceFile(Pid process, const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos || path.starts_with('<')) {
    return Unreadable(path.empty() ? "this code" : path, "it did not come from a file");
  }
  const Located located = LocateSource(process, path);
  if (!located.file.is_open()) {
    return Unreadable(path, ErrnoError(located.error, "it cannot be opened").message);
  }
  struct stat info {};
  if (::fstat(located.file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Unreadable(path, "it is not a regular file");
  }
  const std::string handle = fmt::format("/proc/self/fd/{}", located.file.get());
  const UniqueFd file(::open(handle.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) {
    return Unreadable(path, ErrnoError(errno, "it cannot be opened").message);
  }
  PP_ASSIGN_OR_RETURN(const std::string text, ReadAll(file.get(), path));
  return SourceFile{.where = CleanText(located.where), .lines = SplitLines(text)};
}

}  // namespace ptrace_prof
