// Accepts connections on a Unix socket and gives each a server of its own that knows its peer's identity.
//
//   accept ──► identify ──refused──► for a moment, a server that answers every call with the reason; `on_refused`
//                 └──► ServicesFactory(identity) ──► ConnectionServer ──peer gone──► shut down
// If there is a doorkeeper, it accepts and identifies; the listener does so itself only after the doorkeeper has left.
// One thread accepts and notices closed connections; another shuts their servers down, because that may take a while.
// Knows nothing of profiling. Call Shutdown() once; otherwise the destructor does it.
// no profiler. Shutdown() is called once; the destructor does it where it was not.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "rpc/connection/arrival.h"
#include "rpc/connection/connection_server.h"
#include "rpc/connection/connection_services.h"
#include "rpc/connection/user_memory.h"

namespace ptrace_prof {

struct ListenerOptions {
  std::function<Result<void>(const PeerIdentity&)> admit;  // all functions: on the listener's thread
  size_t max_connections = 1000;
  size_t reserved = 0;  // of these, only for administrators
  size_t max_per_user = 1000;
  std::function<void(const PeerIdentity&, const Error&)> on_refused;
  Nanos refusal_time = Nanos::FromSeconds(5);  // then a refused connection is closed
  size_t max_refused = 100;                    // refused connections that are open; for one more the oldest is closed
  std::unique_ptr<Doorkeeper> doorkeeper;
  bool is_lent = false;  // another process shares the socket, and accepts the connections that arrive after our end
};

// For ListenerOptions::admit: kPermissionDenied for all other users.
std::function<Result<void>(const PeerIdentity&)> AdmitOnly(std::vector<Uid> users);

class UnixListener {
 public:
  // `socket` is listening already (unix_socket.h).
  static Result<std::unique_ptr<UnixListener>> Start(UniqueFd socket, ListenerOptions options, ServicesFactory factory);
  ~UnixListener();

  // Accepts no more connections. Calls may end by themselves for `patience`, then they are cancelled, which clients see
  // as UNAVAILABLE.
  void Shutdown(Nanos patience);
  size_t connections() const;

 private:
  struct Connection {
    UniqueFd watched;  // a duplicate, to notice when the peer closes
    std::unique_ptr<ConnectionServer> server;
    PeerIdentity peer;
    int strikes = 0;  // checks in a row in which it held too much
  };

  UnixListener(UniqueFd socket, ListenerOptions options, ServicesFactory factory);
  Result<void> Open();
  void Accept();
  void AcceptFromDoorkeeper();
  UniqueFd AcceptOne();
  size_t CountOf(Uid user) const;
  ConnectionShare ShareOf(Uid user);
  Result<void> CheckLimits(const PeerIdentity& peer) const;
  void Receive(Arrival arrival);
  Result<void> Serve(Arrival arrival, const Result<void>& verdict);
  void Count(int more);
  int NextTimeout() const;
  void AwaitQuiet(Nanos deadline) const;
  void RetireRefused();
  void RetireGreedy();
  static bool IsGreedy(Connection& connection, bool is_too_much);
  void AcceptLoop();
  void ServeEvent(uint64_t what);
  void ReapLoop();
  void Retire(uint64_t id);

  const UniqueFd socket_;
  ListenerOptions options_;
  const ServicesFactory factory_;
  UniqueFd epoll_;
  UniqueFd wake_;
  UniqueFd spare_;  // closed when descriptors run out, so that a connection can be accepted and refused
  uint64_t next_id_ = 3;
  UserMemory memory_;                           // only on the accepting thread, like the next two
  Nanos looked_;                                // last check of our memory
  std::map<uint64_t, Connection> connections_;  // a connection stays here until it has ended

  std::deque<std::pair<Nanos, uint64_t>> refused_;  // by closing time, the oldest first; some may be closed already

  mutable std::mutex mutex_;
  std::condition_variable retired_some_;
  std::vector<Connection> retired_;
  size_t open_ = 0;  // number of servers, retired ones included
  bool finishing_ = false;
  std::thread accepter_;
  std::thread reaper_;
};

}  // namespace ptrace_prof
