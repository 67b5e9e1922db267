#include "attach/base/anonymous_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

namespace ptrace_prof {

namespace {

std::string_view RemedyOf(int err, std::string_view usual) {
  switch (err) {
    case EROFS: return "its file system is read-only: make it writable (mount -o remount,rw), or use another folder";
    case ENOSPC:
    case EDQUOT: return "free some space there";
    default: return usual;
  }
}

}  // namespace

Error StorageError(int err, const std::string& folder, std::string_view message, std::string_view remedy) {
  Error error = ErrnoError(err, std::string(message) + " in " + folder, RemedyOf(err, remedy));
  error.reason = error.reason == Reason::kUnspecified ? Reason::kStorageFailed : error.reason;
  error.code = CodeOf(error.reason);
  error.thing = "folder " + folder;
  return error;
}

Result<UniqueFd> OpenAnonymousFile(const std::string& folder) {
  constexpr char kMessage[] = "cannot make a file for the trace";
  constexpr char kRemedy[] = "set TMPDIR to a folder that can be written";
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd.is_open()) {
    return fd;
  }
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) {
    return StorageError(errno, folder, kMessage, kRemedy);
  }
  std::string path = folder + "/ptrace-prof-XXXXXX";  // for file systems without O_TMPFILE
  fd.reset(::mkostemp(path.data(), O_CLOEXEC));
  if (!fd.is_open()) {
    return StorageError(errno, folder, kMessage, kRemedy);
  }
  ::unlink(path.c_str());
  return fd;
}

int NameFile(int fd, const char* path) {
  char digits[16];
  char* first = std::end(digits);
  *--first = '\0';
  do {
    *--first = static_cast<char>('0' + fd % 10);
    fd /= 10;
  } while (fd > 0);
  char from[sizeof "/proc/self/fd/" + sizeof digits] = "/proc/self/fd/";
  char* end = from + sizeof "/proc/self/fd/" - 1;
  while ((*end++ = *first++) != '\0') {
  }
  return ::linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

}  // namespace ptrace_prof
