#include "attach/base/root_environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace ptrace_prof {
namespace {

TEST(RootEnvironment, ForgetsWhatLibrariesWouldFollow) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only of root it is another's";
  }
  const char* const followed[] = {"OPENSSL_CONF", "OPENSSL_MODULES", "SSL_CERT_FILE",  "GRPC_TRACE",
                                  "LD_PRELOAD",   "https_proxy",     "GLIBC_TUNABLES", "SSLKEYLOGFILE"};
  const char* const kept[] = {"PP_KEPT", "LD", "TMPDIR", "PTRACE_PROF_TLS_CA"};
  for (const char* name : followed) {
    ::setenv(name, "", 1);
  }
  for (const char* name : kept) {
    ::setenv(name, "here", 1);
  }
  ForgetLibraryVariables();
  for (const char* name : followed) {
    EXPECT_EQ(::getenv(name), nullptr) << name;
  }
  for (const char* name : kept) {
    EXPECT_STREQ(::getenv(name), "here") << name;
  }
}

TEST(RootEnvironment, WhoComesBySudoMayHaveBroughtAnothers) {
  for (const char* name : {"SUDO_UID", "PKEXEC_UID", "DOAS_USER"}) {
    ::unsetenv(name);
  }
  EXPECT_FALSE(IsRootForAnother());
  ::setenv("SUDO_UID", "1000", 1);
  EXPECT_EQ(IsRootForAnother(), ::geteuid() == 0);
  ::unsetenv("SUDO_UID");
}

}  // namespace
}  // namespace ptrace_prof
