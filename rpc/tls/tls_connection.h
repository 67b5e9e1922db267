// One connection over TLS: the handshake, then its bytes to and from a local socket. A server at that socket sees plain
// HTTP/2 from an identified peer.
//
//   kHandshake ──certificate verified──► kServing ──either end gone──► kLingering ──► kClosed
//        └── refused, or too late ──────────────────────────────────────┘
// Without a valid certificate, no byte of a peer gets past this file and OpenSSL, so no HTTP/2 is parsed. At most three
// small buffers hold bytes that one end has sent and the other has not taken; while one is full, nothing more is read
// for it. A connection that ends with an error stays open for a moment after our last bytes, or a reset would make the
// peer lose them. Owns both sockets. Used on one thread, and never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "rpc/tls/peer_certificate.h"
#include "rpc/tls/tls_server.h"

struct ssl_st;
struct x509_store_ctx_st;

namespace ptrace_prof {

class TlsConnection {
 public:
  enum class State : uint8_t { kHandshake, kServing, kLingering, kClosed };

  TlsConnection(UniqueFd network, const TlsServer& server, std::string address);
  ~TlsConnection();
  TlsConnection(const TlsConnection&) = delete;
  TlsConnection& operator=(const TlsConnection&) = delete;

  // Does all work that is possible now.
  void Advance();
  // Stops watching the local end: its remaining bytes are read whenever the network has room.
  void TakeTheRest() { takes_the_rest_ = true; }
  // Like Advance, when epoll reports that the network connection is lost.
  void Lose();
  // Refuses the connection for this reason, such as a handshake that took too long, and sends nothing more.
  void Refuse(Error why);
  // The server's end of the local socket. Call once, when kServing has begun. Not open if no descriptor was free.
  UniqueFd TakeServerEnd();

  State state() const { return state_; }
  const PeerCertificate& peer() const { return peer_; }  // valid from kServing on
  const Error& why() const { return why_; }              // the reason of a refusal
  const std::string& address() const { return address_; }
  int network() const { return network_.get(); }
  int local() const { return local_.get(); }  // -1 before kServing
  // The epoll(7) events to wait for.
  uint32_t network_interest() const;
  uint32_t local_interest() const;

 private:
  struct Buffer {
    std::vector<char> bytes;
    size_t begin = 0;
    size_t end = 0;
    bool is_empty() const { return begin == end; }
  };

  static int OnVerified(int good, x509_store_ctx_st* store);
  void Handshake();
  void BeginServing();
  void GatherRecords();
  void SendGathered();
  bool has_unsent() const;  // whether gathered records are unsent
  void PumpIn();
  void PumpOut();
  bool FillFromLocal();
  void Linger();
  void Discard();

  UniqueFd network_;
  UniqueFd local_;
  UniqueFd server_end_;
  const std::string address_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  State state_ = State::kHandshake;
  PeerCertificate peer_;
  Error why_;
  Error objection_;  // against the certificate
  Buffer in_;        // to the server
  Buffer out_;       // to the network
  bool wants_to_write_ = false;
  bool takes_the_rest_ = false;
  bool peer_ended_ = false;
  bool server_ended_ = false;
  size_t discarded_ = 0;
};

}  // namespace ptrace_prof
