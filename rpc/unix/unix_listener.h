// Accepts connections on a Unix socket and gives each a server of its own that knows who is at the other end.
//
//   accept ──► who is it? ──refused──► a server that says why to every call, for a moment; said to `on_refused`
//                 └──► ServicesFactory(identity) ──► ConnectionServer ──peer gone──► shut down
// Where there is a doorkeeper, that accepts and says who it is, and the listener only when the doorkeeper has left.
// One thread accepts and sees connections end, another shuts their servers down, because that may take a while. Knows
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
  std::function<Result<void>(const PeerIdentity&)> admit;  // on the listener's thread, as all of these
  size_t max_connections = 1000;
  size_t reserved = 0;  // of these, for administrators alone
  size_t max_per_user = 1000;
  std::function<void(const PeerIdentity&, const Error&)> on_refused;
  Nanos refusal_time = Nanos::FromSeconds(5);  // so long a refused connection may hear why, and then is closed
  size_t max_refused = 100;                    // of those; for one more the oldest is closed
  std::unique_ptr<Doorkeeper> doorkeeper;
  bool is_lent = false;  // the socket is somebody else's too: who comes after our end waits for whom that passes it to
};

// For ListenerOptions::admit: kPermissionDenied for everybody else.
std::function<Result<void>(const PeerIdentity&)> AdmitOnly(std::vector<Uid> users);

class UnixListener {
 public:
  // `socket` listens already (unix_socket.h).
  static Result<std::unique_ptr<UnixListener>> Start(UniqueFd socket, ListenerOptions options, ServicesFactory factory);
  ~UnixListener();

  // Accepts nobody any more; calls may end by themselves until `patience` is over, then they are cancelled, which their
  // clients see as UNAVAILABLE.
  void Shutdown(Nanos patience);
  size_t connections() const;

 private:
  struct Connection {
    UniqueFd watched;  // a duplicate, to see the peer go
    std::unique_ptr<ConnectionServer> server;
    PeerIdentity peer;
    int strikes = 0;  // how often it held too much, one look after the other
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
  UniqueFd spare_;  // given up to turn somebody away when descriptors run out
  uint64_t next_id_ = 3;
  UserMemory memory_;                           // of the accepting thread, as the next two
  Nanos looked_;                                // at our memory
  std::map<uint64_t, Connection> connections_;  // until that has ended

  std::deque<std::pair<Nanos, uint64_t>> refused_;  // until when, the oldest first; some may have gone

  mutable std::mutex mutex_;
  std::condition_variable retired_some_;
  std::vector<Connection> retired_;
  size_t open_ = 0;  // servers, retired ones too
  bool finishing_ = false;
  std::thread accepter_;
  std::thread reaper_;
};

}  // namespace ptrace_prof
