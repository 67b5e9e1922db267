#include "rpc/tls/peer_certificate.h"

#include <fmt/format.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kLongestName = 1024;
constexpr int kMostNames = 64;
constexpr size_t kMostDescribed = 512;  // characters: any peer may show a certificate, and it is logged

// Empty if the text cannot be compared.
std::string TextOf(const ASN1_STRING* text) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, text);
  if (size < 0) {
    return {};
  }
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owned(bytes,
                                                                       [](unsigned char* p) { OPENSSL_free(p); });
  std::string value(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  return value.size() > kLongestName || value.find('\0') != std::string::npos ? std::string() : value;
}

std::string CommonName(const X509_NAME* subject) {
  const int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (first < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0) {
    return {};
  }
  return TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first)));
}

std::string SubjectText(const X509_NAME* subject) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  X509_NAME_print_ex(out.get(), subject, 0, XN_FLAG_RFC2253);
  const char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, std::min(static_cast<size_t>(size), kLongestName)};
}

}  // namespace

PeerCertificate ReadPeerCertificate(x509_st* certificate) {
  PeerCertificate peer;
  X509_up_ref(certificate);
  peer.shown.reset(certificate, &X509_free);
  const X509_NAME* subject = X509_get_subject_name(certificate);
  peer.subject = SubjectText(subject);
  peer.common_name = CommonName(subject);
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  const int count = names == nullptr ? 0 : std::min(sk_GENERAL_NAME_num(names.get()), kMostNames);
  for (int i = 0; i < count; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) {
      continue;
    }
    if (std::string uri = TextOf(name->d.uniformResourceIdentifier); !uri.empty()) {
      peer.uris.push_back(std::move(uri));
    }
  }
  return peer;
}

std::vector<std::shared_ptr<X509>> AuthoritiesOf(const STACK_OF(X509) * chain) {
  std::vector<std::shared_ptr<X509>> authorities;
  for (int i = 1; chain != nullptr && i < sk_X509_num(chain); ++i) {
    X509* one = sk_X509_value(chain, i);
    X509_up_ref(one);
    authorities.emplace_back(one, &X509_free);
  }
  return authorities;
}

std::string Describe(const PeerCertificate& certificate) {
  const std::string text = certificate.uris.empty()
                               ? certificate.subject
                               : fmt::format("{} ({})", certificate.subject, fmt::join(certificate.uris, ", "));
  return Shortened(CleanText(text), kMostDescribed);
}

}  // namespace ptrace_prof
