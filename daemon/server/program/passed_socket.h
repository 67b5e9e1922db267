// The listening socket that a service manager made and passed to us (sd_listen_fds(3)), used in place of our own.
//
// Stateless; call it once, with one thread. The service manager owns the socket's file: it creates the file with the
// mode and group that the administrator chose, and removes it.
#pragma once

#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

struct PassedSocket {
  UniqueFd fd;          // listening and non-blocking
  std::string address;  // its path; "@name" of an abstract one
};

// Nothing: none was passed. kFailedPrecondition: more than one, or not a listening Unix stream socket. Removes
// LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from the environment.
Result<std::optional<PassedSocket>> TakePassedSocket();

// Returns the address of a passed socket, or what is wrong with it.
Result<std::string> ExaminePassedSocket(int fd, const std::string& name);

}  // namespace ptrace_prof
