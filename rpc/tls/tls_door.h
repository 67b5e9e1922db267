// Accepts connections over TCP that show a verified certificate, and identifies their owners: a doorkeeper for
// UnixListener.
//
// A thread of its own accepts, runs the handshakes and carries the bytes of all connections (tls_connection.h). Until a
// valid certificate is shown, a connection takes one of a bounded number of places, for a few seconds at most. When all
// places are taken, the oldest handshake is ended, so silent clients keep no one out. A host that connects too often
// does not even get a handshake, because handshakes are expensive.
// too often is not even shaken hands with: a handshake is what costs.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "attach/base/report_limit.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "rpc/connection/arrival.h"
#include "rpc/tls/arrival_rate.h"
#include "rpc/tls/tls_connection.h"
#include "rpc/tls/tls_server.h"

namespace ptrace_prof {

struct TlsDoorOptions {
  // Maps a verified certificate to an identity. On an error, every call is answered with it. Called on the door's
  // thread.
  std::function<Result<PeerIdentity>(const PeerCertificate&)> identify;
  // Called for a refused connection, at most some times a second, on the door's thread. `times` is the number of
  // refusals since the last call, this one included.
  std::function<void(const Error&, size_t times)> on_refused;
  size_t max_connections = 600;  // those that have shown a certificate
  size_t max_handshakes = 128;
  size_t max_handshakes_of_host = 32;
  Nanos pause_of_host = Nanos::FromMillis(20);  // average time between its connections
  size_t max_at_once_of_host = 200;             // connections at once after a pause
  size_t max_lingering = 128;                   // ended, not closed by the peer; more are closed at once
  Nanos handshake_patience = Nanos::FromSeconds(10);
};

class TlsDoor : public Doorkeeper {
 public:
  // `listening` is a non-blocking TCP socket.
  static Result<std::unique_ptr<TlsDoor>> Start(UniqueFd listening, TlsServer server, TlsDoorOptions options);
  ~TlsDoor() override;  // waits a moment to deliver what the servers sent before they ended

  int fd() const override { return arrived_.get(); }
  std::optional<Arrival> Take() override;
  bool has_left() const override { return false; }
  void StopLettingIn() override { Report(Wish::kStopAccepting); }

 private:
  struct Entry {
    std::unique_ptr<TlsConnection> connection;
    std::string host;
    Nanos deadline;  // 0: none
    uint32_t network_events = 0;
    uint32_t local_events = 0;
    bool watches_local = false;
    TlsConnection::State reported = TlsConnection::State::kHandshake;
  };
  using Entries = std::map<uint64_t, Entry>;

  enum class Wish : uint8_t { kNone, kStopAccepting, kEnd };

  TlsDoor(UniqueFd listening, TlsServer server, TlsDoorOptions options);
  void Report(Wish wish);
  void Run();
  bool Obey();  // returns whether to go on
  void AcceptSome();
  void MakeRoom(const std::string& host);
  void Serve(uint64_t id, bool is_local, uint32_t events);
  void Settle(Entries::iterator at);  // call after its connection did something
  void LetIn(Entry& entry);
  void CountStates(TlsConnection::State before, TlsConnection::State after);
  void Watch(uint64_t id, Entry& entry);
  void SetDeadline(uint64_t id, Entry& entry, Nanos deadline);
  void RefuseLate();
  void ReportRefused(Error why);
  int NextTimeout() const;

  const UniqueFd listening_;
  const TlsServer server_;
  const TlsDoorOptions options_;
  const UniqueFd epoll_;
  const UniqueFd wake_;
  const UniqueFd arrived_;
  Entries entries_;
  std::set<std::pair<Nanos, uint64_t>> deadlines_;
  std::map<std::string, size_t> handshakes_;  // number of handshakes by host
  size_t shaking_ = 0;
  size_t serving_ = 0;
  size_t lingering_ = 0;
  uint64_t next_id_ = 1;
  ReportLimit reported_;
  ArrivalRate rate_;

  std::atomic<Wish> wish_ = Wish::kNone;
  Nanos end_;  // the latest time for the thread's end
  std::mutex mutex_;
  std::deque<Arrival> arrivals_;
  std::thread thread_;
};

}  // namespace ptrace_prof
