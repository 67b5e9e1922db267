#include "rpc/unix/unix_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "attach/base/types.h"

namespace ptrace_prof {
namespace {

constexpr timeval kFullQueuePatience{5, 0};  // with a full queue
constexpr int kBacklog = 4096;               // limited by net.core.somaxconn
constexpr int kEndingMs = 300;
constexpr Nanos kLockPatience = Nanos::FromSeconds(5);

Result<sockaddr_un> Address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error{Code::kInvalidArgument, "the path of the socket is empty or contains a zero byte",
                 "give another path"};
  }
  if (path.size() >= sizeof address.sun_path) {
    return Error{Code::kInvalidArgument,
                 fmt::format("the path of the socket is longer than {} bytes, the kernel's limit: {}",
                             sizeof address.sun_path - 1, path),
                 "choose a shorter one"};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<UniqueFd> NewSocket(int flags) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!fd.is_open()) {
    return ErrnoError(errno, "cannot make a Unix socket");
  }
  return fd;
}

const sockaddr* Generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Gives up after a while, because any user who may read the folder can hold its lock, even with bad intent.
bool Lock(int folder) {
  const Nanos deadline = MonotonicNow() + kLockPatience;
  while (::flock(folder, LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || MonotonicNow() > deadline) {
      return false;
    }
    ::poll(nullptr, 0, kEndingMs);
  }
  return true;
}

// Locks the folder of the path; the lock lasts as long as the result.
Result<UniqueFd> LockFolder(const std::string& path, SocketAccess access) {
  const std::string folder = FolderOf(path);
  const bool for_all = access == SocketAccess::kEverybody;
  const bool made = ::mkdir(folder.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) {
    return ErrnoError(errno, fmt::format("cannot make the folder {} for the socket", folder),
                      "make it, or choose another socket with --socket");
  }
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.is_open() && !Lock(fd.get())) {
    return ErrnoError(errno, fmt::format("another process keeps the folder {} for the socket locked (flock)", folder),
                      fmt::format("`fuser {}` shows which; or choose another socket with --socket", folder));
  }
  if (!fd.is_open()) {
    return ErrnoError(errno, fmt::format("cannot use the folder {} for the socket", folder),
                      "choose another socket with --socket");
  }
  struct stat there {};
  if (for_all && ((made && ::fchmod(fd.get(), 0755) != 0) || ::fstat(fd.get(), &there) != 0)) {
    return ErrnoError(errno, fmt::format("cannot give other users access to the folder {}", folder));
  }
  if (for_all && (there.st_mode & S_IXOTH) == 0) {
    return Error{Code::kFailedPrecondition,
                 fmt::format("other users cannot reach a socket in the folder {}, which has mode {:o}", folder,
                             there.st_mode & 07777),
                 fmt::format("chmod o+x {}, or choose another socket with --socket", folder)};
  }
  return fd;
}

UnixSocketFile Identify(const std::string& folder, const std::string& name, const struct stat& there) {
  return {folder, name, there.st_dev, there.st_ino,
          Nanos(int64_t{there.st_ctim.tv_sec} * 1'000'000'000 + there.st_ctim.tv_nsec)};
}

// 0 if a server accepts, or the errno. A server that is just ending drops connections that it has not accepted, so it
// tries twice.
Result<int> TryToConnect(const sockaddr_un& address) {
  int answer = 0;
  for (int tries = 0; tries < 2; ++tries) {
    PP_ASSIGN_OR_RETURN(const UniqueFd probe, NewSocket(SOCK_NONBLOCK));
    answer = ::connect(probe.get(), Generic(address), sizeof address) == 0 ? 0 : errno;
    pollfd ended{probe.get(), POLLRDHUP, 0};
    if (answer != 0 || ::poll(&ended, 1, kEndingMs) == 0) {
      break;
    }
  }
  return answer;
}

// Removes an old socket at the path if it is ours and unused.
Result<void> ClearPath(const std::string& path, const sockaddr_un& address) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    return errno == ENOENT ? Result<void>() : ErrnoError(errno, "cannot look at " + path);
  }
  if (!S_ISSOCK(there.st_mode)) {
    return Error{Code::kAlreadyExists, fmt::format("{} exists and is not a socket", path),
                 "remove it, or choose another socket with --socket"};
  }
  PP_ASSIGN_OR_RETURN(const int answer, TryToConnect(address));
  if (answer == 0 || answer == EAGAIN) {
    return Error{Code::kAlreadyExists, fmt::format("another server answers at {}", path),
                 "stop it, or choose another socket with --socket"};
  }
  if (there.st_uid != ::geteuid()) {
    return Error{Code::kPermissionDenied,
                 fmt::format("{} belongs to user {}, not to the user of this server", path, there.st_uid),
                 "choose another socket with --socket"};
  }
  if (answer != ECONNREFUSED && answer != EACCES) {
    return ErrnoError(answer, "cannot check whether a server answers at " + path);
  }
  return ::unlink(path.c_str()) == 0
             ? Result<void>()
             : ErrnoError(errno, "cannot replace " + path, "remove it, or choose another socket with --socket");
}

}  // namespace

