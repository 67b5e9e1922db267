#include "rpc/tls/tls_trust.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>

#include "rpc/tls/peer_certificate.h"
#include "rpc/tls/tls_server.h"

namespace ptrace_prof {
namespace {

constexpr char kAuthority[] = "the authority of clients";
constexpr char kRevoked[] = "the list of revoked certificates";

Error BadFile(const char* what, const std::string& file, const std::string& trouble) {
  const bool is_list = what == kRevoked;
  return {Code::kInvalidArgument, fmt::format("cannot use {} as {}: {}", file, what, trouble),
          is_list ? "give a PEM file; `openssl crl -in FILE -text` shows its contents"
                  : "give a PEM file; `openssl x509 -in FILE -text` shows its contents"};
}

// Reads all objects that `read` finds in a file; at least one must be there.
template <typename One, typename Read, typename Free>
Result<std::vector<std::shared_ptr<One>>> ReadAll(const std::string& file, const char* what, Read read, Free free) {
  ERR_clear_error();
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(BIO_new_file(file.c_str(), "r"), &BIO_free);
  if (in == nullptr) {
    return BadFile(what, file, TakeTlsTrouble("it cannot be read"));
  }
  std::vector<std::shared_ptr<One>> found;
  while (One* one = read(in.get(), nullptr, nullptr, nullptr)) {
    found.emplace_back(one, free);
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return BadFile(what, file, TakeTlsTrouble("it is damaged"));
  }
  ERR_clear_error();
  if (found.empty()) {
    return BadFile(what, file, "it holds none");
  }
  return found;
}

}  // namespace

Result<std::shared_ptr<TlsTrust>> TlsTrust::Load(const std::string& authority, const std::string& revoked) {
  PP_ASSIGN_OR_RETURN(auto authorities, ReadAll<X509>(authority, kAuthority, PEM_read_bio_X509_AUX, X509_free));
  std::shared_ptr<TlsTrust> trust(new TlsTrust(std::move(authorities), revoked));
  PP_RETURN_IF_ERROR(revoked.empty() ? trust->Hold({}) : trust->ReadRevoked());
  return trust;
}

Result<void> TlsTrust::ReadRevoked() {
  if (revoked_.empty()) {
    return {};
  }
  PP_ASSIGN_OR_RETURN(auto lists, ReadAll<X509_CRL>(revoked_, kRevoked, PEM_read_bio_X509_CRL, X509_CRL_free));
  return Hold(std::move(lists));
}

// Builds a new store for each reading, because handshakes may still use the old one.
Result<void> TlsTrust::Hold(Lists lists) {
  std::shared_ptr<X509_STORE> store(X509_STORE_new(), &X509_STORE_free);
  bool is_whole = store != nullptr;
  for (const auto& authority : authorities_) {
    is_whole = is_whole && X509_STORE_add_cert(store.get(), authority.get()) == 1;
  }
  for (const auto& list : lists) {
    is_whole = is_whole && X509_STORE_add_crl(store.get(), list.get()) == 1;
  }
  if (!is_whole ||
      (!lists.empty() && X509_STORE_set_flags(store.get(), X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) != 1)) {
    return Error{Code::kInternal, "cannot set up TLS: " + TakeTlsTrouble("no reason given"), ""};
  }
  const std::lock_guard lock(mutex_);
  store_ = std::move(store);
  lists_ = std::move(lists);
  return {};
}

size_t TlsTrust::CountRevoked() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& list : lists_) {
    count += static_cast<size_t>(std::max(sk_X509_REVOKED_num(X509_CRL_get_REVOKED(list.get())), 0));
  }
  return count;
}

void TlsTrust::Apply(ssl_st* session) const {
  const std::lock_guard lock(mutex_);
  SSL_set1_verify_cert_store(session, store_.get());
}

Result<void> TlsTrust::Check(const PeerCertificate& certificate) const {
  const std::lock_guard lock(mutex_);
  const auto is_listed = [&](const std::shared_ptr<X509>& one) {
    return one != nullptr && std::ranges::any_of(lists_, [&](const auto& list) {
             X509_REVOKED* entry = nullptr;
             return X509_CRL_get0_by_cert(list.get(), &entry, one.get()) == 1;
           });
  };
  const bool is_revoked = is_listed(certificate.shown) || std::ranges::any_of(certificate.authorities, is_listed);
  return !is_revoked ? Result<void>()
                     : Because(Reason::kUnauthenticated,
                               fmt::format("the certificate of {} has been revoked", Describe(certificate)),
                               "get a new one", "certificate " + Describe(certificate));
}

}  // namespace ptrace_prof
