// The Unix socket that a server listens on: made so that its owner alone can connect, or everybody, in a folder of the
// owner's.
//
// Stateless. Two servers that start at the same time are kept apart by a lock on the folder. Knows no gRPC.
#pragma once

#include <cstdint>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

enum class SocketAccess : uint8_t {
  kOwner,     // mode 0600, in a folder of mode 0700 where that is missing
  kEverybody  // mode 0666, in a folder of mode 0755 where that is missing
};

// The last folder of the path is made where it is missing. A socket file that nobody answers at is replaced.
// kInvalidArgument: the path is too long or empty; kAlreadyExists: somebody answers there, or the file is no socket;
// kPermissionDenied: the file is somebody else's. kFailedPrecondition: others shall connect, and may not look into the
// folder.
Result<UniqueFd> ListenOnUnixSocket(const std::string& path, SocketAccess access = SocketAccess::kOwner);

// The file of a socket, and which file it is: one that has come in its place meanwhile is another.
struct UnixSocketFile {
  std::string folder;  // absolute, without links
  std::string name;
  uint64_t device = 0;
  uint64_t inode = 0;
  Nanos changed;  // numbers of inodes are used again
  bool operator==(const UnixSocketFile&) const = default;
};

// Call it after ListenOnUnixSocket of the same path.
Result<UnixSocketFile> FindUnixSocket(const std::string& path);

// For the end of a server: removes the file if it is still that one. Needs no right but that to write to the folder;
// without it, or while another server is just starting there, the file stays for the next server, which replaces it.
// Never waits for anybody.
void RemoveUnixSocket(const UnixSocketFile& file);

// Connects, which says at once what is wrong: kNotFound, kPermissionDenied, kUnavailable (nobody answers). Where too
// many wait there it waits with them, for five seconds at the most: kUnavailable.
Result<UniqueFd> ConnectToUnixSocket(const std::string& path);

// Connects for a moment and never waits: 0, or the errno of it (EAGAIN: too many wait there already).
Result<int> KnockAtUnixSocket(const std::string& path);

}  // namespace ptrace_prof
