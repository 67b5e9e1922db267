// Measures the cost of gRPC alone: a server like the daemon's, in a process of its own, that answers ListCaptures with
// nothing at once. Create it before this process has any threads. The child ends with its owner.
#pragma once

#include <sys/types.h>

#include <string>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class EmptyServer {
 public:
  EmptyServer();
  ~EmptyServer();
  EmptyServer(const EmptyServer&) = delete;
  EmptyServer& operator=(const EmptyServer&) = delete;

  std::string address() const { return "unix:" + folder_ + "/s.sock"; }

 private:
  std::string folder_;
  UniqueFd alive_;  // closing it ends the child
  pid_t child_ = -1;
};

}  // namespace ptrace_prof