Result<UniqueFd> ListenOnUnixSocket(const std::string& path, SocketAccess access) {
  PP_ASSIGN_OR_RETURN(const sockaddr_un address, Address(path));
  PP_ASSIGN_OR_RETURN(const UniqueFd locked, LockFolder(path, access));
  PP_RETURN_IF_ERROR(ClearPath(path, address));
  PP_ASSIGN_OR_RETURN(UniqueFd listener, NewSocket(SOCK_NONBLOCK));
  // The file gets its mode from the socket, so there is no moment in which other users could connect.
  const mode_t mode = access == SocketAccess::kEverybody ? 0666 : 0600;
  const mode_t mask = ::umask(0);
  const bool listens = ::fchmod(listener.get(), mode) == 0 &&
                       ::bind(listener.get(), Generic(address), sizeof address) == 0 &&
                       ::listen(listener.get(), kBacklog) == 0;
  const int reason = errno;
  ::umask(mask);
  if (!listens) {
    return ErrnoError(reason, "cannot listen on " + path, "choose another socket with --socket");
  }
  return listener;
}

Result<UnixSocketFile> FindUnixSocket(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> folder(::realpath(FolderOf(path).c_str(), nullptr), &::free);
  struct stat there {};
  const bool is_there = folder != nullptr && ::lstat(path.c_str(), &there) == 0;
  if (!is_there || !S_ISSOCK(there.st_mode)) {
    return ErrnoError(is_there ? ENOTSOCK : errno, "cannot find the socket " + path + " again",
                      "check whether another program removes files there");
  }
  return Identify(folder.get(), path.substr(path.rfind('/') + 1), there);
}

void RemoveUnixSocket(const UnixSocketFile& file) {
  const UniqueFd folder(::open(file.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return;
  }
  struct stat there {};
  if (::fstatat(folder.get(), file.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      Identify(file.folder, file.name, there) == file) {
    ::unlinkat(folder.get(), file.name.c_str(), 0);
  }
}

Result<UniqueFd> ConnectToUnixSocket(const std::string& path) {
  PP_ASSIGN_OR_RETURN(const sockaddr_un address, Address(path));
  PP_ASSIGN_OR_RETURN(UniqueFd fd, NewSocket(0));
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kFullQueuePatience, sizeof kFullQueuePatience);
  if (::connect(fd.get(), Generic(address), sizeof address) == 0) {
    return fd;
  }
  switch (errno) {
    case ENOENT:
    case ENOTDIR:
      return Error{Code::kNotFound, fmt::format("there is no socket {}", path),
                   "start ptrace-profd, or name its socket: --host unix:PATH", Reason::kServerUnreachable};
    case EACCES:
    case EPERM:
      return Error{Code::kPermissionDenied, fmt::format("the socket {} is for its owner only", path),
                   "run as that user or as root, or start a ptrace-profd of your own"};
    case ECONNREFUSED:
      if (struct stat info{}; ::stat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode)) {
        return Because(Reason::kServerUnreachable, path + " is not a socket",
                       "name the one of ptrace-profd: --host unix:PATH");
      }
      return Because(Reason::kServerUnreachable, fmt::format("no server answers at {}", path),
                     "start ptrace-profd again: the one that made this socket has ended");
    case EAGAIN:
      return Because(Reason::kServerUnreachable, fmt::format("too many connections are waiting at {}", path),
                     "try again");
    default: return ErrnoError(errno, "cannot connect to " + path);
  }
}

Result<int> KnockAtUnixSocket(const std::string& path) {
  PP_ASSIGN_OR_RETURN(const sockaddr_un address, Address(path));
  PP_ASSIGN_OR_RETURN(const UniqueFd fd, NewSocket(SOCK_NONBLOCK));
  return ::connect(fd.get(), Generic(address), sizeof address) == 0 ? 0 : errno;
}

}  // namespace ptrace_prof
