// Creates the Unix socket that a server listens on. Only its owner may connect, or every user; the folder is the
// owner's.
//
// Stateless. A lock on the folder separates two servers that start at the same time. Independent of gRPC.
#pragma once

#include <cstdint>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

enum class SocketAccess : uint8_t {
  kOwner,     // mode 0600; a missing folder is created with mode 0700
  kEverybody  // mode 0666; a missing folder is created with mode 0755
};

// Creates the last folder of the path if it is missing. Replaces a socket file that no server answers on.
// kInvalidArgument: the path is too long or empty; kAlreadyExists: a server answers there, or the file is not a socket;
// kPermissionDenied: the file belongs to another user; kFailedPrecondition: other users are to connect, but cannot
// enter the folder.
Result<UniqueFd> ListenOnUnixSocket(const std::string& path, SocketAccess access = SocketAccess::kOwner);

// Identifies the file of a socket, so that a newer file at the same path can be distinguished.
struct UnixSocketFile {
  std::string folder;  // absolute, without links
  std::string name;
  uint64_t device = 0;
  uint64_t inode = 0;
  Nanos changed;  // inode numbers are reused
  bool operator==(const UnixSocketFile&) const = default;
};

// Call it after ListenOnUnixSocket of the same path.
Result<UnixSocketFile> FindUnixSocket(const std::string& path);

// For the end of a server: removes the file if it is still the same one. Needs only the right to write to the folder.
// Without that right, or while another server is starting there, the file stays, and the next server replaces it. Never
// waits.
void RemoveUnixSocket(const UnixSocketFile& file);

// Connects, and reports a precise cause: kNotFound, kPermissionDenied, kUnavailable (no server answers). If the queue
// is full, waits for at most five seconds, then kUnavailable.
Result<UniqueFd> ConnectToUnixSocket(const std::string& path);

// Connects for a moment and never waits. Returns 0 or the errno (EAGAIN: the queue is full).
Result<int> KnockAtUnixSocket(const std::string& path);

}  // namespace ptrace_prof
