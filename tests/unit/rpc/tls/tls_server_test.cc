#include "rpc/tls/tls_server.h"

#include <gtest/gtest.h>

#include "tests/unit/rpc/made_certificate.h"

namespace ptrace_prof {
namespace {

HostMatch Match(const std::string& alternatives, const std::string& host, const std::string& common_name = "node") {
  const MadeCertificate made(alternatives, common_name);
  const auto server = TlsServer::Load(made.files());
  EXPECT_TRUE(server.has_value()) << server.error().message;
  return server.value().Matches(host);
}

TEST(TlsServerHost, IsNamedByTheCertificate) {
  constexpr char kNames[] = "DNS:node7.cluster,DNS:node7,IP:10.0.0.7,IP:fd00::7";
  for (const char* host : {"node7.cluster", "NODE7.Cluster", "node7", "10.0.0.7", "fd00::7", "FD00:0::7"}) {
    EXPECT_EQ(Match(kNames, host), HostMatch::kNamed) << host;
  }
  for (const char* host : {"node8.cluster", "cluster", ".cluster", "a.node7", "10.0.0.8", "fd00::8", "node", "", "7"}) {
    EXPECT_EQ(Match(kNames, host), HostMatch::kNot) << host;
  }
}

TEST(TlsServerHost, AWildcardIsNoName) {
  EXPECT_EQ(Match("DNS:*.a.cluster", "node7.a.cluster"), HostMatch::kByWildcard);
  EXPECT_EQ(Match("DNS:*.a.cluster", "a.cluster"), HostMatch::kNot);
  EXPECT_EQ(Match("DNS:*.a.cluster,DNS:node7.a.cluster", "node7.a.cluster"), HostMatch::kNamed);
}

TEST(TlsServerHost, TheCommonNameCountsWhereThereIsNoOther) {
  EXPECT_EQ(Match("", "node7", "node7"), HostMatch::kNamed);
  EXPECT_EQ(Match("DNS:other", "node7", "node7"), HostMatch::kNot);
  EXPECT_EQ(Match("", "10.0.0.7", "10.0.0.7"), HostMatch::kNot) << "an address is no name";
}

}  // namespace
}  // namespace ptrace_prof
