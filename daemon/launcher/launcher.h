// The privileged part of the daemon: lets callers in, and starts collectors for them, each with that caller's rights.
//
// Runs in the process that ForkLauncher makes, on its only thread. Owns its ends of the sockets and the collectors.
// It accepts connections, learns from the kernel who is at the other end, and hands them on without reading a byte.
// From the other side it takes first, once, whom the daemon may vouch for (who comes over TCP shows no kernel's word):
// before it has read a byte of anybody's. After that it takes nothing but for which of those peers to start a
// collector, and key=value arguments: the program is always our own, as "__collector". It also tells what a process is
// (target_look.h). So whoever gets hold of the daemon's other process can do what the peers can that are connected, and
// no more. It knows no gRPC, reads no target's memory and no ELF.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "attach/base/unique_fd.h"
#include "daemon/launcher/arrivals.h"
#include "daemon/launcher/launch_message.h"
#include "daemon/launcher/memory_grantor.h"

namespace ptrace_prof {

struct LauncherSockets {
  UniqueFd commands;
  UniqueFd door;       // connections go out here
  UniqueFd listening;  // and come from here
};

class Launcher {
 public:
  Launcher(LauncherSockets sockets, YamaRule yama) : sockets_(std::move(sockets)), yama_(yama) {}

  // Until the other end of the socket is closed.
  void Run();
  // Returns when all collectors have ended. Call it after Run, once.
  void EndAll();

 private:
  struct Child {
    pid_t pid = -1;
    UniqueFd pidfd;
  };

  // Who waits at the door until it has room.
  struct Arrival {
    UniqueFd connection;
    PeerMessage message;
  };

  void Serve();  // one message
  void Obey(const LaunchHeader& header, std::span<const std::byte> packet);
  void Vouch(std::span<const std::byte> packet);
  void LetIn();
  bool HandOnArrival();
  int TimeoutFor(int wanted_ms) const;
  void Wait(int timeout_ms);
  void ReapEnded();  // and say so
  void Start(std::span<const std::byte> packet);
  UniqueFd LineToGrantor(const CallerIdentity& caller);
  bool Send(const LaunchHeader& header, std::span<const int> descriptors = {});
  bool Answer(std::span<const std::byte> packet, std::span<const int> descriptors = {});

  LauncherSockets sockets_;
  const YamaRule yama_;
  bool closed_ = false;
  uint64_t next_peer_ = 1;
  Arrivals arrivals_;
  std::optional<Arrival> arrival_;
  std::map<uint64_t, CallerIdentity> peers_;    // those who are connected
  std::map<uint64_t, CallerIdentity> vouched_;  // whom the daemon may speak for
  bool sealed_ = false;                         // nobody joins them any more
  std::map<uint64_t, Child> children_;
  std::vector<Child> grantors_;  // each ends when its collector has
};

}  // namespace ptrace_prof
