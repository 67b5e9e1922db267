// A self-signed server certificate for the names that a test wants, in files that are removed with it.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "rpc/tls/tls_files.h"

namespace ptrace_prof {

class MadeCertificate {
 public:
  // `alternatives`: "DNS:node7,IP:10.0.0.7"; empty: none, so the certificate has only the common name.
  explicit MadeCertificate(const std::string& alternatives, const std::string& common_name = "node") {
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
    X509* const x = certificate.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), 0);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    if (!alternatives.empty()) {
      const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> names(
          X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternatives.c_str()), &X509_EXTENSION_free);
      EXPECT_EQ(X509_add_ext(x, names.get(), -1), 1) << alternatives;
    }
    EXPECT_NE(X509_sign(x, key.get(), EVP_sha256()), 0);
    Write(files().certificate, [&](std::FILE* file) { return PEM_write_X509(file, x); });
    Write(files().key, [&](std::FILE* file) {
      return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  ~MadeCertificate() { std::filesystem::remove_all(folder_); }
  MadeCertificate(const MadeCertificate&) = delete;
  MadeCertificate& operator=(const MadeCertificate&) = delete;

  TlsFiles files() const {
    const std::string folder = folder_;
    return {.authority = folder + "/node.crt", .certificate = folder + "/node.crt", .key = folder + "/node.key"};
  }

 private:
  template <typename Put>
  static void Write(const std::string& path, const Put& put) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(put(file), 1);
    std::fclose(file);
    ::chmod(path.c_str(), 0600);
  }

  char folder_[32] = "/tmp/pp-certificate-XXXXXX";
};

}  // namespace ptrace_prof
