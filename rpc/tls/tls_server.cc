#include "rpc/tls/tls_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cerrno>

namespace ptrace_prof {
namespace {

constexpr long kMostCertificateBytes = 64 * 1024;
constexpr int kDeepestChain = 8;

Error BadFile(const std::string& what, const std::string& file) {
  return {Code::kInvalidArgument, fmt::format("cannot use {} as {}: {}", file, what, TakeTlsTrouble("it holds none")),
          "give a PEM file; `openssl x509 -in FILE -text` and `openssl pkey -in FILE -check` show its contents"};
}

// Chooses "h2" from the client's list, or nothing.
int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                   unsigned int size, void*) {
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kHttp2, sizeof kHttp2, offered, size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<void> CheckKeyFile(const std::string& key) {
  struct stat there {};
  if (::stat(key.c_str(), &there) != 0) {
    return ErrnoError(errno, fmt::format("cannot read the key {}", key), "give the key of the certificate");
  }
  if ((there.st_mode & 07) != 0) {
    return Error{Code::kPermissionDenied,
                 fmt::format("other users can access the key {}: its mode is {:o}", key, there.st_mode & 07777),
                 fmt::format("chmod 600 {}; if others may have read it, make a new key", key)};
  }
  return {};
}

void Harden(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_max_cert_list(context, kMostCertificateBytes);
  SSL_CTX_set_verify_depth(context, kDeepestChain);
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });  // never prompts
}

}  // namespace

std::string TakeTlsTrouble(const std::string& fallback) {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? fallback : text;
}

Result<TlsServer> TlsServer::Load(const TlsFiles& files) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (context == nullptr) {
    return Error{Code::kInternal, "cannot set up TLS: " + TakeTlsTrouble("no reason given"), ""};
  }
  Harden(context.get());
  PP_RETURN_IF_ERROR(CheckKeyFile(files.key));
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1) {
    return BadFile("the certificate", files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return BadFile(fmt::format("the key of {}", files.certificate), files.key);
  }
  PP_ASSIGN_OR_RETURN(auto trust, TlsTrust::Load(files.authority, files.revoked));
  SSL_CTX_set_client_CA_list(context.get(), SSL_load_client_CA_file(files.authority.c_str()));
  return TlsServer(std::move(context), std::move(trust));
}

ssl_st* TlsServer::NewSession() const {
  SSL* session = SSL_new(context_.get());
  if (session != nullptr) {
    trust_->Apply(session);
  }
  return session;
}

HostMatch TlsServer::Matches(const std::string& host) const {
  X509* const certificate = SSL_CTX_get0_certificate(context_.get());
  if (unsigned char address[16];
      ::inet_pton(AF_INET, host.c_str(), address) == 1 || ::inet_pton(AF_INET6, host.c_str(), address) == 1) {
    return X509_check_ip_asc(certificate, host.c_str(), 0) == 1 ? HostMatch::kNamed : HostMatch::kNot;
  }
  const auto is_for = [&](unsigned flags) {
    return X509_check_host(certificate, host.data(), host.size(), flags, nullptr) == 1;
  };
  if (host.empty() || host.front() == '.') {  // would match all subdomains
    return HostMatch::kNot;
  }
  return is_for(X509_CHECK_FLAG_NO_WILDCARDS) ? HostMatch::kNamed
         : is_for(0)                          ? HostMatch::kByWildcard
                                              : HostMatch::kNot;
}

}  // namespace ptrace_prof
