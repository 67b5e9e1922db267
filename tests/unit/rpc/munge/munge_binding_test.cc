#include "rpc/munge/munge_binding.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

const MungeBinding kCall{"/ptraceprof.v1.NodeService/GetNode", "node7.cluster"};

TEST(MungeBinding, ComesBackOutOfItsPayload) {
  EXPECT_EQ(FromPayload(ToPayload(kCall)), kCall);
  EXPECT_EQ(FromPayload(ToPayload({"/a/b", "::1"})), (MungeBinding{"/a/b", "::1"}));
}

TEST(MungeBinding, IsNothingElse) {
  const std::string good = ToPayload(kCall);
  for (const std::string& payload :
       {std::string(), std::string("ptrace-prof call 1\n"), good.substr(0, good.size() - 1), good + "more\n",
        good + "\n", "ptrace-prof call 2" + good.substr(18), ToPayload({"", "host"}), ToPayload({"/a/b", ""}),
        ToPayload({"/a/b", "two words"}), ToPayload({"/a/b", std::string(256, 'a')}), ToPayload({"/a/b", "a\xff"}),
        ToPayload({std::string("/a/\0b", 5), "host"})}) {
    EXPECT_FALSE(FromPayload(payload).has_value()) << payload;
  }
}

TEST(MungeAuthorization, HoldsOneCredential) {
  EXPECT_EQ(CredentialIn(ToAuthorization("MUNGE:AwQ/+=:")), "MUNGE:AwQ/+=:");
  EXPECT_EQ(CredentialIn("Munge MUNGE:A:"), "MUNGE:A:") << "a scheme is written in any case";
  for (const std::string& text :
       {std::string(), std::string("munge"), std::string("munge "), std::string("MUNGE:A:"),
        std::string("Bearer MUNGE:A:"), std::string("munge MUNGE::"), std::string("munge MUNGE:A"),
        std::string("munge MUNGE:A:B:"), std::string("munge  MUNGE:A:"), std::string("munge MUNGE:A\n:"),
        std::string("munge munge:A:"), "munge MUNGE:" + std::string(4096, 'A') + ":"}) {
    EXPECT_FALSE(CredentialIn(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace ptrace_prof
