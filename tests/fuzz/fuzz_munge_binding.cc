// Any bytes as the header and as the payload of a MUNGE credential: what is accepted is bounded, printable, and equals
// what we write ourselves.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "rpc/munge/munge_binding.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptrace_prof;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto is_plain = [](const std::string& part) {
    return std::ranges::all_of(part, [](char c) { return c > ' ' && c <= '~'; });
  };
  const auto binding = FromPayload(text);
  if (binding.has_value() && (!is_plain(binding->method) || !is_plain(binding->host) || binding->host.empty() ||
                              ToPayload(*binding) != text)) {
    std::abort();
  }
  const auto credential = CredentialIn(text);
  if (credential.has_value() && (!is_plain(*credential) || credential->size() > size || credential->size() > 4096 ||
                                 CredentialIn(ToAuthorization(*credential)) != credential)) {
    std::abort();
  }
  return 0;
}
