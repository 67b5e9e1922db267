#include "attach/proc/proc_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {

std::string ProcPath(Pid pid, std::string_view name) {
  std::string path = "/proc/" + std::to_string(pid.value);
  if (!name.empty()) {
    path += '/';
    path += name;
  }
  return path;
}

std::string ProcTaskPath(Pid pid, Tid tid, std::string_view name) {
  std::string path = ProcPath(pid, "task/") + std::to_string(tid.value);
  if (!name.empty()) {
    path += '/';
    path += name;
  }
  return path;
}

Error ProcError(int err, const std::string& path) {
  return ErrnoError(err == ENOENT ? ESRCH : err, "cannot read " + path);
}

Result<std::string> ReadProcFile(const std::string& path, size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    return ProcError(errno, path);
  }
  // The kernel produces at most about one page per read of a sequence file; the buffer grows only for long files.
  std::string text;
  size_t used = 0;
  while (used < limit) {
    if (text.size() - used < 4096) {
      text.resize(text.size() < 4096 ? 4096 : text.size() * 2);
    }
    const ssize_t got = ::read(fd.get(), text.data() + used, text.size() - used);
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return ProcError(errno, path);
    }
    if (got == 0) {
      break;
    }
    used += static_cast<size_t>(got);
  }
  text.resize(used < limit ? used : limit);
  return text;
}

Result<std::vector<int32_t>> ListNumericEntries(const std::string& path) {
  struct Closer {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  const std::unique_ptr<DIR, Closer> dir(::opendir(path.c_str()));
  if (dir == nullptr) {
    return ProcError(errno, path);
  }
  std::vector<int32_t> numbers;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) {
      break;
    }
    const std::string_view name(entry->d_name);
    int32_t number = 0;
    const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (status == std::errc() && end == name.data() + name.size()) {
      numbers.push_back(number);
    }
  }
  if (errno != 0) {
    return ProcError(errno, path);
  }
  return numbers;
}

}  // namespace ptrace_prof
