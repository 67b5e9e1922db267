#include "client/cli/record/spool_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "attach/base/anonymous_file.h"

namespace ptrace_prof {
namespace {

constexpr mode_t kMode = 0666;  // limited by the umask, as for every output
constexpr char kEnding[] = ".pftrace.tmp";

// Makes write(2) fail at the file size limit, as on a full disk, where SIGXFSZ would end us.
void OutliveSizeLimit() {
  ::signal(SIGXFSZ, [](int) {});
}

}  // namespace

Result<SpoolFile> SpoolFile::Create(const std::string& output) {
  OutliveSizeLimit();
  for (const std::string& path : {output + kEnding, fmt::format("{}.{}{}", output, ::getpid(), kEnding)}) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
    if (fd.is_open()) {
      return SpoolFile(path, std::move(fd), Name::kGiven);
    }
    if (errno != EEXIST) {
      return ErrnoError(errno, fmt::format("cannot create {}", path), "name another place for the output with -o");
    }
  }
  return Error{Code::kAlreadyExists, fmt::format("{}{} already exists", output, kEnding),
               "it is the trace of an earlier, aborted run: export it or remove it"};
}

Result<SpoolFile> SpoolFile::CreateNameless(const std::string& base) {
  OutliveSizeLimit();
  PP_ASSIGN_OR_RETURN(UniqueFd fd, OpenAnonymousFile(base.substr(0, base.rfind('/') + 1)));
  return SpoolFile(base + kEnding, std::move(fd), Name::kNone);
}

SpoolFile::SpoolFile(SpoolFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      fd_(std::move(other.fd_)),
      size_(other.size_),
      has_name_(other.has_name_),
      kept_(other.kept_) {}

SpoolFile::~SpoolFile() {
  if (!path_.empty() && has_name_ && !kept_) {
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
      const int reason = written == 0 ? ENOSPC : errno;
      const std::string folder = path_.substr(0, path_.rfind('/'));
      return has_name_ ? ErrnoError(reason, "cannot write to " + path_, "free some space, or write elsewhere with -o")
                       : ErrnoError(reason, "cannot write to a file in " + folder,
                                    "free some space there, or set TMPDIR to another folder");
    }
    size_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<UniqueFd> SpoolFile::OpenForReading() const {
  const std::string path = has_name_ ? path_ : fmt::format("/proc/self/fd/{}", fd_.get());
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    return ErrnoError(errno, fmt::format("cannot read {} again", path));
  }
  return fd;
}

Result<void> SpoolFile::Keep() {
  if (const int reason = has_name_ ? 0 : NameFile(fd_.get(), path_.c_str()); reason != 0) {
    return ErrnoError(reason, fmt::format("cannot keep the trace as {}", path_),
                      "name a file with -o next time: the trace is then written there from the start");
  }
  has_name_ = true;
  kept_ = true;
  return {};
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
