// One connection over TLS: the handshake, and then its bytes to and from a local socket, behind which a server sits
// that sees plain HTTP/2 of somebody who is known.
//
//   kHandshake ──certificate verified──► kServing ──either end gone──► kLingering ──► kClosed
//        └── refused, or too late ──────────────────────────────────────┘
// Whoever has no good certificate gets no byte past this file and OpenSSL: no HTTP/2 is parsed for them. At most three
// small buffers of what one end has sent and the other not taken; while one is full, nothing more is read for it. A
// connection that ends badly is kept for a moment after our last word, or the peer would lose that with the reset. Owns
// both sockets. One thread, which never blocks here.
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

  // Does what can be done now.
  void Advance();
  // The local end is not watched any more: what is left in it is taken whenever the network takes more.
  void TakeTheRest() { takes_the_rest_ = true; }
  // As Advance, where the network says that the connection is lost.
  void Lose();
  // Says no more, and why: of a handshake that took too long, say.
  void Refuse(Error why);
  // Once, when kServing has begun: the server's end. Closed where there are no descriptors left.
  UniqueFd TakeServerEnd();

  State state() const { return state_; }
  const PeerCertificate& peer() const { return peer_; }  // from kServing on
  const Error& why() const { return why_; }              // of a refusal
  const std::string& address() const { return address_; }
  int network() const { return network_.get(); }
  int local() const { return local_.get(); }  // -1 before kServing
  // What to wait for, as of epoll(7).
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
  bool has_unsent() const;  // of what is gathered
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
  Error objection_;  // to the certificate
  Buffer in_;        // to the server
  Buffer out_;       // to the network
  bool wants_to_write_ = false;
  bool takes_the_rest_ = false;
  bool peer_ended_ = false;
  bool server_ended_ = false;
  size_t discarded_ = 0;
};

}  // namespace ptrace_prof
