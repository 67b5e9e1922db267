#include "tests/unit/rpc/made_certificates.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace ptrace_prof {
namespace {

constexpr long kDay = 24L * 3600;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
struct Close {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Close>;

struct Pair {
  Key key{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), &EVP_PKEY_free};
  Certificate certificate{X509_new(), &X509_free};
};

void Must(bool done, const char* what) {
  if (!done) {
    std::fprintf(stderr, "cannot make certificates: %s\n", what);
    std::abort();
  }
}

void Extend(X509* certificate, X509* issuer, int what, const char* value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value);
  Must(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, value);
  X509_EXTENSION_free(extension);
}

// `issuer`: null for a self-signed one.
Pair Make(const char* name, long serial, const Pair* issuer, const char* usage, const char* alternative) {
  Pair made;
  X509* certificate = made.certificate.get();
  const Pair& by = issuer == nullptr ? made : *issuer;
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), kDay);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(by.certificate.get()));
  X509_set_pubkey(certificate, made.key.get());
  Extend(certificate, by.certificate.get(), NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (usage != nullptr) {
    Extend(certificate, by.certificate.get(), NID_ext_key_usage, usage);
  }
  if (alternative != nullptr) {
    Extend(certificate, by.certificate.get(), NID_subject_alt_name, alternative);
  }
  Must(X509_sign(certificate, by.key.get(), EVP_sha256()) > 0, name);
  return made;
}

File Create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  File file(fd < 0 ? nullptr : ::fdopen(fd, "w"));
  Must(file != nullptr, path.c_str());
  return file;
}

TlsFiles Write(const Pair& pair, const std::string& stem, const std::string& authority) {
  TlsFiles files{.authority = authority, .certificate = stem + ".crt", .key = stem + ".key"};
  Must(PEM_write_X509(Create(files.certificate).get(), pair.certificate.get()) == 1, "a certificate");
  Must(PEM_write_PrivateKey(Create(files.key).get(), pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
       "a key");
  return files;
}

}  // namespace

MadeCertificates MakeCertificates(const std::string& folder) {
  const Pair authority = Make("authority", 1, nullptr, nullptr, nullptr);
  const Pair server = Make("server", 2, &authority, "serverAuth", "IP:127.0.0.1");
  const Pair client = Make("client", 3, &authority, "clientAuth", nullptr);
  const std::string file = Write(authority, folder + "/authority", "").certificate;
  return {.server = Write(server, folder + "/server", file), .client = Write(client, folder + "/client", file)};
}

}  // namespace ptrace_prof
