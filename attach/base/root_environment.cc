#include "attach/base/root_environment.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ptrace_prof {
namespace {

// OpenSSL: openssl-env(7); gRPC: doc/environment_variables.md; glibc: ld.so(8) ENVIRONMENT, "secure-execution mode".
constexpr std::string_view kBeginnings[] = {"OPENSSL_", "SSL_CERT_", "GRPC_", "LD_", "MALLOC_", "CTLOG_"};
constexpr std::string_view kNames[] = {
    "http_proxy",  "https_proxy",   "all_proxy",  "no_proxy",         "HTTP_PROXY",     "HTTPS_PROXY",
    "ALL_PROXY",   "NO_PROXY",      "GCONV_PATH", "GETCONF_DIR",      "GLIBC_TUNABLES", "HOSTALIASES",
    "LOCALDOMAIN", "LOCPATH",       "NLSPATH",    "RESOLV_HOST_CONF", "RES_OPTIONS",    "TZDIR",
    "RANDFILE",    "SSLKEYLOGFILE", "TERMINFO",   "TERMINFO_DIRS",
};

// These programs set these variables, whatever the caller's environment contained.
constexpr const char* kCameBy[] = {"SUDO_UID", "PKEXEC_UID", "DOAS_USER"};

bool IsForgotten(std::string_view name) {
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

bool IsRootForAnother() {
  return ::geteuid() == 0 && std::ranges::any_of(kCameBy, [](const char* name) { return ::getenv(name) != nullptr; });
}

void ForgetLibraryVariables() {
  if (::geteuid() != 0) {
    return;
  }
  std::vector<std::string> forgotten;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    if (IsForgotten(name)) {
      forgotten.emplace_back(name);
    }
  }
  for (const std::string& name : forgotten) {
    ::unsetenv(name.c_str());
  }
}

}  // namespace ptrace_prof
