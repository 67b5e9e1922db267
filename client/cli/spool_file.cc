#include "client/cli/spool_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace ptrace_prof {
namespace {

constexpr mode_t kMode = 0666;  // the umask decides, as for every output

}  // namespace

Result<SpoolFile> SpoolFile::Create(const std::string& output) {
  ::signal(SIGXFSZ, [](int) {});  // a file size limit is an error of write(2) like a full disk, not our end
  for (const std::string& path : {output + ".pftrace.tmp", fmt::format("{}.{}.pftrace.tmp", output, ::getpid())}) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
    if (fd.is_open()) {
      return SpoolFile(path, std::move(fd));
    }
    if (errno != EEXIST) {
      return ErrnoError(errno, fmt::format("cannot create {}", path), "name another place for the output with -o");
    }
  }
  return Error{Code::kAlreadyExists, fmt::format("{}.pftrace.tmp is there already", output),
               "it is the trace of an earlier, aborted run: export it or remove it"};
}

SpoolFile::SpoolFile(SpoolFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)), size_(other.size_), kept_(other.kept_) {}

SpoolFile::~SpoolFile() {
  if (!path_.empty() && !kept_) {
    ::unlink(path_.c_str());
  }
}

Result<void> SpoolFile::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return ErrnoError(written == 0 ? ENOSPC : errno, fmt::format("cannot write to {}", path_),
                        "free some space, or write elsewhere with -o");
    }
    size_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<UniqueFd> SpoolFile::OpenForReading() const {
  UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    return ErrnoError(errno, fmt::format("cannot read {} again", path_));
  }
  return fd;
}

Result<void> SpoolFile::RenameTo(const std::string& output) {
  if (::rename(path_.c_str(), output.c_str()) != 0) {
    return ErrnoError(errno, fmt::format("cannot rename {} to {}", path_, output));
  }
  kept_ = true;
  path_ = output;
  return {};
}

}  // namespace ptrace_prof
