// Accepts connections on a Unix socket and gives each a server of its own that knows who is at the other end.
//
//   accept ──► who is it? ──refused──► closed, said to `on_refused`
//                 └──► ServicesFactory(identity) ──► ConnectionServer ──peer gone──► shut down
// One thread accepts and sees connections end, another shuts their servers down, because that may take a while. Knows
// no profiler. Shutdown() is called once; the destructor does it where it was not.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "rpc/connection_server.h"
#include "rpc/connection_services.h"

namespace ptrace_prof {

struct ListenerOptions {
  std::vector<Uid> admitted;  // nobody else
  size_t max_connections = 1000;
  std::function<void(const Error&)> on_refused;  // on the listener's thread
};

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
  };

  UnixListener(UniqueFd socket, ListenerOptions options, ServicesFactory factory);
  Result<void> Open();
  void Accept();
  Result<void> Admit(UniqueFd connection);
  UniqueFd AcceptOne();
  void AcceptLoop();
  void ReapLoop();
  void Retire(uint64_t id);

  const UniqueFd socket_;
  const ListenerOptions options_;
  const ServicesFactory factory_;
  UniqueFd epoll_;
  UniqueFd wake_;
  UniqueFd spare_;  // given up to turn somebody away when descriptors run out
  uint64_t next_id_ = 2;
  std::map<uint64_t, Connection> connections_;  // of the accepting thread, until that has ended

  mutable std::mutex mutex_;
  std::condition_variable retired_some_;
  std::vector<Connection> retired_;
  size_t open_ = 0;  // servers, retired ones too
  bool finishing_ = false;
  std::thread accepter_;
  std::thread reaper_;
};

}  // namespace ptrace_prof
