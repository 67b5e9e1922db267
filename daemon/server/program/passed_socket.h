// The socket that a service manager made for us and passed on at our start (sd_listen_fds(3)), to be used in place of
// one of our own.
//
// Stateless; call it once, with one thread. The file of such a socket is the manager's: it made it with the mode and
// the group that the administrator chose, and removes it.
#pragma once

#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

struct PassedSocket {
  UniqueFd fd;          // listens; does not block
  std::string address;  // its path; "@name" of an abstract one
};

// Nothing: none was passed. kFailedPrecondition: more than one, or one that is no listening Unix stream socket. Takes
// LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES out of the environment.
Result<std::optional<PassedSocket>> TakePassedSocket();

// What is wrong with a socket that was passed, or its address.
Result<std::string> ExaminePassedSocket(int fd, const std::string& name);

}  // namespace ptrace_prof
