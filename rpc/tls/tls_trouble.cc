#include "rpc/tls/tls_trouble.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <memory>

#include "attach/base/unique_fd.h"
#include "rpc/tls/peer_certificate.h"
#include "rpc/tls/tls_server.h"

namespace ptrace_prof {
namespace {

constexpr timeval kProbePatience{3, 0};

// The other end's alert about our certificate.
struct Objection {
  int reason;
  const char* words;
  const char* remedy;
};
constexpr Objection kObjections[] = {
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "the client certificate has expired, or is not valid yet",
     "get a new one; `openssl x509 -in FILE -noout -dates` shows when it is valid"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, "the client certificate is not signed by an authority that the server trusts",
     "give one that is (--tls-cert, with its whole chain), or have the authority added to the server's "
     "--tls-client-ca"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, "the server requires a client certificate, and none was given",
     "give --tls-cert and --tls-key"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, "the client certificate has been revoked", "get a new one"},
    {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, "the certificate is not valid for clients",
     "have it made with extendedKeyUsage = clientAuth"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "the client certificate is invalid",
     "see the log of ptrace-profd, or run `openssl verify -CAfile CA FILE`"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "the server does not support TLS 1.3", "check that a ptrace-profd runs there"},
};

Error Unreachable(const std::string& server, std::string_view what, std::string remedy) {
  return Because(Reason::kServerUnreachable, fmt::format("cannot connect to tls://{}: {}", server, what),
                 std::move(remedy), "server tls://" + server);
}

Error Unwanted(const std::string& server, std::string_view what, std::string remedy) {
  return Because(Reason::kUnauthenticated, fmt::format("tls://{} refused the connection: {}", server, what),
                 std::move(remedy), "server tls://" + server);
}

Result<UniqueFd> Connect(const std::string& server) {
  const size_t colon = server.rfind(':');
  std::string host = server.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), server.c_str() + colon + 1, &wanted, &raw); failed != 0) {
    return Unreachable(server, fmt::format("the host name is unknown ({})", ::gai_strerror(failed)),
                       "check its spelling, DNS and /etc/hosts");
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(raw, &::freeaddrinfo);
  int reason = EHOSTUNREACH;
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    UniqueFd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kProbePatience, sizeof kProbePatience);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kProbePatience, sizeof kProbePatience);  // also bounds connect
    if (fd.is_open() && ::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) {
      return fd;
    }
    reason = errno == EINPROGRESS ? ETIMEDOUT : errno;
  }
  return Unreachable(server, ErrnoError(reason, "TCP").message,
                     "check that ptrace-profd runs there with --listen-tcp, and that no firewall blocks the port");
}

Result<void> UseFiles(SSL_CTX* context, const TlsFiles& files) {
  const bool has_ours = !files.certificate.empty();
  ERR_clear_error();
  if (SSL_CTX_load_verify_file(context, files.authority.c_str()) != 1) {
    return Error{Code::kInvalidArgument,
                 fmt::format("cannot use {} as the authority of servers: {}", files.authority, TakeTlsTrouble("?")),
                 "give a PEM file with --tls-ca"};
  }
  if (has_ours && (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1 ||
                   SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1)) {
    return Error{Code::kInvalidArgument,
                 fmt::format("cannot use {} with the key {}: {}", files.certificate, files.key, TakeTlsTrouble("?")),
                 "give PEM files that belong together with --tls-cert and --tls-key"};
  }
  return {};
}

void ExpectName(SSL* ssl, const std::string& name) {
  if (unsigned char address[16];
      ::inet_pton(AF_INET, name.c_str(), address) == 1 || ::inet_pton(AF_INET6, name.c_str(), address) == 1) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str());
  } else {
    SSL_set1_host(ssl, name.c_str());
    SSL_set_tlsext_host_name(ssl, name.c_str());
  }
}

// Call after SSL_connect or SSL_read has failed.
Error WhatWasSaid(SSL* ssl, const std::string& server, const std::string& name) {
  const int reason = ERR_GET_REASON(ERR_peek_error());
  if (const long verdict = SSL_get_verify_result(ssl); verdict != X509_V_OK) {
    return Unreachable(
        server, fmt::format("its certificate is not accepted for {}: {}", name, X509_verify_cert_error_string(verdict)),
        "give the authority that signed it with --tls-ca, or the name in the certificate with --tls-server-name");
  }
  for (const Objection& objection : kObjections) {
    if (reason == objection.reason) {
      return Unwanted(server, objection.words, objection.remedy);
    }
  }
  if (reason == SSL_R_WRONG_VERSION_NUMBER) {
    return Unreachable(server, "the server there does not use TLS",
                       "use the address that ptrace-profd has in --listen-tcp");
  }
  const std::string trouble = TakeTlsTrouble("");
  return trouble.empty() ? Error{} : Unreachable(server, trouble, "see the log of ptrace-profd");
}

}  // namespace

Error ExplainTls(const std::string& server, const std::string& name, const TlsFiles& files) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  if (auto used = UseFiles(context.get(), files); used.has_error()) {
    return std::move(used).error();
  }
  const auto connected = Connect(server);
  if (connected.has_error()) {
    return connected.error();
  }
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kHttp2, sizeof kHttp2);
  ExpectName(ssl.get(), name);
  SSL_set_fd(ssl.get(), connected.value().get());
  ERR_clear_error();
  char byte = 0;
  // The server checks our certificate only after the handshake is complete on our side.
  if (SSL_connect(ssl.get()) != 1 || SSL_read(ssl.get(), &byte, 1) != 1) {
    return WhatWasSaid(ssl.get(), server, name);
  }
  return {};
}

}  // namespace ptrace_prof
