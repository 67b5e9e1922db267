#include "rpc/tls/tls_connection.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kInBytes = 16 * 1024;                // one record
constexpr size_t kOutBytes = 64 * 1024;               // the four records that go out in one system call
constexpr long kGatheredBytes = kOutBytes + 4 * 256;  // with the overhead of TLS for each
constexpr int kRounds = 8;                            // then another connection gets its turn
constexpr size_t kMostDiscarded = 1 << 20;
constexpr char kGetSigned[] = "connect with a certificate signed by the authority of --tls-client-ca";
constexpr int kIsRevoked = X509_V_ERR_CERT_REVOKED;
constexpr int kTroublesOfLists[] = {
    X509_V_ERR_UNABLE_TO_GET_CRL,
    X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE,
    X509_V_ERR_CRL_SIGNATURE_FAILURE,
    X509_V_ERR_CRL_NOT_YET_VALID,
    X509_V_ERR_CRL_HAS_EXPIRED,
    X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD,
    X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD,
    X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER,
    X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION,
};

}  // namespace

TlsConnection::TlsConnection(UniqueFd network, const TlsServer& server, std::string address)
    : network_(std::move(network)), address_(std::move(address)), ssl_(server.NewSession(), &SSL_free) {
  if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), network_.get()) != 1) {
    state_ = State::kClosed;
    return;
  }
  SSL_set_accept_state(ssl_.get());
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &TlsConnection::OnVerified);
}

TlsConnection::~TlsConnection() = default;

// Describes the certificate here, because it is no longer available once the handshake has failed. An error of our
// revocation list is replaced, or the alert would blame the client's certificate as expired or unknown.
int TlsConnection::OnVerified(int good, X509_STORE_CTX* store) {
  if (good == 0) {
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* self = static_cast<TlsConnection*>(SSL_get_app_data(ssl));
    X509* shown = X509_STORE_CTX_get_current_cert(store);
    const int error = X509_STORE_CTX_get_error(store);
    const bool is_of_list = std::ranges::find(kTroublesOfLists, error) != std::end(kTroublesOfLists);
    self->objection_ = {Code::kUnauthenticated,
                        fmt::format("the certificate of {} is not accepted: {}",
                                    shown == nullptr ? "a client" : Describe(ReadPeerCertificate(shown)),
                                    X509_verify_cert_error_string(error)),
                        is_of_list            ? "put a current list of each authority into --tls-crl, then send SIGHUP"
                        : error == kIsRevoked ? "it is in the list of --tls-crl: get a new certificate"
                                              : kGetSigned};
    if (is_of_list) {
      X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
    }
  }
  return good;
}

void TlsConnection::Handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  if (done == 1) {
    BeginServing();
    return;
  }
  const int error = SSL_get_error(ssl_.get(), done);
  wants_to_write_ = error == SSL_ERROR_WANT_WRITE;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return;
  }
  const std::string trouble = TakeTlsTrouble("the connection ended");
  const bool has_objection = !objection_.message.empty();
  Refuse({Code::kUnauthenticated,
          fmt::format("{}: {}", address_, has_objection ? objection_.message : "no TLS handshake: " + trouble),
          has_objection ? objection_.remedy : kGetSigned});
}

void TlsConnection::BeginServing() {
  const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get1_peer_certificate(ssl_.get()), &X509_free);
  int ends[2];
  if (shown == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK) {
    Refuse({Code::kUnauthenticated, fmt::format("{}: no verified certificate", address_), ""});
    return;
  }
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    Refuse(ErrnoError(errno, fmt::format("{}: cannot serve another connection", address_), "raise `ulimit -n`"));
    return;
  }
  local_.reset(ends[0]);
  server_end_.reset(ends[1]);
  peer_ = ReadPeerCertificate(shown.get());
  peer_.address = address_;
  peer_.authorities = AuthoritiesOf(SSL_get0_verified_chain(ssl_.get()));
  in_.bytes.resize(kInBytes);
  out_.bytes.resize(kOutBytes);
  wants_to_write_ = false;
  GatherRecords();
  state_ = State::kServing;
}

// Gathers records before writing: OpenSSL writes each record separately, which costs more than encrypting it.
void TlsConnection::GatherRecords() {
  BIO* const gathered = BIO_new(BIO_f_buffer());
  if (gathered == nullptr || BIO_set_write_buffer_size(gathered, kGatheredBytes) != 1) {
    BIO_free(gathered);
    return;  // then records are written one by one
  }
  BIO* const network = SSL_get_rbio(ssl_.get());
  BIO_up_ref(network);
  SSL_set0_wbio(ssl_.get(), BIO_push(gathered, network));
}

