// What is compared with munged's answers. munged itself is tested in tests/integration/munge_test.py.
#include "rpc/munge/munge_verifier.h"

#include <gtest/gtest.h>

#include "tests/unit/rpc/made_certificate.h"

namespace ptrace_prof {
namespace {

constexpr char kMethod[] = "/ptraceprof.v1.NodeService/GetNode";

// Asks a munged for which the credential "MUNGE:A:" contains `payload`.
MungeVerdict Verify(const std::string& payload, const std::string& authorization = "munge MUNGE:A:",
                    const std::string& alternatives = "DNS:node7") {
  const MadeCertificate made(alternatives);
  auto server = TlsServer::Load(made.files());
  EXPECT_TRUE(server.has_value());
  MungedCalls munged;
  munged.read = [&payload](const std::string& credential, const std::string& socket) -> Result<MungeWord> {
    EXPECT_EQ(credential, "MUNGE:A:");
    EXPECT_EQ(socket, "/s");
    return MungeWord{Uid(1001), payload};
  };
  MungeVerifier verifier(std::move(server).value(), munged);
  return verifier.Verify({.user = "", .authorization = authorization, .method = kMethod}, "/s");
}

void ExpectRefused(const MungeVerdict& verdict, const char* words) {
  ASSERT_TRUE(verdict.verdict.has_error());
  const Error& error = verdict.verdict.error();
  EXPECT_EQ(error.code, Code::kUnauthenticated);
  EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
  EXPECT_FALSE(error.remedy.empty());
}

TEST(MungeVerifier, TakesACredentialForThisCallAndThisHost) {
  const MungeVerdict verdict = Verify(ToPayload({kMethod, "node7"}));
  EXPECT_TRUE(verdict.verdict.has_value());
  EXPECT_EQ(verdict.user, Uid(1001));
}

TEST(MungeVerifier, RefusesOneForAnythingElse) {
  ExpectRefused(Verify(ToPayload({"/ptraceprof.v1.NodeService/GetDaemonStatus", "node7"})), "is for another call");
  ExpectRefused(Verify(ToPayload({kMethod, "node8"})),
                "is for the host node8, which the server's certificate does not name");
  ExpectRefused(Verify(ToPayload({kMethod, "node7.a.b"}), "munge MUNGE:A:", "DNS:*.a.b"), "only by a wildcard");
  ExpectRefused(Verify("slurm's"), "was not made for ptrace-profd");
  EXPECT_EQ(Verify("slurm's").user, Uid(1001)) << "for the audit";
}

TEST(MungeVerifier, DoesNotAskMungedWithoutACredential) {
  ExpectRefused(Verify("", ""), "the call has no MUNGE credential");
  ExpectRefused(Verify("", "Bearer x"), "is not a MUNGE credential");
  EXPECT_EQ(Verify("", "").user, std::nullopt);
}

}  // namespace
}  // namespace ptrace_prof
