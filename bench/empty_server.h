// What gRPC costs by itself: a server as the daemon's, in a process of its own, that answers ListCaptures with nothing,
// at once. To be made before this process has any threads; the child ends with its owner.
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
  UniqueFd alive_;  // the child ends when it is closed
  pid_t child_ = -1;
};

}  // namespace ptrace_prof
