// The privileged part of the daemon: accepts connections, and starts collectors with the rights of the caller.
//
// Runs on the only thread of the process that ForkLauncher makes. Owns its ends of the sockets, and the collectors.
// For each connection it asks the kernel for the peer's identity, and hands the connection on without reading from it.
// First the daemon names, once, the users it may vouch for (the kernel knows no identity of a TCP peer); it does so
// before it reads from any client. After that the launcher accepts only a peer's number with key=value arguments for a
// collector (the program is always our own, as "__collector"), and requests to describe a process (target_look.h).
// So an attacker in the daemon's main process can do no more than the peers that are connected. The launcher contains
// no gRPC, and reads neither a target's memory nor ELF.
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
  UniqueFd door;       // accepted connections are sent here
  UniqueFd listening;  // connections are accepted here
};

class Launcher {
 public:
  Launcher(LauncherSockets sockets, YamaRule yama) : sockets_(std::move(sockets)), yama_(yama) {}

  // Returns when the other end of the command socket is closed.
  void Run();
  // Returns when all collectors have ended. Call it once, after Run.
  void EndAll();

 private:
  struct Child {
    pid_t pid = -1;
    UniqueFd pidfd;
  };

  // A connection that waits until the door has room.
  struct Arrival {
    UniqueFd connection;
    PeerMessage message;
  };

  void Serve();  // handles one message
  void Obey(const LaunchHeader& header, std::span<const std::byte> packet);
  void Vouch(std::span<const std::byte> packet);
  void LetIn();
  bool HandOnArrival();
  int TimeoutFor(int wanted_ms) const;
  void Wait(int timeout_ms);
  void ReapEnded();  // and reports each end
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
  std::map<uint64_t, CallerIdentity> peers_;    // connected peers
  std::map<uint64_t, CallerIdentity> vouched_;  // users for which the daemon may request collectors
  bool sealed_ = false;                         // no user is added to `vouched_` any more
  std::map<uint64_t, Child> children_;
  std::vector<Child> grantors_;  // each ends when its collector has
};

}  // namespace ptrace_prof
