#include "client/cli/export/trace_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "attach/base/reason.h"

namespace ptrace_prof {

Result<UniqueFd> OpenTrace(const std::string& path) {
  if (path == "-") {
    return UniqueFd(::dup(STDIN_FILENO));
  }
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    return ErrnoError(errno, fmt::format("cannot open {}", path),
                      "give the .pftrace that `record` wrote, or - for stdin");
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return Error{Code::kNotFound, fmt::format("{} is a directory", path), "name the .pftrace in it"};
  }
  unsigned char magic[2] = {};
  if (::pread(fd.get(), magic, sizeof magic, 0) == sizeof magic && magic[0] == 0x1f && magic[1] == 0x8b) {
    return Error{Code::kDataLoss, fmt::format("{} is compressed", path),
                 fmt::format("decompress it first: gunzip -c {} | ptrace-prof export - -o OUTPUT", path)};
  }
  return fd;
}

Error NameTrace(Error error, const std::string& path) {
  if (error.reason == Reason::kNotATrace && path != "-") {
    error.message = fmt::format("{}: {}", path, error.message);
  }
  return error;
}

}  // namespace ptrace_prof
