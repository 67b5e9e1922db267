#include "daemon/export/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

namespace ptrace_prof {
namespace {

enum class LinkAt : uint8_t { kNone, kOurs, kOthers };

LinkAt LookForLink(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0 || !S_ISLNK(there.st_mode)) {
    return LinkAt::kNone;
  }
  // /dev/stdout belongs to root.
  return there.st_uid == ::geteuid() || there.st_uid == 0 ? LinkAt::kOurs : LinkAt::kOthers;
}

// rename(2) would replace a symbolic link, not the file it points to. Only links of our own user or of root are
// followed.
std::string ResolveLinks(const std::string& path) {
  char resolved[PATH_MAX];
  return LookForLink(path) == LinkAt::kOurs && ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

bool IsStream(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

Result<std::unique_ptr<Output>> Output::Open(const std::string& path, Compression compression) {
  PP_ASSIGN_OR_RETURN(auto output, OpenPlain(path));
  if (compression == Compression::kGzip) {
    output->gzip_ = std::make_unique<GzipStream>();
    if (!output->gzip_->ready()) {
      return Error{Code::kResourceExhausted, "zlib could not be set up: no memory", ""};
    }
  }
  return output;
}

Result<std::unique_ptr<Output>> Output::OpenPlain(const std::string& path) {
  if (path.empty()) {
    return Error{Code::kInvalidArgument, "the name of the output file is empty", "Name one with -o."};
  }
  PP_RETURN_IF_ERROR(CheckPlaceOf(path));
  if (path == "-") {
    UniqueFd fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!fd.is_open()) {
      return ErrnoError(errno, "cannot write to standard output");
    }
    return std::unique_ptr<Output>(new Output("standard output", "", std::move(fd)));
  }
  if (IsStream(path)) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd.is_open()) {
      return ErrnoError(errno, fmt::format("cannot write {}", path));
    }
    return std::unique_ptr<Output>(new Output(path, "", std::move(fd)));
  }
  std::string target = ResolveLinks(path);
  std::string temporary = fmt::format("{}.tmp.{}", target, ::getpid());
  ::unlink(temporary.c_str());  // left by a killed process that had our pid
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd.is_open()) {
    return ErrnoError(errno, fmt::format("cannot write {}", path), "Name a writable place with -o.");
  }
  auto output = std::unique_ptr<Output>(new Output(path, std::move(temporary), std::move(fd)));
  output->target_ = std::move(target);
  return output;
}

Output::Output(std::string path, std::string temporary, UniqueFd fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {
  buffer_.reserve(kBufferSize);
}

Output::~Output() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

void Output::Fail(int err) {
  if (status_.has_error()) {
    return;
  }
  Error error =
      ErrnoError(err, fmt::format("cannot write {}", path_), err == EPIPE ? std::string_view() : kNoSpaceRemedy);
  if (err == EPIPE) {
    error.code = Code::kCancelled;
  }
  status_ = std::move(error);
}

void Output::WriteOut(std::string_view bytes) {
  while (!bytes.empty() && !status_.has_error()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno != EINTR) {
        Fail(errno);
      }
      continue;
    }
    bytes_written_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void Output::Pass(std::string_view bytes) {
  constexpr size_t kPiece = size_t{1} << 20;
  if (gzip_ == nullptr) {
    WriteOut(bytes);
    return;
  }
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size()))) {
    gzip_->Write(bytes.substr(0, kPiece), GzipStream::Flush::kNone, [this](std::string_view out) { WriteOut(out); });
  }
}

void Output::Flush() {
  Pass(buffer_);
  buffer_.clear();
}

Result<void> Output::Commit() {
  Flush();
  if (gzip_ != nullptr) {
    gzip_->Write({}, GzipStream::Flush::kFinish, [this](std::string_view out) { WriteOut(out); });
  }
  PP_RETURN_IF_ERROR(std::move(status_));
  status_ = {};
  if (temporary_.empty()) {
    return {};
  }
  if (::fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS) {
    Fail(errno);
    return status_;
  }
  fd_.reset();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    Fail(errno);
    return status_;
  }
  temporary_.clear();
  return {};
}

Result<void> CheckPlaceOf(const std::string& path) {
  if (path == "-") {
    const int mode = ::fcntl(STDOUT_FILENO, F_GETFL);
    return mode == -1 || (mode & O_ACCMODE) == O_RDONLY
               ? ErrnoError(EBADF, "cannot write to standard output", "it is closed: name a file with -o")
               : Result<void>();
  }
  if (LookForLink(path) == LinkAt::kOthers) {  // such a link could make root overwrite any file
    return Error{Code::kPermissionDenied, fmt::format("{} is a symbolic link of another user", path),
                 "remove it, or name another file with -o"};
  }
  if (IsStream(path)) {
    return {};
  }
  const std::string folder = TemporaryFolderFor(path);
  constexpr std::string_view kElsewhere = "create it first, or name another place with -o";
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    const int error = errno;
    return error == ENOENT
               ? Error{Code::kNotFound, fmt::format("folder {} does not exist: cannot write {}", folder, path),
                       std::string(kElsewhere)}
               : ErrnoError(error, fmt::format("cannot write {}", path), kElsewhere);
  }
  if (!S_ISDIR(status.st_mode)) {
    return Error{Code::kNotFound, fmt::format("{} is not a folder: cannot write {}", folder, path),
                 "name another place with -o"};
  }
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return ErrnoError(errno, fmt::format("cannot write into the folder {}", folder), "name a writable place with -o");
  }
  return {};
}

std::string TemporaryFolderFor(const std::string& output_path) {
  if (output_path != "-" && !IsStream(output_path)) {
    const std::string target = ResolveLinks(output_path);
    const size_t slash = target.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
  }
  const char* folder = ::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

}  // namespace ptrace_prof