bool TlsConnection::has_unsent() const { return BIO_wpending(SSL_get_wbio(ssl_.get())) > 0; }

void TlsConnection::SendGathered() {
  BIO* const out = SSL_get_wbio(ssl_.get());
  if (has_unsent() && BIO_flush(out) <= 0) {
    peer_ended_ = peer_ended_ || !BIO_should_retry(out);
  }
}

UniqueFd TlsConnection::TakeServerEnd() { return std::move(server_end_); }

void TlsConnection::PumpIn() {
  for (int round = 0; round < kRounds; ++round) {
    if (in_.is_empty()) {
      ERR_clear_error();
      const int got = SSL_read(ssl_.get(), in_.bytes.data(), static_cast<int>(in_.bytes.size()));
      if (got <= 0) {
        const int error = SSL_get_error(ssl_.get(), got);
        peer_ended_ = peer_ended_ || (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE);
        return;
      }
      in_.begin = 0;
      in_.end = static_cast<size_t>(got);
    }
    const ssize_t sent = ::send(local_.get(), in_.bytes.data() + in_.begin, in_.end - in_.begin, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    in_.begin = sent < 0 ? in_.end : in_.begin + static_cast<size_t>(sent);  // dropped if the server has gone
  }
}

bool TlsConnection::FillFromLocal() {
  const ssize_t got = ::read(local_.get(), out_.bytes.data(), out_.bytes.size());
  if (got <= 0) {
    server_ended_ = server_ended_ || got == 0 || (errno != EAGAIN && errno != EINTR);
    return false;
  }
  out_.begin = 0;
  out_.end = static_cast<size_t>(got);
  return true;
}

void TlsConnection::PumpOut() {
  for (int round = 0; round < kRounds; ++round) {
    if (out_.is_empty() && !FillFromLocal()) {
      return;
    }
    ERR_clear_error();
    const int sent = SSL_write(ssl_.get(), out_.bytes.data() + out_.begin, static_cast<int>(out_.end - out_.begin));
    if (sent <= 0) {
      const int error = SSL_get_error(ssl_.get(), sent);
      peer_ended_ = peer_ended_ || (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE);
      return;
    }
    out_.begin += static_cast<size_t>(sent);
  }
}

void TlsConnection::Advance() {
  if (state_ == State::kHandshake) {
    Handshake();
  } else if (state_ == State::kServing) {
    PumpOut();
    PumpIn();
    SendGathered();
    if (peer_ended_) {
      state_ = State::kClosed;
    } else if (server_ended_ && out_.is_empty() && !has_unsent()) {
      ERR_clear_error();
      SSL_shutdown(ssl_.get());
      Linger();
    }
  } else if (state_ == State::kLingering) {
    Discard();
  }
}

void TlsConnection::Lose() {
  if (state_ == State::kHandshake) {
    Refuse({Code::kUnauthenticated, fmt::format("{}: the client disconnected during the TLS handshake", address_), ""});
  }
  state_ = State::kClosed;
}

void TlsConnection::Refuse(Error why) {
  why_ = std::move(why);
  Linger();
}

void TlsConnection::Linger() {
  local_.reset();
  ::shutdown(network_.get(), SHUT_WR);
  state_ = State::kLingering;
}

void TlsConnection::Discard() {
  char buffer[4096];
  for (int round = 0; round < kRounds; ++round) {
    const ssize_t got = ::recv(network_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    discarded_ += static_cast<size_t>(std::max<ssize_t>(got, 0));
    if (got <= 0 || discarded_ > kMostDiscarded) {
      state_ = State::kClosed;
      return;
    }
  }
}

uint32_t TlsConnection::network_interest() const {
  const bool reads = state_ != State::kServing || in_.is_empty();
  const bool has_more = !out_.is_empty() || has_unsent() || (takes_the_rest_ && !server_ended_);
  const bool writes = state_ == State::kServing ? has_more : wants_to_write_ && state_ == State::kHandshake;
  return (reads ? EPOLLIN : 0U) | (writes ? EPOLLOUT : 0U);
}

uint32_t TlsConnection::local_interest() const {
  return (out_.is_empty() && !server_ended_ ? EPOLLIN : 0U) | (in_.is_empty() ? 0U : EPOLLOUT);
}

}  // namespace ptrace_prof
