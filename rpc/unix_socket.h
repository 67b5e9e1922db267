// The Unix socket that a server listens on: made so that its owner alone can connect, in a folder of the owner's.
//
// Stateless. Two servers that start at the same time are kept apart by a lock on the folder. Knows no gRPC.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// Mode 0600. The last folder of the path is made (0700) where it is missing. A socket file that nobody answers at is
// replaced. kInvalidArgument: the path is too long or empty; kAlreadyExists: somebody answers there, or the file is no
// socket; kPermissionDenied: the file is somebody else's.
Result<UniqueFd> ListenOnUnixSocket(const std::string& path);

// For the end of a server that has closed its socket: removes the file, unless somebody else answers there by now.
void RemoveUnixSocket(const std::string& path);

// Connects, which says at once what is wrong: kNotFound, kPermissionDenied, kUnavailable (nobody answers).
Result<UniqueFd> ConnectToUnixSocket(const std::string& path);

}  // namespace ptrace_prof
