// Any bytes as a client's certificate, or as the names in one, of any string type. A name for rules has no zero byte,
// is bounded and is the only one; what is logged is printable and short.
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "attach/base/clean_text.h"
#include "rpc/tls/peer_certificate.h"

namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

constexpr std::array<int, 8> kStringTypes = {V_ASN1_UTF8STRING,    V_ASN1_PRINTABLESTRING, V_ASN1_T61STRING,
                                             V_ASN1_IA5STRING,     V_ASN1_BMPSTRING,       V_ASN1_UNIVERSALSTRING,
                                             V_ASN1_NUMERICSTRING, V_ASN1_OCTET_STRING};
constexpr size_t kLongestName = 1024;
constexpr size_t kLongestDescription = 512 * 4 + 2;  // the characters, and a note that it was shortened
constexpr size_t kHeader = 3;

struct Made {
  Certificate certificate{X509_new(), &X509_free};
  int common_names = 0;
};

void AddCommonName(Made& made, int type, std::string_view name) {
  made.common_names += X509_NAME_add_entry_by_NID(X509_get_subject_name(made.certificate.get()), NID_commonName, type,
                                                  reinterpret_cast<const unsigned char*>(name.data()),
                                                  static_cast<int>(name.size()), -1, 0);
}

void AddUri(Made& made, std::string_view uri) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(sk_GENERAL_NAME_new_null(),
                                                                            &GENERAL_NAMES_free);
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  ASN1_STRING_set(text, uri.data(), static_cast<int>(uri.size()));
  GENERAL_NAME_set0_value(name, GEN_URI, text);
  sk_GENERAL_NAME_push(names.get(), name);
  X509_add1_ext_i2d(made.certificate.get(), NID_subject_alt_name, names.get(), 0, 0);
}

// The header: a type, whether there is a second name, where the address begins. Then the names.
Made Make(const uint8_t* data, size_t size) {
  const std::string_view rest(reinterpret_cast<const char*>(data) + kHeader, size - kHeader);
  const std::string_view name = rest.substr(0, data[2]);
  Made made;
  AddCommonName(made, kStringTypes[data[0] % kStringTypes.size()], name);
  if (data[1] % 4 == 0) {
    AddCommonName(made, V_ASN1_UTF8STRING, "root");
  }
  AddUri(made, rest.substr(name.size()));
  return made;
}

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

bool IsComparable(const std::string& name) {
  return name.size() <= kLongestName && name.find('\0') == std::string::npos;
}

ptrace_prof::PeerCertificate Read(X509* certificate) {
  auto peer = ptrace_prof::ReadPeerCertificate(certificate);
  Check(IsComparable(peer.common_name) && std::ranges::all_of(peer.uris, IsComparable));
  Check(std::ranges::none_of(peer.uris, &std::string::empty));
  const std::string text = ptrace_prof::Describe(peer);
  Check(text == ptrace_prof::CleanText(text) && text.size() <= kLongestDescription);
  return peer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint8_t* at = data;
  if (const Certificate whole(d2i_X509(nullptr, &at, static_cast<long>(size)), &X509_free); whole != nullptr) {
    Read(whole.get());
  }
  if (size > kHeader) {
    const Made made = Make(data, size);
    const auto peer = Read(made.certificate.get());
    Check(made.common_names == 1 || peer.common_name.empty());
  }
  return 0;
}
