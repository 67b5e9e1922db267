// The privileged part of the daemon: starts collectors, each as the user who asked for it, and says how they ended.
//
// Runs in the process that ForkLauncher makes, on its only thread. Owns its end of the socket and the collectors.
// It knows no gRPC, reads no target and no ELF, and takes from the other side nothing but whom to become and key=value
// arguments: the program is always our own, as "__collector".
#pragma once

#include <map>
#include <span>

#include "attach/base/unique_fd.h"
#include "daemon/launcher/launch_message.h"

namespace ptrace_prof {

class Launcher {
 public:
  explicit Launcher(UniqueFd socket) : socket_(std::move(socket)) {}

  // Until the other end of the socket is closed.
  void Run();
  // Returns when all collectors have ended. Call it after Run, once.
  void EndAll();

 private:
  struct Child {
    pid_t pid = -1;
    UniqueFd pidfd;
  };

  void Serve();  // one message
  void Wait(int timeout_ms);
  void ReapEnded();  // and say so
  void Start(std::span<const std::byte> packet);
  bool Send(const LaunchHeader& header, std::span<const int> descriptors = {});

  UniqueFd socket_;
  bool closed_ = false;
  std::map<uint64_t, Child> children_;
};

}  // namespace ptrace_prof
